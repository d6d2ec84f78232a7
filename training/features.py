"""A network's features by a compiled kernel, as the few that are not 0: what torch takes several times as long for.

A row has some 150 of 1,355, so that a first layer that looks at these alone costs a fraction of a dense one. A test
compares every feature with those of `training.network.Expansion`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from baselines.careful.judgements import judgements
from chearts_env.cards import NUM_FACES, NUM_RANKS, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.observation import SEAT_ENTRIES
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from training.feature_layout import (
    FIELD,
    FIRST_CARD,
    FIRST_SEAT,
    FIRST_TABLE,
    NUM_CARD_FEATURES,
    NUM_FEATURES,
    NUM_OF_SEAT,
    SEAT_DIVISORS,
    SEAT_NUMBERS,
    TABLE_DIVISORS,
    TABLE_NUMBERS,
)
from training.precision import KINDS

_PLAYED: Final = FIELD["played"].place
_TRICK_CARD: Final = FIELD["trick_card"].place
_HAND: Final = FIELD["hand"].place
_GIVEN: Final = FIELD["given"].place
_TRICK: Final = FIELD["trick"].place
_PILE: Final = FIELD["pile"].place
_PASS_OFFSET: Final = FIELD["pass_offset"].place
_LED_SUIT: Final = FIELD["led_suit"].place
_SIZE: Final = FIELD["size"].place
_NUM_SIZES: Final = FIELD["size"].size
_FIRST_SEAT_NUMBER: Final = SEAT_NUMBERS.start
_FIRST_TABLE_NUMBER: Final = TABLE_NUMBERS.start

_SEAT_DIVISORS: Final = np.array(SEAT_DIVISORS, np.float32)
_TABLE_DIVISORS: Final = np.array(TABLE_DIVISORS, np.float32)
_NUM_SEAT_NUMBERS: Final = len(SEAT_DIVISORS)
_NUM_TABLE_NUMBERS: Final = len(TABLE_DIVISORS)
_EIGHTH: Final = np.float32(1 / 8)
_RANKS: Final = np.float32(NUM_RANKS)


def card_judgements(
    observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8], constants: npt.NDArray[np.void] | None
) -> npt.NDArray[np.float32]:
    """Return what `careful` makes of each card by its constants, (N, 52, 8), or nothing without them, (N, 52, 0)."""
    if constants is None:
        return np.zeros((len(observations), NUM_FACES, 0), np.float32)
    return judgements(observations, masks, constants)


def dense_features(
    observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8], judged: npt.NDArray[np.float32], kind: torch.dtype
) -> Tensor:
    """Return all features, (N, F), float32 or bfloat16, for observations (N, O), masks (N, 54) and judgements.

    The judgements, those of `card_judgements`, follow the expansion's features.
    """
    if kind not in KINDS.values():
        raise ValueError(f"features are made in {' or '.join(KINDS)}, not in {kind}")
    observations, masks = np.ascontiguousarray(observations), np.ascontiguousarray(masks)
    size = NUM_FEATURES + NUM_FACES * judged.shape[2]
    room = (np.empty(NUM_FACES, np.int8), np.empty(size, np.int64), np.empty(size, np.float32))
    cards = np.empty((NUM_FACES, NUM_CARD_FEATURES), np.float32)
    dense = np.zeros((len(observations), size), np.float32)
    _write_all(observations, masks, judged, *room, cards, dense)
    return torch.from_numpy(dense).to(kind)


@kernel
def _write_all(
    observations: Any, masks: Any, judged: Any, unseen: Any, places: Any, values: Any, cards: Any, dense: Any
) -> None:
    for row in range(observations.shape[0]):
        count = note_features(observations[row], masks[row], judged[row], unseen, places, values, cards)
        for number in range(count):
            dense[row, places[number]] = values[number]


@kernel
def _put(places: Any, values: Any, count: int, place: int, value: Any) -> int:
    """Note a feature unless it is 0; return how many are noted."""
    if value != 0:
        places[count] = place
        values[count] = value
        return count + 1
    return count


@kernel
def note_features(seen: Any, mask: Any, judged: Any, unseen: Any, places: Any, values: Any, cards: Any) -> int:
    """Write the features of one observation (O,) with its mask (54,) that are not 0; return how many they are.

    `judged` (52, K) float32 are judgements of its cards, K = 0 for none. `places` (F,) int64 and `values` (F,) float32
    take the features, `cards` (52, 5) float32 those of each card once more, zeros included; `unseen` (52,) int8 is room
    to work in.
    """
    num_players = 0
    for number in range(_NUM_SIZES):
        if seen[_SIZE + number]:
            num_players = MIN_PLAYERS + number
    offset = int(seen[_PASS_OFFSET])
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
    for seat in range(MAX_PLAYERS):
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
    count = _note_seats(seen, num_players, led, best, places, values, count)
    for face in range(NUM_FACES):
        if mask[face]:
            for number in range(judged.shape[1]):
                place = NUM_FEATURES + judged.shape[1] * face + number
                count = _put(places, values, count, place, judged[face, number])
    return count


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
                    count = _put(places, values, count, FIRST_CARD + NUM_CARD_FEATURES * face + number, card[number])
            below += left
    return count


@kernel
def _note_seats(seen: Any, num_players: int, led: int, best: int, places: Any, values: Any, count: int) -> int:
    one = np.float32(1)
    num_laid = 0
    for seat in range(MAX_PLAYERS):
        row, place = SEAT_ENTRIES * seat, FIRST_SEAT + NUM_OF_SEAT * seat
        for number in range(_NUM_SEAT_NUMBERS):
            value = np.float32(seen[row + _FIRST_SEAT_NUMBER + number]) / _SEAT_DIVISORS[number]
            count = _put(places, values, count, place + number, value)
        laid = int(seen[row + _TRICK_CARD])
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
        value = np.float32(seen[_FIRST_TABLE_NUMBER + number]) / _TABLE_DIVISORS[number]
        count = _put(places, values, count, FIRST_TABLE + number, value)
    more = FIRST_TABLE + _NUM_TABLE_NUMBERS
    count = _put(places, values, count, more, np.float32(num_laid) / _RANKS)
    count = _put(places, values, count, more + 1, np.float32(num_players - num_laid - 1) / _RANKS)
    return _put(places, values, count, more + 2, np.float32(best) / _RANKS)
