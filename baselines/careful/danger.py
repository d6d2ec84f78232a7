"""What it may cost to keep cards: the reason to part with some when that is safe, and the measure of what to pass.

Low cards are guards: while a suit is led they duck for the high ones. So the danger of a card is not its own alone: it
is what the whole suit costs with it, less what the suit costs without it. That is below zero for a guard that would be
missed.
"""

from __future__ import annotations

from typing import Any

from chearts_env.cards import BLACK_MARIA, FACE_SUIT, HEARTS, SPADES
from chearts_env.compiled import kernel


@kernel
def danger(facts: Any, prices: Any, hand: Any, face: int) -> float:
    """Return the points that keeping one copy of `face` is expected to cost, 0 if it is not held.

    `prices` is a record of dtype `DANGER`.
    """
    if hand[face] == 0:
        return 0.0
    suit = FACE_SUIT[face]
    if not facts.suit_is_priced[suit]:
        _note_dangers(facts, prices, hand, suit)
        facts.suit_is_priced[suit] = 1
    return facts.danger[face]  # type: ignore[no-any-return]


@kernel
def _note_dangers(facts: Any, prices: Any, hand: Any, suit: int) -> None:
    """Write what each of my cards of a suit adds to what they are expected to cost together: `danger`, points."""
    begin = facts.first[suit]
    end = facts.first[suit + 1]
    rounds = facts.rounds[suit] + 0.01
    guard = prices.guard
    cost = 0.0
    guards = 0.0  # lower cards, each as far as it is low
    low_spades = 0
    for place in range(begin, end):
        face = facts.cards[place]
        worth = _worth_without_guards(facts, prices, hand, suit, face) * rounds
        lower = 1.0 - facts.beats[face]
        # The same once more without each of the lower cards: sums that do not wait for one another.
        for other in range(begin, place):
            facts.others[other] += worth / (rounds + guard * facts.guards[other])
            facts.guards[other] += lower
        facts.others[place] = cost
        facts.guards[place] = guards
        cost += worth / (rounds + guard * guards)
        guards += lower
        if suit == SPADES:
            worth = _worth_by_queens(facts, prices, face)
            for other in range(begin, place):
                lower_spades = low_spades - (facts.cards[other] < BLACK_MARIA)
                facts.others[other] += worth / (1.0 + prices.queen_guard * lower_spades)
            cost += worth / (1.0 + prices.queen_guard * low_spades)
            low_spades += face < BLACK_MARIA
    whole = _with_length(prices, cost, end - begin, rounds)
    for place in range(begin, end):
        facts.danger[facts.cards[place]] = whole - _with_length(prices, facts.others[place], end - begin - 1, rounds)


@kernel
def _worth_without_guards(facts: Any, prices: Any, hand: Any, suit: int, face: int) -> float:
    """Return what a card of mine would cost if it had no lower ones, points."""
    beats = facts.beats[face]
    worth = (prices.beats + prices.beats_squared * beats) * beats * facts.trick_points
    if suit == HEARTS:
        worth += prices.heart * beats
    share = 1.0  # chosen without a branch, which could not be foreseen
    if facts.out[face] > 0:
        share = 1.0 - prices.twin_out
    if hand[face] == 2:
        share = 1.0 + prices.own_pair
    return max(worth * share, 0.0)  # type: ignore[no-any-return]


@kernel
def _worth_by_queens(facts: Any, prices: Any, face: int) -> float:
    """Return what a spade costs besides for a Black Maria that it is, or takes, if it had no lower ones, points."""
    if face == BLACK_MARIA:
        return max(prices.queen, 0.0)  # type: ignore[no-any-return]
    if face > BLACK_MARIA and facts.queens_out > 0:
        return max(prices.high_spade, 0.0)  # type: ignore[no-any-return]
    return 0.0


@kernel
def _with_length(prices: Any, cost: float, count: int, rounds: float) -> float:
    """Return what `count` cards of a suit cost, what it costs to have so many of it included, points."""
    weight = rounds / (1.0 + rounds)
    if count >= 1:
        cost += prices.last_of_suit * weight
    if count >= 2:
        cost += prices.one_of_two * weight
    return cost
