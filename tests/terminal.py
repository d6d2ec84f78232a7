"""A real terminal that the program of `chearts_env.play` runs in: keys are sent to it, and its screen is read."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte

_ROOT = Path(__file__).resolve().parents[1]
RIGHT, LEFT, DOWN, UP = b"\x1b[C", b"\x1b[D", b"\x1b[B", b"\x1b[A"
ENTER, ESCAPE, CONTROL_C = b"\r", b"\x1b", b"\x03"


class Terminal:
    """A terminal that a program runs in."""

    def __init__(self, pid: int, descriptor: int, columns: int, lines: int) -> None:
        """Watch a process by the other end of its terminal."""
        self.pid = pid
        self.descriptor = descriptor
        self.raw = b""
        self.status: int | None = None  # exit status, minus the signal that killed it, once it has ended
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def hand(self) -> list[str]:
        """The cards on the line of the hand, with what stands around each."""
        lines = [line for line in self.text.splitlines() if line.startswith("Hand   ")]
        return re.findall(r"[ \[<]\w\w[ \]>]", lines[0][7:] + " ") if lines else []

    @property
    def here(self) -> str:
        """The card at the cursor, empty if there is none."""
        return next((card[1:3] for card in self.hand if card.startswith("[")), "")

    def read(self) -> bool:
        """Take in what has come; False once the program has ended."""
        try:
            ready, _, _ = select.select([self.descriptor], [], [], 0.05)
            data = os.read(self.descriptor, 65536) if ready else b""
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

    def resize(self, columns: int, lines: int) -> None:
        """Enlarge or reduce the window."""
        self._screen.resize(lines, columns)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.descriptor, keys)

    def end(self, seconds: float = 60) -> int:
        """Read to the program's end and return its exit status, minus a signal that killed it."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            if self.descriptor < 0 or not self.read():
                time.sleep(0.02)
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                self.status = -signal.SIGKILL
                raise AssertionError(f"the program did not end in {seconds} s:\n{self.text}")
        while self.descriptor >= 0 and self.read():
            pass
        return self.status

    def hang_up(self) -> int:
        """Close the terminal's window, as it were, and return the program's exit status."""
        os.close(self.descriptor)
        self.descriptor = -1
        return self.end()


@contextmanager
def playing(
    columns: int, lines: int, *words: str, module: str = "chearts_env.play", **environment: str
) -> Iterator[Terminal]:
    """Run a program in a terminal of a size."""
    pid, descriptor = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.chdir(_ROOT)
        # These would overrule the terminal; readline sets two of them behind the back of `os.environ`.
        kept = {
            name: text
            for name, text in os.environ.items()
            if name not in ("COLUMNS", "LINES", "NO_COLOR", "COLORTERM", "FORCE_COLOR")
            and not name.startswith("TEXTUAL")
        }
        kept |= {"TERM": "xterm-256color", **environment}
        os.execve(sys.executable, [sys.executable, "-m", module, *words], kept)
    terminal = Terminal(pid, descriptor, columns, lines)
    try:
        yield terminal
    finally:
        if terminal.descriptor >= 0:
            os.close(descriptor)
            terminal.descriptor = -1
        terminal.end()
