"""A table as a picture, drawn from a decoded observation, so that it cannot show what the seat has not seen.

The viewer sits at the bottom, its left is on the left, seats go clockwise. `hands` lays other hands open: for those who
may see everything, a replay or a person who watches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import cancelled_faces, counts_to_text, faces_of_counts
from chearts_env.observation import Knowledge
from chearts_env.render.cards import Colour, card, card_height, draw_suit, font, paste_centred, paste_fan, pillow
from chearts_env.render.text import heading, rules_line

#: Size of a picture, pixels.
WIDTH: Final = 1200
HEIGHT: Final = 800
#: Drawn this many times larger, then shrunk: smooth edges.
_SCALE: Final = 2
_CENTRE: Final = (600, 372)
_ROOM: Final[Colour] = (24, 44, 38)
_FELT: Final[Colour] = (36, 96, 72)
_RIM: Final[Colour] = (92, 66, 44)
_LIGHT: Final[Colour] = (238, 240, 236)
_DIM: Final[Colour] = (176, 196, 186)
_PANEL: Final[Colour] = (20, 62, 48)
_TURN: Final[Colour] = (250, 204, 70)
#: Angles, degrees clockwise from the right, between which the other seats sit.
_FIRST_ANGLE: Final = 132
_LAST_ANGLE: Final = 408


def table_as_picture(
    knowledge: Knowledge, viewer: int, hands: Sequence[npt.NDArray[np.int8]] | None = None
) -> npt.NDArray[np.uint8]:
    """Return the table as the seat `viewer` may see it, (800, 1200, 3) uint8.

    `hands`, one of 52 counts for each seat relative to the viewer, are shown open where they are given.
    """
    pil = pillow()
    image = pil.Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), _ROOM)
    _Picture(image, knowledge, viewer, hands).draw()
    small = image.resize((WIDTH, HEIGHT), pil.Image.Resampling.LANCZOS)
    return np.asarray(small, np.uint8).copy()


class _Picture:
    """One picture on its way; places are in pixels of the finished one."""

    def __init__(
        self, image: Any, knowledge: Knowledge, viewer: int, hands: Sequence[npt.NDArray[np.int8]] | None
    ) -> None:
        self._image = image
        self._pen: Any = pillow().ImageDraw.Draw(image)
        self._knows = knowledge
        self._hands = hands
        self._number_of = [(viewer + seat) % knowledge.num_players for seat in range(knowledge.num_players)]

    def draw(self) -> None:
        """Draw everything."""
        x, y = _CENTRE
        self._ellipse((x, y), 520, 300, _RIM)
        self._ellipse((x, y), 508, 288, _FELT)
        for seat in range(1, self._knows.num_players):
            self._draw_seat(seat)
        self._draw_middle()
        self._draw_trick()
        self._draw_own()
        self._text((24, 26), heading(self._knows, self._number_of), 19, _LIGHT, "lm")
        self._text((24, 52), rules_line(self._knows), 15, _DIM, "lm")

    def _draw_seat(self, seat: int) -> None:
        x, y = self._place_of(seat, 452, 262)
        knows = self._knows
        wide, high = (150, 84) if knows.num_players < 9 else (136, 84)
        box = (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
        outline = _TURN if seat == knows.mover else _PANEL
        self._pen.rounded_rectangle([each * _SCALE for each in box], 8 * _SCALE, _PANEL, outline, 3 * _SCALE)
        self._text((box[0] + 10, box[1] + 15), f"P{self._number_of[seat]}", 18, _LIGHT, "lm")
        self._text((box[2] - 10, box[1] + 15), self._marks(seat), 13, _TURN, "rm")
        self._text((box[0] + 10, box[1] + 36), self._points(seat), 13, _DIM, "lm")
        self._draw_voids(seat, (box[0] + 10, box[1] + 54))
        count = max(int(knows.cards_left[seat]), 1)
        if self._hands is None:
            self._text((box[2] - 10, box[3] - 12), f"{knows.cards_left[seat]}", 13, _DIM, "rm")
            self._fan([None] * int(knows.cards_left[seat]), (x - 12, box[3] - 12), 15, min(7.0, 100 / count))
        else:
            self._fan([*faces_of_counts(self._hands[seat])], (x, box[3] + 8), 30, min(14.0, (wide + 40.0) / count))

    def _marks(self, seat: int) -> str:
        knows = self._knows
        holders = (("leads", knows.leader), ("dealt", knows.dealer), ("kitty", knows.kitty_taker))
        return "  ".join(word for word, holder in holders if holder == seat)

    def _points(self, seat: int) -> str:
        knows = self._knows
        return f"{knows.points_seen[seat]} points   score {knows.score_percent[seat]} %"

    def _draw_voids(self, seat: int, place: tuple[float, float]) -> None:
        knows = self._knows
        shown = [suit for suit in range(4) if knows.void[seat, suit]]
        if knows.only_points[seat]:
            self._text((place[0] + 20 * len(shown) + (44 if shown else 0), place[1]), "points only", 13, _DIM, "lm")
        if shown:
            self._text(place, "out of", 13, _DIM, "lm")
        for number, suit in enumerate(shown):
            x, y = (place[0] + 50 + 18 * number) * _SCALE, place[1] * _SCALE
            self._pen.ellipse((x - 9 * _SCALE, y - 9 * _SCALE, x + 9 * _SCALE, y + 9 * _SCALE), fill=_LIGHT)
            draw_suit(self._pen, suit, (x, y), 6 * _SCALE)

    def _draw_middle(self) -> None:
        """Draw the cards set aside and the kitty."""
        knows, (x, y) = self._knows, _CENTRE
        pile = faces_of_counts(knows.pile)
        if pile:
            self._text((x, y - 52), f"set aside: {len(pile)} cards, {knows.pile_points} points", 14, _LIGHT, "mm")
            self._fan([*pile], (x, y - 20), 32, min(16.0, 300 / len(pile)))
        if knows.kitty_size:
            faces: list[int | None] = [*knows.kitty_cards] or [None] * knows.kitty_size
            taken = knows.kitty_taker
            where = "" if taken is None else f", P{self._number_of[taken]}'s"
            self._fan(faces, (x - 50, y + 38), 26, 14)
            self._text((x + 10, y + 38), f"kitty{where}", 14, _DIM, "lm")

    def _draw_trick(self) -> None:
        struck = cancelled_faces(self._knows.trick)
        width = 58 if self._knows.num_players < 9 else 50
        for seat, face in self._knows.trick:
            x, y = self._place_of(seat, 262, 146)
            part = card(face, width * _SCALE, face in struck)
            paste_centred(self._image, part, (x * _SCALE, y * _SCALE))

    def _draw_own(self) -> None:
        """Draw the viewer's hand and what it gave and got."""
        knows = self._knows
        hand = faces_of_counts(knows.hand)
        width, count = 78, max(len(hand), 1)
        step = min(52.0, 820 / count)
        y = HEIGHT - 74
        if knows.mover == 0:
            reach = step * (count - 1) / 2 + width / 2 + 14
            top = y - card_height(width) / 2 - 10
            box = [600 - reach, top, 600 + reach, HEIGHT - 8]
            self._pen.rounded_rectangle([each * _SCALE for each in box], 14 * _SCALE, None, _TURN, 3 * _SCALE)
        self._fan([*hand], (600, y), width, step, bend=min(14.0, 1.2 * count))
        n = knows.num_players
        lines = [f"P{self._number_of[0]}   {self._marks(0)}", self._points(0)]
        if knows.given.any():
            lines.append(f"gave {counts_to_text(knows.given)} to P{self._number_of[knows.pass_offset % n]}")
        if knows.received.any():
            lines.append(f"got {counts_to_text(knows.received)} from P{self._number_of[-knows.pass_offset % n]}")
        for number, line in enumerate(lines):
            size, colour = (19, _LIGHT) if number == 0 else (13, _DIM)
            self._text((24, HEIGHT - 92 + 24 * number), line, size, colour, "lm")

    # Small things

    def _place_of(self, seat: int, across: float, down: float) -> tuple[float, float]:
        """Return a place of a seat on an ellipse around the middle."""
        others = self._knows.num_players - 1
        angle = 90.0 if seat == 0 else _FIRST_ANGLE + (_LAST_ANGLE - _FIRST_ANGLE) * (seat - 1) / (others - 1)
        turned = math.radians(angle)
        return _CENTRE[0] + across * math.cos(turned), _CENTRE[1] + down * math.sin(turned)

    def _ellipse(self, centre: tuple[float, float], across: float, down: float, colour: Colour) -> None:
        x, y = centre
        box = [each * _SCALE for each in (x - across, y - down, x + across, y + down)]
        self._pen.ellipse(box, fill=colour)

    def _text(self, place: tuple[float, float], text: str, size: int, colour: Colour, anchor: str) -> None:
        at: Any = (place[0] * _SCALE, place[1] * _SCALE)
        self._pen.text(at, text, fill=colour, font=font(size * _SCALE), anchor=anchor)

    def _fan(
        self, faces: Sequence[int | None], centre: tuple[float, float], width: int, step: float, bend: float = 0.0
    ) -> None:
        at = (centre[0] * _SCALE, centre[1] * _SCALE)
        paste_fan(self._image, faces, at, width * _SCALE, step * _SCALE, bend)
