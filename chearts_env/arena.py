"""Duplicate matches: one challenger against a field, the same deals played with and without it.

Every deal is played once by the field alone and once with the challenger in each seat. What the challenger saves in a
seat is the field's own points there minus its points there, on the same cards; the mean over a deal's seats is one
observation, and intervals come from the means of deals, because hands of one deal are not independent.

Deals and players draw from streams of their own: the deals of a match depend on its seed alone, and what a policy draws
in a hand on the seed, the deal and the challenger's seat, whatever else is played beside it. This module knows policies
by their protocol only, and no rule of the game.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from chearts_env.game import Game, IllegalActionError, action_to_text
from chearts_env.rules import Rules
from chearts_env.table import NUM_ACTIONS
from chearts_env.vector import VectorTables

#: Half the width of a 95 % interval in standard errors.
NORMAL_95: Final = 1.959964
#: Tables stepped together by default: enough for a network to be called in large batches.
NUM_TABLES: Final = 4096

_DEAL_STREAM: Final = 0
_PLAYER_STREAM: Final = 1
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)

Actions = npt.NDArray[np.integer[Any]]


class Policy(Protocol):
    """Anything that chooses actions from what seats see and may do."""

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> Actions:
        """Return one allowed action for each row, (N,), given (N, O) observations and (N, 54) masks.

        Chance comes from `rng` only. Rows are seats of different hands: nothing may be remembered from call to call.
        """
        ...


class RowGenerator(np.random.Generator):
    """The generator that a policy is handed: row i of what `random` draws comes from row i's own stream.

    So a hand is played alike whatever hands are played beside it. That holds for `random(N)` and `random((N, ...))`
    with N the number of rows; other methods work, from a stream that all rows of the call share.
    """

    def __init__(self, keys: npt.NDArray[np.uint64]) -> None:
        """Start one stream for each key, (N,) uint64."""
        super().__init__(np.random.PCG64(int(keys[0]) if len(keys) else 0))
        self._keys = keys
        self._num_drawn = 0

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return uniform numbers in [0, 1), as `numpy.random.Generator.random` does."""
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        if not shape or shape[0] != len(self._keys) or out is not None:
            return super().random(size, dtype, out)
        width = int(np.prod(shape[1:]))
        places = np.arange(self._num_drawn, self._num_drawn + width, dtype=np.uint64)
        self._num_drawn += width
        words = mixed(self._keys[:, None] + (places + np.uint64(1)) * _GOLDEN)
        return ((words >> np.uint64(11)) * 2.0**-53).astype(dtype).reshape(shape)


def mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64-bit words scrambled one by one (the finaliser of SplitMix64): neighbours give unrelated words."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def deal_seeds(seed: int, num_deals: int) -> npt.NDArray[np.uint64]:
    """Return the seeds of a match's deals, (D,); a longer match begins with the deals of a shorter one."""
    return np.random.SeedSequence([seed, _DEAL_STREAM]).generate_state(num_deals, np.uint64).astype(np.uint64)


@dataclass(frozen=True)
class Match:
    """What a match brought: D deals, each played by the field alone and with the challenger in each of n seats.

    All points are score changes of one hand, moons settled (R20 to R22); low is good.
    """

    rules: Rules
    seed: int
    field_points: npt.NDArray[np.int64]  # (D, n) of the field alone
    table_points: npt.NDArray[np.int64]  # (D, n, n) of all seats while the challenger has the seat of the second axis
    decisions: int  # made by the challenger
    challenger_seconds: float  # the challenger took for them

    @property
    def num_deals(self) -> int:
        """Deals played."""
        return len(self.field_points)

    @property
    def num_hands(self) -> int:
        """Hands the challenger played: one in each seat of each deal."""
        return self.num_deals * self.rules.num_players

    @property
    def challenger_points(self) -> npt.NDArray[np.int64]:
        """Points of the challenger, by deal and the seat it had, (D, n)."""
        return np.diagonal(self.table_points, axis1=1, axis2=2)

    @property
    def saved(self) -> npt.NDArray[np.float64]:
        """Points saved per hand on each deal, (D,): the field's points minus the challenger's in the same seat."""
        saved: npt.NDArray[np.float64] = (self.field_points - self.challenger_points).mean(axis=1)
        return saved

    @property
    def advantage(self) -> float:
        """Points saved per hand; positive is good."""
        return float(self.saved.mean())

    @property
    def interval95(self) -> tuple[float, float]:
        """The 95 % interval of `advantage`."""
        return mean_interval(self.saved)

    @property
    def points_challenger(self) -> float:
        """Points per hand of the challenger."""
        return float(self.challenger_points.mean())

    @property
    def points_field(self) -> float:
        """Points per hand of the field's own policy in the same seats on the same deals."""
        return float(self.field_points.mean())

    @property
    def share_won(self) -> float:
        """Share of its hands in which the challenger had the fewest points; a tie counts by its share."""
        lowest = self.table_points == self.table_points.min(axis=2, keepdims=True)
        won = np.diagonal(lowest, axis1=1, axis2=2) / lowest.sum(axis=2)
        return float(won.mean())

    @property
    def moons_made(self) -> float:
        """Share of its hands in which the challenger shot the moon (R21)."""
        return float(np.diagonal(moon_shooters(self.rules, self.table_points), axis1=1, axis2=2).mean())

    @property
    def moons_suffered(self) -> float:
        """Share of its hands in which another seat did."""
        return float(moon_shooters(self.rules, self.table_points).any(axis=2).mean()) - self.moons_made

    @property
    def microseconds_per_decision(self) -> float:
        """Time the challenger took for one decision."""
        return 1e6 * self.challenger_seconds / self.decisions


def mean_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent values, (D,), by the normal distribution."""
    half = NORMAL_95 * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def moon_shooters(rules: Rules, points: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which seats shot the moon in scored hands, same shape (..., n) as the points.

    Read from the points alone: a subtracted moon leaves one seat below zero; an added one leaves all others with
    `moon_points`; with `moon="off"` one seat has all 52.
    """
    added = (points == rules.moon_points).sum(axis=-1, keepdims=True) == rules.num_players - 1
    shot: npt.NDArray[np.bool_] = (points < 0) | (added & (points == 0)) | (points == 52) & (rules.moon == "off")
    return shot


def play_match(
    challenger: Policy,
    field: Policy,
    rules: Rules,
    num_deals: int,
    seed: int = 0,
    *,
    num_tables: int = NUM_TABLES,
    on_deals: Callable[[int], object] = lambda num_deals: None,
) -> Match:
    """Play a match over `num_deals` deals, at least two, and return its `Match`.

    About `num_tables` tables are stepped together; the number does not change the result of policies whose answer for a
    row does not depend on the other rows. `on_deals` is told after each batch how many more deals are finished. Raises
    IllegalActionError, naming policy, seat and action, for an action that a mask excludes.
    """
    if num_deals < 2:
        raise ValueError(f"num_deals={num_deals} is not allowed: an interval needs at least 2 deals")
    seeds = deal_seeds(seed, num_deals)
    deals_at_once = max(1, num_tables // (rules.num_players + 1))
    field_points, table_points, decisions, seconds = [], [], 0, 0.0
    for start in range(0, num_deals, deals_at_once):
        stretch = slice(start, min(start + deals_at_once, num_deals))
        hands = _Hands(rules, seeds[stretch], np.arange(stretch.start, stretch.stop, dtype=np.uint64), seed)
        points = hands.play(challenger, field)
        table_points.append(points[:, :-1])
        field_points.append(points[:, -1])
        decisions += hands.decisions
        seconds += hands.challenger_seconds
        on_deals(stretch.stop - stretch.start)
    return Match(rules, seed, np.concatenate(field_points), np.concatenate(table_points), decisions, seconds)


class _Hands:
    """D deals times n + 1 tables: the challenger in seat 0 … n - 1, and last the field alone."""

    def __init__(self, rules: Rules, seeds: Sequence[Any] | npt.NDArray[np.uint64], deals: Any, seed: int) -> None:
        num_players = rules.num_players
        self._shape = (len(seeds), num_players + 1)
        games = [Game(rules, seed=int(each), episode="hand") for each in seeds]
        self._tables = VectorTables.from_games([game for game in games for _ in range(num_players + 1)])
        self._challenger_seats = np.tile(np.arange(num_players + 1), len(seeds))  # seat n exists at no table
        base = np.random.SeedSequence([seed, _PLAYER_STREAM]).generate_state(1, np.uint64)
        keys = mixed(base + deals * _GOLDEN)
        self._keys = mixed(np.repeat(keys, num_players + 1) + self._challenger_seats.astype(np.uint64) * _GOLDEN)
        self.decisions = 0
        self.challenger_seconds = 0.0

    def play(self, challenger: Policy, field: Policy) -> npt.NDArray[np.int64]:
        """Play all hands to their end; return the points of every seat, (D, n + 1, n)."""
        tables = self._tables
        num_players = self._shape[1] - 1
        points = np.zeros((len(tables), num_players), np.int64)
        playing = np.ones(len(tables), np.bool_)
        for step_keys in self._keys_of_steps():
            # A table whose hand is over has been dealt a new one (R21's extra decision makes hands end at two
            # different steps): it is moved along by any legal action, and no policy sees it.
            actions = tables.action_masks.argmax(axis=1)
            mine = tables.movers == self._challenger_seats
            began = time.perf_counter()
            self._act(challenger, "challenger", playing & mine, step_keys, actions)
            self.challenger_seconds += time.perf_counter() - began
            self.decisions += int((playing & mine).sum())
            self._act(field, "field", playing & ~mine, step_keys, actions)
            tables.step(actions)
            over = playing & tables.terminations
            points[over] = tables.final_scores[over, :num_players]
            playing &= ~over
            if not playing.any():
                break
        return points.reshape(*self._shape, num_players)

    def _keys_of_steps(self) -> Iterator[npt.NDArray[np.uint64]]:
        keys = self._keys
        while True:
            keys = mixed(keys + _GOLDEN)
            yield keys

    def _act(self, policy: Policy, role: str, rows: Any, keys: npt.NDArray[np.uint64], actions: Actions) -> None:
        """Write a policy's choices for some rows into `actions`."""
        places = np.flatnonzero(rows)
        if not len(places):
            return
        masks = self._tables.action_masks[places]
        chosen = np.asarray(policy.act(self._tables.observations[places], masks, RowGenerator(keys[places])))
        who = f"{role} {type(policy).__name__}"
        if chosen.shape != places.shape or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"{who} returned {chosen.dtype} of shape {chosen.shape}; whole numbers of shape {places.shape} needed"
            )
        allowed = (chosen >= 0) & (chosen < NUM_ACTIONS)
        allowed &= masks[np.arange(len(places)), np.where(allowed, chosen, 0)] == 1
        if not allowed.all():
            wrong = int(np.argmin(allowed))
            raise IllegalActionError(
                _why_refused(who, int(self._tables.movers[places[wrong]]), int(chosen[wrong]), masks[wrong])
            )
        actions[places] = chosen


def _why_refused(who: str, seat: int, action: int, mask: npt.NDArray[np.int8]) -> str:
    name = f"{action} ({action_to_text(action)})" if 0 <= action < NUM_ACTIONS else f"{action}"
    legal = " ".join(action_to_text(int(each)) for each in np.flatnonzero(mask))
    return f"{who} in seat {seat} chose action {name}, which its mask excludes; legal: {legal}"
