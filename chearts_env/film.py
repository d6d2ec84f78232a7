"""A recorded hand as a moving picture: `python -m chearts_env.film FILE -o hand.gif`, or `save_film` from Python."""

# ruff: noqa: T201 - printing is the command's job

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from chearts_env.game import Game
from chearts_env.observation import decode
from chearts_env.record import read_records
from chearts_env.record_format import HandRecord, RecordError
from chearts_env.render.cards import pillow
from chearts_env.render.everything import everything_of
from chearts_env.render.picture import table_as_picture
from chearts_env.whole_files import written_beside

#: Frames are shrunk to this width, pixels.
_WIDTH: Final = 900
_COLOURS: Final = 128


def save_film(record: HandRecord, path: Path | str, view: int | None = None, frames_per_second: float = 2.0) -> int:
    """Write a hand as an animated GIF, a frame for each position, and return their number.

    `view` is the seat whose knowledge is drawn; None shows all cards, the mover's in front. Raises RecordError for a
    hand that the rules do not allow, and ValueError for a view that is no seat, a speed not within 0.01 … 50, and a
    name that does not end in .gif.
    """
    n = record.rules.num_players
    if view is not None and (isinstance(view, bool) or not isinstance(view, int) or not 0 <= view < n):
        raise ValueError(f"view={view!r} is not allowed: it must be None or a seat 0 … {n - 1}")
    if not 0.01 <= frames_per_second <= 50:
        raise ValueError(f"frames_per_second={frames_per_second!r} is not allowed: it must be within 0.01 … 50")
    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise ValueError(f"{target} is not allowed: a film is a GIF, and its name ends in .gif")
    frames = list(_frames(record, view))
    milliseconds = round(1000 / frames_per_second)
    with written_beside(target) as beside:
        frames[0].save(
            beside, format="GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0, optimize=False
        )
    return len(frames)


def _frames(record: HandRecord, view: int | None) -> Iterator[Any]:
    seat = 0
    game: Game | None = None
    # Replayed as a single hand, the table stays at its end instead of being dealt the next. But it calls the hand the
    # last: how many are left is what the record's own game says.
    hands_left = decode(next(iter(record.replay()))[0].observation(0)).hands_left
    for game, number, _ in record.alone().replay():
        seat = record.moves[number][0] if view is None else view
        yield _frame(game, seat, view is None, hands_left)
    assert game is not None, "a hand has decisions"
    yield _frame(game, seat, view is None, hands_left)


def _frame(game: Game, seat: int, shows_all: bool, hands_left: int | None) -> Any:
    knowledge, hands = everything_of(game, seat) if shows_all else (decode(game.observation(seat)), None)
    image = pillow().Image.fromarray(table_as_picture(replace(knowledge, hands_left=hands_left), seat, hands))
    size = (_WIDTH, round(image.height * _WIDTH / image.width))
    return image.resize(size, pillow().Image.Resampling.LANCZOS).quantize(_COLOURS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the film; return 0, 1 for what is wrong with the file, 2 if it cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m chearts_env.film", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="a record")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.gif")
    parser.add_argument("--hand", type=int, default=1, metavar="N", help="which hand of the file, from 1")
    parser.add_argument("--view", default="all", metavar="SEAT", help="a seat's number, or all")
    parser.add_argument("--fps", type=float, default=2.0, help="frames a second")
    asked = parser.parse_args(arguments)
    try:
        if not (asked.view == "all" or asked.view.isdecimal()) or asked.hand < 1:
            raise ValueError(f"--view {asked.view} --hand {asked.hand}: all or a seat, and 1 or more, are needed")
        record = next(islice(read_records(asked.file), asked.hand - 1, None), None)
        if record is None:
            raise RecordError(f"{asked.file} has no hand {asked.hand}")
        count = save_film(record, asked.out, None if asked.view == "all" else int(asked.view), asked.fps)
    except ValueError as error:
        print(f"film: {error}", file=sys.stderr)
        return 1
    except (OSError, ImportError) as error:
        print(f"film: {error}", file=sys.stderr)
        return 2
    print(f"{asked.out}: {count} frames")
    return 0


if __name__ == "__main__":
    sys.exit(main())
