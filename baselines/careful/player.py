"""`Careful`: the rule player as a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from baselines.careful.choose import choose_carefully, forced_action
from baselines.careful.explain import Reason, explain
from baselines.careful.facts import FACTS
from baselines.careful.judgements import costs_of
from baselines.careful.play import ITEM
from baselines.careful.playout import ROOM, choose_at
from baselines.careful.weights import tuned_weights
from chearts_env.compiled import kernel
from chearts_env.engine import HAND_SCORED
from chearts_env.observation import OBSERVATION
from chearts_env.seat_tables import take_step


class Careful:
    """Takes the legal action of the lowest expected cost; deterministic, and without memory."""

    def __init__(self, weights: np.record | None = None) -> None:
        """Play by the tuned constants, or by others, a record of dtype `WEIGHTS`."""
        self._weights = tuned_weights() if weights is None else weights

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        actions = np.empty(len(action_masks), np.int64)
        seen = np.ascontiguousarray(observations, np.int8).view(OBSERVATION)[:, 0]
        _choose_all(
            seen,
            np.ascontiguousarray(action_masks),
            self._weights,
            np.zeros(1, FACTS)[0],
            np.zeros(1, ITEM)[0],
            actions,
        )
        return actions

    def points(self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
        """Return what each action is held to be worth, (N, 54) points: minus its cost, minus infinity where illegal."""
        costs = costs_of(observations, action_masks, self._weights.reshape(1))
        return np.where(action_masks, -costs, -np.inf)

    def play_to_seats(self, tables: Any, rows: Any, seats: Any, reward: int, paid: Any, statuses: Any) -> None:
        """Play tables on to a seat's next decision, as `chearts_env.policy.TablePolicy` says, in compiled code."""
        _play_to_seats(tables, rows, seats, reward, paid, statuses, self._weights, np.zeros(1, ROOM)[0])

    def explain(self, observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8]) -> list[Reason]:
        """Return each legal action of one observation, (O,), with its cost and why, the one that is played first."""
        return explain(observation, action_mask, self._weights)


@kernel
def _choose_all(seen: Any, masks: Any, weights: Any, facts: Any, item: Any, actions: Any) -> None:
    for row in range(masks.shape[0]):
        forced = forced_action(masks[row])  # it need not be looked at
        actions[row] = choose_carefully(seen[row], masks[row], weights, facts, item) if forced < 0 else forced


@kernel
def _play_to_seats(
    tables: Any, rows: Any, seats: Any, reward: int, paid: Any, statuses: Any, weights: Any, room: Any
) -> None:
    for number in range(rows.shape[0]):
        row = rows[number]
        table = tables[row]
        while statuses[row] <= HAND_SCORED and table.public.mover != seats[row]:
            take_step(table, choose_at(table, weights, room), row, seats, reward, paid, statuses)
