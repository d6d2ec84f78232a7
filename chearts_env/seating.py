"""Any policies in any seats: many tables played to their end together, each with a stream of its own for its players.

What a policy draws at a table depends on that table's key, the step and nothing else: a table is played alike whatever
is played beside it. This module knows policies by their protocol only, and no rule of the game; what is made of the
points is for its callers (`arena.py` plays duplicate matches).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from chearts_env.game import Game
from chearts_env.policy import Actions, Policy, chosen_actions, next_keys, sub_keys
from chearts_env.vector import VectorTables

_NOBODY: Final = -1


class Watch(Protocol):
    """Something that is told of every step of `play_seated`; it may look, and change nothing."""

    def before_step(self, tables: VectorTables, actions: Actions, playing: npt.NDArray[np.bool_]) -> None:
        """See the tables before `actions`, (T,), are taken; rows that `playing`, (T,), leaves out do not count."""
        ...

    def after_step(self, tables: VectorTables, playing: npt.NDArray[np.bool_]) -> None:
        """See the tables after the same step, with the same `playing`.

        Rows whose `terminations` or `truncations` are set have ended: `final_scores` are theirs, everything else that
        the tables show of them is already the next deal.
        """
        ...


@dataclass(frozen=True)
class Played:
    """What T tables brought; P policies sat at them."""

    points: npt.NDArray[np.int64]  # (T, n) final scores by seat: of single hands, their score changes
    hands: npt.NDArray[np.int64]  # (T,) hands played
    decisions: npt.NDArray[np.int64]  # (P,) made by each policy
    seconds: npt.NDArray[np.float64]  # (P,) it took for them


def table_keys(seed: int, stream: int, deals: range, num_tables: int) -> npt.NDArray[np.uint64]:
    """Return the keys of tables that lie deal by deal, `num_tables` for each, (D * num_tables,).

    A key depends on the seed, the stream, which keeps kinds of matches apart, and the numbers of deal and table.
    """
    base = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64).astype(np.uint64)
    return sub_keys(sub_keys(base, np.asarray(deals))[:, None], np.arange(num_tables)).ravel()


def play_seated(
    games: Sequence[Game],
    policies: Sequence[Policy],
    seats: npt.NDArray[Any],
    keys: npt.NDArray[np.uint64],
    *,
    names: Sequence[str] | None = None,
    watch: Watch | None = None,
) -> Played:
    """Play T games, all with n players, to their ends, and return what they brought. The games stay as they are.

    `seats`, (T, n), says by its place in `policies` who sits where; `keys`, (T,) uint64, start the players' streams,
    one for each table; the games bring the deals' own. `names` are what messages call the policies, their classes'
    names where they are not given. Raises IllegalActionError, naming policy, seat and action, for an action that a mask
    excludes, and ValueError for arguments that do not fit together.
    """
    num_players = _checked_seats(games, policies, seats, keys)
    tables = VectorTables.from_games(games)
    players = _Players(tables, policies, names or [type(policy).__name__ for policy in policies], seats)
    points = np.zeros((len(games), num_players), np.int64)
    hand_numbers = tables._tables["public"]["hand_number"]  # a view, which goes on with the tables
    hands = 1 - hand_numbers.astype(np.int64)
    has_next_hand = any(game.episode == "game" for game in games)
    last_numbers = hand_numbers.copy()
    playing = np.ones(len(games), np.bool_)
    while playing.any():
        keys = next_keys(keys)
        actions = players.choose(playing, keys)
        if has_next_hand:
            last_numbers = hand_numbers.copy()
        if watch:
            watch.before_step(tables, actions, playing)
        tables.step(actions)
        if watch:
            watch.after_step(tables, playing)
        over = playing & (tables.terminations | tables.truncations)
        points[over] = tables.final_scores[over, :num_players]
        hands[over] += last_numbers[over]
        playing = playing & ~over
    return Played(points, hands, players.decisions, players.seconds)


def _checked_seats(
    games: Sequence[Game], policies: Sequence[Policy], seats: npt.NDArray[Any], keys: npt.NDArray[np.uint64]
) -> int:
    """Return the number of players of every game; raise ValueError for arguments that do not fit together."""
    sizes = {game.num_players for game in games}
    if len(sizes) != 1:
        raise ValueError(f"games of {sorted(sizes)} players given: at least one game is needed, and all of one size")
    (num_players,) = sizes
    shape = (len(games), num_players)
    if seats.shape != shape or seats.dtype.kind not in "iu" or keys.shape != shape[:1] or keys.dtype != np.uint64:
        raise ValueError(
            f"seats= of shape {seats.shape} ({seats.dtype}) and keys= of shape {keys.shape} ({keys.dtype}): "
            f"whole numbers of shape {shape} and uint64 of shape {shape[:1]} are needed"
        )
    if seats.min() < 0 or seats.max() >= len(policies):
        raise ValueError(f"seats= holds {seats.min()} … {seats.max()}: places 0 … {len(policies) - 1} are needed")
    return num_players


class _Players:
    """The policies at their seats; counts what they decide and how long they take."""

    def __init__(
        self, tables: VectorTables, policies: Sequence[Policy], names: Sequence[str], seats: npt.NDArray[Any]
    ) -> None:
        self._tables = tables
        self._policies = list(zip(policies, names, strict=True))
        self._seats = seats
        self._rows = np.arange(len(tables))
        self.decisions = np.zeros(len(policies), np.int64)
        self.seconds = np.zeros(len(policies))

    def choose(self, playing: npt.NDArray[np.bool_], keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return an action for every table, (T,), given the keys of this step, (T,)."""
        tables = self._tables
        actions = np.zeros(len(tables), np.int64)
        # A table whose episode is over has been dealt a new one, for tables end at different steps: it is moved along
        # by any legal action, and no policy sees it.
        resting = np.flatnonzero(~playing)
        actions[resting] = tables.action_masks[resting].argmax(axis=1)
        acting = np.where(playing, self._seats[self._rows, tables.movers], _NOBODY)
        for number, (policy, name) in enumerate(self._policies):
            places = np.flatnonzero(acting == number)
            if len(places):
                began = time.perf_counter()
                actions[places] = chosen_actions(
                    policy, name, tables.observations[places], tables.action_masks[places], tables.movers[places],
                    keys[places],
                )  # fmt: skip
                self.seconds[number] += time.perf_counter() - began
                self.decisions[number] += len(places)
        return actions
