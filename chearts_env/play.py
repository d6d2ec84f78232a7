"""Sit down at the table, in a terminal: `python -m chearts_env.play --seats 7 --against careful`.

Left and right choose a card, enter plays it; there is no undo. `h` asks for advice, `s` shows the scores, `q` ends it.
Needs the extra `play`.
"""

# ruff: noqa: T201 - printing is the command's job

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from chearts_env.cards import face_to_text, faces_of_counts
from chearts_env.game import action_to_text
from chearts_env.play_table import PlayTable
from chearts_env.policy import loaded_policy
from chearts_env.record import RecordWriter
from chearts_env.rules import PRESETS, Rules

_COLOURS: Final = ("green", "bright_blue", "bold", "red")
_KEYS: Final = "left/right choose   enter plays   h advice   s scores   q quit"


def _card(text: Any, face: int, chosen: bool = False, legal: bool = True, struck: bool = False) -> None:
    """Add a card; what is chosen stands in brackets, so that it shows without colour."""
    style = _COLOURS[face // 13] + (" strike" if struck else "") + ("" if legal else " dim")
    left, right = ("[", "]") if chosen else ("(", ")") if struck else (" ", " ")
    text.append(left + face_to_text(face) + right, style + (" reverse" if chosen else ""))


def app_of(table: PlayTable, delay: float) -> Any:
    """Return the terminal program; `delay` seconds pass between two moves of the others."""
    try:
        from rich.text import Text
        from textual.app import App
        from textual.widgets import Static
    except ImportError as error:
        raise ImportError(f"{error}; the terminal program needs: pip install 'chearts-env[play]'") from None

    class PlayApp(App[None]):
        """The table, the hand and what is being said."""

        CSS = "Screen { layout: vertical; } #says { height: 1fr; } #keys { dock: bottom; height: 1; }"
        ENABLE_COMMAND_PALETTE = False

        def __init__(self) -> None:
            super().__init__()
            self.place = 0  # among the legal actions
            self.extra: list[str] = []  # advice or scores, in place of what was said

        def compose(self) -> Any:
            for name in ("status", "seats", "trick", "hand", "says"):
                yield Static(id=name, markup=False)
            yield Static(_KEYS, id="keys", markup=False)

        def on_mount(self) -> None:
            self.call_after_refresh(self.show)  # by then every part knows its size
            self.set_interval(max(delay, 0.01), self.others_move)

        def others_move(self) -> None:
            game = table.game
            if game.is_over or table.is_persons_turn:
                return
            table.step()
            while delay == 0 and not game.is_over and not table.is_persons_turn:
                table.step()
            self.show()

        def on_key(self, event: Any) -> None:
            actions: dict[str, Callable[[], None]] = {
                "left": lambda: self.move(-1), "right": lambda: self.move(1), "enter": self.play, "h": self.advise,
                "s": self.score, "q": self.exit,
            }  # fmt: skip
            if event.key in actions:
                event.stop()
                actions[event.key]()
                if event.key != "q":
                    self.show()

        def move(self, step: int) -> None:
            if not table.is_persons_turn:
                return
            legal = table.game.legal_actions()
            self.place = (self.place + step) % max(len(legal), 1)

        def play(self) -> None:
            self.extra = []
            if table.is_persons_turn:
                legal = table.game.legal_actions()
                table.choose(legal[min(self.place, len(legal) - 1)])
                self.place = 0

        def advise(self) -> None:
            self.extra = table.advice() if table.is_persons_turn else ["It is not your turn."]

        def score(self) -> None:
            sheet = table.game.score_sheet
            heads = "      " + "".join(f"{f'P{seat}':>5}" for seat in range(table.game.num_players))
            rows = [f"{number + 1:>5} " + "".join(f"{points:>5}" for points in row) for number, row in enumerate(sheet)]
            total = "total " + "".join(f"{points:>5}" for points in table.game.scores)
            self.extra = [heads, *rows[-6:], total]

        def show(self) -> None:
            knows = table.knowledge()
            words = {
                "pass": f"pass three cards, {knows.pass_offset:+d} seats",
                "play": f"trick {knows.trick_number + 1}",
                "moon": "settle the moon",
                "over": "the game is over",
            }
            whose = "your turn" if table.is_persons_turn else "wait"
            hearts = "broken" if knows.hearts_broken else "not broken"
            hand = f"Hand {len(table.game.score_sheet) + (not table.game.is_over)}"
            self.query_one("#status", Static).update(f"{hand}: {words[knows.phase]}; hearts {hearts}; {whose}")
            self.query_one("#seats", Static).update(self.seats())
            self.query_one("#trick", Static).update(self.trick(knows))
            self.query_one("#hand", Static).update(self.hand())
            room = self.query_one("#says", Static)
            lines = [
                part
                for line in self.extra or table.said
                for part in wrap(line, room.size.width or 80, drop_whitespace=False)
            ]
            # The last lines that there is room for.
            room.update(Text("\n".join(lines[-max(room.size.height, 1) :])))

        def seats(self) -> Any:
            game, text = table.game, Text()
            for seat in range(game.num_players):
                marks = "".join(
                    mark if who == seat else " "
                    for mark, who in (
                        (">", game.mover),
                        ("L", game.leader),
                        ("D", game.dealer),
                        ("K", game.kitty_taker),
                    )
                )
                left = int(game.hand(seat).sum())
                line = f"{marks} {table.name_of(seat):<22.22} {left:>2} cards {game.points_seen[seat]:>3} points"
                text.append(f"{line}  score {game.scores[seat]:>4}\n", "bold" if seat == table.seat else "")
            text.rstrip()
            return text

        def trick(self, knows: Any) -> Any:
            text = Text("Trick ")
            faces = [face for _, face in table.game.trick]
            for seat, face in table.game.trick:
                text.append(f" P{seat}")
                _card(text, face, struck=faces.count(face) == 2)
            pile = int(knows.pile.sum())
            text.append(f"\nPile   {pile} cards, {knows.pile_points} points" if pile else "\nPile   -")
            return text

        def hand(self) -> Any:
            game, text = table.game, Text("Hand ")
            legal = game.legal_actions() if table.is_persons_turn else []
            chosen = legal[min(self.place, len(legal) - 1)] if legal else None
            if game.phase == "moon" and chosen is not None:
                return Text(
                    "Moon  " + "  ".join(f"[{action_to_text(a)}]" if a == chosen else action_to_text(a) for a in legal)
                )
            marked = False
            for face in faces_of_counts(game.hand(table.seat)):
                _card(text, face, face == chosen and not marked, face in legal or not legal)
                marked = marked or face == chosen
            return text

    return PlayApp()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play; return 0, or 2 for what cannot be."""
    parser = argparse.ArgumentParser(prog="python -m chearts_env.play", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seats", type=int, default=6, help="6 … 11")
    parser.add_argument("--rules", default="card_page", choices=PRESETS)
    parser.add_argument(
        "--against", nargs="+", default=["random_legal"], metavar="NAME", help="names, or module:attribute"
    )
    parser.add_argument("--seat", type=int, default=0, help="yours")
    parser.add_argument("--seed", type=int, help="of the deals; drawn if none is given")
    parser.add_argument("--hand", action="store_true", help="a single hand, not a whole game")
    parser.add_argument("--delay", type=float, default=0.3, help="seconds between two moves of the others")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the hands played to their end")
    asked = parser.parse_args(arguments)
    writer: RecordWriter | None = None
    try:
        rules = getattr(Rules, asked.rules)(asked.seats)
        opponents = [(name, loaded_policy(name)) for name in asked.against]
        if asked.record and asked.record.exists():
            raise ValueError(f"--record {asked.record} is there already: another name is needed")
        with ExitStack() as stack:
            writer = stack.enter_context(RecordWriter(asked.record)) if asked.record else None
            table = PlayTable(
                rules, asked.seat, opponents, seed=secrets.randbits(32) if asked.seed is None else asked.seed,
                episode="hand" if asked.hand else "game", write=writer.write if writer else lambda record: None,
            )  # fmt: skip
            app = app_of(table, asked.delay)
            app.run()
            status = app.return_code or 0
    except (ValueError, OSError, ImportError) as error:
        print(f"play: {error}", file=sys.stderr)
        return 2
    if writer is not None:
        _tell_record(asked.record, writer.num_hands)
    return status


def _tell_record(path: Path, num_hands: int) -> None:
    if num_hands:
        print(f"record: {path}, {num_hands} hands")
    else:
        path.unlink()
        print("no hand was played to its end: nothing to record")


if __name__ == "__main__":
    sys.exit(main())
