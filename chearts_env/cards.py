"""Faces, suits, points, and cards as text (R2 to R4).

A *face* is a number 0 … 51 = `13 * suit + rank`; suits are clubs, diamonds, spades, hearts, ranks 2 … A = 0 … 12. The
pack holds two indistinguishable copies of each face, so a set of cards is an array of 52 counts, each 0, 1 or 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

NUM_RANKS: Final = 13
NUM_SUITS: Final = 4
NUM_FACES: Final = 52
NUM_COPIES: Final = 2
NUM_CARDS: Final = 104

CLUBS: Final = 0
DIAMONDS: Final = 1
SPADES: Final = 2
HEARTS: Final = 3

BLACK_MARIA: Final = 36  # QS
FIRST_HEART: Final = 39
POINTS_PER_HEART: Final = 1
POINTS_PER_BLACK_MARIA: Final = 13
POINTS_IN_ALL: Final = 52

RANK_LETTERS: Final = "23456789TJQKA"
SUIT_LETTERS: Final = "CDSH"

#: Points of each face (R4), shape (52,) int8.
FACE_POINTS: Final[npt.NDArray[np.int8]] = np.zeros(NUM_FACES, np.int8)
FACE_POINTS[FIRST_HEART:] = POINTS_PER_HEART
FACE_POINTS[BLACK_MARIA] = POINTS_PER_BLACK_MARIA
FACE_POINTS.setflags(write=False)
#: Suit of each face, shape (52,) int8.
FACE_SUIT: Final[npt.NDArray[np.int8]] = (np.arange(NUM_FACES) // NUM_RANKS).astype(np.int8)
FACE_SUIT.setflags(write=False)

_FACE_OF_TEXT: Final = {
    rank + suit: 13 * suit_number + rank_number
    for suit_number, suit in enumerate(SUIT_LETTERS)
    for rank_number, rank in enumerate(RANK_LETTERS)
}
_TEXT_OF_FACE: Final = tuple(_FACE_OF_TEXT)


def face_to_text(face: int) -> str:
    """Return a face as rank then suit, such as `"QS"` for 36."""
    if not 0 <= face < NUM_FACES:
        raise ValueError(f"face {face} is out of range: faces are 0 … 51")
    return _TEXT_OF_FACE[face]


def face_from_text(text: str) -> int:
    """Return the face that a text such as `"QS"` or `"10h"` names; case does not matter."""
    name = text.strip().upper().replace("10", "T")
    if name not in _FACE_OF_TEXT:
        raise ValueError(
            f"unknown card {text!r}: a card is a rank of {RANK_LETTERS} and a suit of {SUIT_LETTERS}, like QS"
        )
    return _FACE_OF_TEXT[name]


def faces_from_text(text: str) -> list[int]:
    """Return the faces of cards separated by spaces or commas, in the order written, such as `"QS QS 2C"`."""
    return [face_from_text(word) for word in text.replace(",", " ").split()]


def faces_to_text(faces: Iterable[int]) -> str:
    """Return faces in the order given as text separated by spaces."""
    return " ".join(face_to_text(int(face)) for face in faces)


def faces_of_counts(counts: Iterable[int]) -> list[int]:
    """Return the faces of an array of 52 counts in ascending order, a face held twice standing twice."""
    return [face for face, count in enumerate(counts) for _ in range(int(count))]


def cancelled_faces(trick: Iterable[tuple[int, int]]) -> set[int]:
    """Return the faces that lie twice among the cards of a trick, (seat, face) each (R13)."""
    faces = [face for _, face in trick]
    return {face for face in faces if faces.count(face) == NUM_COPIES}


def counts_of_faces(faces: Iterable[int]) -> npt.NDArray[np.int8]:
    """Return the counts of some faces, shape (52,) int8."""
    counts = np.zeros(NUM_FACES, np.int8)
    for face in faces:
        counts[face] += 1
    return counts


def counts_to_text(counts: Iterable[int]) -> str:
    """Return an array of 52 counts as cards in ascending order, such as `"2C QS QS"`."""
    return faces_to_text(faces_of_counts(counts))
