"""A table as text, drawn from a decoded observation, so that it cannot show what the seat has not seen."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import (
    SUIT_LETTERS,
    cancelled_faces,
    counts_to_text,
    face_to_text,
    faces_of_counts,
    faces_to_text,
)
from chearts_env.observation import Knowledge

_CARD: Final = re.compile(r"(\()?\b[2-9TJQKA]([CDSH])\b(?(1)\))")
#: As in the pictures: a pack of four colours.
_STYLES: Final = {"C": "32", "D": "94", "S": "1", "H": "91"}
_STRUCK: Final = ";2;9"


def table_as_text(knowledge: Knowledge, viewer: int, hands: Sequence[npt.NDArray[np.int8]] | None = None) -> str:
    """Return the table as the seat `viewer` may see it, a few lines of text without colour.

    `knowledge` has seats relative to that seat; the text names them by their numbers at the table. `hands`, one of 52
    counts for each relative seat, are shown where they are given: to those who may see everything.
    """
    number_of = [(viewer + seat) % knowledge.num_players for seat in range(knowledge.num_players)]
    lines = [heading(knowledge, number_of), rules_line(knowledge), ""]
    lines += [
        _seat_line(knowledge, seat, number_of) for seat in sorted(range(len(number_of)), key=number_of.__getitem__)
    ]
    lines += [
        "",
        f"Trick  {_trick(knowledge, number_of)}",
        f"Pile   {_pile(knowledge)}",
        f"Kitty  {_kitty(knowledge, number_of)}",
    ]
    lines += [f"Hand   {_by_suit(faces_of_counts(knowledge.hand))}"]
    if hands is not None:
        lines += [
            f"{f'P{number_of[seat]}':<6} {_by_suit(faces_of_counts(hands[seat]))}" for seat in range(1, len(number_of))
        ]
    if knowledge.given.any():
        lines.append(
            f"Given  {counts_to_text(knowledge.given)} to P{number_of[knowledge.pass_offset % knowledge.num_players]}"
        )
    if knowledge.received.any():
        giver = number_of[-knowledge.pass_offset % knowledge.num_players]
        lines.append(f"Got    {counts_to_text(knowledge.received)} from P{giver}")
    return "\n".join(lines)


def for_terminal(text: str) -> str:
    """Return a table's text in colour where standard output is a terminal that has it (`NO_COLOR` is unset)."""
    has_colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return coloured(text) if has_colour else text


def coloured(text: str) -> str:
    """Return a table's text with each card in the colour of its suit, and cancelled cards struck through."""
    return _CARD.sub(lambda card: f"\x1b[{_STYLES[card[2]]}{_STRUCK if card[1] else ''}m{card[0]}\x1b[0m", text)


def heading(knowledge: Knowledge, number_of: list[int]) -> str:
    """Return what is going on in one line; `number_of` are the numbers of the seats, by relative seat."""
    mover = "nobody" if knowledge.mover is None else f"P{number_of[knowledge.mover]}"
    what = {
        "pass": f"passing three cards {_direction(knowledge.pass_offset)}, {mover} chooses",
        "play": f"trick {knowledge.trick_number + 1}, {mover} to play",
        "moon": f"{mover} has shot the moon and chooses: subtract {knowledge.moon_points} or add it to the others",
        "over": "the game is over",
    }[knowledge.phase]
    return f"Cancellation Hearts, {knowledge.num_players} seats, as P{number_of[0]} sees it: {what}"


def rules_line(knowledge: Knowledge) -> str:
    """Return what matters of the rules in one line."""
    broken = "hearts are broken" if knowledge.hearts_broken else "hearts are not broken"
    left = knowledge.hands_left
    cap = "" if left is None else "; the last hand" if left == 1 else f"; {left} hands left, this one included"
    return f"Set aside: {knowledge.options['set_aside']}; {broken}{cap}"


def _direction(offset: int) -> str:
    if offset in (1, -1):
        return "to the left" if offset == 1 else "to the right"
    return f"{abs(offset)} seats to the {'left' if offset > 0 else 'right'}"


def _seat_line(knowledge: Knowledge, seat: int, number_of: list[int]) -> str:
    marks = "".join(
        mark if holds else " "
        for mark, holds in (
            (">", seat == knowledge.mover),
            ("L", seat == knowledge.leader),
            ("D", seat == knowledge.dealer),
            ("K", seat == knowledge.kitty_taker),
        )
    )
    shown = "".join(SUIT_LETTERS[suit] for suit in range(4) if knowledge.void[seat, suit])
    shown = f"  out of {shown}" if shown else ""
    shown += "  points only" if knowledge.only_points[seat] else ""
    return (
        f"{marks} P{number_of[seat]:<2}  {knowledge.cards_left[seat]:>2} cards  {knowledge.points_seen[seat]:>2} points"
        f"  score {knowledge.score_percent[seat]:>4} %{shown}"
    )


def _trick(knowledge: Knowledge, number_of: list[int]) -> str:
    if not knowledge.trick:
        return "-"
    struck = cancelled_faces(knowledge.trick)
    cards = [
        f"P{number_of[seat]} ({face_to_text(face)})" if face in struck else f"P{number_of[seat]} {face_to_text(face)}"
        for seat, face in knowledge.trick
    ]
    cancelled = ", cancelled in brackets" if struck else ""
    return f"{'  '.join(cards)}   [{knowledge.trick_points} points{cancelled}]"


def _pile(knowledge: Knowledge) -> str:
    if not knowledge.pile.any():
        return "-"
    return f"{counts_to_text(knowledge.pile)}   [{knowledge.pile_points} points]"


def _kitty(knowledge: Knowledge, number_of: list[int]) -> str:
    if knowledge.kitty_size == 0:
        return "none"
    where = "not taken yet" if knowledge.kitty_taker is None else f"taken by P{number_of[knowledge.kitty_taker]}"
    cards = faces_to_text(knowledge.kitty_cards) if knowledge.kitty_cards else f"{knowledge.kitty_size} cards face down"
    return f"{cards}, {where}"


def _by_suit(faces: Iterable[int]) -> str:
    suits = ["" for _ in SUIT_LETTERS]
    for face in faces:
        suits[face // 13] += f" {face_to_text(face)}"
    return "  |".join(suit for suit in suits if suit).strip() or "-"
