"""Which cards to give away (R7): the most dangerous ones, and short suits, so as to be void early."""

from __future__ import annotations

from typing import Any

from baselines.careful.danger import danger
from chearts_env.compiled import kernel


@kernel
def cost_of_giving(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> float:
    """Return the cost of giving a card: minus the danger that leaves my hand with it, points."""
    item.wins = 0.0
    item.set_aside = 0.0
    item.pot = 0.0
    item.taken = 0.0
    item.back = 0.0
    item.stops = 0.0
    item.tempo = 0.0
    item.shed = danger(facts, weights.giving, seen.hand, face)
    item.cost = -item.shed
    return item.cost  # type: ignore[no-any-return]
