"""Game records: files with one hand a line, written while playing, read as a stream, verified against the engine.

`python -m chearts_env.record verify FILE` plays every hand of a file again and reports the first disagreement. Lines
are those of `record_format`; the last one says how many there are and carries a check sum of them all, so that a file
that was cut or altered is told from a whole one. Files whose names end in `.gz` or `.zst` are compressed; the latter
need the package `zstandard`, the extra `record`.
"""

# ruff: noqa: T201 - printing is the command's job

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EEXIST
from pathlib import Path
from typing import Any, Final, Self

from chearts_env.game import Game
from chearts_env.record_export import save_numpy
from chearts_env.record_format import (
    FORMAT,
    FORMAT_VERSION,
    HandRecord,
    RecordError,
    checked_content,
    with_check,
)
from chearts_env.record_schema import schema
from chearts_env.whole_files import UNFINISHED, place_beside, refuse_to_overwrite

__all__ = ["HandRecord", "RecordError", "RecordWriter", "main", "read_records", "schema", "verify"]

_CHUNK: Final = 1 << 20


class RecordWriter:
    """Writes hands to a file that gets its name when it is whole: until `close` it lies beside, as FILE.unfinished.

    A context manager: leaving the block closes the file, an exception leaves what there is unfinished.
    """

    def __init__(self, path: Path | str) -> None:
        """Begin a file; it replaces one of the same name when it is closed.

        Raises FileExistsError if one that another run left unfinished lies there: its hands can still be read.
        """
        self.path = Path(path)
        self._beside = place_beside(self.path)
        try:
            self._file = _opened(self._beside, "x")
        except FileExistsError:
            raise FileExistsError(
                EEXIST, "hands of a run that did not end, or has not yet, lie here: move or delete them",
                str(self._beside),
            ) from None  # fmt: skip
        self._chain = 0
        self.num_hands = 0

    def write(self, record: HandRecord) -> None:
        """Add a hand."""
        line = record.to_line()
        with _named(self.path):
            self._file.write(line)
        self._chain = zlib.crc32(line.encode(), self._chain)
        self.num_hands += 1

    def flush(self) -> None:
        """Have the hands so far on disk, whatever becomes of this process."""
        with _named(self.path):
            self._file.flush()

    def close(self) -> None:
        """Write the last line and give the file its name."""
        with _named(self.path):
            self._file.write(_last_line(self.num_hands, self._chain))
            self._file.close()
        self._beside.replace(self.path)

    def leave_unfinished(self) -> None:
        """End without the last line: hands stay beside, as FILE.unfinished; if there are none, nothing stays."""
        if not self.num_hands:
            self.discard()
            return
        with _named(self.path):
            self._file.close()

    def discard(self) -> None:
        """End without a file; nothing is left of it, and leaving the block does nothing more."""
        self._file.close()
        self._beside.unlink()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        """End."""
        if self._file.closed:
            return
        if kind is None:
            self.close()
        else:
            self.leave_unfinished()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error of the system say which file it concerns."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _last_line(num_hands: int, chain: int) -> str:
    content = {"format": FORMAT, "version": FORMAT_VERSION, "end": num_hands, "chain": f"{chain:08x}"}
    return with_check(json.dumps(content, separators=(",", ":")))


def _opened(path: Path, mode: str) -> Any:
    """Open a file as text, compressed as its suffix says."""
    suffix = _suffix(path)
    if suffix == ".gz":
        return gzip.open(path, mode + "t", encoding="utf-8", newline="\n")
    if suffix == ".zst":
        return _zstandard(path).open(path, mode + "t", encoding="utf-8", newline="\n")
    return path.open(mode, encoding="utf-8", newline="\n")


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(UNFINISHED)).suffix


def _zstandard(path: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise ImportError(f"{path}: files ending in .zst need the package zstandard (the extra `record`)") from None
    return zstandard


def read_records(path: Path | str) -> Iterator[HandRecord]:
    """Yield the hands of a file, one by one; memory does not grow with its length.

    Raises RecordError, naming file and line, for a line that is damaged or altered, and at the end if the file was cut.
    """
    for _, record in _numbered_records(Path(path)):
        yield record


def _numbered_records(path: Path) -> Iterator[tuple[int, HandRecord]]:
    chain, num_hands, ended = 0, 0, False
    number = 0
    try:
        for number, line in _lines(path):
            if ended:
                raise RecordError("there is more after the last line")
            if '"end":' in line[:60]:
                content = checked_content(line)
                if (content.get("end"), content.get("chain")) != (num_hands, f"{chain:08x}"):
                    raise RecordError(
                        f"the last line is of {content.get('end')} hands, not of the {num_hands} before it"
                    )
                ended = True
                continue
            yield number, HandRecord.from_line(line)
            chain = zlib.crc32(line.encode(), chain)
            num_hands += 1
        if not ended:
            number += 1
            raise RecordError(f"the file is cut: no last line follows its {num_hands} hands")
    except RecordError as error:
        raise RecordError(f"{path}, line {number}: {error}") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        for number, line in enumerate(_zst_lines(path) if _suffix(path) == ".zst" else _plain_lines(path), 1):
            yield number, line
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError, zlib.error) as error:
        raise RecordError(f"the file is cut or damaged after line {number}: {error}") from None


def _plain_lines(path: Path) -> Iterator[str]:
    with _opened(path, "r") as file:
        yield from file


def _zst_lines(path: Path) -> Iterator[str]:
    # The package's own reader takes a file that was cut for one that ends there.
    zstandard = _zstandard(path)
    stream, rest = zstandard.ZstdDecompressor().decompressobj(), b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            try:
                *lines, rest = (rest + stream.decompress(chunk)).split(b"\n")
            except zstandard.ZstdError as error:
                raise EOFError(str(error)) from None
            for line in lines:
                yield line.decode() + "\n"
    if rest:
        yield rest.decode()
    if stream.unused_data:
        raise EOFError("there is more after the end of the compressed data")
    if not stream.eof:
        raise EOFError("the compressed data has no end")


def verify(path: Path | str) -> int:
    """Play every hand of a file again and return how many there are.

    Raises RecordError for the first disagreement, naming file, line and decision.
    """
    count = 0
    follows = _Follows()
    for number, record in _numbered_records(Path(path)):
        try:
            game: Game | None = None
            for game, _, _ in record.replay():  # noqa: B007 - it goes on while it is yielded
                pass
            assert game is not None, "a hand has decisions"
            follows.check(record, game.is_over)
        except RecordError as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
        count += 1
    return count


class _Follows:
    """Whether the hands of a game begin with the scores that its hand before left; games may lie mingled in a file.

    A hand whose game's hand before is not in the file may begin with any: who keeps a choice of hands may do so.
    """

    def __init__(self) -> None:
        #: By game and hand, the scores that it may begin with, as often as hands before it have ended so.
        self._scores: dict[tuple[Any, ...], Counter[tuple[int, ...]]] = {}

    def check(self, record: HandRecord, is_last: bool) -> None:
        """Look at the next hand of the file, its game's last one or not; raises RecordError."""
        if record.seed is None or record.episode != "game":
            return
        game = (record.seed, record.rules, record.players)
        begun = self._scores.get((*game, record.hand_number))
        if begun is not None:
            if not begun[record.scores]:
                found = " or ".join(str(list(scores)) for scores in begun)
                raise RecordError(f"scores before it are {list(record.scores)}; the hand before it left {found}")
            begun[record.scores] -= 1
            if not begun.total():
                del self._scores[*game, record.hand_number]
        if is_last:
            return
        after = tuple(score + change for score, change in zip(record.scores, record.score_changes, strict=True))
        self._scores.setdefault((*game, record.hand_number + 1), Counter())[after] += 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if all is well, 1 if a file disagrees, 2 if it cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m chearts_env.record", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    verifying = commands.add_parser("verify", help="play every hand again")
    verifying.add_argument("file", type=Path)
    commands.add_parser("schema", help="print the JSON Schema of a line")
    numpy = commands.add_parser("numpy", help="write observations, masks, actions and returns to a NumPy file")
    numpy.add_argument("file", type=Path)
    numpy.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.npz")
    asked = parser.parse_args(arguments)
    if asked.command == "schema":
        print(json.dumps(schema(), indent=2))
        return 0
    try:
        if asked.command == "verify":
            print(f"{asked.file}: {verify(asked.file)} hands, all as the rules have them")
        else:
            refuse_to_overwrite(asked.file, asked.out)
            print(f"{asked.out}: {save_numpy(read_records(asked.file), asked.out)} decisions")
    except RecordError as error:
        print(f"record: {error}", file=sys.stderr)
        return 1
    except (OSError, ImportError) as error:
        print(f"record: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
