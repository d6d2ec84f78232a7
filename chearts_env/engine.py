"""The rules of play, each written once, as kernels on one table.

`allowed_classes` says what the mover may do, `step_table` does it. Everything else — batches, the `Game`, the
environments — calls these two and adds no rule. Clauses R1 … R25 are those of `RULES.md`.

Cards fall into five classes, because no rule looks at more of a card than its suit and whether it is a Black Maria.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import BLACK_MARIA, FACE_POINTS, FACE_SUIT, HEARTS, NUM_FACES, POINTS_IN_ALL, SPADES
from chearts_env.compiled import kernel
from chearts_env.deal import deal_next_hand, give_card, left_of
from chearts_env.rules import CARDS_PASSED, CHOICES
from chearts_env.table import (
    ADD_MOON,
    MOON,
    NO_CAP,
    NOBODY,
    NUM_ACTIONS,
    OVER,
    PASS,
    PLAY,
    SUBTRACT_MOON,
)

NUM_CLASSES: Final = 5
# Classes of cards, as sets of one bit each.
ALL_CARDS: Final = 0b11111
HEARTS_ONLY: Final = 0b01000
ALL_SPADES: Final = 0b10100
POINT_CARDS: Final = 0b11000
PLAIN_CARDS: Final = ALL_CARDS & ~POINT_CARDS
NO_HEARTS: Final = ALL_CARDS & ~HEARTS_ONLY
#: Class of each face: clubs 0, diamonds 1, other spades 2, hearts 3 as the suits are numbered, Black Maria 4.
CARD_CLASS: Final[npt.NDArray[np.int8]] = FACE_SUIT.copy()
CARD_CLASS[BLACK_MARIA] = 4
CARD_CLASS.setflags(write=False)
#: For each set of classes, 1 for the faces in it. Shape (32, 52) int8.
FACES_OF_CLASSES: Final[npt.NDArray[np.int8]] = ((np.arange(ALL_CARDS + 1)[:, None] >> CARD_CLASS) & 1).astype(np.int8)
FACES_OF_CLASSES.setflags(write=False)

# What `step_table` reports.
GOES_ON: Final = 0
HAND_SCORED: Final = 1
TERMINATED: Final = 2
TRUNCATED: Final = 3

_ANY_OPENING: Final = CHOICES["opening_lead"].index("any")
_NO_POINTS_DISCARDED: Final = CHOICES["first_trick_discard"].index("no_points")
_BY_HEART: Final = CHOICES["hearts_break"].index("heart")
_ALWAYS_BROKEN: Final = CHOICES["hearts_break"].index("always")
_TWO_PAIRS: Final = CHOICES["set_aside"].index("two_pairs")
_LEFT_LEADS: Final = CHOICES["set_aside_leader"].index("left")
_TO_FIRST: Final = CHOICES["kitty_to"].index("first_winner")
_WINNER_SEES: Final = CHOICES["kitty_view"].index("winner")
_ALL_SEE: Final = CHOICES["kitty_view"].index("everyone")
_LEADER_TAKES: Final = CHOICES["last_trick_set_aside"].index("leader")
_CHOOSE: Final = CHOICES["moon"].index("choose")
_SUBTRACT: Final = CHOICES["moon"].index("subtract")
_ADD: Final = CHOICES["moon"].index("add")


@kernel
def led_suit(public: Any) -> int:
    """Return the suit of the card that was led to the current trick, which must have begun."""
    return FACE_SUIT[public.seats[public.leader].trick_card - 1]  # type: ignore[no-any-return]


@kernel
def holds_a_plain_card(private: Any) -> bool:
    """Say whether a seat holds a plain card: one that is not a point card."""
    suits = private.suits
    return suits[0] + suits[1] + suits[SPADES] > private.hand[BLACK_MARIA]  # type: ignore[no-any-return]


@kernel
def allowed_classes(options: Any, public: Any, private: Any) -> int:
    """Return the classes of card that the mover may give or play, as a bit set; `private` is the mover's.

    Never excludes all cards held. Meant for the phases of passing (any card, R7) and play (R10 to R12).
    """
    if public.phase != PLAY:
        return ALL_CARDS
    first_trick = public.board.trick_number == 0
    if public.trick_size > 0:
        suit = led_suit(public)
        if private.suits[suit] > 0:  # R11
            return ALL_SPADES if suit == SPADES else 1 << suit
        if first_trick and options.shown.first_trick_discard == _NO_POINTS_DISCARDED and holds_a_plain_card(private):
            return PLAIN_CARDS
        return ALL_CARDS
    if first_trick:  # R10
        if options.shown.opening_lead == _ANY_OPENING or not holds_a_plain_card(private):
            return ALL_CARDS
        return PLAIN_CARDS
    if public.board.hearts_broken or options.shown.hearts_break == _ALWAYS_BROKEN:  # R12
        return ALL_CARDS
    if private.suits[0] + private.suits[1] + private.suits[SPADES] > 0:
        return NO_HEARTS
    return ALL_CARDS


@kernel
def is_legal(table: Any, action: int) -> bool:
    """Say whether the seat to move may take an action, which may be any integer."""
    public = table.public
    if action < 0 or action >= NUM_ACTIONS or public.phase == OVER:
        return False
    if public.phase == MOON:
        return action >= SUBTRACT_MOON
    if action >= SUBTRACT_MOON:
        return False
    private = table.private[public.mover]
    allowed = allowed_classes(table.options, public, private)
    return private.hand[action] > 0 and FACES_OF_CLASSES[allowed, action] == 1  # type: ignore[no-any-return]


@kernel
def write_mask(options: Any, public: Any, private: Any, mask: Any) -> None:
    """Write the mover's legal actions into `mask`, a record of dtype `MASK`, as 0 and 1; all 1 once it is over."""
    if public.phase == PASS or public.phase == PLAY:
        allowed = allowed_classes(options, public, private)
        for face in range(NUM_FACES):
            mask.legal[face] = min(private.hand[face], FACES_OF_CLASSES[allowed, face])  # min compiles to SIMD
        mask.legal[SUBTRACT_MOON] = 0
        mask.legal[ADD_MOON] = 0
        return
    is_over = public.phase == OVER
    for face in range(NUM_FACES):
        mask.legal[face] = is_over
    mask.legal[SUBTRACT_MOON] = 1
    mask.legal[ADD_MOON] = 1


@kernel
def step_table(table: Any, action: int) -> int:
    """Take a legal action of the mover; return GOES_ON, HAND_SCORED (the next is dealt), TERMINATED or TRUNCATED."""
    phase = table.public.phase
    if phase == PASS:
        _choose_card(table, action)
        return GOES_ON
    if phase == PLAY:
        play_card(table, action)
        if table.public.trick_size < table.options.num_players:
            return GOES_ON
        _resolve_trick(table)
        if table.public.board.trick_number < table.options.hand_size or not _finish_hand(table):
            return GOES_ON
    else:
        _score_hand(table, action)
    return _end_of_hand(table)


@kernel
def _take_from_hand(table: Any, seat: int, face: int) -> None:
    private = table.private[seat]
    private.hand[face] -= 1
    private.suits[FACE_SUIT[face]] -= 1
    table.public.seats[seat].cards_left -= 1


@kernel
def _choose_card(table: Any, face: int) -> None:
    # R9: one card at a time, seat by seat from the dealer's left.
    public = table.public
    seat = public.mover
    _take_from_hand(table, seat, face)
    private = table.private[seat]
    private.given[private.num_given] = face + 1
    private.num_given += 1
    if private.num_given < CARDS_PASSED:
        return
    if seat != public.dealer:
        public.mover = left_of(seat, table.options.num_players)
        return
    _exchange(table)
    public.phase = PLAY
    public.mover = public.leader


@kernel
def _exchange(table: Any) -> None:
    # R7: nobody sees a received card before everyone has chosen.
    num_players = table.options.num_players
    for giver in range(num_players):
        receiver = (giver + table.public.board.pass_offset) % num_players  # rarely run: the slow % is no loss
        given = table.private[giver].given
        received = table.private[receiver].received
        for place in range(CARDS_PASSED):
            received[place] = given[place]
            give_card(table, receiver, given[place] - 1)


@kernel
def play_card(table: Any, face: int) -> None:
    """Lay the mover's card on the trick and note what it shows; a trick that it completes is not resolved here."""
    public = table.public
    seat = public.mover
    _note_what_it_shows(table.options, public, seat, face)
    _take_from_hand(table, seat, face)
    known = public.seats[seat]
    known.played[face] += 1
    known.trick_card = face + 1
    public.board.trick[face] += 1
    public.board.trick_pairs += public.board.trick[face] == 2
    if public.trick_size == 0:
        public.board.led_suit[FACE_SUIT[face]] = 1
    public.trick_size += 1
    public.board.trick_points += FACE_POINTS[face]
    if FACE_SUIT[face] == HEARTS or (face == BLACK_MARIA and table.options.shown.hearts_break != _BY_HEART):
        public.board.hearts_broken = 1  # R12: played to any trick, in any manner
    public.mover = left_of(seat, table.options.num_players)


@kernel
def _note_what_it_shows(options: Any, public: Any, seat: int, face: int) -> None:
    # Public knowledge: a card that may only be played by a seat that holds nothing else tells what it does not hold.
    known = public.seats[seat]
    is_point_card = FACE_POINTS[face] > 0
    first_trick = public.board.trick_number == 0
    if public.trick_size > 0:
        suit = led_suit(public)
        if FACE_SUIT[face] != suit:  # R11
            known.void[suit] = 1
            if first_trick and is_point_card and options.shown.first_trick_discard == _NO_POINTS_DISCARDED:
                known.only_points = 1
    elif first_trick:
        if is_point_card and options.shown.opening_lead != _ANY_OPENING:  # R10
            known.only_points = 1
    elif (
        FACE_SUIT[face] == HEARTS and not public.board.hearts_broken and options.shown.hearts_break != _ALWAYS_BROKEN
    ):  # R12
        for suit in range(HEARTS):
            known.void[suit] = 1
    if known.only_points:
        known.void[0] = 1
        known.void[1] = 1


@kernel
def winner_of_trick(options: Any, public: Any) -> int:
    """Return the seat that wins a complete trick (R13, R14), NOBODY if it is set aside (R15)."""
    if options.shown.set_aside == _TWO_PAIRS and public.board.trick_pairs >= 2:
        return NOBODY
    suit = led_suit(public)
    winner = NOBODY
    best = 13 * suit - 1
    for seat in range(options.num_players):
        face = public.seats[seat].trick_card - 1
        if face > best and face < 13 * suit + 13 and public.board.trick[face] == 1:
            winner = seat
            best = face
    return winner


@kernel
def _resolve_trick(table: Any) -> None:
    options = table.options
    public = table.public
    winner = winner_of_trick(options, public)
    if winner == NOBODY:
        for face in range(NUM_FACES):
            public.board.pile[face] += public.board.trick[face]
        public.board.pile_points += public.board.trick_points
        is_last = public.board.trick_number == options.hand_size - 1
        if is_last and options.shown.last_trick_set_aside == _LEADER_TAKES:  # R19
            _take_pile(table, public.leader)
        if options.shown.set_aside_leader == _LEFT_LEADS:  # R17
            public.leader = left_of(public.leader, options.num_players)
    else:
        public.seats[winner].points_seen += public.board.trick_points
        _take_pile(table, winner)
        public.leader = winner
    for face in range(NUM_FACES):
        public.board.trick[face] = 0
    for seat in range(options.num_players):
        public.seats[seat].trick_card = 0
    public.board.led_suit[:] = 0
    public.trick_size = 0
    public.board.trick_pairs = 0
    public.board.trick_points = 0
    public.board.trick_number += 1
    public.mover = public.leader


@kernel
def _take_pile(table: Any, seat: int) -> None:
    # R16: who wins a trick takes everything set aside; R18: and the kitty, if it goes to the first winner.
    public = table.public
    public.seats[seat].points_seen += public.board.pile_points
    public.board.pile_points = 0
    for face in range(NUM_FACES):
        public.board.pile[face] = 0
    public.last_winner = seat
    if table.options.shown.kitty_to == _TO_FIRST and public.kitty_taker == NOBODY:
        _take_kitty(table, seat)


@kernel
def _take_kitty(table: Any, taker: int) -> None:
    if table.options.shown.kitty_size > 0:  # R18
        table.public.kitty_taker = taker
        show_kitty(table, taker)


@kernel
def show_kitty(table: Any, taker: int) -> None:
    """Show the kitty's cards to the seats that see them from the moment it is taken (R18, `kitty_view`)."""
    options = table.options
    for seat in range(options.num_players):
        if options.shown.kitty_view == _ALL_SEE or (options.shown.kitty_view == _WINNER_SEES and seat == taker):
            place = 0
            for face in range(NUM_FACES):
                for _ in range(table.hidden.kitty[face]):
                    table.private[seat].kitty_cards[place] = face + 1
                    place += 1


@kernel
def points_taken(table: Any, seat: int) -> int:
    """Return the points a seat has taken in this hand, those of a kitty included, which nobody may know yet (R20)."""
    points = np.int64(table.public.seats[seat].points_seen)
    if table.public.kitty_taker == seat:
        for face in range(NUM_FACES):
            points += table.hidden.kitty[face] * FACE_POINTS[face]
    return points  # type: ignore[return-value]


@kernel
def _finish_hand(table: Any) -> bool:
    """End the play of a hand; return False if a seat must first choose what to do with its moon (R21)."""
    options = table.options
    public = table.public
    if options.shown.kitty_to != _TO_FIRST and public.last_winner != NOBODY:
        _take_kitty(table, public.last_winner)
    settlement = NOBODY
    for seat in range(options.num_players):
        if points_taken(table, seat) == POINTS_IN_ALL:
            if options.shown.moon == _CHOOSE:
                public.phase = MOON
                public.mover = seat
                return False
            if options.shown.moon == _SUBTRACT:
                settlement = SUBTRACT_MOON
            elif options.shown.moon == _ADD:
                settlement = ADD_MOON
    _score_hand(table, settlement)
    return True


@kernel
def _score_hand(table: Any, settlement: int) -> None:
    # R20 to R22; a settlement is SUBTRACT_MOON or ADD_MOON, NOBODY where no moon is to be settled.
    options = table.options
    public = table.public
    for seat in range(options.num_players):
        change = np.int64(points_taken(table, seat))
        if settlement != NOBODY:
            is_shooter = change == POINTS_IN_ALL
            change = np.int64(0)
            if settlement == SUBTRACT_MOON and is_shooter:
                change -= options.moon_points
            elif settlement == ADD_MOON and not is_shooter:
                change += options.moon_points
        public.score_changes[seat] = change
        public.scores[seat] += change
    write_score_percents(options, public)


@kernel
def write_score_percents(options: Any, public: Any) -> None:
    """Write each score in percent of the target, rounded and cut at 127 either way, as all see it."""
    for seat in range(options.num_players):
        percent = (200 * public.scores[seat] + options.target_score) // (2 * options.target_score)
        public.seats[seat].score_percent = min(max(percent, -127), 127)


@kernel
def _end_of_hand(table: Any) -> int:
    options = table.options
    public = table.public
    reached = options.single_hand == 1
    for seat in range(options.num_players):
        if public.scores[seat] >= options.target_score:  # R23
            reached = True
    capped = options.max_hands != NO_CAP and public.hand_number + 1 >= options.max_hands  # R25
    if not reached and not capped:
        deal_next_hand(table)
        return HAND_SCORED
    public.phase = OVER
    public.mover = NOBODY
    public.is_truncated = not reached
    return TERMINATED if reached else TRUNCATED
