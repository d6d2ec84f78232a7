"""Moons as a table of their own: `python -m training.moons careful pretrained --deals 2000`.

Every policy is seated alone among `careful`, and among copies of itself; the table says in how many of 1,000 hands its
seat made a moon, attempted one, suffered another's and stopped another's (`training.losses` says what counts).
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from training.command import INTERRUPTED, refuse, sizes_of
from training.losses import ATTEMPTED, MADE, STOPPED, SUFFERED, Losses
from training.matches import MatchPlan, WatchedMatch, named_policy
from training.names import settled_name
from training.workers import Workers

_PRESETS = ("card_page", "classic")
_SEED = 40_000


@dataclass(frozen=True)
class MoonWork:
    """Play one policy in a field, on so many deals, and return where its seat's points came from."""

    challenger: str
    field: str
    preset: str
    size: int
    num_deals: int

    def __call__(self) -> Losses:
        """Do it."""
        plan = MatchPlan(self.challenger, self.field, self.preset, (self.size,), self.num_deals, _SEED, is_watched=True)
        at_once = plan.num_at_once(self.size)
        starts = range(0, self.num_deals, at_once)
        parts = [plan.play(self.size, range(start, min(start + at_once, self.num_deals))) for start in starts]
        match = plan.joined(parts)
        assert isinstance(match, WatchedMatch)
        assert match.losses is not None, "it was to be watched"
        return match.losses[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, print the table in Markdown, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m training.moons", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="NAME", help="policies, as training.evaluate knows them")
    parser.add_argument("--seats", default="6,8,11", help="6 … 11, several with commas, or all")
    parser.add_argument(
        "--deals", type=int, default=2000, help="deals of each match, played with each seat as the lone one"
    )
    parser.add_argument("--workers", type=int, default=2, metavar="K", help="processes to play in")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        sizes, names = sizes_of(asked.seats), [settled_name(name) for name in asked.names]
        for name in names:
            named_policy(name)
        if asked.deals < 2 or asked.workers < 0:
            raise ValueError(
                f"--deals {asked.deals} --workers {asked.workers}: at least 2 deals and 0 workers are needed"
            )
    except ValueError as error:
        return refuse("moons", error)
    works = [
        MoonWork(name, field, preset, size, asked.deals)
        for name in names
        for field in dict.fromkeys(("careful", name))
        for preset in _PRESETS
        for size in sizes
    ]
    try:
        with Workers(asked.workers) as workers:
            found = dict(zip(works, workers.in_order(works), strict=True))
    except KeyboardInterrupt:
        return INTERRUPTED
    print(table_of(found, sizes))
    return 0


def table_of(found: dict[MoonWork, Losses], sizes: Sequence[int]) -> str:
    """Return a line for each policy, field and reading, with its counts at each size, of 1,000 hands."""
    at = " / ".join(map(str, sizes))
    lines = [
        f"in 1,000 hands at {at} seats | rules | made | attempted | suffered | stopped",
        "--- | --- | --- | --- | --- | ---",
    ]
    for name, field, preset in dict.fromkeys((work.challenger, work.field, work.preset) for work in found):
        mine = {
            w.size: losses for w, losses in found.items() if (w.challenger, w.field, w.preset) == (name, field, preset)
        }
        kinds = [
            " / ".join(f"{1000 * getattr(mine[size], kind)[number] / mine[size].hands:.1f}" for size in sizes)
            for kind, number in (("moons", MADE), ("attempts", ATTEMPTED), ("moons", SUFFERED), ("attempts", STOPPED))
        ]
        lines.append(" | ".join([f"`{name}` among `{field}`", preset, *kinds]))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
