"""The terminal program: keys in, a screen of text out. `play` starts it; needs the extra `play`."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from chearts_env.play_choice import Choice
from chearts_env.play_pages import help_lines, pile_lines, result_lines, said_lines, score_lines
from chearts_env.play_screen import Page, screen
from chearts_env.play_table import PlayTable
from chearts_env.whole_files import place_beside

#: Longest that the others act without the screen being drawn, seconds.
_MOST_UNSEEN: Final = 0.2
#: Lines that page up and page down go.
_PAGE: Final = 10
#: What a shell says of a program that a signal has ended, beside the signal's number.
_SIGNALLED: Final = 128


def app_of(table: PlayTable, delay: float, record: Path | None = None) -> Any:
    """Return the terminal program; `delay` seconds pass between two moves of the others.

    After `run`, `failure` is what a policy did wrong, or why a hand could not be recorded, if that ended it.
    """
    try:
        from rich.text import Text
        from textual.app import App
        from textual.binding import Binding
        from textual.widgets import Static
    except ImportError as error:
        raise ImportError(f"{error}; the terminal program needs: pip install 'chearts-env[play]'") from None

    class Board(Static):
        """All there is to see; it is told of its size only once that is settled."""

        def on_resize(self) -> None:
            app: Any = self.app
            app.show()

    class PlayApp(App[None]):
        """A screen of text that is drawn anew after everything that happens."""

        CSS = "Screen { overflow: hidden; } #screen { width: 100%; height: 100%; }"
        ENABLE_COMMAND_PALETTE = False
        BINDINGS = [Binding("ctrl+c", "interrupt", show=False, priority=True)]  # noqa: RUF012 - as the library has it

        def __init__(self) -> None:
            super().__init__()
            self.choice: Choice | None = None
            self.page: Page | None = None
            self.note = ""  # what to say in place of the question, until the next key
            self.asks_to_quit = False
            self.failure: Exception | None = None

        def compose(self) -> Any:
            yield Board(id="screen", markup=False)

        def on_mount(self) -> None:
            if hasattr(signal, "SIGHUP"):  # not on Windows
                for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, self.leave, _SIGNALLED + number)
            self.set_interval(max(delay, 0.01), self.others_move)

        def leave(self, return_code: int = 0) -> None:
            self.exit(return_code=return_code)

        def action_interrupt(self) -> None:
            self.leave(_SIGNALLED + signal.SIGINT)

        # What happens

        def others_move(self) -> None:
            end = time.monotonic() + _MOST_UNSEEN
            is_first = True
            while self.others_are_to_move() and (is_first or (delay == 0 and time.monotonic() < end)):
                self.attempt(table.step)
                is_first = False
            if not is_first:
                self.show()

        def others_are_to_move(self) -> bool:
            return (
                self.failure is None and table.result is None and not table.game.is_over and not table.is_persons_turn
            )

        def attempt(self, act: Callable[[], None]) -> None:
            num_hands = len(table.game.score_sheet)
            try:
                act()
            except (ValueError, OSError) as error:
                self.failure = error
                self.exit(return_code=1)
            if len(table.game.score_sheet) > num_hands:
                self.page = Page(result_lines(table.view()))

        def on_key(self, event: Any) -> None:
            key = event.character if event.character in ("?",) else event.key
            asked_to_quit, self.asks_to_quit, self.note = self.asks_to_quit, False, ""
            actions: dict[str, Callable[[], None]] = {
                "left": lambda: self.move(-1), "right": lambda: self.move(1),
                "space": self.toggle, "enter": self.enter, "h": self.ask_for_hints, "escape": self.go_back,
                "up": lambda: self.scroll(-1), "down": lambda: self.scroll(1),
                "pageup": lambda: self.scroll(-_PAGE), "pagedown": lambda: self.scroll(_PAGE),
                "s": lambda: self.open(score_lines(table.view())), "l": lambda: self.open(said_lines(table.view())),
                "p": lambda: self.open(pile_lines(table.view())), "r": lambda: self.open(result_lines(table.view())),
                "?": lambda: self.open(self.help()), "q": lambda: self.quit(asked_to_quit),
            }  # fmt: skip
            if key in actions:
                event.stop()
                actions[key]()
            self.show()

        def move(self, step: int) -> None:
            if self.choice is not None:
                self.choice.move(step)

        def toggle(self) -> None:
            if self.choice is not None:
                self.note = self.choice.toggle()

        def enter(self) -> None:
            if table.result is not None:
                if not table.game.is_over:
                    table.go_on()
                    self.page = None
                return
            if self.choice is None:
                return
            actions = self.choice.actions()
            if not actions:
                self.note = "Mark three cards with space first; then enter gives them."
                return
            self.choice = self.page = None
            for action in actions:
                self.attempt(lambda chosen=action: table.choose(chosen))  # type: ignore[misc]

        def ask_for_hints(self) -> None:
            if self.choice is None:
                self.note = "Hints are for your own turn."
            elif len(self.choice.given) and self.choice.actions():
                self.note = "Three cards are marked already: enter gives them, space takes one back."
            else:
                name = table.adviser[0] if table.adviser else ""
                self.page = Page([f"{name} is thinking …"])
                self.call_after_refresh(self.give_hints, self.page, self.choice.given)

        def give_hints(self, page: Page, given: list[int]) -> None:
            if self.page is not page:
                return
            try:
                page.lines = table.hints(given)
            except ValueError as error:
                page.lines = [f"No hints: {error}"]
            self.show()

        def open(self, lines: list[str]) -> None:
            self.page = Page(lines)

        def go_back(self) -> None:
            self.page = Page(result_lines(table.view())) if table.result is not None else None

        def scroll(self, lines: int) -> None:
            if self.page is not None:
                self.page.offset = max(0, self.page.offset + lines)

        def help(self) -> list[str]:
            kept = f"{record}, as {place_beside(record)} until the game is over" if record else None
            return help_lines(table.game.rules, table.adviser[0] if table.adviser else None, kept)

        def quit(self, is_sure: bool) -> None:
            if is_sure or table.game.is_over:
                self.leave()
            else:
                self.asks_to_quit = True
                self.note = "Leave this game? q once more leaves, any other key goes on."

        def show(self) -> None:
            view = table.view()
            if view.legal and self.choice is None:
                self.choice = Choice(view)
            board = self.query_one(Board)
            lines = screen(view, self.choice, self.page, board.size.width, board.size.height, self.note)
            text = Text(no_wrap=True, end="")
            for number, line in enumerate(lines):
                for piece, style in line:
                    text.append(piece, style)
                if number < len(lines) - 1:
                    text.append("\n")
            board.update(text)

    return PlayApp()
