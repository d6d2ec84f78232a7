"""Labels against a frozen policy: one seat deviates once, and the policy plays on from there in every seat.

At decisions of the deviating seat every allowed action is tried and the same true deal played to its end. A label is
what that seat's own points come to, negative so that more is better and centred over the allowed actions: just what a
match of the fitted network against copies of the policy measures.

Any `Policy` can be frozen. It is asked in large batches: all tables that wait for it, at every step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import Policy, RowGenerator, mixed
from chearts_env.batch import begin_all
from chearts_env.compiled import kernel
from chearts_env.engine import step_table
from chearts_env.game import IllegalActionError
from chearts_env.policy import allowed_rows
from chearts_env.rules import CARDS_PASSED, Rules
from chearts_env.table import MOON, NUM_ACTIONS, OVER, PASS, PHASES, PLAY, Tables, new_tables
from training.labels import LABEL, Labels, draw_seeds
from training.matches import named_policy
from training.players import choose_any, num_choices
from training.playouts import centred, seen_by_movers, step_some

#: Hands dealt for one chunk of labels.
HANDS: Final = 64
#: Labelled decisions of a hand: cards played and cards passed. A moon is always labelled.
_PLAYS: Final = 4.0
_PASSES: Final = 0.8
#: Share of the deviating seat's actions replaced by random ones on the way to a decision.
_EXPLORE: Final = 0.12
#: Decisions played out together, and between two looks at the clock.
_DECISIONS_AT_ONCE: Final = 128
#: Keeps these deals apart from those of matches and of training runs, whatever the seeds.
_DEVIATION_STREAM: Final = 3


@dataclass(frozen=True)
class DeviationWork:
    """Make one chunk of labels against the policy `name`; the same ones in every process, if there is no deadline.

    After `deadline`, in seconds of `time.time`, what is finished is returned, perhaps nothing.
    """

    name: str
    rules: Rules
    seed: int
    number: int
    deadline: float | None = None

    def __call__(self) -> Labels:
        """Do it."""
        rng = np.random.default_rng([self.seed, _DEVIATION_STREAM, self.number])
        return deviation_labels(named_policy(self.name), self.rules, rng, self.deadline)


def deviation_labels(frozen: Policy, rules: Rules, rng: np.random.Generator, deadline: float | None = None) -> Labels:
    """Deal hands, note decisions of one seat of each and value their actions; see `DeviationWork`."""
    tables = new_tables([rules] * HANDS, single_hand=True)
    begin_all(tables, draw_seeds(rng, HANDS))
    noted = _note_decisions(
        tables, rng.integers(0, rules.num_players, HANDS), _Player(frozen, draw_seeds(rng, HANDS)), rng
    )
    keys = draw_seeds(rng, len(noted))
    observations, masks = seen_by_movers(noted, np.arange(len(noted)))
    values = np.full((len(noted), NUM_ACTIONS), np.nan, np.float32)
    num_done = 0
    while num_done < len(noted) and (deadline is None or time.time() < deadline):
        part = slice(num_done, min(num_done + _DECISIONS_AT_ONCE, len(noted)))
        values[part] = deviation_values(noted[part], masks[part], frozen, keys[part])
        num_done = part.stop
    labels = np.zeros(num_done, LABEL)
    labels["observation"] = observations[:num_done]
    labels["values"] = centred(values[:num_done])
    return labels


class _Player:
    """The frozen policy at some tables, with a stream of its own for each, whatever is played beside it."""

    def __init__(self, frozen: Policy, keys: npt.NDArray[np.uint64]) -> None:
        """`keys` (T,) start the streams; tables of the same key have the same luck."""
        self._frozen = frozen
        self._keys = keys

    def act(
        self, places: npt.NDArray[np.intp], observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int64]:
        """Return an action for each of the tables `places`, (N,), given what their movers see and may do.

        Raises IllegalActionError for an action that a mask excludes.
        """
        self._keys = mixed(self._keys + np.uint64(1))
        chosen = np.asarray(self._frozen.act(observations, masks.copy(), RowGenerator(self._keys[places])))
        allowed = allowed_rows(chosen, masks)
        if not allowed.all():
            wrong = chosen[np.argmin(allowed)]
            raise IllegalActionError(f"{type(self._frozen).__name__} chose action {wrong}, which its mask excludes")
        return chosen.astype(np.int64)


def _note_decisions(tables: Tables, seats: npt.NDArray[np.int64], player: _Player, rng: np.random.Generator) -> Tables:
    """Play all hands to their end in place; return the decisions noted on the way, (N,), all of the given seats."""
    rates = np.zeros(len(PHASES))
    rates[PASS] = _PASSES / CARDS_PASSED
    rates[PLAY] = _PLAYS / int(tables["options"]["hand_size"][0])
    rates[MOON] = 1.0
    noted = [tables[:0]]
    playing = _waiting(tables, np.arange(len(tables)))
    while len(playing):
        public = tables["public"]
        deviates = public["mover"][playing] == seats[playing]
        draws = rng.random((2, len(playing)))
        noted.append(tables[playing[deviates & (draws[0] < rates[public["phase"][playing]])]])
        observations, masks = seen_by_movers(tables, playing)
        actions = player.act(playing, observations, masks)
        anyhow = np.flatnonzero(deviates & (draws[1] < _EXPLORE))
        actions[anyhow] = (masks[anyhow] * (1 + rng.random((len(anyhow), NUM_ACTIONS)))).argmax(axis=1)
        step_some(tables, playing, actions)
        playing = _waiting(tables, playing)
    return np.concatenate(noted)


def deviation_values(
    decisions: Tables, masks: npt.NDArray[np.int8], frozen: Policy, keys: npt.NDArray[np.uint64]
) -> npt.NDArray[np.float32]:
    """Return what each allowed action brings the seat that decides, (N, 54), minus its points; NaN elsewhere.

    `keys` (N,) start the players' streams: all actions of a decision are played out with the same luck.
    """
    rows, actions = np.nonzero(masks)
    room, player = decisions[rows], _Player(frozen, keys[rows])
    step_some(room, np.arange(len(room)), actions)
    playing = _waiting(room, np.arange(len(room)))
    while len(playing):
        step_some(room, playing, player.act(playing, *seen_by_movers(room, playing)))
        playing = _waiting(room, playing)
    values = np.full(masks.shape, np.nan, np.float32)
    seats = decisions["public"]["mover"][rows]
    values[rows, actions] = -room["public"]["score_changes"][np.arange(len(room)), seats]
    return values


def _waiting(tables: Tables, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Take forced actions until somebody has a choice; return the places of the tables where that is so."""
    waits = np.zeros(len(places), np.bool_)
    _take_forced(tables, places, waits)
    return places[waits]


@kernel
def _take_forced(tables: Any, places: Any, waits: Any) -> None:
    stream = np.zeros(4, np.uint64)
    for number in range(places.shape[0]):
        table = tables[places[number]]
        while table.public.phase != OVER and num_choices(table) == 1:
            step_table(table, choose_any(table, stream))
        waits[number] = table.public.phase != OVER
