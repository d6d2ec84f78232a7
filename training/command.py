"""What the commands of this package share: exit statuses, refusals in one line, table sizes, results after Ctrl-C."""

# ruff: noqa: T201 - printing is a command's job

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from chearts_env.whole_files import write_whole

ALL_SIZES: Final = tuple(range(MIN_PLAYERS, MAX_PLAYERS + 1))
WRONG: Final = 2
INTERRUPTED: Final = 130


def sizes_of(text: str) -> tuple[int, ...]:
    """Return the table sizes that `--seats` names: one, several with commas, or "all". Raises ValueError otherwise."""
    if text == "all":
        return ALL_SIZES
    words = text.split(",")
    if not all(word.isdecimal() and int(word) in ALL_SIZES for word in words):
        raise ValueError(f"--seats {text} is not allowed: it must be all, or numbers {MIN_PLAYERS} … {MAX_PLAYERS}")
    return tuple(dict.fromkeys(int(word) for word in words))


def refuse(command: str, error: Exception) -> int:
    """Say in one line why nothing comes of a command, and return the exit status for that."""
    print(f"{command}: {error}", file=sys.stderr)
    return WRONG


def tell_interrupted(rows: Sequence[Any]) -> None:
    """Say that what is told now is all there is."""
    print(f"interrupted: {'this is what' if rows else 'nothing'} is finished", file=sys.stderr)


def write_rows(path: Path | None, rows: Sequence[dict[str, Any]]) -> None:
    """Write results as JSON, whole or not at all, if there are any and a file for them."""
    if path and rows:
        write_whole(path, json.dumps(rows, indent=2) + "\n")
