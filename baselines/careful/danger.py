"""What it may cost to keep cards: the reason to part with some when that is safe, and the measure of what to pass.

Low cards are guards: while a suit is led they duck for the high ones. So the danger of a card is not its own alone: it
is what the whole suit costs with it, less what the suit costs without it. That is below zero for a guard that would be
missed.
"""

from __future__ import annotations

from typing import Any, Final

from chearts_env.cards import BLACK_MARIA, FACE_SUIT, HEARTS, SPADES
from chearts_env.compiled import kernel

_NO_PLACE: Final = -1


@kernel
def danger(facts: Any, prices: Any, hand: Any, face: int) -> float:
    """Return the points that keeping one copy of `face` is expected to cost; `prices` is a record of dtype `DANGER`."""
    suit = FACE_SUIT[face]
    if facts.suit_danger[suit] < 0.0:
        _price_cards(facts, prices, hand, suit)
        facts.suit_danger[suit] = _danger_of_suit(facts, prices, suit, _NO_PLACE)
    place = facts.first[suit]
    while place < facts.first[suit + 1] - 1 and facts.cards[place] != face:
        place += 1
    return facts.suit_danger[suit] - _danger_of_suit(facts, prices, suit, place)  # type: ignore[no-any-return]


@kernel
def _price_cards(facts: Any, prices: Any, hand: Any, suit: int) -> None:
    """Write what each of my cards of a suit would cost without guards: `worth`, and `queen_worth` of high spades."""
    for place in range(facts.first[suit], facts.first[suit + 1]):
        face = facts.cards[place]
        beats = facts.beats[face]
        worth = (prices.beats + prices.beats_squared * beats) * beats * facts.trick_points
        if suit == HEARTS:
            worth += prices.heart * beats
        if hand[face] == 2:
            worth *= 1.0 + prices.own_pair
        elif facts.out[face] > 0:
            worth *= 1.0 - prices.twin_out
        facts.worth[place] = max(worth, 0.0)
        facts.queen_worth[place] = 0.0
        if suit == SPADES:
            if face == BLACK_MARIA:
                facts.queen_worth[place] = prices.queen
            elif face > BLACK_MARIA and facts.queens_out > 0:
                facts.queen_worth[place] = prices.high_spade


@kernel
def _danger_of_suit(facts: Any, prices: Any, suit: int, without: int) -> float:
    """Return what my cards of a suit are expected to cost, the one at place `without` left out, points; 0 or more."""
    cost = 0.0
    guards = 0.0  # lower cards, each as far as it is low
    low_spades = 0
    rounds = facts.rounds[suit] + 0.01
    for place in range(facts.first[suit], facts.first[suit + 1]):
        if place == without:
            continue
        face = facts.cards[place]
        cost += facts.worth[place] * rounds / (rounds + prices.guard * guards)
        guards += 1.0 - facts.beats[face]
        if facts.queen_worth[place] > 0.0:
            cost += facts.queen_worth[place] / (1.0 + prices.queen_guard * low_spades)
        low_spades += face < BLACK_MARIA
    count = facts.suits_mine[suit] - (without != _NO_PLACE)
    weight = rounds / (1.0 + rounds)
    if count >= 1:
        cost += prices.last_of_suit * weight
    if count >= 2:
        cost += prices.one_of_two * weight
    return cost
