"""What mixed tables say about policies: an additive model, head-to-head differences, and cycles among them.

The deal is the unit throughout. Points at one table nearly add up to a constant and the tables of one deal share its
cards, so hands are not independent, but deals are: every number here comes with its *influences*, what each deal adds
to it, and its error is read from how they scatter (the sandwich estimator with deals as clusters). That holds whatever
the points of a deal have to do with one another. Knows arrays only, neither policies nor rules.

Letters: D deals, T tables of each, n seats, P policies.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import NORMAL_95

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

#: Errors below this, in points, are rounding: what differs by less than that does not differ.
_ROUNDING: Final = 1e-9
#: Singular values below this share of the largest are zero.
_SINGULAR: Final = 1e-10


@dataclass(frozen=True)
class Estimates:
    """Numbers estimated from D deals; not a number where the deals say nothing."""

    values: Floats  # (...)
    influences: Floats  # (D, ...), add up to zero over the deals

    @property
    def errors(self) -> Floats:
        """Standard errors, same shape as the values."""
        num_deals = len(self.influences)
        errors: Floats = np.sqrt((self.influences**2).sum(axis=0) * num_deals / (num_deals - 1))
        return errors

    @property
    def intervals95(self) -> Floats:
        """Ends of the 95 % intervals, (..., 2), by Student's distribution with D - 1 degrees of freedom."""
        half = self.errors * student_of_normal(NORMAL_95, len(self.influences) - 1)
        return np.stack([self.values - half, self.values + half], axis=-1)

    @property
    def p_values(self) -> Floats:
        """Two-sided probabilities of a value this far from zero by chance, same shape as the values."""
        ratios = self.values / np.maximum(self.errors, _ROUNDING)
        p_values: Floats = _two_sided(normal_of_student(ratios, len(self.influences) - 1))
        return p_values

    def differences(self) -> Estimates:
        """Return each of P values minus each, (P, P): row minus column."""
        values, influences = self.values, self.influences
        return Estimates(values[:, None] - values, influences[:, :, None] - influences[:, None, :])


@dataclass(frozen=True)
class Additive:
    """Points of a hand as a mean plus what policy, place and deal add to it."""

    mean: float
    policies: Estimates  # (P,), add up to zero: points per hand relative to the pool
    places: Floats  # (n,), add up to zero


_two_sided = np.vectorize(lambda normal: math.erfc(abs(normal) / math.sqrt(2)), otypes=[np.float64])


def normal_of_student(ratio: Any, freedom: int) -> Any:
    """Return the standard normal quantile of equal probability, by Wallace's formula: 1 % too low at 3 degrees."""
    return np.copysign(
        (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(np.square(ratio) / freedom)), ratio
    )


def student_of_normal(normal: float, freedom: int) -> float:
    """Return the inverse of `normal_of_student`."""
    scaled = normal * (8 * freedom + 3) / (8 * freedom + 1)
    return math.copysign(math.sqrt(freedom * math.expm1(scaled**2 / freedom)), normal)


def fit_additive(points: npt.NDArray[Any], policies: Whole, places: Whole, num_policies: int) -> Additive:
    """Fit points, (D, T, n), by least squares on policy and place, (D, T, n), and on the deal.

    Of the solutions, which constants moved between the parts tell apart, the smallest is taken (the limit of a
    vanishing ridge): policies and places each add up to zero. Raises ValueError if there are fewer than two deals, or
    if the tables leave policies or places unconnected, so that no difference between them could be known.
    """
    num_deals, num_players = len(points), points.shape[2]
    if num_deals < 2:
        raise ValueError(f"{num_deals} deals given: an interval needs at least 2")
    places = np.broadcast_to(places, points.shape)
    centred = points - points.mean(axis=(1, 2), keepdims=True)
    counts = np.hstack([_sums(policies, num_policies), _sums(places, num_players)])  # (D, P + n)
    right = np.hstack([_sums(policies, num_policies, centred), _sums(places, num_players, centred)])
    normal = _indicator_products(policies, places, num_policies) - counts.T @ counts / points[0].size
    inverse = np.linalg.pinv(normal, rcond=_SINGULAR, hermitian=True)
    if np.linalg.matrix_rank(normal, tol=_SINGULAR * np.abs(normal).max(), hermitian=True) < len(normal) - 2:
        raise ValueError("some policies or places have no table in common with the others: they cannot be compared")
    effects = inverse @ right.sum(axis=0)
    rest = centred - effects[policies] - effects[num_policies + places]
    rest -= rest.mean(axis=(1, 2), keepdims=True)
    scores = np.hstack([_sums(policies, num_policies, rest), _sums(places, num_players, rest)])
    influences = scores @ inverse
    return Additive(
        float(points.mean() - effects[policies].mean() - effects[num_policies + places].mean()),
        Estimates(effects[:num_policies], influences[:, :num_policies]),
        effects[num_policies:],
    )


def _sums(groups: Whole, num_groups: int, values: npt.NDArray[Any] | None = None) -> Floats:
    """Return each deal's sum of values, (D, T, n), or count of hands, by group: (D, G)."""
    keys = groups + num_groups * np.arange(len(groups))[:, None, None]
    weights = None if values is None else np.asarray(values, np.float64).ravel()
    return np.bincount(keys.ravel(), weights, len(groups) * num_groups).reshape(len(groups), num_groups).astype(float)


def _indicator_products(policies: Whole, places: Whole, num_policies: int) -> Floats:
    """Return how many hands have this policy or place and that one, (P + n, P + n)."""
    num_players = policies.shape[2]
    cross = np.bincount((policies * num_players + places).ravel(), minlength=num_policies * num_players)
    cross = cross.reshape(num_policies, num_players)
    return np.block([[np.diag(cross.sum(axis=1)), cross], [cross.T, np.diag(cross.sum(axis=0))]]).astype(float)


def head_to_head(points: npt.NDArray[Any], policies: Whole, num_policies: int) -> tuple[Estimates, Whole]:
    """Return row's points minus column's at tables where both sit, (P, P), and how many pairs of seats met, (P, P).

    `points`, (D, T, n), should be rid of what the seat adds. Every pair of seats of one table counts once, so a policy
    with two seats there counts twice. What third policies do to either of the two is part of the answer.
    """
    shape = (*policies.shape[:2], num_policies)
    seats = np.zeros(shape)
    sums = np.zeros(shape)
    for policy in range(num_policies):
        has = policies == policy
        seats[..., policy] = has.sum(axis=2)
        sums[..., policy] = np.where(has, points, 0.0).sum(axis=2)
    gaps = np.matmul(sums.transpose(0, 2, 1), seats)  # (D, P, P): row's sum, once for each seat of column
    gaps -= gaps.transpose(0, 2, 1).copy()
    meetings = np.matmul(seats.transpose(0, 2, 1), seats)
    in_all = meetings.sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 where two never met
        values = gaps.sum(axis=0) / in_all
        influences = (gaps - values * meetings) / in_all
    return Estimates(values, influences), in_all.astype(np.int64)


def holm(p_values: Floats) -> Floats:
    """Return the p-values of all pairs, (P, P) symmetric, adjusted for looking at all of them (Holm 1979).

    The family is every pair of two that has a p-value; the chance that any true "no difference" falls below 0.05 is
    then at most 5 %, however the tests depend on one another. What has no p-value gets 1.
    """
    adjusted = np.ones_like(p_values)
    rows, columns = np.triu_indices(len(p_values), 1)
    known = ~np.isnan(p_values[rows, columns])
    rows, columns = rows[known], columns[known]
    order = np.argsort(p_values[rows, columns], kind="stable")
    stepped = p_values[rows, columns][order] * np.arange(len(order), 0, -1)
    adjusted[rows[order], columns[order]] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return np.minimum(adjusted, adjusted.T)


def cycles(beats: npt.NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Return the cycles of a relation "row beats column", (P, P): for each policy in one, a shortest through it.

    Each cycle begins with its lowest number; shorter ones come first.
    """
    found = set()
    for start in range(len(beats)):
        path = _shortest_way_back(beats, start)
        if path:
            first = path.index(min(path))
            found.add(tuple(path[first:] + path[:first]))
    return sorted(found, key=lambda cycle: (len(cycle), cycle))


def _shortest_way_back(beats: npt.NDArray[np.bool_], start: int) -> list[int]:
    """Return the policies of a shortest cycle through `start`, which comes first; empty if there is none."""
    came_from = {start: start}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for beaten in map(int, np.flatnonzero(beats[here])):
            if beaten == start:
                path = [here]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if beaten not in came_from:
                came_from[beaten] = here
                waiting.append(beaten)
    return []
