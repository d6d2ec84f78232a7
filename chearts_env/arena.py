"""Duplicate matches: one challenger against a field, the same deals played with and without it.

Every deal is played once by the field alone and once with the challenger in each seat. What the challenger saves in a
seat is the field's own points there minus its points there, on the same cards; the mean over a deal's seats is one
observation, and intervals come from the means of deals, because hands of one deal are not independent.

A swapped match puts the field's policy alone among challengers: each deal is played once by challengers alone and once
with the field's policy in each seat. What is saved in a seat is again the field's points there minus the challenger's,
so that a positive advantage means in both kinds of match that the challenger is the better one.

Deals and players draw from streams of their own: the deals of a match depend on its seed alone, and what a policy draws
in a hand on the seed, the deal and the lone seat, whatever else is played beside it. This module knows policies by
their protocol only, and no rule of the game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.game import Episode, Game
from chearts_env.policy import Policy, RowGenerator, mixed
from chearts_env.rules import Rules
from chearts_env.seating import Played, Watch, play_seated, table_keys

__all__ = [
    "NORMAL_95", "NUM_TABLES", "Match", "Played", "Policy", "RowGenerator", "Watch", "deal_seeds", "dealt_games",
    "joined", "mean_interval", "mixed", "moon_shooters", "play_deals", "play_match", "play_seated", "ratio_interval",
    "role_names",
]  # fmt: skip

#: Half the width of a 95 % interval in standard errors.
NORMAL_95: Final = 1.959964
#: Tables stepped together by default: enough for a network to be called in large batches.
NUM_TABLES: Final = 4096

# Not 0: NumPy's seed sequences pad with zeros, so that [seed, 0] would give the deals of `VectorTables(seed=seed)`, on
# which somebody may have trained.
_DEAL_STREAM: Final = 7
_PLAYER_STREAM: Final = 1
_BOOTSTRAP_STREAM: Final = 5
_NUM_RESAMPLES: Final = 1000


def deal_seeds(seed: int, num_deals: int) -> npt.NDArray[np.uint64]:
    """Return the seeds of a match's deals, (D,); a longer match begins with the deals of a shorter one."""
    return np.random.SeedSequence([seed, _DEAL_STREAM]).generate_state(num_deals, np.uint64).astype(np.uint64)


def dealt_games(rules: Rules, seed: int, deals: range, episode: Episode) -> list[Game]:
    """Return a match's deals by their numbers, each as a game that begins with it."""
    return [Game(rules, seed=int(each), episode=episode) for each in deal_seeds(seed, deals.stop)[deals.start :]]


def role_names(challenger: Policy, field: Policy) -> list[str]:
    """Return what messages call the two policies of a match."""
    return [f"{role} {type(policy).__name__}" for role, policy in (("challenger", challenger), ("field", field))]


@dataclass(frozen=True)
class Match:
    """What a match brought: D deals, each played by one policy alone and with the other in each of n seats.

    All points are score changes of one hand, moons settled (R20 to R22); low is good. The lone seat is the
    challenger's, and that of the field's policy in a swapped match.
    """

    rules: Rules
    seed: int
    alone_points: npt.NDArray[np.int64]  # (D, n) of the policy that has all seats but one, playing alone
    table_points: npt.NDArray[np.int64]  # (D, n, n) of all seats while the seat of the second axis is the lone one
    decisions: int  # made by the challenger
    challenger_seconds: float  # the challenger took for them
    swapped: bool = False

    @property
    def num_deals(self) -> int:
        """Deals played."""
        return len(self.field_points)

    @property
    def num_hands(self) -> int:
        """Hands played by both policies: one with each seat as the lone one, of each deal."""
        return self.num_deals * self.rules.num_players

    @property
    def challenger_points(self) -> npt.NDArray[np.int64]:
        """Points of the challenger, by deal and seat, (D, n): in the lone seat, or alone in a swapped match."""
        return self.alone_points if self.swapped else self._lone_points

    @property
    def field_points(self) -> npt.NDArray[np.int64]:
        """Points of the field's policy in the same seats on the same deals, (D, n)."""
        return self._lone_points if self.swapped else self.alone_points

    @property
    def _lone_points(self) -> npt.NDArray[np.int64]:
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
        """Share of its hands at mixed tables in which a challenger had the fewest points; a tie counts by its share."""
        return float(self._won.mean())

    @property
    def share_won95(self) -> tuple[float, float]:
        """The 95 % interval of `share_won`, by bootstrap over deals; so are the next ones."""
        return self._share_interval(self._won)

    @property
    def moons_made(self) -> float:
        """Share of its hands at mixed tables in which a challenger shot the moon (R21)."""
        return float(self._moons_made.mean())

    @property
    def moons_made95(self) -> tuple[float, float]:
        """The 95 % interval of `moons_made`."""
        return self._share_interval(self._moons_made)

    @property
    def moons_suffered(self) -> float:
        """Share of its hands at mixed tables in which a seat other than the challenger's did."""
        return float(self._moons_suffered.mean())

    @property
    def moons_suffered95(self) -> tuple[float, float]:
        """The 95 % interval of `moons_suffered`."""
        return self._share_interval(self._moons_suffered)

    @property
    def _won(self) -> npt.NDArray[np.float64]:
        lowest = self.table_points == self.table_points.min(axis=2, keepdims=True)
        return self._of_challenger(lowest / lowest.sum(axis=2, keepdims=True))

    @property
    def _moons_made(self) -> npt.NDArray[np.float64]:
        return self._of_challenger(moon_shooters(self.rules, self.table_points))

    @property
    def _moons_suffered(self) -> npt.NDArray[np.float64]:
        shot = moon_shooters(self.rules, self.table_points)
        return self._of_challenger(shot.any(axis=2, keepdims=True) & ~shot)

    def _of_challenger(self, shares: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the mean over the challenger's seats on each deal, (D,), of what all seats have, (D, n, n)."""
        is_lone = np.eye(self.rules.num_players, dtype=np.bool_)
        means: npt.NDArray[np.float64] = shares[:, ~is_lone if self.swapped else is_lone].mean(axis=1)
        return means

    def _share_interval(self, shares: npt.NDArray[np.float64]) -> tuple[float, float]:
        return ratio_interval(shares, np.ones(len(shares)), self.seed)

    @property
    def microseconds_per_decision(self) -> float:
        """Time the challenger took for one decision."""
        return 1e6 * self.challenger_seconds / self.decisions


def mean_interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent values, (D,), by the normal distribution."""
    half = NORMAL_95 * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def ratio_interval(numerators: npt.NDArray[Any], denominators: npt.NDArray[Any], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of sum(numerators) / sum(denominators), both (D,), by bootstrap over independent deals.

    The middle 95 % of what deals drawn again give; the draws depend on `seed` only. What never happened has the
    interval 0 … 0, though it may be as frequent as 3 in D.
    """
    rng = np.random.default_rng([seed, _BOOTSTRAP_STREAM])
    num_deals = len(numerators)
    ratios = np.empty(_NUM_RESAMPLES)
    for number in range(_NUM_RESAMPLES):
        drawn = rng.integers(0, num_deals, num_deals)
        ratios[number] = numerators[drawn].sum() / denominators[drawn].sum()
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


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
    swapped: bool = False,
    num_tables: int = NUM_TABLES,
    on_deals: Callable[[int], object] = lambda num_deals: None,
    watch: Watch | None = None,
) -> Match:
    """Play a match over `num_deals` deals, at least two, and return its `Match`.

    `swapped` puts the field's policy alone among challengers. About `num_tables` tables are stepped together; how many
    does not change the result of policies whose answer for a row does not depend on the other rows. `on_deals` is told
    after each batch how many more deals are finished, `watch` of every step. Raises IllegalActionError, naming policy,
    seat and action, for an action that a mask excludes.
    """
    if num_deals < 2:
        raise ValueError(f"num_deals={num_deals} is not allowed: an interval needs at least 2 deals")
    deals_at_once = max(1, num_tables // (rules.num_players + 1))
    parts = []
    for start in range(0, num_deals, deals_at_once):
        deals = range(start, min(start + deals_at_once, num_deals))
        parts.append(play_deals(challenger, field, rules, deals, seed, swapped=swapped, watch=watch))
        on_deals(len(deals))
    return joined(parts)


def play_deals(
    challenger: Policy,
    field: Policy,
    rules: Rules,
    deals: range,
    seed: int = 0,
    *,
    swapped: bool = False,
    watch: Watch | None = None,
) -> Match:
    """Play some deals of a match, by their numbers, all at once; `joined` puts the parts of a match together.

    The tables lie deal by deal, n + 1 for each: with the lone policy in seat 0 … n - 1, and last without it.
    """
    n = rules.num_players
    games = dealt_games(rules, seed, deals, "hand")
    is_lone = np.tile(np.eye(n + 1, n, dtype=np.bool_), (len(games), 1))
    keys = table_keys(seed, _PLAYER_STREAM, deals, n + 1)
    tables = [game for game in games for _ in range(n + 1)]
    # The challenger is policy 0 and the field's policy 1: the lone seats are the one's or the other's.
    seats = (is_lone == swapped).astype(np.int64)
    played = play_seated(tables, [challenger, field], seats, keys, names=role_names(challenger, field), watch=watch)
    points = played.points.reshape(len(games), n + 1, n)
    decisions, seconds = int(played.decisions[0]), float(played.seconds[0])
    return Match(rules, seed, points[:, -1], points[:, :-1], decisions, seconds, swapped)


def joined(parts: Sequence[Match]) -> Match:
    """Return one match made of parts of one, their deals in the order given."""
    return replace(
        parts[0],
        alone_points=np.concatenate([part.alone_points for part in parts]),
        table_points=np.concatenate([part.table_points for part in parts]),
        decisions=sum(part.decisions for part in parts),
        challenger_seconds=sum(part.challenger_seconds for part in parts),
    )
