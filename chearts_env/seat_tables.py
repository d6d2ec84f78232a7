"""Tables at which one seat learns and given policies play the others, stepped from one of its decisions to the next.

Serves `single_seat`, which dresses it as Gymnasium environments. Unlike `VectorTables`, an episode that is over stays
on the table until it is begun anew, so that the learner can look at its end. Holds no rule of the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.batch import Reward, checked_reward, write_rewards
from chearts_env.compiled import kernel
from chearts_env.deal import begin_episode, next_seed
from chearts_env.engine import GOES_ON, HAND_SCORED, TERMINATED, TRUNCATED, step_table, write_mask
from chearts_env.game import Episode, checked_episode
from chearts_env.observation import OBSERVATION, OBSERVATION_SIZE, encode
from chearts_env.policy import (
    Policy,
    allowed_rows,
    as_table_policy,
    chosen_actions,
    next_keys,
    refuse_excluded,
    sub_keys,
)
from chearts_env.rules import MAX_PLAYERS, Rules
from chearts_env.table import MASK, NUM_ACTIONS, new_tables

#: Keep the draws of an episode apart from each other: who learns, and what the others draw.
_SEAT_STREAM: Final = 21
_PLAYER_STREAM: Final = 22

Rows = npt.NDArray[np.intp]


@kernel
def take_step(table: Any, action: int, row: int, seats: Any, reward: int, paid: Any, statuses: Any) -> None:
    """Take a legal action; write what `step_table` reports to `statuses[row]`, add the learner's pay to `paid[row]`."""
    status = step_table(table, action)
    statuses[row] = status
    if status != GOES_ON:
        pay = np.zeros(MAX_PLAYERS)
        write_rewards(table.options, table.public, status, reward, pay)
        paid[row] += pay[seats[row]]


@kernel
def _step_rows(tables: Any, rows: Any, actions: Any, seats: Any, reward: int, paid: Any, statuses: Any) -> None:
    for number in range(rows.shape[0]):
        row = rows[number]
        take_step(tables[row], actions[number], row, seats, reward, paid, statuses)


@kernel
def _begin_rows(tables: Any, rows: Any, is_given: bool, seeds: Any) -> None:
    """Start an episode at some tables, from `seeds[row]`, or from the next that follows, which is written there."""
    for number in range(rows.shape[0]):
        row = rows[number]
        if not is_given:
            stream = tables[row].hidden.stream
            seeds[row] = next_seed(stream)
        begin_episode(tables[row], seeds[row])


@kernel
def _show_rows(tables: Any, rows: Any, viewers: Any, places: Any, seen: Any, masks: Any) -> None:
    """Write what a seat of each of some tables sees to `places`; the mask is the mover's, all 1 once it is over."""
    for number in range(rows.shape[0]):
        table, viewer, place = tables[rows[number]], viewers[number], places[number]
        write_mask(table.options, table.public, table.private[viewer], masks[place])
        encode(table.options, table.public, table.private[viewer], viewer, seen[place])


class SeatTables:
    """B tables with a learning seat each; all arrays by table, written in place.

    `observations` (B, O) and `action_masks` (B, 54), both int8, are the learner's, the mask all 1 once an episode is
    over. `rewards` (B,) float64 is what it was paid since its last decision, `seats` (B,) where it sits.
    """

    def __init__(
        self,
        rules: Sequence[Rules],
        opponents: Sequence[Policy],
        *,
        seat: int | None,
        episode: Episode,
        reward: Reward,
        illegal_reward: float | None,
    ) -> None:
        """Make tables with nothing dealt; `illegal_reward` None has illegal actions refused."""
        count = len(rules)
        self._tables = new_tables(list(rules), checked_episode(episode))
        self._reward = checked_reward(reward)
        self._opponents = list(opponents)
        self._compiled = as_table_policy(self._opponents[0]) if len(self._opponents) == 1 else None
        self._seat = _checked_seat(seat, rules)
        self._illegal_reward = illegal_reward
        self.num_players = np.array([each.num_players for each in rules], np.int64)
        self.observations = np.zeros((count, OBSERVATION_SIZE), np.int8)
        self.action_masks = np.zeros((count, NUM_ACTIONS), np.int8)
        self._legal = self.action_masks.copy()  # the caller may write into the other
        self.seats = np.zeros(count, np.int64)
        self.rewards = np.zeros(count)
        self.seeds = np.zeros(count, np.uint64)
        self.was_illegal = np.zeros(count, np.bool_)
        self._statuses = np.full(count, TERMINATED, np.int64)
        self._half_played = np.zeros(count, np.bool_)  # an opponent failed there
        self._keys = np.zeros(count, np.uint64)
        self.every: Rows = np.arange(count)

    @property
    def terminations(self) -> npt.NDArray[np.bool_]:
        """Which episodes are over and were not cut short, (B,)."""
        ended: npt.NDArray[np.bool_] = self._statuses == TERMINATED
        return ended

    @property
    def truncations(self) -> npt.NDArray[np.bool_]:
        """Which episodes were cut short at `max_hands` (R25), (B,)."""
        cut: npt.NDArray[np.bool_] = self._statuses == TRUNCATED
        return cut

    def begin(self, rows: Rows, seeds: npt.NDArray[np.uint64] | None = None) -> None:
        """Deal some tables anew, from seeds, one for each of the rows, or from those that follow their last episodes.

        Play goes on to the learner's first decision.
        """
        if seeds is not None:
            self.seeds[rows] = seeds
        _begin_rows(self._tables, rows, seeds is not None, self.seeds)
        if self._seat is None:
            drawn = sub_keys(self.seeds[rows], np.array(_SEAT_STREAM))
            self.seats[rows] = (drawn % self.num_players[rows].astype(np.uint64)).astype(np.int64)
        else:
            self.seats[rows] = self._seat
        self._keys[rows] = sub_keys(self.seeds[rows], np.array(_PLAYER_STREAM))
        self._statuses[rows] = GOES_ON
        self._half_played[rows] = True
        self.was_illegal[rows] = False
        self.rewards[rows] = 0.0
        self._play_others(rows)
        self._show(rows)
        self._half_played[rows] = False

    def step(self, actions: npt.NDArray[np.integer[Any]], rows: Rows) -> None:
        """Act for the learner at some tables, whose episodes go on, and play on to its next decision.

        `actions` has one for each of the rows. An illegal one ends its episode at `illegal_reward`; where there is no
        such price, it raises IllegalActionError and no table is changed. Raises RuntimeError for a table at which an
        opponent has failed.
        """
        if self._half_played[rows].any():
            failed = int(rows[self._half_played[rows].argmax()])
            raise RuntimeError(f"an opponent failed at table {failed} and left it half played: call reset() first")
        allowed = allowed_rows(actions, self._legal[rows])
        if self._illegal_reward is None and not allowed.all():
            wrong = int(np.argmin(allowed))
            refuse_excluded(f"the learner of table {rows[wrong]}", actions, self._legal[rows], self.seats[rows])
        self.rewards[rows] = 0.0
        acting = rows[allowed]
        self._half_played[acting] = True
        self._take(acting, actions[allowed])
        self._play_others(acting)
        self._show(acting)
        self._half_played[acting] = False
        if len(acting) < len(rows):
            self._end_illegal(rows[~allowed])

    def _end_illegal(self, rows: Rows) -> None:
        self.rewards[rows] = self._illegal_reward
        self._statuses[rows] = TERMINATED
        self.was_illegal[rows] = True
        self.action_masks[rows] = 1

    def _take(self, rows: Rows, actions: npt.NDArray[np.integer[Any]]) -> None:
        given = actions.astype(np.int64)
        _step_rows(self._tables, rows, given, self.seats, self._reward, self.rewards, self._statuses)

    def _show(self, rows: Rows) -> None:
        seen, masks = self.observations.view(OBSERVATION)[:, 0], self.action_masks.view(MASK)[:, 0]
        _show_rows(self._tables, rows, self.seats[rows], rows, seen, masks)
        self._legal[rows] = self.action_masks[rows]

    def _play_others(self, rows: Rows) -> None:
        """Play on until every one of the rows waits for its learner or is over."""
        if self._compiled is not None:
            self._compiled.play_to_seats(self._tables, rows, self.seats, self._reward, self.rewards, self._statuses)
            return
        movers = self._tables["public"]["mover"]  # a view, which goes on with the tables
        while True:
            goes_on = self._statuses[rows] <= HAND_SCORED
            rows = rows[goes_on & (movers[rows] != self.seats[rows])]
            if not len(rows):
                return
            self._keys[rows] = next_keys(self._keys[rows])
            seats = movers[rows].astype(np.int64)
            seen, masks = np.zeros((len(rows), OBSERVATION_SIZE), np.int8), np.zeros((len(rows), NUM_ACTIONS), np.int8)
            views = seen.view(OBSERVATION)[:, 0], masks.view(MASK)[:, 0]
            _show_rows(self._tables, rows, seats, np.arange(len(rows)), *views)
            actions = np.zeros(len(rows), np.int64)
            # Dealt out to the seats from the learner's left on, again from the first where there are too few.
            numbers = (seats - self.seats[rows] - 1) % self.num_players[rows] % len(self._opponents)
            for number in np.unique(numbers):
                policy, mine = self._opponents[number], np.flatnonzero(numbers == number)
                actions[mine] = chosen_actions(
                    policy, type(policy).__name__, seen[mine], masks[mine], seats[mine], self._keys[rows[mine]]
                )
            self._take(rows, actions)


def _checked_seat(seat: int | None, rules: Sequence[Rules]) -> int | None:
    fewest = min(each.num_players for each in rules)
    if seat is None:
        return None
    if isinstance(seat, bool) or not isinstance(seat, int | np.integer) or not 0 <= seat < fewest:
        raise ValueError(f"seat={seat!r} is not allowed: it must be 0 … {fewest - 1}, or None to draw it each episode")
    return int(seat)
