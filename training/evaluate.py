"""Matches from the command line: who saves how many points a hand against whom, with 95 % intervals.

Example: `python -m training.evaluate --challenger runs/NAME --field low_card --seats all --deals 1000`.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from tqdm import tqdm

from chearts_env.arena import Match, Policy, play_match
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS, PRESETS, Rules
from training.checkpoint import versions
from training.policy import policy_named

Row = dict[str, Any]

ALL_SIZES: Final = tuple(range(MIN_PLAYERS, MAX_PLAYERS + 1))


def play_row(
    challenger: Policy,
    field: Policy,
    names: tuple[str, str],
    preset: str,
    size: int,
    num_deals: int,
    seed: int,
    on_deals: Callable[[int], object] = lambda num_deals: None,
) -> Row:
    """Play one match and return it as one object of the JSON; `names` are challenger's and field's."""
    match = play_match(challenger, field, getattr(Rules, preset)(size), num_deals, seed, on_deals=on_deals)
    return row_of(match, *names, preset)


def row_of(match: Match, challenger: str, field: str, preset: str) -> Row:
    """Return a match as one object of the JSON; points are per hand, `advantage` is points saved, positive is good."""
    return {
        "challenger": challenger,
        "field": field,
        "rules": preset,
        "seats": match.rules.num_players,
        "deals": match.num_deals,
        "hands": match.num_hands,
        "advantage": match.advantage,
        "interval95": list(match.interval95),
        "points_challenger": match.points_challenger,
        "points_field": match.points_field,
        "share_won": match.share_won,
        "moons_made": match.moons_made,
        "moons_suffered": match.moons_suffered,
        "microseconds_per_decision": match.microseconds_per_decision,
        "seed": match.seed,
        "versions": versions(),
    }


def table_of(rows: Sequence[Row]) -> str:
    """Return rows as a table in text, one line for each match."""
    width = max([len(row["field"]) for row in rows], default=0) + 2
    heading = (
        f"{'field':<{width}}{'rules':<11}{'seats':>5}{'deals':>7}{'points':>8}{'field':>9}{'saved':>8}   95 % interval"
    )
    lines = [heading, "-" * len(heading)]
    for row in rows:
        low, high = row["interval95"]
        lines.append(
            f"{row['field']:<{width}}{row['rules']:<11}{row['seats']:>5}{row['deals']:>7}{row['points_challenger']:>8.2f}"
            f"{row['points_field']:>9.2f}{row['advantage']:>+8.2f}   {low:+.2f} … {high:+.2f}"
        )
    return "\n".join(lines)


def sizes_of(text: str) -> list[int]:
    """Return the table sizes that `--seats` names: one, several with commas, or "all". Raises ValueError otherwise."""
    if text == "all":
        return list(ALL_SIZES)
    words = text.split(",")
    if not all(word.isdecimal() and int(word) in ALL_SIZES for word in words):
        raise ValueError(f"--seats {text} is not allowed: it must be all, or numbers {MIN_PLAYERS} … {MAX_PLAYERS}")
    return [int(word) for word in words]


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the matches asked for, print a table, and write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--challenger", required=True, help="a name, module:attribute, a checkpoint or a run folder")
    parser.add_argument("--field", required=True, help="likewise")
    parser.add_argument("--seats", default="all", help="6 … 11, several with commas, or all")
    parser.add_argument("--deals", type=int, default=500, help="deals of each match")
    parser.add_argument("--rules", default="card_page", choices=PRESETS)
    parser.add_argument("--seed", type=int, default=0, help="of the deals and of the players")
    parser.add_argument("--json", type=Path, help="file to write the results to")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        sizes = sizes_of(asked.seats)
        if asked.deals < 2:
            raise ValueError(f"--deals {asked.deals} is not allowed: an interval needs at least 2")
        challenger, field = policy_named(asked.challenger), policy_named(asked.field)
    except ValueError as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 2
    rows = _play(asked, challenger, field, sizes)
    print(f"{asked.challenger} among {asked.field}; points per hand, low is good; saved = the field's minus its own")
    print(table_of(rows))
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    return 130 if len(rows) < len(sizes) else 0


def _play(asked: argparse.Namespace, challenger: Policy, field: Policy, sizes: list[int]) -> list[Row]:
    names = (asked.challenger, asked.field)
    rows: list[Row] = []
    with tqdm(total=len(sizes) * asked.deals, unit="deal", dynamic_ncols=True) as bar:
        try:
            for size in sizes:
                bar.set_description(f"{size} seats")
                rows.append(play_row(challenger, field, names, asked.rules, size, asked.deals, asked.seed, bar.update))
                bar.set_postfix_str(f"saved {rows[-1]['advantage']:+.2f} at {size} seats")
        except KeyboardInterrupt:
            bar.write("interrupted: this is what is finished", file=sys.stderr)
    return rows


if __name__ == "__main__":
    sys.exit(main())
