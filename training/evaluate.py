"""Matches from the command line: who saves how many points a hand against whom, with 95 % intervals.

Example: `python -m training.evaluate --challenger runs/NAME --field low_card --seats all --deals 1000`.

This file is the command: what may be asked for, who does it, and what is printed and written.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Generic, NoReturn

import torch

from chearts_env.arena import Match
from chearts_env.game import IllegalActionError
from chearts_env.record import RecordWriter
from chearts_env.rules import PRESETS
from chearts_env.whole_files import place_beside, refuse_to_overwrite, try_place
from training import exploit, games, matches, pool
from training.chunks import ChunkedRun, PartT, play_with_bar
from training.command import INTERRUPTED, refuse, sizes_of, tell_interrupted, write_rows
from training.matches import MatchPlan, Row, WatchedMatch, named_policy, valuing_policy
from training.names import settled_name

#: Options that leave others without a meaning.
_NOT_WITH: Final = {
    "pool": ("challenger", "field", "swapped", "games", "report", "record"),
    "games": ("swapped", "until", "report", "record"),
    "exploit": ("pool", "challenger", "field", "swapped", "games", "until", "report", "record"),
}
#: Options that mean something beside another one only.
_ONLY_WITH: Final = {"seconds": "exploit", "labels": "exploit", "values": "record"}


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like all others of this command."""

    def error(self, message: str) -> NoReturn:
        """Raise ValueError."""
        raise ValueError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m training.evaluate", description=(__doc__ or "").splitlines()[0], allow_abbrev=False
    )
    add = parser.add_argument
    add("--challenger", metavar="NAME", help="a name, module:attribute, a checkpoint or a run folder")
    add("--field", metavar="NAME", help="likewise")
    add("--swapped", action="store_true", help="one of the field among challengers, in place of one challenger")
    add("--games", action="store_true", help="whole games to the target; --deals counts game seeds")
    add("--pool", nargs="+", metavar="NAME", help="mixed tables of several policies, in place of challenger and field")
    add("--seats", default="all", help="6 … 11, several with commas, or all")
    add("--deals", type=int, default=500, help="deals of each match")
    add("--until", type=float, metavar="W", help=(
        "end a match before --deals once its 95 %% interval reaches at most W points to either side of the advantage "
        "(half its whole width), after 60 deals at the earliest"
    ))  # fmt: skip
    add("--rules", default="card_page", choices=PRESETS)
    add("--seed", type=int, default=0, help="of the deals and of the players")
    add("--workers", type=int, default=1, metavar="K", help="processes to play in; the results are the same for any K")
    add("--json", type=Path, metavar="FILE", help="file to write the results to")
    add("--report", type=Path, metavar="DIR", help="folder to write a page with pictures to")
    add("--record", type=Path, metavar="FILE", help="file to write every hand to (.jsonl, .jsonl.gz or .jsonl.zst)")
    add("--values", metavar="NAME", help=(
        "with --record: note at each decision what this policy holds the legal actions to be worth"
    ))  # fmt: skip
    exploit.add_arguments(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is asked for, print what it says, write JSON and report, and return the exit status."""
    torch.set_num_threads(1)
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        asked = _parser().parse_args(words)
        _check(asked)
        if asked.pool is not None:
            return pool.main(asked)
        if asked.exploit is not None:
            return exploit.main(asked)
        plan = _games(asked) if asked.games else _matches(asked)
        if asked.report is not None:
            # Late: pictures are wanted by few.
            from training.report import ready

            ready(asked.report)
    except (ValueError, FileExistsError) as error:
        return refuse("evaluate", error)
    try:
        if isinstance(plan, games.GamePlan):
            return _play(asked, ChunkedRun(plan), _GAMES)
        command = ["python", "-m", "training.evaluate", *words]
        if asked.record is None:
            return _play_matches(asked, ChunkedRun(plan), command)
        return _play_and_record(asked, plan, command)
    except (IllegalActionError, OSError) as error:
        return refuse("evaluate", error)


# Checks, of what would otherwise fail after hours


def _check(asked: argparse.Namespace) -> None:
    """Raise ValueError for numbers and files that cannot be, and options that do not go together."""
    if asked.deals < 2:
        raise ValueError(f"--deals {asked.deals} is not allowed: an interval needs at least 2")
    if asked.seed < 0:
        raise ValueError(f"--seed {asked.seed} is not allowed: it must be at least 0")
    if asked.workers < 1:
        raise ValueError(f"--workers {asked.workers} is not allowed: it must be at least 1")
    if asked.until is not None and not 0 < asked.until < math.inf:
        raise ValueError(f"--until {asked.until} is not allowed: it must be points above 0")
    given = {option for option, value in vars(asked).items() if value not in (None, False)}
    for option, others in _NOT_WITH.items():
        wrong = [other for other in others if other in given]
        if option in given and wrong:
            raise ValueError(f"--{option} does not go with --{wrong[0]}")
    for option, other in _ONLY_WITH.items():
        if option in given and other not in given:
            raise ValueError(f"--{option} goes with --{other} only")
    if asked.json:
        _check_writable("json", asked.json, lambda: try_place(asked.json))
    if asked.json and asked.record:
        for kept, written in ((asked.json, asked.record), (asked.record, asked.json)):
            refuse_to_overwrite(kept, written)
    if asked.record:
        _check_writable("record", asked.record, lambda: RecordWriter(asked.record).discard())


def _check_writable(option: str, path: Path, trial: Callable[[], object]) -> None:
    if path.is_dir():
        raise ValueError(f"--{option} {path} is not allowed: it is a folder")
    try:
        trial()
    except OSError as error:
        raise ValueError(f"--{option} {path} cannot be written: {error.strerror}") from error
    except ImportError as error:
        raise ValueError(f"--{option} {error}") from error


def _settled(asked: argparse.Namespace, option: str) -> str:
    """Return the name of a policy that there is. Raises ValueError for one that there is not."""
    name = getattr(asked, option)
    if name is None:
        raise ValueError(f"--{option} is missing: a match needs a challenger and a field")
    settled = settled_name(name)
    named_policy(settled)
    return settled


# Matches and games


def _matches(asked: argparse.Namespace) -> MatchPlan:
    values_by = settled_name(asked.values) if asked.values is not None else None
    if values_by is not None:
        valuing_policy(values_by)
    return MatchPlan(
        _settled(asked, "challenger"), _settled(asked, "field"), asked.rules, sizes_of(asked.seats), asked.deals,
        asked.seed, asked.swapped, asked.until, is_watched=asked.report is not None,
        is_recorded=asked.record is not None, values_by=values_by,
    )  # fmt: skip


def _games(asked: argparse.Namespace) -> games.GamePlan:
    names = _settled(asked, "challenger"), _settled(asked, "field")
    return games.GamePlan(*names, asked.rules, sizes_of(asked.seats), asked.deals, asked.seed)


@dataclass(frozen=True)
class _Told(Generic[PartT]):
    """How one kind of result is told."""

    row_of: Callable[[PartT, str, str, str], Row]
    table_of: Callable[[Sequence[Row]], str]
    brief_of: Callable[[PartT], str]
    legend: str


_MATCHES: Final = _Told(
    matches.row_of,
    matches.table_of,
    matches.brief_of,
    "points per hand, low is good; saved = the field's minus the challenger's in the same seats",
)
_GAMES: Final = _Told(
    games.row_of,
    games.table_of,
    games.brief_of,
    "whole games; even = what equals get; scores are final ones, low is good",
)


def _play(
    asked: argparse.Namespace,
    run: ChunkedRun[PartT],
    told: _Told[PartT],
    report: Callable[[list[Row]], object] = lambda rows: None,
) -> int:
    """Play, print and write what was played, were it interrupted, and return the exit status.

    Where a disk is full or processes are lost, what is finished is told first.
    """
    is_interrupted, failure = False, None
    try:
        play_with_bar(run, asked.workers, told.brief_of)
    except KeyboardInterrupt:
        is_interrupted = True
    except OSError as error:
        failure = error
    rows = [told.row_of(match, asked.challenger, asked.field, asked.rules) for match in run.matches]
    if is_interrupted:
        tell_interrupted(rows)
    if rows:
        one, others = (asked.field, asked.challenger) if asked.swapped else (asked.challenger, asked.field)
        print(f"one {one} among {others}; {told.legend}")
        print(told.table_of(rows))
        for row in rows:
            if not run.is_finished(row["seats"]):
                print(f"{row['seats']} seats: stopped after {row['deals']} of {asked.deals} deals")
        write_rows(asked.json, rows)
        report(rows)
    if failure is not None:
        raise failure
    return INTERRUPTED if is_interrupted else 0


def _play_and_record(asked: argparse.Namespace, plan: MatchPlan, command: Sequence[str]) -> int:
    with RecordWriter(asked.record) as writer:
        status = _play_matches(asked, ChunkedRun(plan, partial(_written, writer)), command)
        if status:
            writer.leave_unfinished()  # an older file keeps its place
    if not status:
        print(f"record: {asked.record}, {writer.num_hands} hands")
    elif writer.num_hands:
        print(f"record: {place_beside(asked.record)}, {writer.num_hands} hands of what was not finished")
    return status


def _written(writer: RecordWriter, match: Match) -> Match:
    """Write the hands of some deals and return what else is known of them: all hands may not fit into memory."""
    assert isinstance(match, WatchedMatch)
    for hand in match.hands:
        writer.write(hand)
    return replace(match, hands=())


def _play_matches(asked: argparse.Namespace, run: ChunkedRun[Match], command: Sequence[str]) -> int:
    if asked.report is None:
        return _play(asked, run, _MATCHES)
    # Late: pictures are wanted by few.
    from training.report import detail_of, write

    def report(rows: list[Row]) -> None:
        watched = [match for match in run.matches if isinstance(match, WatchedMatch)]
        details = [detail_of(match, [match.losses]) for match in watched if match.losses is not None]
        print(f"report: {write(asked.report, rows, details, command)}")

    return _play(asked, run, _MATCHES, report)


if __name__ == "__main__":
    sys.exit(main())
