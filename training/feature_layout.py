"""Where each feature of a network's input stands: planes of the cards, then numbers of the seats and of the table.

Two make them: `training.network.Expansion` with torch, on any device, and `training.features` with a compiled kernel.
"""

from __future__ import annotations

import math
from typing import Final

from chearts_env.cards import NUM_FACES
from chearts_env.observation import FIELDS
from chearts_env.rules import MAX_PLAYERS

FIELD: Final = {field.name: field for field in FIELDS}

#: Divisors that bring numbers to about 1; an infinite one leaves a field out.
_DIVISORS: Final[dict[str, float]] = {
    **{"cards_left": 17, "points_seen": 13, "trick_number": 17, "trick_pairs": 2, "trick_points": 13},
    **{"pile_points": 26, "kitty_size": 6, "moon_points": 26},
    **dict.fromkeys(("score_percent", "mover", "hands_left"), math.inf),
}


def _stretch(first: str, last: str) -> slice:
    """Return the places from the first field to the last."""
    return slice(FIELD[first].place, FIELD[last].place + FIELD[last].size)


def _divisors(stretch: slice, is_per_seat: bool) -> list[float]:
    """Return the divisor of each entry of a stretch."""
    fields = [each for each in FIELDS if each.is_per_seat == is_per_seat and stretch.start <= each.place < stretch.stop]
    return [float(_DIVISORS.get(field.name, 1)) for field in fields for _ in range(field.size)]


#: The stretch of a seat's row, and that of the vector, taken over as numbers; what brings each to about 1.
SEAT_NUMBERS: Final = _stretch("void", "has_kitty")
TABLE_NUMBERS: Final = _stretch("trick_number", "hands_left")
SEAT_DIVISORS: Final = _divisors(SEAT_NUMBERS, is_per_seat=True)
TABLE_DIVISORS: Final = _divisors(TABLE_NUMBERS, is_per_seat=False)

#: Planes of 52: held, both held, unseen, both unseen, once on the trick, twice on it, given and not played yet, set
#: aside, legal. Then five features of each card, card by card.
NUM_CARD_FEATURES: Final = 5
FIRST_CARD: Final = 9 * NUM_FACES
#: A seat's numbers, and of its card in the trick: laid, rank if it may win, winning so far.
FIRST_SEAT: Final = FIRST_CARD + NUM_CARD_FEATURES * NUM_FACES
NUM_OF_SEAT: Final = len(SEAT_DIVISORS) + 3
#: The table's numbers, then cards laid, cards to come after this one, and the best rank.
FIRST_TABLE: Final = FIRST_SEAT + MAX_PLAYERS * NUM_OF_SEAT
NUM_FEATURES: Final = FIRST_TABLE + len(TABLE_DIVISORS) + 3
