"""Files that are whole or not there: written beside their place, then renamed. No file is ever half of a new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EEXIST
from pathlib import Path
from typing import Final

#: Ends the name of what is not whole yet.
UNFINISHED: Final = ".unfinished"


def place_beside(path: Path) -> Path:
    """Return where a file is written before it gets its name."""
    return path.with_name(path.name + UNFINISHED)


def refuse_to_overwrite(kept: Path, path: Path) -> None:
    """Raise FileExistsError if writing a file, or what lies beside it until it is whole, would destroy another."""
    if kept.resolve() in (path.resolve(), place_beside(path).resolve()):
        raise FileExistsError(EEXIST, f"writing {path} would destroy it", str(kept))


def try_place(path: Path) -> None:
    """Raise OSError if no file can be written there; nothing is left of the trial."""
    trial = place_beside(path)
    trial.write_bytes(b"")
    trial.unlink()


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a place beside `path` to write to; it takes the name when the block ends, and goes if the block fails."""
    beside = place_beside(path)
    try:
        yield beside
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file at once; who reads it finds the old one or the new one. Text is written as UTF-8, lines as given."""
    with written_beside(path) as beside:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
