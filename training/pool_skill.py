"""OpenSkill ratings of a pool: the familiar number beside the points per hand, which lead.

A rating learns from the finishing order of a hand alone, and so throws away how much was lost: who always comes in
second by a point is rated like who comes in second by fifty. Sigma is the package's own idea of its doubt, no interval
from deals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from openskill.models import PlackettLuce

_ORDER_STREAM: Final = 6


@dataclass(frozen=True)
class Skill:
    """A rating in the package's units, in which everyone begins at mu 25, sigma 8.3; high is good."""

    mu: float
    sigma: float

    @property
    def ordinal(self) -> float:
        """What the rating is at least, by its own account: mu - 3 sigma."""
        return self.mu - 3 * self.sigma


def skills(points: npt.NDArray[Any], seats: npt.NDArray[np.int64], num_policies: int, seed: int) -> list[Skill]:
    """Rate P policies by G hands, one after another, and return their ratings.

    `points` and `seats`, (G, n), say what each seat came to and which policy had it; few points rank high, equal ones
    equally. The package knows no player who sits twice: of a policy's seats at a table, one is drawn, and these are
    ranked. Hands come in an order drawn from the seed, as neighbours share a deal; another order moves mu by about a
    sigma or less. Policies do not change while they play, so doubt is not raised again between hands (tau is 0).
    """
    generator = np.random.default_rng([seed, _ORDER_STREAM])
    order = generator.permutation(len(points))
    seat_order = np.argsort(generator.random(points.shape), axis=1)
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating() for _ in range(num_policies)]
    for hand in order:
        drawn = seat_order[hand]
        present, first = np.unique(seats[hand][drawn], return_index=True)
        if len(present) < 2:
            continue
        _, ranks = np.unique(points[hand][drawn][first], return_inverse=True)
        rated = model.rate([[ratings[policy]] for policy in present], ranks=ranks.astype(float).tolist())
        for policy, (rating,) in zip(present, rated, strict=True):
            ratings[policy] = rating
    return [Skill(float(rating.mu), float(rating.sigma)) for rating in ratings]
