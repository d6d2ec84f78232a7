"""Playing in a terminal: a real one, with keys sent and its screen read; and the table behind it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, IllegalActionError, Rules
from chearts_env.play import main
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal, loaded_policy
from chearts_env.record import HandRecord, read_records, verify

pytestmark = pytest.mark.slow
pyte = pytest.importorskip("pyte", reason="pyte, of the extra `test`, is not installed")
#: Numbers of 256 colours that are none: black, white and what lies between.
GREYS = {0, 7, 8, 15, 16, 59, 102, 145, 188, 231, *range(232, 256)}
needs_textual = pytest.mark.skipif(
    find_spec("textual") is None, reason="textual, of the extra `play`, is not installed"
)


class Adviser(RandomLegal):
    """Plays at random, and says why."""

    def explain(self, observation: Any, action_mask: Any) -> list[Any]:
        legal = np.flatnonzero(action_mask)
        return [type("Reason", (), {"card": str(each), "cost": 1.0, "words": "because"}) for each in legal]


# The table


@pytest.mark.parametrize("num_players", [6, 11])
def test_person_plays_a_game_to_its_end(num_players):
    """What is said never names a card that another seat gives away; every hand is recorded."""
    records: list[HandRecord] = []
    rules = Rules(num_players, max_hands=2)
    table = PlayTable(rules, 2, [("random", RandomLegal())], seed=3, write=records.append)
    while not table.game.is_over:
        if table.is_persons_turn:
            table.choose(table.game.legal_actions()[0])
        else:
            table.step()
    assert [len(list(record.replay())) for record in records] == [len(record.moves) for record in records]
    assert len(records) == 2
    assert records[0].players is not None
    assert records[0].players[2] == "you"
    given = [line for line in table.said if " gives " in line and not line.startswith("P2 ")]
    assert len(given) == 2 * 3 * (num_players - 1)
    assert all(line.endswith("gives a card") for line in given)
    assert any("takes the trick" in line for line in table.said)
    assert table.said[-1].startswith("The game is over; won by P")


def test_same_seed_plays_the_same():
    """The policies draw from the seed, too."""
    games = []
    for _ in range(2):
        table = PlayTable(Rules(6), 0, [("random", RandomLegal())], seed=5, episode="hand")
        while not table.game.is_over:
            if table.is_persons_turn:
                table.choose(table.game.legal_actions()[-1])
            else:
                table.step()
        games.append(table.said)
    assert games[0] == games[1]


def test_illegal_choice_changes_nothing_and_advice_is_given():
    """With reasons where the policy has any."""
    table = PlayTable(Rules(6), 0, [("wise", Adviser()), ("random", RandomLegal())], seed=5)
    while not table.is_persons_turn:
        table.step()
    before = table.game.to_bytes()
    with pytest.raises(IllegalActionError):
        table.choose(53)
    assert table.game.to_bytes() == before
    assert table.advice()[0].startswith("wise: ")
    assert len(table.advice()) == 5
    assert table.names == ["you", "wise", "random", "wise", "random", "wise"]
    plain = PlayTable(Rules(6), 0, [("random", RandomLegal())], seed=5)
    while not plain.is_persons_turn:
        plain.step()
    assert plain.advice()[0].startswith("random would choose ")


def test_what_cannot_be_is_said_in_a_line(capsys, tmp_path):
    """Seats, names, places; no file is left."""
    record = tmp_path / "mine.jsonl"
    assert main(["--seats", "5"]) == 2
    assert main(["--seat", "9"]) == 2
    assert main(["--against", "nobody", "--record", str(record)]) == 2
    errors = capsys.readouterr().err
    assert "seat=9 is not allowed: it must be 0 … 5" in errors
    assert "unknown policy 'nobody': installed names are" in errors
    assert main(["--seat", "9", "--record", str(record)]) == 2
    assert not list(tmp_path.iterdir())


def test_short_names_are_those_that_packages_announce():
    """`random_legal` is the library's own; a number behind a name is handed to what it stands for."""
    assert isinstance(loaded_policy("random_legal"), RandomLegal)
    with pytest.raises(ValueError, match=r"'random_legal:3' cannot be made: .*takes"):
        loaded_policy("random_legal:3")
    with pytest.raises(ValueError, match="'nobody:3' cannot be loaded"):
        loaded_policy("nobody:3")


# The terminal


class Terminal:
    """A terminal that a program runs in."""

    def __init__(self, descriptor: int, columns: int, lines: int) -> None:
        self._descriptor = descriptor
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def read(self) -> bool:
        """Take in what has come; False once the program has ended."""
        try:
            ready, _, _ = select.select([self._descriptor], [], [], 0.05)
            data = os.read(self._descriptor, 65536) if ready else b""
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data) or not ready

    def wait_until(self, holds: Callable[[str], bool], what: str, seconds: float = 60) -> str:
        """Return the screen once something holds of it; no test looks at a screen that is half drawn."""
        end = time.monotonic() + seconds
        while not holds(self.text):
            assert time.monotonic() < end, f"{what} did not come in {seconds} s:\n{self.text}"
            assert self.read(), f"the program ended before {what} came:\n{self.text}"
        return self.text

    def wait_for(self, *words: str, seconds: float = 60) -> str:
        """Return the screen once all of some words stand on it."""
        return self.wait_until(lambda text: all(word in text for word in words), f"{words}", seconds)

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._descriptor, keys)


@contextmanager
def playing(columns: int, lines: int, *words: str, **environment: str) -> Iterator[Terminal]:
    """Run the program in a terminal of a size."""
    pid, descriptor = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": str(lines), **environment})
        os.execv(sys.executable, [sys.executable, "-m", "chearts_env.play", "--seed", "4", "--delay", "0", *words])
    try:
        yield Terminal(descriptor, columns, lines)
    finally:
        os.close(descriptor)
        os.waitpid(pid, 0)


@needs_textual
@pytest.mark.parametrize(("columns", "lines", "seats"), [(80, 24, 11), (120, 40, 6)])
def test_hand_is_played_in_a_terminal_by_keys(columns, lines, seats, tmp_path: Path):
    """Passing, playing, advice, scores, the end, the record."""
    record = tmp_path / "mine.jsonl"
    words = ("--seats", str(seats), "--hand", "--record", str(record))
    with playing(columns, lines, *words) as terminal:
        terminal.wait_for("Hand ", "pass three cards", "your turn", "[", *(f"P{seat} " for seat in range(seats)))
        # the first picture may be of another size
        screen = terminal.wait_until(
            lambda text: "[" in text and "q quit" in text.splitlines()[-1], "the keys on the last line"
        )
        first = re.search(r"\[.*?\]", screen)
        assert first is not None
        terminal.send(b"\x1b[C")
        terminal.wait_until(
            lambda text: "your turn" in text and "[" in text and first.group() not in text, "another choice"
        )
        terminal.send(b"h")
        terminal.wait_for("would choose")
        terminal.send(b"s")
        terminal.wait_for("total")
        end = time.monotonic() + 120
        while "the game is over" not in terminal.text and time.monotonic() < end:
            if "your turn" in terminal.text:
                terminal.send(b"\r")
            terminal.read()
        terminal.wait_for("won by")
        terminal.send(b"q")
        while terminal.read():
            pass
    assert verify(record) == 1
    (kept,) = read_records(record)
    assert kept.seed == 4
    assert Game(Rules(seats), 4, episode="hand").hand(0).sum() == len(kept.hands[0].split())


@needs_textual
def test_screen_without_colour_has_none():
    """`NO_COLOR`: what is chosen stands in brackets all the same."""
    seen = {}
    for name, environment in (("plain", {"NO_COLOR": "1"}), ("coloured", {})):
        with playing(80, 24, **environment) as terminal:
            terminal.wait_for("your turn", "[")
            terminal.send(b"q")
            while terminal.read():
                pass
            seen[name] = {int(number) for number in re.findall(rb"38;5;(\d+)", terminal.raw)} - GREYS
    assert not seen["plain"]
    assert len(seen["coloured"]) > 2
