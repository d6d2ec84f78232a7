"""Sit down at the table, in a terminal: `python -m chearts_env.play --seats 7 --against careful --record mine.jsonl`.

Left and right choose a card, enter plays it; space marks the three to pass. There is no undo. `h` gives hints: by
`--hints NAME` (`careful` says why, `search:K`, `pretrained` and other policies that value actions say how much worse a
card is), `?` all keys. A record has its name once the game is over; until then, and when it is broken off, the hands
played to their end are in FILE.unfinished. Needs the extra `play`.
"""

# ruff: noqa: T201 - printing is the command's job

from __future__ import annotations

import argparse
import math
import re
import secrets
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chearts_env.game import Game
from chearts_env.play_app import app_of
from chearts_env.play_hints import adviser_named
from chearts_env.play_table import PlayTable
from chearts_env.policy import loaded_policy
from chearts_env.record import RecordWriter
from chearts_env.record_format import HandRecord
from chearts_env.rules import PRESETS, Rules
from chearts_env.whole_files import place_beside


def rules_of(preset: str, seats: int, options: Sequence[str]) -> Rules:
    """Return rules of a preset with options written as `name=value`. Raises ValueError for what is not allowed."""
    values: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise ValueError(f"--rule {option!r} is not allowed: it must be NAME=VALUE, such as target_score=100")
        if name == "num_players":
            raise ValueError(f"--rule {option} is not allowed: --seats says how many play")
        if name in values:
            raise ValueError(f"--rule {option} is not allowed: {name} is given twice")
        words: list[Any] = [int(word) if re.fullmatch(r"-?[0-9]+", word) else word for word in text.split(",")]
        values[name] = tuple(words) if name == "pass_cycle" else words[0] if len(words) == 1 else text
    rules: Rules = getattr(Rules, preset)(seats, **values)
    return rules


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chearts_env.play", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seats", type=int, default=6, help="6 … 11")
    parser.add_argument("--rules", default="card_page", choices=PRESETS)
    parser.add_argument(
        "--rule", nargs="+", action="extend", default=[], metavar="NAME=VALUE",
        help="options of Rules, such as target_score=100",
    )  # fmt: skip
    parser.add_argument(
        "--against", nargs="+", action="extend", metavar="NAME",
        help="names, or module:attribute (default: random_legal)",
    )  # fmt: skip
    parser.add_argument(
        "--hints", metavar="NAME", help="whose hints `h` gives; else those of the first opponent that can, or careful's"
    )
    parser.add_argument("--seat", type=int, default=0, help="yours")
    parser.add_argument("--seed", type=int, help="of the deals; drawn if none is given")
    parser.add_argument("--hand", action="store_true", help="a single hand, not a whole game")
    parser.add_argument("--delay", type=float, default=0.3, help="seconds between two moves of the others")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the hands played to their end")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Play; return 0, 1 for a policy that failed, 2 for what cannot be, 128 + n if signal n ended it."""
    asked = _parser().parse_args(arguments)
    writer: RecordWriter | None = None
    try:
        rules = rules_of(asked.rules, asked.seats, asked.rule)
        if not (math.isfinite(asked.delay) and asked.delay >= 0):
            raise ValueError(f"--delay {asked.delay} is not allowed: it must be a number of seconds from 0 on")
        opponents = [(name, loaded_policy(name)) for name in asked.against or ["random_legal"]]
        adviser = adviser_named(asked.hints, opponents)
        game = Game(
            rules, secrets.randbits(32) if asked.seed is None else asked.seed, episode="hand" if asked.hand else "game"
        )
        table = PlayTable(
            game, asked.seat, opponents, adviser=adviser, write=lambda record: _keep(writer, record)
        )  # fmt: skip
        app = app_of(table, asked.delay, asked.record)
        _refuse_places_taken(asked.record)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise ValueError("this needs a terminal: standard input and output must both be one")
        print("preparing the players …", flush=True)
        table.try_players()
        writer = RecordWriter(asked.record) if asked.record else None
    except (ValueError, OSError, ImportError) as error:
        print(f"play: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # while the players are prepared, which may take a minute
        return 128 + signal.SIGINT
    try:
        app.run()
    finally:
        told, is_kept = _end_record(writer, table.game.is_over and app.failure is None)
    _say_goodbye(table, told)
    if app.failure is not None:
        print(f"play: {app.failure}", file=sys.stderr)
    return (app.return_code or 0) if is_kept else 2


def _keep(writer: RecordWriter | None, record: HandRecord) -> None:
    if writer is not None:
        writer.write(record)
        writer.flush()


def _refuse_places_taken(record: Path | None) -> None:
    if record is None:
        return
    if record.exists():
        raise ValueError(f"--record {record} is there already: another name is needed")
    if place_beside(record).exists():
        raise ValueError(
            f"--record {record}: {place_beside(record)} holds hands of a game that was broken off, or that is being "
            "played; rename it, or give another name"
        )


def _end_record(writer: RecordWriter | None, is_over: bool) -> tuple[list[str], bool]:
    """Give the record of a game that is over its name, leave any other unfinished; return what to tell, and success."""
    if writer is None:
        return [], True
    hands = f"{writer.num_hands} hand{'' if writer.num_hands == 1 else 's'}"
    beside = place_beside(writer.path)
    try:
        if is_over:
            writer.close()
            return [f"record: {writer.path}, {hands}"], True
        writer.leave_unfinished()
    except OSError as error:  # a full disk, say
        return [f"record: {beside} may lack its end: {error}"], False
    if not writer.num_hands:
        return ["no hand was played to its end: nothing is recorded"], True
    return [
        f"record: {beside}, {hands} of a game that was not finished; to look at them:",
        f"  python -m chearts_env.replay {beside} --count {writer.num_hands} -o page.html",
    ], True


def _say_goodbye(table: PlayTable, told: list[str]) -> None:
    scores = ", ".join(f"P{seat} {points}" for seat, points in enumerate(table.game.scores))
    state = table.said[-1] if table.game.is_over else "The game was left before its end"
    try:
        print("\n".join([f"{state}; scores: {scores}", *told]), flush=True)
    except OSError:  # the terminal is gone
        sys.stdout = None  # or it would be tried once more at exit


if __name__ == "__main__":
    sys.exit(main())
