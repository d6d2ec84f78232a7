"""Matches from the command line: who saves how many points a hand against whom, with 95 % intervals.

Example: `python -m training.evaluate --challenger runs/NAME --field low_card --seats all --deals 1000`.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

import torch
from tqdm import tqdm

from chearts_env.game import IllegalActionError
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS, PRESETS
from training.checkpoint import write_whole
from training.matches import MatchPlan, MatchRun, Row, named_policy, row_of, table_of
from training.policy import settled_name
from training.workers import Workers

ALL_SIZES: Final = tuple(range(MIN_PLAYERS, MAX_PLAYERS + 1))
WRONG: Final = 2
INTERRUPTED: Final = 130


def sizes_of(text: str) -> list[int]:
    """Return the table sizes that `--seats` names: one, several with commas, or "all". Raises ValueError otherwise."""
    if text == "all":
        return list(ALL_SIZES)
    words = text.split(",")
    if not all(word.isdecimal() and int(word) in ALL_SIZES for word in words):
        raise ValueError(f"--seats {text} is not allowed: it must be all, or numbers {MIN_PLAYERS} … {MAX_PLAYERS}")
    return list(dict.fromkeys(int(word) for word in words))


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
    add("--seats", default="all", help="6 … 11, several with commas, or all")
    add("--deals", type=int, default=500, help="deals of each match")
    add("--until", type=float, metavar="W", help=(
        "end a match before --deals once its 95 %% interval reaches at most W points to either side of the advantage "
        "(half its whole width)"
    ))  # fmt: skip
    add("--rules", default="card_page", choices=PRESETS)
    add("--seed", type=int, default=0, help="of the deals and of the players")
    add("--workers", type=int, default=1, metavar="K", help="processes to play in; the results are the same for any K")
    add("--json", type=Path, metavar="FILE", help="file to write the results to")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is asked for, print a table, write the JSON, and return the exit status."""
    torch.set_num_threads(1)
    try:
        asked = _parser().parse_args(arguments)
        _check(asked)
        plan = _plan(asked)
    except ValueError as error:
        return refuse(error)
    return _play(asked, plan)


def refuse(error: Exception) -> int:
    """Say in one line why nothing comes of it, and return the exit status for that."""
    print(f"evaluate: {error}", file=sys.stderr)
    return WRONG


def _check(asked: argparse.Namespace) -> None:
    """Raise ValueError for what would fail only after hours."""
    if asked.deals < 2:
        raise ValueError(f"--deals {asked.deals} is not allowed: an interval needs at least 2")
    if asked.seed < 0:
        raise ValueError(f"--seed {asked.seed} is not allowed: it must be at least 0")
    if asked.workers < 1:
        raise ValueError(f"--workers {asked.workers} is not allowed: it must be at least 1")
    if asked.until is not None and not 0 < asked.until < math.inf:
        raise ValueError(f"--until {asked.until} is not allowed: it must be points above 0")
    if asked.json:
        _check_writable(asked.json)


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"--json {path} is not allowed: it is a folder")
    trial = path.with_name(path.name + ".trial")
    try:
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        raise ValueError(f"--json {path} cannot be written: {error.strerror}") from error


def _plan(asked: argparse.Namespace) -> MatchPlan:
    """Return what is to be played. Raises ValueError for a policy that there is none of."""
    for option in ("challenger", "field"):
        if getattr(asked, option) is None:
            raise ValueError(f"--{option} is missing: a match needs a challenger and a field")
    challenger, field = settled_name(asked.challenger), settled_name(asked.field)
    for name in (challenger, field):
        named_policy(name)
    sizes = tuple(sizes_of(asked.seats))
    return MatchPlan(challenger, field, asked.rules, sizes, asked.deals, asked.seed, asked.swapped, asked.until)


def _play(asked: argparse.Namespace, plan: MatchPlan) -> int:
    run = MatchRun(plan)
    is_interrupted = False
    try:
        _play_with_bar(run, asked.workers)
    except KeyboardInterrupt:
        is_interrupted = True
    except IllegalActionError as error:
        return refuse(error)
    rows = [row_of(match, asked.challenger, asked.field, asked.rules) for match in run.matches]
    if is_interrupted:
        print(f"interrupted: {'this is what' if rows else 'nothing'} is finished", file=sys.stderr)
        if not rows:
            return INTERRUPTED
    _tell(asked, rows)
    for row in rows:
        if not run.is_finished(row["seats"]):
            print(f"{row['seats']} seats: stopped after {row['deals']} of {plan.num_deals} deals")
    if asked.json:
        write_whole(asked.json, json.dumps(rows, indent=2) + "\n")
    return INTERRUPTED if is_interrupted else 0


def _tell(asked: argparse.Namespace, rows: Sequence[Row]) -> None:
    who = (
        f"{asked.field} alone among {asked.challenger}" if asked.swapped else f"{asked.challenger} among {asked.field}"
    )
    print(f"{who}; points per hand, low is good; saved = the field's minus the challenger's in the same seats")
    print(table_of(rows))


def _play_with_bar(run: MatchRun, num_workers: int) -> None:
    plan = run.plan
    played = dict.fromkeys(plan.sizes, 0)
    with (
        tqdm(total=len(plan.sizes) * plan.num_deals, unit="deal", dynamic_ncols=True) as bar,
        Workers(num_workers if num_workers > 1 else 0) as workers,
    ):

        def on_deals(size: int, num_deals: int) -> None:
            played[size] += num_deals
            if run.is_finished(size):
                bar.total -= plan.num_deals - played[size]
                saved = next(match.advantage for match in run.matches if match.rules.num_players == size)
                bar.set_postfix_str(f"saved {saved:+.2f} at {size} seats", refresh=False)
            bar.set_description(f"{size} seats", refresh=False)
            bar.update(num_deals)

        run.play(workers, on_deals)


if __name__ == "__main__":
    sys.exit(main())
