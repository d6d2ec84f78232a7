"""The code blocks of README.md, for the tests that execute them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parents[1] / "README.md"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line it begins on."""

    language: str
    text: str
    line: int


def blocks() -> list[Block]:
    """Return the fenced blocks in order."""
    page = README.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [Block(match[1], match[2], page[: match.start()].count("\n") + 1) for match in found]


def commands() -> list[str]:
    """Return the shell commands, one a line, without their comments."""
    lines = "".join(block.text for block in blocks() if block.language == "sh").splitlines()
    return [command for line in lines if (command := line.split("#")[0].strip())]
