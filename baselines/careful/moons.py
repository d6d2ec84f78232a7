"""Moons (R21): what stopping a rival's is worth, what nearing my own is, and how to settle one."""

from __future__ import annotations

from typing import Any, Final

from chearts_env.cards import POINTS_IN_ALL
from chearts_env.compiled import kernel
from chearts_env.table import ADD_MOON, SUBTRACT_MOON

#: The usual target (R23): an observation shows scores in percent of the target, which itself it does not show.
_USUAL_TARGET: Final = 150
#: Share of the points below which nobody thinks of a moon.
_TOO_FAR: Final = 0.4


@kernel
def price_of_points(facts: Any, weights: Any, points: float) -> float:
    """Return what having taken so many points in all costs me, the chance that they end as my own moon included."""
    share = min(points / POINTS_IN_ALL, 1.0)
    if facts.moon_swing == 0.0 or share < _TOO_FAR:
        return points
    return points - share**weights.own_moon * (points + facts.moon_swing)  # type: ignore[no-any-return]


@kernel
def settle_moon(seen: Any, num_players: int) -> int:
    """Return the choice of a seat that has shot the moon (R21): add if that ends the game with me as its winner."""
    mine = seen.seats[0].score_percent
    moon_percent = 100.0 * seen.rules.moon_points / _USUAL_TARGET
    ends = False
    is_lowest = True
    for row in range(1, num_players):
        theirs = seen.seats[row].score_percent + moon_percent
        ends = ends or theirs >= 100
        is_lowest = is_lowest and mine < theirs
    return ADD_MOON if ends and is_lowest else SUBTRACT_MOON
