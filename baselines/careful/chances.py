"""How a trick may end: chances that it is set aside, that I win it, and that seats behind overtake or cancel a card."""

from __future__ import annotations

from typing import Any

from chearts_env.compiled import kernel


@kernel
def chance_of_set_aside(facts: Any, weights: Any, suit: int, pairs: int, singles: float, singles_led: float) -> float:
    """Return the chance that two pairs set the trick aside (R15), given what lies on it after my card.

    `singles` are live cards whose twin is out, `singles_led` those of the suit led. Who holds a twin likes to lay it.
    """
    if not facts.two_pairs:
        return 0.0
    if pairs >= 2:
        return 1.0
    open_left = facts.open_behind[suit]
    per_led = weights.pairs_following * facts.in_hands / max(facts.open[suit], 1)
    per_other = weights.pairs_discarding * facts.in_hands / (facts.num_players - 1)
    follows = facts.holds[suit]
    none, one = (1.0, 0.0) if pairs == 0 else (0.0, 1.0)
    singles_other = singles - singles_led
    for place in range(facts.behind):
        chance = per_other * singles_other
        if place < open_left:
            chance = (1.0 - follows) * chance + per_led * singles_led
        chance = min(chance, 0.95)
        one += none * chance - one * chance
        none -= none * chance
        if place < open_left:
            # Each new card of the suit is one more that may be paired, each pair one less.
            singles_led = max(0.0, singles_led + follows * facts.twins[suit] - 2.0 * chance)
            singles_other += 1.0 - follows
        else:
            singles_other += 1.0
    return 1.0 - none - one


@kernel
def chance_none_overtakes(facts: Any, weights: Any, suit: int, face: int) -> float:
    """Return the chance that no seat behind plays a higher card of the suit led than `face`, which is of that suit."""
    above = facts.above[face]
    if above == 0:
        return 1.0
    share = above / (above + facts.below[face])
    share *= 1.0 - weights.overtakes_high * (1.0 - share)
    each = 1.0 - weights.overtakes * facts.holds[suit] * share
    chance = 1.0
    for _ in range(facts.open_behind[suit]):
        chance *= each
    return chance


@kernel
def chance_not_cancelled(facts: Any, weights: Any, suit: int, face: int) -> float:
    """Return the chance that no seat behind lays the twin of `face` upon it (R13)."""
    if facts.out[face] == 0:
        return 1.0
    return 1.0 - weights.cancels * facts.in_hands * facts.open_behind[suit] / max(facts.open[suit], 1)  # type: ignore[no-any-return]


@kernel
def points_to_come(facts: Any, weights: Any, suit: int, has_high_spade: bool) -> float:
    """Return the points that the seats behind are expected to add to a trick of a suit."""
    follow = facts.open_behind[suit] * facts.holds[suit]
    points = (facts.behind - follow) * facts.points_discarded
    if suit == 3:
        points += follow
    elif suit == 2:
        drops = weights.queen_drops if has_high_spade else weights.queen_forced
        points += 13.0 * facts.queens_behind * drops
    return points  # type: ignore[no-any-return]
