"""Search with a network: it says which actions are worth a look, how good they seem, and plays on.

With a critic (`training.foresight`) a world is played on to the seat's next decision, where the critic, which sees all
hands of that world, says what is to be had; without one it is played out.

The worlds are those of `baselines.search`, weighed by whether the network would have laid the cards that lie on the
trick (`training.plausible_worlds`). In each every other seat is played by the network or by `careful`, as chance
has it: who sits there is not known either. Averages over worlds are drawn towards the network's own values. All rows of
a batch are searched together, so that the network is asked about thousands of tables at once.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.weights import new_weights
from baselines.likely_worlds import likely_worlds
from baselines.search import PRIOR_OF_PASS, PRIOR_OF_PLAY, drawn_together
from chearts_env.deal import seed_stream
from chearts_env.observation import field_values
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import MOON, PASS, Tables
from training.foresight import Foresight
from training.plausible_worlds import plausibilities
from training.players import CAREFUL, NETWORK
from training.playouts import finish_hands, step_some
from training.policy import ValuePolicy, num_allowed

#: Actions that the network holds to be worse than its choice by more than this many points are not looked at.
WORTH_A_LOOK: Final = 2.0
#: The standard deviation of the network's errors among the others, points.
SPREAD: Final = 0.5
#: The variance of a foreseen gain from world to world, points squared.
FORESEEN_VARIANCE: Final = 6.0
#: Share of the other seats that `careful` plays in the worlds.
_CAREFUL_SHARE: Final = 0.5
#: Tables that are played out at once.
_TABLES: Final = 16_384


class NetworkSearch:
    """Takes the action that does best on average over worlds in which the network goes on playing."""

    def __init__(self, policy: ValuePolicy, num_worlds: int, foresight: Foresight | None = None) -> None:
        """Draw `num_worlds` worlds a decision, and play them out, or as far as a foresight needs."""
        self._policy = policy
        self._foresight = foresight
        self._num_worlds = num_worlds
        self._weights = new_weights()
        self._judge = partial(plausibilities, policy=policy)

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,). Raises ValueError if a row allows none."""
        actions: npt.NDArray[np.int64] = action_masks.argmax(axis=1)
        draws = rng.random(len(action_masks))
        rows = np.flatnonzero((num_allowed(action_masks) > 1) & (field_values(observations, "phase")[:, MOON] == 0))
        moons = np.flatnonzero(field_values(observations, "phase")[:, MOON])
        if len(moons):  # both ways are worth the same relative points (R21)
            actions[moons] = self._policy.choose(observations[moons], action_masks[moons])
        if len(rows):
            points = self._policy.points(observations[rows], action_masks[rows]).astype(np.float64)
            looked_at = points > points.max(axis=1, keepdims=True) - WORTH_A_LOOK
            # No more rows at once than fill the tables.
            parts = np.cumsum(looked_at.sum(axis=1) * self._num_worlds) // _TABLES
            for part in np.unique(parts):
                here = parts == part
                chosen = self._best(observations[rows[here]], points[here], looked_at[here], draws[rows[here]])
                actions[rows[here]] = chosen
        return actions

    def _best(
        self,
        observations: npt.NDArray[np.int8],
        points: npt.NDArray[np.float64],
        looked_at: npt.NDArray[np.bool_],
        draws: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.int64]:
        """Return the best of the actions looked at, (N,); `draws` (N,) give each row its own chance."""
        best: npt.NDArray[np.int64] = points.argmax(axis=1)
        rows = np.flatnonzero(looked_at.sum(axis=1) > 1)
        if not len(rows):
            return best
        rooms: list[Tables] = []
        taken: list[npt.NDArray[Any]] = []
        players: list[npt.NDArray[np.int8]] = []
        seeds: list[npt.NDArray[np.uint64]] = []
        for row in rows:
            own = np.random.Generator(np.random.PCG64(int(draws[row] * 2**53)))
            worlds = likely_worlds(observations[row], own, self._num_worlds, self._weights, self._judge)
            legal = np.flatnonzero(looked_at[row])
            seats = np.where(own.random((self._num_worlds, MAX_PLAYERS)) < _CAREFUL_SHARE, CAREFUL, NETWORK)
            seats[:, 0] = NETWORK  # the seat that searches
            rooms.append(np.tile(worlds, len(legal)))
            taken.append(legal.repeat(self._num_worlds))
            players.append(np.tile(seats.astype(np.int8), (len(legal), 1)))
            seeds.append(np.tile(own.integers(0, 2**63, self._num_worlds, np.uint64), len(legal)))
        relative = self._played_out(np.concatenate(rooms), *map(np.concatenate, (taken, players, seeds)))
        start = 0
        for row in rows:
            legal = np.flatnonzero(looked_at[row])
            end = start + len(legal) * self._num_worlds
            outcomes = relative[start:end].reshape(len(legal), self._num_worlds)
            first = int(points[row, legal].argmax())
            gains, prior = outcomes - outcomes[first], points[row, legal] - points[row, legal[first]]
            values = drawn_together(gains, prior, SPREAD, self._usual_variance(observations[row]))
            best[row] = legal[values.argmax()]
            start = end
        return best

    def _usual_variance(self, observation: npt.NDArray[np.int8]) -> float:
        """Return the variance of a gain from world to world, points squared."""
        if self._foresight is not None:
            return FORESEEN_VARIANCE
        _, _, usual = PRIOR_OF_PASS if field_values(observation, "phase")[PASS] else PRIOR_OF_PLAY
        return usual

    def _played_out(
        self,
        room: Tables,
        actions: npt.NDArray[Any],
        players: npt.NDArray[np.int8],
        seeds: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.float64]:
        """Return what seat 0, the mover of every table, gets below the table's mean after an action, (N,) points."""
        room["options"]["single_hand"] = 1
        streams = np.zeros((len(room), 4), np.uint64)
        for stream, seed in zip(streams, seeds, strict=True):
            seed_stream(stream, seed)
        step_some(room, np.arange(len(room)), actions)
        foreseen = np.full(len(room), np.nan)
        if self._foresight is None:
            finish_hands(room, players, streams, self._policy.choose)
        else:
            movers = np.zeros(len(room), np.intp)
            foreseen = self._foresight.play_ahead(room, movers, players, streams, self._policy.choose)
        changes = room["public"]["score_changes"].astype(np.float64)
        relative: npt.NDArray[np.float64] = changes.sum(axis=1) / room["options"]["num_players"] - changes[:, 0]
        return np.where(np.isnan(foreseen), relative, foreseen)
