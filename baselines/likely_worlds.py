"""Worlds as they are likely after a pass: `redeal` knows what cannot be, this knows what `careful` players do.

`redeal` draws every world that a seat cannot rule out alike. But hands have been passed from (R7): players give away
dangerous cards and short suits, so that a seat is void in a suit four times as often as after a deal alone, at 6 to 8
seats. Worlds drawn alike are too friendly, by more than a point a hand. So

- while cards are being passed, seats that have chosen already choose again, as `careful` does, from the hand that a
  world gives them;
- later, more worlds are drawn than wanted and kept by the lengths of the suits that seats held after the pass:
  `shapes.json` has how much more often each length is seen after a pass than before, by table size.

`python -m baselines.likely_worlds` measures the lengths anew and writes that file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful import Careful
from baselines.careful.playout import ROOM, choose_at
from chearts_env import Rules, VectorTables
from chearts_env.cards import FACE_SUIT, NUM_RANKS, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.deal import left_of
from chearts_env.engine import step_table
from chearts_env.knowledge import redeal_observation
from chearts_env.observation import field_values
from chearts_env.rules import CARDS_PASSED, MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import PASS, PLAY, Tables
from chearts_env.whole_files import write_whole

#: Tables (W,) with one public past -> (W,) logarithms of how likely each is, up to a constant.
Judge = Callable[[Tables], npt.NDArray[np.float64]]

SHAPES_FILE: Final = Path(__file__).with_name("shapes.json")
#: Worlds drawn for each that is kept.
DRAWN_FOR_ONE: Final = 8
#: Lengths of one hand's suits hang together, so that each counts for less than if it stood alone.
_WEIGHT: Final = 0.5
_LONGEST: Final = 20
_MEASURED_TABLES: Final = 20_000


def likely_worlds(
    observation: npt.NDArray[np.int8],
    rng: np.random.Generator,
    num_worlds: int,
    weights: npt.NDArray[np.void],
    judge: Judge | None = None,
) -> Tables:
    """Return full tables, (num_worlds,), that the seat of an observation, (O,), may well sit at; it is seat 0.

    `weights`, (1,) of dtype `WEIGHTS`, are the constants of the `careful` that the other seats are taken for. `judge`
    may know more, in play, about how likely the others were to do what they did.
    """
    has_pass = field_values(observation, "pass_offset")[0] != 0
    phase = field_values(observation, "phase")
    if not (phase[PLAY] and (has_pass or judge)):
        _, worlds = redeal_observation(observation, rng, num_worlds)
        if phase[PASS]:
            _choose_again(worlds, weights, np.zeros(1, ROOM))
        return worlds
    rules, worlds = redeal_observation(observation, rng, DRAWN_FOR_ONE * num_worlds)
    likelihoods = np.zeros(len(worlds))
    if has_pass:
        _weigh(worlds, _log_shapes()[rules.num_players - MIN_PLAYERS], likelihoods)
    likelihoods *= _WEIGHT
    if judge is not None:
        likelihoods += judge(worlds)
    chances = np.exp(likelihoods - likelihoods.max())
    # Evenly spaced points along the worlds, each as long as it is likely: none is kept more often than it must be.
    points = (np.arange(num_worlds) + rng.random()) / num_worlds * chances.sum()
    kept = np.searchsorted(np.cumsum(chances), points).clip(max=len(worlds) - 1)
    chosen: Tables = worlds[kept]
    return chosen


@kernel
def _choose_again(worlds: Any, weights: Any, room: Any) -> None:
    """Let the seats that have passed before the mover, seat 0, choose again from the hands that each world gives."""
    for place in range(worlds.shape[0]):
        table = worlds[place]
        public = table.public
        num_players = table.options.num_players
        viewer = public.mover
        first = left_of(public.dealer, num_players)
        seat = first
        while seat != viewer:
            private = table.private[seat]
            for card in range(CARDS_PASSED):
                face = private.given[card] - 1
                private.given[card] = 0
                private.hand[face] += 1
                private.suits[FACE_SUIT[face]] += 1
            private.num_given = 0
            public.seats[seat].cards_left += CARDS_PASSED
            seat = left_of(seat, num_players)
        public.mover = first
        while public.mover != viewer:
            step_table(table, choose_at(table, weights[0], room[0]))


@kernel
def _weigh(worlds: Any, log_shapes: Any, likelihoods: Any) -> None:
    """Write the logarithm of how much likelier each world's suit lengths are after a pass than before one."""
    for place in range(worlds.shape[0]):
        table = worlds[place]
        total = 0.0
        for seat in range(1, table.options.num_players):
            for suit in range(NUM_SUITS):
                length = table.private[seat].suits[suit]
                for face in range(NUM_RANKS * suit, NUM_RANKS * suit + NUM_RANKS):
                    length += table.public.seats[seat].played[face]
                total += log_shapes[length]
        likelihoods[place] = total


@cache
def _log_shapes() -> npt.NDArray[np.float64]:
    """Return the logarithms of `shapes.json`, by table size and length, (6, 20)."""
    ratios = json.loads(SHAPES_FILE.read_text("utf-8"))["ratios"]
    shapes = np.array([ratios[str(size)] for size in range(MIN_PLAYERS, MAX_PLAYERS + 1)])
    logarithms: npt.NDArray[np.float64] = np.log(shapes)
    return logarithms


def measured_shapes(num_tables: int, seed: int) -> dict[str, list[float]]:
    """Return how much more often a suit of each length is held after the pass than before, by table size."""
    careful, rng = Careful(), np.random.default_rng(seed)
    ratios = {}
    for size in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        tables = VectorTables([Rules.card_page(size), Rules.classic(size)], num_tables, seed=seed)
        before = _lengths(tables)
        for _ in range(CARDS_PASSED * size):
            tables.step(careful.act(tables.observations, tables.action_masks, rng))
        # Ten sightings more each way: lengths that were hardly ever seen say nothing.
        ratios[str(size)] = [round(float(ratio), 3) for ratio in (_lengths(tables) + 10) / (before + 10)]
    return ratios


def _lengths(tables: VectorTables) -> npt.NDArray[np.int64]:
    """Return how many suits of each length all seats hold, (20,)."""
    by_suit = tables.hidden_hands().reshape(len(tables), MAX_PLAYERS, NUM_SUITS, NUM_RANKS).sum(axis=3)
    return np.bincount(by_suit[:, : tables.num_players[0]].ravel(), minlength=_LONGEST)


def main() -> int:
    """Measure and write the file."""
    told = {"tables": _MEASURED_TABLES, "ratios": measured_shapes(_MEASURED_TABLES, seed=1)}
    write_whole(SHAPES_FILE, json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
