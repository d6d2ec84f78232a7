"""A pool of policies at mixed tables: who has how many points per hand, and who beats whom.

`python -m training.evaluate --pool A B C` comes here. `pool_tables` says how the tables are filled, `pool_model` what
is made of them, `pool_report` how it is told.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

from chearts_env.game import IllegalActionError
from chearts_env.rules import Rules
from training.chunks import ChunkedRun, deals_at_once, play_with_bar
from training.command import INTERRUPTED, refuse, sizes_of, tell_interrupted, write_rows
from training.matches import Row, named_policy
from training.names import settled_name
from training.pool_model import fit_additive
from training.pool_report import row_of, text_of
from training.pool_tables import PoolTables, joined_tables, play_tables

#: Tables of one chunk: enough for policies to be called in batches, few enough for a bar to move and workers to share.
TABLES_AT_ONCE: Final = 512


@dataclass(frozen=True)
class PoolPlan:
    """The pools asked for, one for each of `sizes`.

    A pool has `num_deals` deals, or ends earlier, once the 95 % intervals of all policies reach at most `until` points
    to either side.
    """

    names: tuple[str, ...]  # as they are told
    policies: tuple[str, ...]  # the same, settled
    preset: str
    sizes: tuple[int, ...]
    num_deals: int
    seed: int = 0
    until: float | None = None

    def num_at_once(self, size: int) -> int:
        """Return how many deals make one chunk."""
        return deals_at_once(TABLES_AT_ONCE, len(self.names), self.names)

    def play(self, size: int, deals: range) -> PoolTables:
        """Play some deals, here or in another process."""
        policies = [named_policy(name) for name in self.policies]
        return play_tables(policies, self.names, getattr(Rules, self.preset)(size), self.seed, deals)

    def joined(self, parts: Sequence[PoolTables]) -> PoolTables:
        """Return parts, in the order of their deals, as one."""
        return joined_tables(parts)

    def is_enough(self, part: PoolTables) -> bool:
        """Say whether a pool may end with these deals: whether all intervals are narrow enough."""
        if self.until is None or part.num_deals < 2:
            return False
        intervals = fit_additive(part.points, part.seats, part.places, len(self.names)).policies.intervals95
        return bool((intervals[:, 1] - intervals[:, 0]).max() / 2 <= self.until)

    def row(self, tables: PoolTables) -> Row:
        """Return tables as one object of the JSON."""
        return row_of(self.names, self.preset, self.seed, tables)


def pool_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a pool's names as given and settled, both in one order, which is not that of the command line.

    Raises ValueError for a name that stands for no policy, for one given twice, and for fewer than two.
    """
    if len(set(names)) < 2:
        raise ValueError(f"--pool {' '.join(names)} is not allowed: a pool needs at least two different policies")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"--pool names {', '.join(twice)} more than once")
    ordered = tuple(sorted(names))
    policies = tuple(settled_name(name) for name in ordered)
    for name in policies:
        named_policy(name)
    return ordered, policies


def main(asked: argparse.Namespace) -> int:
    """Play the pools asked for, print what they say, write the JSON, and return the exit status.

    Reads `pool`, `seats`, `deals`, `until`, `rules`, `seed`, `json` and `workers` as `training.evaluate` defines and
    checks them.
    """
    torch.set_num_threads(1)
    try:
        names, policies = pool_names(asked.pool)
        sizes = sizes_of(asked.seats)
    except ValueError as error:
        return refuse("evaluate", error)
    plan = PoolPlan(names, policies, asked.rules, sizes, asked.deals, asked.seed, asked.until)
    run = ChunkedRun(plan)
    is_interrupted = False
    try:
        play_with_bar(run, asked.workers)
    except KeyboardInterrupt:
        is_interrupted = True
    except IllegalActionError as error:
        return refuse("evaluate", error)
    rows = [plan.row(tables) for tables in run.matches]
    if is_interrupted:
        tell_interrupted(rows)
    for row in rows:
        print(text_of(row), end="\n\n")
        if not run.is_finished(row["seats"]):
            print(f"{row['seats']} seats: stopped after {row['deals']} of {asked.deals} deals")
    write_rows(asked.json, rows)
    return INTERRUPTED if is_interrupted else 0
