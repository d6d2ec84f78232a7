"""The features of `training.network.Expansion` by a compiled kernel, as the few that are not 0: for answers on a CPU.

A row has some 150 of 1,355, so that a first layer that looks at these alone costs a fraction of a dense one. A test
compares every feature with the expansion's.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from chearts_env.cards import NUM_FACES, NUM_RANKS, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.observation import FIELDS, SEAT_ENTRIES
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from training.network import FIRST_CARD_PLANE, NUM_CARD_FEATURES, NUM_PLANES, SEAT_SCALES, TABLE_SCALES

_PLACES: Final = {field.name: field.place for field in FIELDS}
_PLAYED: Final = _PLACES["played"]
_TRICK_CARD: Final = _PLACES["trick_card"]
_VOID: Final = _PLACES["void"]
_HAND: Final = _PLACES["hand"]
_GIVEN: Final = _PLACES["given"]
_TRICK: Final = _PLACES["trick"]
_PILE: Final = _PLACES["pile"]
_TRICK_NUMBER: Final = _PLACES["trick_number"]
_PASS_OFFSET: Final = _PLACES["pass_offset"]
_LED_SUIT: Final = _PLACES["led_suit"]
_SIZE: Final = _PLACES["size"]
_NUM_SIZES: Final = MAX_PLAYERS - MIN_PLAYERS + 1

_SEAT_SCALES: Final = np.array(SEAT_SCALES, np.float32)
_TABLE_SCALES: Final = np.array(TABLE_SCALES, np.float32)
_NUM_SEAT_NUMBERS: Final = len(SEAT_SCALES)
_NUM_TABLE_NUMBERS: Final = len(TABLE_SCALES)
_FIRST_CARD: Final = FIRST_CARD_PLANE * NUM_FACES
_FIRST_SEAT: Final = NUM_PLANES * NUM_FACES
_FIRST_TABLE: Final = _FIRST_SEAT + MAX_PLAYERS * (_NUM_SEAT_NUMBERS + 3)
#: Where the judgements of `careful` begin, in a network that takes them.
FIRST_JUDGEMENT: Final = _FIRST_TABLE + _NUM_TABLE_NUMBERS + 3

_EIGHTH: Final = np.float32(1 / 8)
_RANKS: Final = np.float32(NUM_RANKS)


@kernel
def _put(places: Any, values: Any, count: int, place: int, value: Any) -> int:
    """Note a feature unless it is 0; return how many are noted."""
    if value != 0:
        places[count] = place
        values[count] = value
        return count + 1
    return count


@kernel
def note_features(seen: Any, mask: Any, unseen: Any, places: Any, values: Any, cards: Any) -> int:
    """Write the features of one observation (O,) with its mask (54,) that are not 0; return how many they are.

    `places` (F,) int64 and `values` (F,) float32 take them, `cards` (52, 5) float32 those of each card once more, zeros
    included; `unseen` (52,) int8 is room to work in.
    """
    num_players = 0
    for number in range(_NUM_SIZES):
        if seen[_SIZE + number]:
            num_players = MIN_PLAYERS + number
    offset = seen[_PASS_OFFSET]
    receiver = num_players + offset if offset < 0 else offset
    led = -1
    for suit in range(NUM_SUITS):
        if seen[_LED_SUIT + suit]:
            led = suit
    best = 0
    if led >= 0:
        for rank in range(NUM_RANKS):
            if seen[_TRICK + NUM_RANKS * led + rank] == 1:
                best = rank + 1

    for face in range(NUM_FACES):
        unseen[face] = 2 - seen[_HAND + face]
    for seat in range(num_players):
        first = SEAT_ENTRIES * seat + _PLAYED
        for face in range(NUM_FACES):
            unseen[face] -= seen[first + face]

    count = 0
    one = np.float32(1)
    for face in range(NUM_FACES):
        hand, trick = seen[_HAND + face], seen[_TRICK + face]
        located = max(0, seen[_GIVEN + face] - seen[SEAT_ENTRIES * receiver + _PLAYED + face])
        unseen[face] -= located
        left = unseen[face]
        if hand >= 1:
            count = _put(places, values, count, face, one)
        if hand == 2:
            count = _put(places, values, count, NUM_FACES + face, one)
        if left >= 1:
            count = _put(places, values, count, 2 * NUM_FACES + face, one)
        if left == 2:
            count = _put(places, values, count, 3 * NUM_FACES + face, one)
        if trick == 1:
            count = _put(places, values, count, 4 * NUM_FACES + face, one)
        if trick == 2:
            count = _put(places, values, count, 5 * NUM_FACES + face, one)
        count = _put(places, values, count, 6 * NUM_FACES + face, np.float32(located))
        count = _put(places, values, count, 7 * NUM_FACES + face, np.float32(seen[_PILE + face]))
        count = _put(places, values, count, 8 * NUM_FACES + face, np.float32(mask[face]))
    count = _note_cards(seen, mask, unseen, led, best, places, values, count, cards)
    return _note_seats(seen, num_players, led, best, places, values, count)


@kernel
def _note_cards(
    seen: Any, mask: Any, unseen: Any, led: int, best: int, places: Any, values: Any, count: int, cards: Any
) -> int:
    for suit in range(NUM_SUITS):
        below, out = 0, 0
        for rank in range(NUM_RANKS):
            out += unseen[NUM_RANKS * suit + rank]
        for rank in range(NUM_RANKS):
            face = NUM_RANKS * suit + rank
            left = unseen[face]
            card = cards[face]
            card[:] = 0
            if mask[face]:
                single = seen[_TRICK + face] == 1
                card[0] = suit == led and rank + 1 > best and not single
                card[1] = single
                card[2] = seen[_HAND + face] == 1 and left >= 1
                card[3] = np.float32(out - below - left) * _EIGHTH
                card[4] = np.float32(below) * _EIGHTH
                for number in range(NUM_CARD_FEATURES):
                    count = _put(places, values, count, _FIRST_CARD + NUM_CARD_FEATURES * face + number, card[number])
            below += left
    return count


@kernel
def _note_seats(seen: Any, num_players: int, led: int, best: int, places: Any, values: Any, count: int) -> int:
    one = np.float32(1)
    num_laid = 0
    for seat in range(MAX_PLAYERS):
        row, place = SEAT_ENTRIES * seat, _FIRST_SEAT + (_NUM_SEAT_NUMBERS + 3) * seat
        for number in range(_NUM_SEAT_NUMBERS):
            value = np.float32(seen[row + _VOID + number]) * _SEAT_SCALES[number]
            count = _put(places, values, count, place + number, value)
        laid = seen[row + _TRICK_CARD]
        if laid > 0:
            num_laid += 1
            count = _put(places, values, count, place + _NUM_SEAT_NUMBERS, one)
            face = laid - 1
            if face // NUM_RANKS == led and seen[_TRICK + face] == 1:
                rank = face % NUM_RANKS + 1
                count = _put(places, values, count, place + _NUM_SEAT_NUMBERS + 1, np.float32(rank) / _RANKS)
                if rank == best:
                    count = _put(places, values, count, place + _NUM_SEAT_NUMBERS + 2, one)
    for number in range(_NUM_TABLE_NUMBERS):
        value = np.float32(seen[_TRICK_NUMBER + number]) * _TABLE_SCALES[number]
        count = _put(places, values, count, _FIRST_TABLE + number, value)
    more = _FIRST_TABLE + _NUM_TABLE_NUMBERS
    count = _put(places, values, count, more, np.float32(num_laid) / _RANKS)
    count = _put(places, values, count, more + 1, np.float32(num_players - num_laid - 1) / _RANKS)
    return _put(places, values, count, more + 2, np.float32(best) / _RANKS)
