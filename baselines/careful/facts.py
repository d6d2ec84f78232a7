"""What an observation says at a glance: counts that several situations need, worked out once for each decision."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.moons import price_of_points
from chearts_env.cards import (
    BLACK_MARIA,
    FACE_SUIT,
    HEARTS,
    NUM_COPIES,
    NUM_FACES,
    NUM_RANKS,
    NUM_SUITS,
    POINTS_IN_ALL,
)
from chearts_env.compiled import kernel
from chearts_env.rules import CHOICES, MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import PASS

_TWO_PAIRS: Final = CHOICES["set_aside"].index("two_pairs")
_TO_FIRST: Final = CHOICES["kitty_to"].index("first_winner")
_LEADER_TAKES: Final = CHOICES["last_trick_set_aside"].index("leader")
_MOON_OFF: Final = CHOICES["moon"].index("off")
_NO_POINTS: Final = CHOICES["first_trick_discard"].index("no_points")
NO_SUIT: Final = -1
NO_RIVAL: Final = -1
_MOST_CARDS: Final = 20
_MOST_ASIDES: Final = 8

FACTS: Final = np.dtype(
    (
        np.record,
        [
            ("out", "i1", (NUM_FACES,)),  # [F] copies that others, or an unseen kitty, hold
            ("below", "i1", (NUM_FACES,)),  # [F] cards of the suit out that are lower
            ("above", "i1", (NUM_FACES,)),  # [F] ... higher
            ("beats", "f8", (NUM_FACES,)),  # [F] share of the suit's cards out that one of mine beats
            ("cards", "i8", (_MOST_CARDS,)),  # my cards in order, copies one by one
            ("first", "i8", (NUM_SUITS + 1,)),  # where each suit begins among them, and where the last one ends
            ("others", "f8", (_MOST_CARDS,)),  # points that the others of its suit would cost without each of them
            ("guards", "f8", (_MOST_CARDS,)),  # ... and how far, so far, the lower ones guard
            ("danger", "f8", (NUM_FACES,)),  # [F] points that keeping a card of mine is expected to cost
            ("suit_is_priced", "i8", (NUM_SUITS,)),  # 1 = that is known for the cards of the suit
            ("rounds", "f8", (NUM_SUITS,)),  # how often each suit may still be led
            ("live_above", "f8", (NUM_FACES,)),  # [F] chance that all live cards of the trick above it get cancelled
            ("suits_out", "i8", (NUM_SUITS,)),
            ("suits_mine", "i8", (NUM_SUITS,)),
            ("open", "i8", (NUM_SUITS,)),  # other seats that may hold the suit
            ("open_behind", "i8", (NUM_SUITS,)),  # ... of those that play after me
            ("holds", "f8", (NUM_SUITS,)),  # chance that a seat that may hold the suit does
            ("num_players", "i8"),
            ("behind", "i8"),  # seats that play after me
            ("led", "i8"),  # suit led, -1 when I lead
            ("tricks_left", "i8"),  # this one included
            ("cards_out", "i8"),
            ("in_hands", "f8"),  # share of them that is in hands, not in a kitty
            ("queens_out", "i8"),
            ("queens_behind", "f8"),  # of those, expected behind me
            ("points_out", "i8"),
            ("pot", "f8"),  # points to be won so far: trick, pile, what a waiting kitty is expected to hold
            ("kitty_taker", "i8"),  # 1 + the seat that took the kitty, 0 = none yet
            ("kitty_waits", "i8"),
            ("trick_points", "f8"),  # points of an average trick from now on
            ("points_discarded", "f8"),  # points that a seat which cannot follow is expected to throw
            ("asides", "f8", (_MOST_ASIDES,)),  # chances that the trick is set aside that are known, -1 = not yet
            ("comes_back", "f8"),  # share of a pot set aside now that I am expected to pay for
            ("pairs", "i8"),  # on the trick
            ("singles", "f8"),  # live cards of the trick whose twin is out
            ("singles_led", "f8"),  # ... of the suit led
            ("live_led", "i8"),  # live cards of the suit led
            ("twins", "f8", (NUM_SUITS,)),  # share of a suit's cards out whose twin is out too
            ("two_pairs", "i8"),  # 1 = two pairs set a trick aside (R15)
            ("my_points", "i8"),  # points I have taken face up
            ("price_so_far", "f8"),  # ... and what they cost me, my own moon considered
            ("rival", "i8"),  # the one other seat that has all points taken so far, -1 = none
            ("rival_price", "f8"),  # points it is worth to me that its moon is stopped
            ("moon_swing", "f8"),  # points that my own moon is worth above taking none (R21); 0 = there are no moons
        ],
    )
)


def _chances_to_hold() -> npt.NDArray[np.float64]:
    """Return the chance that a seat which may hold a suit does, by how many may and how many of its cards are out."""
    chances = np.zeros((MAX_PLAYERS, NUM_COPIES * NUM_RANKS + 1))
    for seats in range(1, MAX_PLAYERS):
        each, missing = 1.0 - 1.0 / (seats + 0.05), 1.0
        for count in range(chances.shape[1]):
            chances[seats, count] = 1.0 - missing
            missing *= each
    return chances


_HOLDS: Final = _chances_to_hold()


@kernel
def note_facts(seen: Any, weights: Any, facts: Any) -> None:
    """Work out the facts of a decision from its observation, a record of dtype `OBSERVATION`."""
    for size in range(6):
        if seen.rules["size"][size]:  # `.size` is NumPy's own where the JIT is off
            facts.num_players = MIN_PLAYERS + size
    _count_cards(seen, facts)
    _count_seats(seen, facts)
    _count_points(seen, weights, facts)
    _look_at_trick(seen, weights, facts)
    _look_for_moons(seen, weights, facts)
    facts.price_so_far = price_of_points(facts, weights, facts.my_points)


@kernel
def _count_cards(seen: Any, facts: Any) -> None:
    out = facts.out
    for face in range(NUM_FACES):
        known = seen.hand[face]
        for row in range(MAX_PLAYERS):  # a fixed number is compiled to SIMD; rows of absent seats are zero
            known += seen.seats[row].played[face]
        out[face] = np.int8(2) - known
    if seen.phase[PASS]:
        for face in range(NUM_FACES):
            out[face] -= seen.given[face]
    for place in range(seen.kitty_cards.shape[0]):
        if seen.kitty_cards[place] > 0:
            out[seen.kitty_cards[place] - 1] -= np.int8(1)
    held = 0  # counted here, not in the record: a number in memory is slower than one in a register
    cards_out = 0
    for suit in range(NUM_SUITS):
        below = 0
        twins = 0
        begun = held
        facts.first[suit] = held
        first = suit * NUM_RANKS
        for face in range(first, first + NUM_RANKS):
            facts.below[face] = below
            below += out[face]
            twins += 2 * (out[face] == 2)
            facts.cards[held] = face  # without a branch, which could not be foreseen
            facts.cards[held + 1] = face
            held += seen.hand[face]
        for face in range(first, first + NUM_RANKS):
            facts.above[face] = below - facts.below[face] - out[face]
        facts.suits_out[suit] = below
        facts.twins[suit] = twins / max(below, 1)
        facts.suits_mine[suit] = held - begun
        facts.suit_is_priced[suit] = 0
        cards_out += below
    facts.first[NUM_SUITS] = held
    facts.tricks_left = held
    facts.cards_out = cards_out
    for place in range(held):
        face = facts.cards[place]
        rivals = facts.below[face] + facts.above[face]
        facts.beats[face] = facts.below[face] / rivals if rivals > 0 else 0.0
    facts.points_out = facts.suits_out[HEARTS] + 13 * out[BLACK_MARIA]
    facts.queens_out = out[BLACK_MARIA]


@kernel
def _count_seats(seen: Any, facts: Any) -> None:
    others = facts.num_players - 1
    on_trick = 0
    for row in range(1, others + 1):
        on_trick += seen.seats[row].trick_card > 0
    facts.behind = others - on_trick
    in_hands = 0
    for suit in range(NUM_SUITS):
        facts.open[suit] = 0
        facts.open_behind[suit] = 0
    for row in range(1, others + 1):
        known = seen.seats[row]
        in_hands += known.cards_left
        for suit in range(NUM_SUITS):
            may_hold = 1 - known.void[suit]
            facts.open[suit] += may_hold
            if row <= facts.behind:
                facts.open_behind[suit] += may_hold
    facts.in_hands = min(1.0, in_hands / max(facts.cards_out, 1))
    for suit in range(NUM_SUITS):
        facts.holds[suit] = 0.0
        facts.rounds[suit] = facts.suits_out[suit] / max(facts.open[suit], 1)
        if facts.open[suit] > 0:
            count = int(facts.suits_out[suit] * facts.in_hands + 0.5)
            facts.holds[suit] = _HOLDS[facts.open[suit], count]
    receiver = seen.board.pass_offset
    if receiver < 0:
        receiver += facts.num_players
    located = 0
    if receiver > 0 and not seen.phase[PASS]:
        located = max(0, seen.given[BLACK_MARIA] - seen.seats[receiver].played[BLACK_MARIA])
    free = facts.queens_out - located
    facts.queens_behind = free * facts.in_hands * facts.open_behind[2] / max(facts.open[2], 1)
    if receiver <= facts.behind:
        facts.queens_behind += located


@kernel
def _count_points(seen: Any, weights: Any, facts: Any) -> None:
    board = seen.board
    facts.kitty_taker = 0
    for row in range(facts.num_players):
        if seen.seats[row].has_kitty:
            facts.kitty_taker = row + 1
    unseen_kitty = seen.rules.kitty_size
    if seen.kitty_cards[0] > 0:
        unseen_kitty = 0
    facts.kitty_waits = facts.kitty_taker == 0 and unseen_kitty > 0 and seen.rules.kitty_to == _TO_FIRST
    each = facts.points_out / max(facts.cards_out, 1)
    facts.pot = board.trick_points + board.pile_points
    if facts.kitty_waits:
        facts.pot += each * unseen_kitty
    mine = facts.suits_mine[HEARTS] + 13 * seen.hand[BLACK_MARIA]
    facts.trick_points = (facts.points_out + mine + board.pile_points) / max(facts.tricks_left, 1)
    facts.points_discarded = 0.0
    if not (board.trick_number == 0 and seen.rules.first_trick_discard == _NO_POINTS):
        others = facts.num_players - 1
        queens = weights.queen_discarded * min(1.0, facts.queens_out * facts.in_hands / others)
        hearts = weights.heart_discarded * facts.holds[HEARTS]
        facts.points_discarded = 13.0 * queens + (1.0 - queens) * hearts


@kernel
def _look_at_trick(seen: Any, weights: Any, facts: Any) -> None:
    board = seen.board
    for place in range(_MOST_ASIDES):
        facts.asides[place] = -1.0
    facts.led = NO_SUIT
    for suit in range(NUM_SUITS):
        if board.led_suit[suit]:
            facts.led = suit
    facts.two_pairs = seen.rules.set_aside == _TWO_PAIRS and weights.knows_set_aside > 0
    facts.pairs = board.trick_pairs
    facts.comes_back = 1.0 / facts.num_players
    if facts.tricks_left == 1:  # R19
        facts.comes_back = seen.rules.last_trick_set_aside == _LEADER_TAKES and seen.seats[0].is_leader
    facts.singles = 0.0
    facts.singles_led = 0.0
    facts.live_led = 0
    if facts.led == NO_SUIT:
        return
    for row in range(facts.behind + 1, facts.num_players):
        face = seen.seats[row].trick_card - 1
        if board.trick[face] == 1:
            is_led = FACE_SUIT[face] == facts.led
            facts.live_led += is_led
            if facts.out[face] > 0:
                facts.singles += 1.0
                facts.singles_led += is_led
    first = facts.led * NUM_RANKS
    still = weights.cancels * facts.open_behind[facts.led] / max(facts.open[facts.led], 1)
    chance = 1.0
    for rank in range(NUM_RANKS - 1, -1, -1):
        face = first + rank
        facts.live_above[face] = chance
        if board.trick[face] == 1:
            chance *= still if facts.out[face] > 0 else 0.0


@kernel
def _look_for_moons(seen: Any, weights: Any, facts: Any) -> None:
    facts.my_points = seen.seats[0].points_seen
    facts.rival = NO_RIVAL
    facts.rival_price = 0.0
    facts.moon_swing = 0.0
    if seen.rules.moon == _MOON_OFF:
        return
    num_with_points = 0
    for row in range(1, facts.num_players):
        if seen.seats[row].points_seen > 0:
            num_with_points += 1
            facts.rival = row
    kitty = 1.0  # chance that a kitty which another seat took holds no point (R18, R21)
    taker = facts.kitty_taker
    if taker > 0 and seen.kitty_cards[0] == 0:
        for _ in range(seen.rules.kitty_size):
            kitty *= 1.0 - min(1.0, (facts.suits_out[HEARTS] + facts.queens_out) / max(facts.cards_out, 1))
    if num_with_points == 0:
        facts.moon_swing = float(seen.rules.moon_points)
        if taker > 1:
            facts.moon_swing *= kitty
    if num_with_points != 1 or facts.my_points > 0:
        facts.rival = NO_RIVAL
        return
    taken = seen.seats[facts.rival].points_seen
    if taken < weights.rival_from:
        facts.rival = NO_RIVAL
        return
    share = min(1.0, (taken + weights.rival_pile * seen.board.pile_points) / 50.0)
    chance = weights.rival_moon * share * share
    if taker > 0 and taker != facts.rival + 1:
        chance *= kitty
    facts.rival_price = min(chance, 1.0) * (POINTS_IN_ALL + seen.rules.moon_points) / facts.num_players
