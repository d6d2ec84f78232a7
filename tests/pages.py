"""The code blocks of README.md and of the pages in `docs/`, for the tests that execute them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line it begins on."""

    language: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, one a line, without their comments."""
        return [command for line in self.text.splitlines() if (command := line.split("#")[0].strip())]


def blocks(page: Path = README) -> list[Block]:
    """Return the fenced blocks in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([\w{}-]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(match[1], match[2], text[: match.start()].count("\n") + 1) for match in found]


def commands(page: Path = README) -> list[str]:
    """Return the shell commands, one a line, without their comments."""
    return [command for block in blocks(page) if block.language == "sh" for command in block.commands]


def run_python(chosen: Iterable[Block], page: Path = README, names: dict[str, Any] | None = None) -> None:
    """Execute the Python among some blocks, in order, with the same names; tracebacks give lines of the page."""
    names = {} if names is None else names
    for block in chosen:
        if block.language == "python":
            source = "\n" * block.line + block.text
            exec(compile(source, str(page), "exec"), names)
