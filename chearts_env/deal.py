"""Chance: the table's own stream of random numbers, the shuffle, the deal, the first dealer, the start of an episode.

The generator is xoshiro128++ (Blackman and Vigna), kept in four 32-bit words that stand in 64-bit ones so that the same
lines run compiled and uncompiled without overflow. Nothing here reads or touches any global random state.
"""

from __future__ import annotations

import operator
import secrets
from typing import Any, Final

import numpy as np

from chearts_env.cards import FACE_SUIT, NUM_CARDS, NUM_FACES, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import NOBODY, PASS, PLAY, RANDOM_DEALER

_WORD: Final = np.uint64(0xFFFFFFFF)
_ONE_WORD: Final = np.uint64(32)
_GOLDEN: Final = np.uint64(0x9E3779B9)


def checked_seed(seed: int | None) -> int:
    """Return a seed as an int of 64 bits; None draws one from the operating system. Raises ValueError otherwise."""
    if seed is None:
        return secrets.randbits(64)
    try:
        if isinstance(seed, bool):
            raise TypeError
        number = operator.index(seed)
    except TypeError:
        raise ValueError(f"seed={seed!r} is not allowed: it must be None or a whole number 0 … 2**64 - 1") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"seed={number} is not allowed: it must be None or a whole number 0 … 2**64 - 1")
    return number


@kernel
def _mix(word: np.uint64) -> np.uint64:
    # The finaliser of MurmurHash3 on 32 bits: a bijection, so no two seeds start alike.
    word ^= word >> np.uint64(16)
    word = (word * np.uint64(0x85EBCA6B)) & _WORD
    word ^= word >> np.uint64(13)
    word = (word * np.uint64(0xC2B2AE35)) & _WORD
    return word ^ (word >> np.uint64(16))


@kernel
def seed_stream(stream: Any, seed: np.uint64) -> None:
    """Start a stream, shape (4,) uint64, from a 64-bit seed; different seeds give different states."""
    high = _mix(((seed & _WORD) + _GOLDEN) & _WORD)
    low = _mix(((seed >> _ONE_WORD) + high) & _WORD)
    word = high
    for place in range(4):
        word = _mix((word + low + np.uint64(place + 1) * _GOLDEN) & _WORD)
        stream[place] = word
    if stream[0] | stream[1] | stream[2] | stream[3] == np.uint64(0):
        stream[0] = np.uint64(1)  # the one state that the generator never leaves


@kernel
def _rotated(word: np.uint64, places: np.uint64) -> np.uint64:
    return ((word << places) | (word >> (_ONE_WORD - places))) & _WORD


@kernel
def next_word(stream: Any) -> np.uint64:
    """Draw 32 random bits and advance the stream."""
    result = (_rotated((stream[0] + stream[3]) & _WORD, np.uint64(7)) + stream[0]) & _WORD
    shifted = (stream[1] << np.uint64(9)) & _WORD
    stream[2] ^= stream[0]
    stream[3] ^= stream[1]
    stream[1] ^= stream[2]
    stream[0] ^= stream[3]
    stream[2] ^= shifted
    stream[3] = _rotated(stream[3], np.uint64(11))
    return result  # type: ignore[no-any-return]


@kernel
def next_seed(stream: Any) -> np.uint64:
    """Return a seed for whatever follows, 64 bits of a stream."""
    return next_word(stream) << np.uint64(32) | next_word(stream)


@kernel
def draw_below(stream: Any, bound: int) -> int:
    """Draw a whole number 0 … bound - 1, each equally likely (Lemire's method); bound is 1 … 2**31."""
    wide = np.uint64(bound)
    product = next_word(stream) * wide
    if product & _WORD < wide:
        too_small = (_WORD + np.uint64(1) - wide) % wide
        while product & _WORD < too_small:
            product = next_word(stream) * wide
    return np.int64(product >> _ONE_WORD)  # type: ignore[return-value]


@kernel
def shuffle(stream: Any, cards: Any, count: int) -> None:
    """Shuffle the first `count` entries of an array in place, every order equally likely."""
    for last in range(count - 1, 0, -1):
        place = draw_below(stream, last + 1)
        kept = cards[last]
        cards[last] = cards[place]
        cards[place] = kept


@kernel
def left_of(seat: int, num_players: int) -> int:
    """Return the seat to the left of a seat (R1)."""
    return seat + 1 if seat + 1 < num_players else 0


@kernel
def clear_hand(table: Any) -> None:
    """Take all cards off a table and start a hand that nothing is known of; scores and hand number stay."""
    public = table.public
    for seat in range(MAX_PLAYERS):
        known = public.seats[seat]
        private = table.private[seat]
        for face in range(NUM_FACES):
            known.played[face] = 0
        for face in range(NUM_FACES):
            private.hand[face] = 0
        for suit in range(NUM_SUITS):
            known.void[suit] = 0
            private.suits[suit] = 0
        private.given[:] = 0
        private.received[:] = 0
        private.kitty_cards[:] = 0
        private.num_given = 0
        known.trick_card = 0
        known.only_points = 0
        known.points_seen = 0
        known.cards_left = 0
    for face in range(NUM_FACES):
        public.board.trick[face] = 0
        public.board.pile[face] = 0
        table.hidden.kitty[face] = 0
    public.board.trick_number = 0
    public.board.led_suit[:] = 0
    public.trick_size = 0
    public.board.trick_pairs = 0
    public.board.trick_points = 0
    public.board.pile_points = 0
    public.board.hearts_broken = 0
    public.last_winner = NOBODY
    public.kitty_taker = NOBODY
    public.is_truncated = 0


@kernel
def open_hand(table: Any) -> None:
    """Let the seat left of the dealer begin: with the pass (R9), or with the opening lead where there is none (R10)."""
    options = table.options
    public = table.public
    public.board.pass_offset = options.pass_cycle[public.hand_number % options.pass_cycle_length]
    public.phase = PLAY if public.board.pass_offset == 0 else PASS
    public.leader = left_of(public.dealer, options.num_players)
    public.mover = public.leader


@kernel
def give_card(table: Any, seat: int, face: int) -> None:
    """Put one card into a seat's hand."""
    private = table.private[seat]
    private.hand[face] += 1
    private.suits[FACE_SUIT[face]] += 1
    table.public.seats[seat].cards_left += 1


@kernel
def deal_hand(table: Any) -> None:
    """Shuffle both packs, deal every seat its cards and lay the rest aside as the kitty (R2, R5)."""
    clear_hand(table)
    deck = table.hidden.deck
    for card in range(NUM_CARDS):
        deck[card] = card >> 1
    shuffle(table.hidden.stream, deck, NUM_CARDS)
    hand_size = table.options.hand_size
    num_dealt = table.options.num_players * hand_size
    for card in range(num_dealt):
        give_card(table, card // hand_size, deck[card])
    for card in range(num_dealt, NUM_CARDS):
        table.hidden.kitty[deck[card]] += 1
    open_hand(table)


@kernel
def deal_next_hand(table: Any) -> None:
    """Move the deal one seat to the left and deal the game's next hand (R6)."""
    table.public.dealer = left_of(table.public.dealer, table.options.num_players)
    table.public.hand_number += 1
    deal_hand(table)


@kernel
def begin_episode(table: Any, seed: np.uint64) -> None:
    """Start a game, or a single hand, from a 64-bit seed: scores 0, first dealer (R6), first deal.

    A single hand takes its pass direction from a place drawn from `pass_cycle`, kept as its hand number. The draw comes
    after the deal, so that one seed deals the same cards in both kinds of episode.
    """
    public = table.public
    options = table.options
    stream = table.hidden.stream
    table.hidden.seed = seed
    seed_stream(stream, seed)
    public.scores[:] = 0
    public.score_changes[:] = 0
    for seat in range(MAX_PLAYERS):
        public.seats[seat].score_percent = 0
    public.hand_number = 0
    public.dealer = options.first_dealer
    if options.first_dealer == RANDOM_DEALER:
        public.dealer = draw_below(stream, options.num_players)
    deal_hand(table)
    if options.single_hand:
        public.hand_number = draw_below(stream, options.pass_cycle_length)
        open_hand(table)
