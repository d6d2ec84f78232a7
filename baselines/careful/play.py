"""What each card would cost in each situation of play, in points. One function for each situation.

Every function fills an item, a record of dtype `ITEM`: the chances and prices that the cost is made of, so that
`explain` can say why. The cost of a trick that goes to another seat is 0, of one that I win its points, and a trick set
aside comes back to me as often as to any other seat.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from baselines.careful.chances import (
    chance_none_overtakes,
    chance_not_cancelled,
    chance_of_set_aside,
    points_to_come,
)
from baselines.careful.danger import danger
from baselines.careful.moons import price_of_points
from chearts_env.cards import BLACK_MARIA, FACE_POINTS, FACE_SUIT, SPADES
from chearts_env.compiled import kernel

ITEM: Final = np.dtype(
    (
        np.record,
        [
            ("cost", "f8"),  # what is minimised, points
            ("wins", "f8"),  # chance that I win the trick
            ("set_aside", "f8"),  # chance that nobody does
            ("pot", "f8"),  # points that its winner is expected to take
            ("taken", "f8"),  # points that this costs me, my own moon considered
            ("back", "f8"),  # points that a pot set aside costs me
            ("stops", "f8"),  # points gained because a rival's moon may be stopped
            ("shed", "f8"),  # danger that leaves my hand with the card
            ("tempo", "f8"),  # points for leading again, for suits better left alone
        ],
    )
)
_KING_OF_SPADES: Final = BLACK_MARIA + 1


@kernel
def cost_of_playing(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> float:
    """Return the cost of playing a card, whatever the situation."""
    if facts.led < 0:
        _lead(seen, facts, weights, face, item)
    elif FACE_SUIT[face] != facts.led:
        _discard(seen, facts, weights, face, item)
    else:
        _follow(seen, facts, weights, face, item)
    item.cost = item.taken + item.back + item.tempo - item.stops - item.shed
    return item.cost  # type: ignore[no-any-return]


@kernel
def _follow(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> None:
    """Follow suit. With nobody behind all chances are 0 or 1: this is the exact logic of R13 to R15."""
    suit = facts.led
    trick = seen.board.trick
    cancels = trick[face] == 1
    item.set_aside = _set_aside_with(facts, weights, suit, face, cancels)
    item.wins = 0.0
    if not cancels and trick[face] == 0:
        item.wins = facts.live_above[face]
        if item.wins > 0.0:
            item.wins *= chance_none_overtakes(facts, weights, suit, face)
            item.wins *= chance_not_cancelled(facts, weights, suit, face) * (1.0 - item.set_aside)
    has_high = False
    if suit == SPADES:
        has_high = face >= _KING_OF_SPADES or trick[_KING_OF_SPADES] == 1 or trick[_KING_OF_SPADES + 1] == 1
    item.pot = facts.pot + FACE_POINTS[face] + points_to_come(facts, weights, suit, has_high)
    item.shed = danger(facts, weights.play, seen.hand, face)
    if facts.kitty_waits:
        item.shed *= weights.shed_first_trick
    item.tempo = weights.leads_again * item.wins
    _price_outcomes(seen, facts, weights, face, item)


@kernel
def _discard(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> None:
    """Throw a card of another suit: it wins nothing, but its points go somewhere and it may complete a pair."""
    suit = facts.led
    item.set_aside = _set_aside_with(facts, weights, suit, face, seen.board.trick[face] == 1)
    item.wins = 0.0
    item.pot = facts.pot + FACE_POINTS[face] + points_to_come(facts, weights, suit, False)
    item.shed = weights.shed_discarding * danger(facts, weights.play, seen.hand, face)
    item.tempo = 0.0
    _price_outcomes(seen, facts, weights, face, item)


@kernel
def _lead(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> None:
    """Lead a card: all others are behind me."""
    suit = FACE_SUIT[face]
    twins_out = 1 if facts.out[face] > 0 else 0
    known = 2 * suit + twins_out
    if facts.asides[known] < 0.0:
        facts.asides[known] = chance_of_set_aside(facts, weights, suit, 0, float(twins_out), float(twins_out))
    item.set_aside = facts.asides[known]
    item.wins = chance_none_overtakes(facts, weights, suit, face) * chance_not_cancelled(facts, weights, suit, face)
    item.wins *= 1.0 - item.set_aside
    item.pot = facts.pot + FACE_POINTS[face] + points_to_come(facts, weights, suit, face >= _KING_OF_SPADES)
    item.shed = weights.shed_leading * danger(facts, weights.play, seen.hand, face)
    item.tempo = weights.leads_again * item.wins
    if suit == SPADES and facts.queens_out > 0:
        if facts.suits_mine[SPADES] > 0 and facts.cards[facts.first[SPADES + 1] - 1] >= BLACK_MARIA:
            item.tempo += weights.spade_lead
        else:
            item.tempo -= weights.smoke_out
    _price_outcomes(seen, facts, weights, face, item)


@kernel
def _set_aside_with(facts: Any, weights: Any, suit: int, face: int, cancels: bool) -> float:
    """Return the chance that a trick of `suit` is set aside once `face` lies on it (R15)."""
    is_led = FACE_SUIT[face] == suit
    has_twin = facts.out[face] > 0
    known = 4 * is_led + 2 * cancels + has_twin  # cards alike in these three are alike
    if facts.asides[known] >= 0.0:
        return facts.asides[known]  # type: ignore[no-any-return]
    live = facts.live_led
    pairs = facts.pairs
    singles = facts.singles
    singles_led = facts.singles_led
    if cancels:  # its twin lay there, live, and the last copy is mine
        pairs += 1
        live -= is_led
    else:
        live += is_led
        singles += has_twin
        singles_led += has_twin and is_led
    by_pairs = chance_of_set_aside(facts, weights, suit, pairs, singles, singles_led)
    nobody_follows = 0.0
    if live <= 0:
        nobody_follows = 1.0
        for _ in range(facts.open_behind[suit]):
            nobody_follows *= 1.0 - facts.holds[suit]
    facts.asides[known] = by_pairs + (1.0 - by_pairs) * nobody_follows
    return facts.asides[known]  # type: ignore[no-any-return]


@kernel
def _price_outcomes(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> None:
    """Price what may become of the pot: mine, set aside, or another's, who may be a rival with all points so far."""
    mine = facts.my_points
    before = facts.price_so_far
    item.taken = item.wins * (price_of_points(facts, weights, mine + item.pot) - before)
    elsewhere = 1.0 - item.wins - item.set_aside
    has_points = min(item.pot, 1.0)
    item.taken += elsewhere * has_points * (mine - before)  # the end of my own moon
    item.back = weights.set_aside * item.set_aside * item.pot * facts.comes_back
    item.stops = 0.0
    if facts.rival_price > 0.0:
        to_rival = elsewhere * _share_of_rival(seen, facts, weights, face)
        item.stops = facts.rival_price * has_points * (item.wins + elsewhere - to_rival)


@kernel
def _share_of_rival(seen: Any, facts: Any, weights: Any, face: int) -> float:
    """Return the chance that the rival wins the trick, given that another seat than mine does."""
    card = seen.seats[facts.rival].trick_card - 1
    if card < 0:
        return 1.0 / max(facts.behind, 1)  # type: ignore[no-any-return]
    if FACE_SUIT[card] != facts.led or seen.board.trick[card] != 1 or card == face:
        return 0.0
    return facts.live_above[card] * chance_none_overtakes(facts, weights, facts.led, card)  # type: ignore[no-any-return]
