"""Hands played for self-play: who sits where, and what the learning policy saw and did."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from baselines.careful import Careful
from chearts_env.arena import Policy
from chearts_env.rules import MAX_PLAYERS, Rules
from chearts_env.vector import VectorTables
from training.config import PpoConfig
from training.workers import SharedPlayer, network_policy

#: The chance that another seat is `careful` at its tables, at least and at most.
_LEAST_CAREFUL: Final = 0.3
_MOST_CAREFUL: Final = 0.95
#: Who plays a seat: the learning policy, or a place in the list of opponents counted from 1.
LEARNER: Final = 0


@dataclass(frozen=True)
class Rollout:
    """Decisions of the learning policy that were no forced moves, in the order of time, and what the hands brought."""

    observations: npt.NDArray[np.int8]  # (N, O)
    masks: npt.NDArray[np.int8]  # (N, 54)
    hands: npt.NDArray[np.int8]  # (N, 11, 52), all hands relative to the mover: for the critic
    actions: npt.NDArray[np.int64]  # (N,)
    places: npt.NDArray[np.int64]  # (N,) the hand
    seats: npt.NDArray[np.int64]  # (N,)
    rewards: npt.NDArray[np.float32]  # (B, 11) points below the table's mean; they sum to zero
    num_steps: int  # actions of all seats, forced ones and opponents' included
    seconds: float  # that playing took
    seconds_choosing: float  # ... of which players were asked for actions

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.actions)

    def part(self, first: int, step: int) -> Rollout:
        """Return every so many-th decision from the first on; hands and what they brought stay as they are."""
        rows = slice(first, None, step)
        parts = {name: getattr(self, name)[rows] for name in _BY_DECISION}
        return replace(self, **parts)


_BY_DECISION: Final = ("observations", "masks", "hands", "actions", "places", "seats")


def joined(parts: Sequence[Rollout]) -> Rollout:
    """Return pieces as one, the hands of each after those of the one before."""
    before = np.cumsum([0, *(len(part.rewards) for part in parts)])
    moved = [replace(part, places=part.places + first) for part, first in zip(parts, before, strict=False)]
    arrays = {name: np.concatenate([getattr(part, name) for part in moved]) for name in (*_BY_DECISION, "rewards")}
    return Rollout(
        **arrays,
        num_steps=sum(part.num_steps for part in parts),
        seconds=sum(part.seconds for part in parts),
        seconds_choosing=sum(part.seconds_choosing for part in parts),
    )


class SelfPlayTables:
    """Tables at which hands are played from the deal to the end, as many at once as there are rules."""

    def __init__(self, rules: Sequence[Rules]) -> None:
        self._tables = VectorTables(list(rules), len(rules), seed=0, episode="hand", reward="relative")
        self.num_players = self._tables.num_players.astype(np.int64)

    def play(
        self,
        learner: Policy,
        opponents: Sequence[Policy],
        players: npt.NDArray[np.integer],
        seed: int,
        rng: np.random.Generator,
    ) -> Rollout:
        """Deal every table anew, play one hand at each and return what the learner did.

        `players` (B, 11) says who plays each seat for the whole hand.
        """
        tables = self._tables
        began, seconds_choosing = time.perf_counter(), 0.0
        tables.reset(seed=seed)
        every = np.arange(len(tables))
        rewards = np.zeros((len(tables), MAX_PLAYERS), np.float32)
        goes_on = np.ones(len(tables), np.bool_)
        noted: list[tuple[npt.NDArray[np.integer], ...]] = []
        num_steps = 0
        while goes_on.any():
            seats = tables.movers.astype(np.int64)
            masks = tables.action_masks
            actions: npt.NDArray[np.int64] = masks.argmax(axis=1)  # of forced moves, and where the hand is over
            chooses = goes_on & (masks.sum(axis=1) > 1)
            who = players[every, seats]
            for player in np.unique(who[chooses]):
                rows = np.flatnonzero(chooses & (who == player))
                policy = learner if player == LEARNER else opponents[player - 1]
                seen, allowed = tables.observations[rows], masks[rows]
                asked = time.perf_counter()
                actions[rows] = policy.act(seen, allowed, rng)
                seconds_choosing += time.perf_counter() - asked
                if player == LEARNER:
                    noted.append((seen, allowed, tables.hidden_hands()[rows], actions[rows], rows, seats[rows]))
            tables.step(actions)
            num_steps += int(goes_on.sum())
            ends = goes_on & tables.terminations
            rewards[ends] = tables.rewards[ends]
            goes_on &= ~ends
        observations, masks, hands, actions, places, of_seats = (
            np.concatenate(part) for part in zip(*noted, strict=True)
        )
        seconds = time.perf_counter() - began
        return Rollout(
            observations, masks, hands, actions, places, of_seats, rewards, num_steps, seconds, seconds_choosing
        )


def draw_players(
    rng: np.random.Generator, num_players: npt.NDArray[np.int64], settings: PpoConfig, num_snapshots: int
) -> npt.NDArray[np.int64]:
    """Return who plays each seat for a hand, (B, 11): the learner, 1 = `careful`, from 2 on the snapshots.

    `settings` has the shares of tables. At those of `careful` each other seat is that rule player with a chance drawn
    for the table, at those of snapshots each other seat is one of them with a chance of one half; at the rest the
    learner plays itself. One seat of every table at least is the learner's.
    """
    count = len(num_players)
    kind = rng.random((count, 1))
    seats = rng.random((count, MAX_PLAYERS))
    players = np.full((count, MAX_PLAYERS), LEARNER, np.int64)
    chance = _LEAST_CAREFUL + (_MOST_CAREFUL - _LEAST_CAREFUL) * rng.random((count, 1))
    players[(kind < settings.careful) & (seats < chance)] = 1
    if num_snapshots:
        drawn = rng.integers(2, 2 + num_snapshots, players.shape)
        is_old = (kind >= settings.careful) & (kind < settings.careful + settings.snapshots) & (seats < 0.5)
        players[is_old] = drawn[is_old]
    players[np.arange(count), rng.integers(0, num_players)] = LEARNER
    return players


@dataclass(frozen=True)
class RolloutWork:
    """Play one piece of an iteration's hands; `seed` is where its chance comes from, and nowhere else."""

    rules: tuple[Rules, ...]
    players: npt.NDArray[np.int64]  # (B, 11), as `draw_players` has them
    learner: SharedPlayer
    snapshots: tuple[SharedPlayer, ...]
    seed: tuple[int, ...]

    def __call__(self) -> Rollout:
        """Do it."""
        rng = np.random.default_rng(self.seed)
        opponents: list[Policy] = [Careful(), *map(network_policy, self.snapshots)]
        tables, seed = _tables(self.rules), int(rng.integers(2**63))
        return tables.play(network_policy(self.learner), opponents, self.players, seed, rng)


@lru_cache(maxsize=4)
def _tables(rules: tuple[Rules, ...]) -> SelfPlayTables:
    return SelfPlayTables(rules)
