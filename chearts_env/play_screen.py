"""The screen of a terminal, as lines of styled text: a pure function of what the person may see.

A line is a list of pieces, each a text and a style in the words of the library `rich`. What a style says can also be
read without colour: `[QS]` is the card at the cursor, `<QS>` one marked to be given away, `(QS)` one that is cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from chearts_env.cards import cancelled_faces, face_to_text, faces_of_counts, faces_to_text
from chearts_env.play_choice import Choice
from chearts_env.play_table import Trick, View, outcome_in_words, points_in_words
from chearts_env.rules import CARDS_PASSED
from chearts_env.table import SUBTRACT_MOON

WIDTH: Final = 80
HEIGHT: Final = 24

Piece = tuple[str, str]
Line = list[Piece]

_SUIT_STYLES: Final = ("green", "bright_blue", "bold", "red")
_SUIT_NAMES: Final = ("clubs", "diamonds", "spades", "hearts")
_NAME: Final = 30  # columns
_LABEL: Final = 7


@dataclass
class Page:
    """Text that is read in place of the seats; `offset` is the first line that is shown."""

    lines: list[str]
    offset: int = 0


def screen(view: View, choice: Choice | None, page: Page | None, width: int, height: int, note: str = "") -> list[Line]:
    """Return the lines of a screen, at most `height` of at most `width` columns; puts `page.offset` within its range.

    A `note` stands in place of the question. Whatever is cut ends in a sign of it. A screen of less than 80 columns or
    24 lines says only that it is too small.
    """
    if width < WIDTH or height < HEIGHT:
        words = f"Too small: {WIDTH} columns and {HEIGHT} lines are needed, not {width} and {height}. q quits."
        return [_plain(line) for line in wrap(words, max(width, 1))[: max(height, 1)]]
    bottom = [_plain(note, "bold") if note else _prompt(view, choice), _plain(_keys(view, page), "dim")]
    top = [_status(view)]
    if page is None:
        top += _seats(view)
    if view.result is None:
        top += _table(view, width) + _hand(view, choice)
    room = height - len(top) - len(bottom)
    middle = _shown_page(page, width, room) if page else [_plain(line) for line in view.said[-room:] if room > 0]
    blank = [_plain("")] * (room - len(middle))
    return [_cut(line, width) for line in top + middle + blank + bottom]


def text_of(lines: Sequence[Line]) -> str:
    """Return lines without their styles."""
    return "\n".join("".join(text for text, _ in line) for line in lines)


def card_piece(face: int, style: str = "", left: str = " ", right: str = " ") -> Piece:
    """Return a card between what stands on its left and right."""
    return f"{left}{face_to_text(face)}{right}", f"{_SUIT_STYLES[face // 13]} {style}".strip()


def _plain(text: str, style: str = "") -> Line:
    return [(text, style)]


def _status(view: View) -> Line:
    knows = view.knowledge
    what = {
        "pass": "passing",
        "play": f"trick {knows.trick_number + 1} of {view.rules.hand_size}",
        "moon": "the moon",
        "over": "over",
    }[knows.phase]
    hearts = "broken" if knows.hearts_broken else "not broken"
    facts = f"; hearts {hearts}" if knows.phase == "play" else ""
    return _plain(f"Cancellation Hearts   Hand {view.hand_number}: {what}{facts}", "bold")


def _seats(view: View) -> list[Line]:
    knows = view.knowledge
    lines = [_plain(f"     {'seat':<{_NAME}} cards   taken  score")]
    for seat in range(len(view.names)):
        relative = (seat - view.seat) % len(view.names)
        marks = "".join(
            mark if who == relative else " "
            for mark, who in zip(
                ">LDK", (knows.mover, knows.leader, knows.dealer, knows.kitty_taker), strict=True
            )
        )  # fmt: skip
        line = (
            f"{marks} {shortened(view.name_of(seat), _NAME):<{_NAME}} {knows.cards_left[relative]:>5}"
            f"{knows.points_seen[relative]:>8}{view.scores[seat]:>7}"
        )
        lines.append(_plain(line, "bold" if seat == view.seat else ""))
    return lines


def shortened(name: str, width: int) -> str:
    """Return a name of at most so many columns; a cut one ends in a dot of three."""
    return name if len(name) <= width else name[: width - 1] + "…"


def _table(view: View, width: int) -> list[Line]:
    """Return what lies on the table, and what the person remembers of it."""
    knows = view.knowledge
    lines: list[Line] = []
    if knows.phase == "play":
        trick = [(view.seat_of(seat), face) for seat, face in knows.trick]
        points = [points_in_words(knows.trick_points)] if knows.trick_points else []
        lines += _flow("Trick", [*_cards_of_seats(trick), *_words(points)] or _words(["-"]), width)
    if view.last_trick is not None:
        lines += _flow(
            "Last", [*_cards_of_seats(view.last_trick.cards), *_words([f"-> {_taken(view.last_trick)}"])], width
        )
    lines += _with_sign(
        "Pile", faces_of_counts(knows.pile), f", {points_in_words(knows.pile_points)} waiting", "p", width
    )
    if knows.kitty_size:
        lines.append(_kitty(view))
    if not any(knows.played[0]):  # the person's memory needs help only so far
        lines += _passed(view)
    return lines


def _taken(trick: Trick) -> str:
    words = outcome_in_words(trick)
    return f"{words}; (…) cancelled" if cancelled_faces(trick.cards) else words


def _cards_of_seats(cards: Sequence[tuple[int, int]]) -> list[Line]:
    struck, lines = cancelled_faces(cards), []
    for seat, face in cards:
        card = card_piece(face, "strike", "(", ")") if face in struck else card_piece(face, "", "", "")
        lines.append([(f"P{seat} ", ""), card, ("  ", "")])
    return lines


def _words(texts: Sequence[str]) -> list[Line]:
    return [_plain(text + " ") for text in texts]


def _flow(label: str, entries: Sequence[Line], width: int) -> list[Line]:
    """Return entries one after the other behind a label, on as many lines as they take; none is torn."""
    lines: list[Line] = [_plain(f"{label:<{_LABEL}}")]
    for entry in entries:
        if _length(lines[-1]) + _length(entry) > width:
            lines.append(_plain(" " * _LABEL))
        lines[-1] = lines[-1] + entry
    return lines


def _with_sign(label: str, faces: Sequence[int], words: str, key: str, width: int) -> list[Line]:
    """Return cards on one line; where there are too many, a sign says which key shows all."""
    if not faces:
        return [_plain(f"{label:<{_LABEL}}-")]
    start: Line = _plain(f"{label:<{_LABEL}}{len(faces)} cards{words}:")
    whole = start + [card_piece(face) for face in faces]
    if _length(whole) <= width:
        return [whole]
    sign = f" … ({key} shows all)"
    room = (width - _length(start) - len(sign)) // 4
    return [start + [card_piece(face) for face in faces[:room]] + _plain(sign)]


def _kitty(view: View) -> Line:
    knows = view.knowledge
    taker = "not taken yet" if knows.kitty_taker is None else f"taken by P{view.seat_of(knows.kitty_taker)}"
    start = f"{'Kitty':<{_LABEL}}{knows.kitty_size} cards"
    if not knows.kitty_cards:
        return _plain(f"{start} face down, {taker}")
    return _plain(f"{start}, {taker}, seen by you:") + [card_piece(face) for face in knows.kitty_cards]


def _passed(view: View) -> list[Line]:
    knows = view.knowledge
    if not knows.pass_offset or not (knows.given.any() or knows.received.any()):
        return []
    parts = []
    if knows.received.any():
        giver = view.seat_of(-knows.pass_offset)
        parts.append(f"got {faces_to_text(faces_of_counts(knows.received))} from P{giver}")
    if knows.given.any():
        receiver = view.seat_of(knows.pass_offset)
        parts.append(f"gave {faces_to_text(faces_of_counts(knows.given))} to P{receiver}")
    return [_plain(f"{'Pass':<{_LABEL}}{'; '.join(parts)}")]


def _hand(view: View, choice: Choice | None) -> list[Line]:
    faces = faces_of_counts(view.knowledge.hand)
    line: Line = _plain(f"{'Hand':<{_LABEL}}")
    if choice is None:
        return [line + [card_piece(face) for face in faces]] if faces else []
    if choice.phase == "moon":
        return [_moon(view, choice)]
    for place, face in enumerate(faces):
        is_marked, is_here = place in choice.marked, place == choice.place
        left = "[" if is_here else "<" if is_marked else " "
        right = ">" if is_marked else "]" if is_here else " "
        style = "reverse" if is_here else "underline" if is_marked else "" if face in view.legal else "dim"
        line = [*line, card_piece(face, style, left, right)]
    return [line]


def _moon(view: View, choice: Choice) -> Line:
    points = view.rules.moon_points
    line = _plain(f"{'Moon':<{_LABEL}}")
    for place, item in enumerate(choice.items):
        words = f"subtract {points} from my score" if item == SUBTRACT_MOON else f"add {points} to every other score"
        line.append((f"[{words}]", "reverse") if place == choice.place else (f" {words} ", ""))
    return line


def _prompt(view: View, choice: Choice | None) -> Line:
    if view.is_over:
        names = " and ".join(view.name_of(seat) for seat in view.winners)
        return _plain(f"The game is over, won by {names}.", "bold")
    if view.result is not None:
        return _plain(f"Hand {view.result.number} is over. Enter goes on to the next one.", "bold")
    knows = view.knowledge
    if choice is None:
        assert knows.mover is not None
        seat = view.seat_of(knows.mover)
        verb = {"pass": "chooses cards to give", "play": "is to play", "moon": "settles its moon"}[knows.phase]
        return _plain(f"Wait: {view.name_of(seat)} {verb}.")
    return [("Your turn: ", "bold"), *_question(view, choice)]


def _question(view: View, choice: Choice) -> Line:
    knows = view.knowledge
    if choice.phase == "pass":
        receiver = view.seat_of(knows.pass_offset)
        chosen = faces_to_text(choice.given)
        if len(choice.marked) == CARDS_PASSED:
            return _plain(f"give {chosen} to P{receiver} with enter, or take one back with space.")
        return _plain(
            f"mark {CARDS_PASSED} cards for P{receiver} ({_direction(knows.pass_offset)}) with space; "
            f"marked: {chosen or '-'}"
        )
    if choice.phase == "moon":
        return _plain("you took all 52 points. Choose with left/right, and enter.")
    allowed = sorted(set(view.legal))
    held = set(faces_of_counts(knows.hand))
    which = "any card" if held == set(allowed) else faces_to_text(allowed)
    if not knows.trick:
        return _plain(f"you lead. Allowed: {which}")
    return _plain(f"{_SUIT_NAMES[knows.trick[0][1] // 13]} led. Allowed: {which}")


def _direction(offset: int) -> str:
    side = "left" if offset > 0 else "right"
    return f"on your {side}" if abs(offset) == 1 else f"{abs(offset)} seats to the {side}"


def _keys(view: View, page: Page | None) -> str:
    if view.is_over:
        return "up/down scroll  r result  s scores  l log  ? help  q leave"
    if view.result is not None:
        return "enter next hand  up/down scroll  s scores  r result  ? help  q quit"
    if page is not None:
        return "up/down scroll  esc back  left/right, space, enter as before  q quit"
    do = {"pass": "space mark  enter give", "play": "enter play  l log", "moon": "enter choose", "over": ""}
    return f"left/right move  {do[view.knowledge.phase]}  h hints  s scores  ? help  q quit"


def _shown_page(page: Page, width: int, room: int) -> list[Line]:
    lines = [part for line in page.lines for part in wrap(line, width, subsequent_indent="    ") or [""]]
    if len(lines) <= room:
        page.offset = 0
        return [_plain(line) for line in lines]
    page.offset = max(0, min(page.offset, len(lines) - (room - 1)))
    shown = lines[page.offset : page.offset + room - 1]
    sign = f"--- lines {page.offset + 1} to {page.offset + len(shown)} of {len(lines)}: up and down show the others ---"
    return [_plain(line) for line in [*shown, sign]]


def _length(line: Line) -> int:
    return sum(len(text) for text, _ in line)


def _cut(line: Line, width: int) -> Line:
    """Return a line of at most so many columns, ending in a sign where something is missing."""
    if _length(line) <= width:
        return line
    kept, room = [], width - 1
    for text, style in line:
        kept.append((text[:room], style))
        room -= len(kept[-1][0])
    return [*kept, ("…", "")]
