"""How fast the opponents decide, for `python -m chearts_env.bench --also baselines.bench_opponents:works`.

`careful, choosing alone` is `Careful.act` on the tables of a batch; `careful tables` is that and the batched step. `one
seat among careful` is `SingleSeatVectorEnv` with actions at random: decisions of the learner, its opponents' and the
deals included. A `search:32` decision is one that has a choice, from moments all over hands that `careful` plays.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Final

import numpy as np
import numpy.typing as npt

from baselines.careful import Careful
from baselines.search import Search
from chearts_env import Game, Rules, VectorTables
from chearts_env.bench_peers import Work
from chearts_env.single_seat import SingleSeatVectorEnv

_SEED: Final = 7
_NUM_TABLES: Final = 1024
_NUM_WORLDS: Final = 32
_EVERY: Final = 11  # every so many decisions of a hand one is searched
_UNIT: Final = "decisions/s"


def works(num_players: int) -> Iterator[tuple[str, str, Work]]:
    """Yield what is measured for a number of seats: name, unit, and work that returns units done and seconds taken."""
    yield "careful, choosing alone", _UNIT, _careful(num_players, counts_step=False)
    yield "careful tables", _UNIT, _careful(num_players, counts_step=True)
    yield "one seat among careful", _UNIT, _one_seat(num_players)
    yield f"search:{_NUM_WORLDS}", _UNIT, _search(num_players)


def _careful(num_players: int, counts_step: bool) -> Work:
    tables = VectorTables(Rules(num_players), _NUM_TABLES, seed=_SEED)
    careful, rng = Careful(), np.random.default_rng(_SEED)

    def play() -> tuple[int, float]:
        began = perf_counter()
        actions = careful.act(tables.observations, tables.action_masks, rng)
        chosen = perf_counter()
        tables.step(actions)
        return len(tables), (perf_counter() if counts_step else chosen) - began

    return play


def _one_seat(num_players: int) -> Work:
    env = SingleSeatVectorEnv(
        _NUM_TABLES, Rules(num_players), opponents=Careful(), observation_dtype=np.int8, copy=False
    )
    rng = np.random.default_rng(_SEED)
    env.reset(seed=_SEED)

    def play() -> tuple[int, float]:
        masks = env.action_masks()
        actions = (masks * rng.random(masks.shape, dtype=np.float32)).argmax(axis=1)
        began = perf_counter()
        env.step(actions)
        return env.num_envs, perf_counter() - began

    return play


def _search(num_players: int) -> Work:
    search, rng = Search(_NUM_WORLDS), np.random.default_rng(_SEED)
    moments = _moments(num_players)
    place = 0

    def decide() -> tuple[int, float]:
        nonlocal place
        observation, mask = moments[place % len(moments)]
        place += 1
        began = perf_counter()
        search.act(observation[None], mask[None], rng)
        return 1, perf_counter() - began

    return decide


def _moments(num_players: int) -> list[tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]]:
    """Return observations and masks of decisions with a choice, every few of two hands that `careful` plays."""
    careful, rng = Careful(), np.random.default_rng(_SEED)
    moments = []
    for seed in range(2):
        game = Game(Rules(num_players), seed=seed, episode="hand")
        decision = 0
        while game.mover is not None:
            observation, mask = game.observation(game.mover), game.action_mask()
            if mask.sum() > 1:
                if decision % _EVERY == 0:
                    moments.append((observation, mask))
                decision += 1
            game.step(int(careful.act(observation[None], mask[None], rng)[0]))
    # Early and late decisions by turns: a short measurement meets both.
    return [moments[place] for place in rng.permutation(len(moments))]
