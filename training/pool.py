"""A pool of policies at mixed tables: who has how many points per hand, and who beats whom.

`python -m training.evaluate --pool A B C` comes here. `pool_tables` says how the tables are filled, `pool_model` what
is made of them, `pool_report` how it is told. Chunks hold the same deals whatever the number of workers, and are played
alike in any process, so the results are the same too.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import torch
from tqdm import tqdm

from chearts_env.game import IllegalActionError
from chearts_env.rules import Rules
from chearts_env.seating import Policy
from training.checkpoint import write_whole
from training.policy import policy_named, settled_name
from training.pool_report import Row, row_of, text_of
from training.pool_tables import PoolTables, joined_tables, play_tables
from training.workers import Workers

#: Tables of one chunk: enough for policies to be called in batches, few enough for a bar to move and workers to share.
TABLES_AT_ONCE: Final = 512


@dataclass(frozen=True)
class PoolPlan:
    """The pools asked for, one for each of `sizes`."""

    names: tuple[str, ...]  # as they are told
    policies: tuple[str, ...]  # as `policy_named` knows them, settled
    preset: str
    sizes: tuple[int, ...]
    num_deals: int
    seed: int = 0

    def chunks(self) -> Iterator[range]:
        """Yield the deals of one size, chunk by chunk."""
        num_at_once = max(1, TABLES_AT_ONCE // len(self.names))
        for start in range(0, self.num_deals, num_at_once):
            yield range(start, min(start + num_at_once, self.num_deals))


@dataclass(frozen=True)
class PoolWork:
    """Play one chunk of a pool."""

    plan: PoolPlan
    size: int
    deals: range

    def __call__(self) -> PoolTables:
        """Do it."""
        plan = self.plan
        policies = [_policy(name) for name in plan.policies]
        return play_tables(policies, plan.names, getattr(Rules, plan.preset)(self.size), plan.seed, self.deals)


InOrder = Callable[[Iterable[PoolWork]], Iterator[PoolTables]]


@lru_cache(maxsize=64)
def _policy(name: str) -> Policy:
    return policy_named(name)


class PoolRun:
    """Plays a plan; what is finished can be had at any moment, after Ctrl-C as well."""

    def __init__(self, plan: PoolPlan) -> None:
        self.plan = plan
        self._parts: dict[int, list[PoolTables]] = {size: [] for size in plan.sizes}

    def play(self, in_order: InOrder, on_deals: Callable[[int, int], object] = lambda size, num_deals: None) -> None:
        """Play everything; `in_order` does the work, here or elsewhere.

        `on_deals` is told after each chunk its size and how many more deals it finished.
        """
        works = [PoolWork(self.plan, size, deals) for size in self.plan.sizes for deals in self.plan.chunks()]
        for work, part in zip(works, in_order(works), strict=True):
            self._parts[work.size].append(part)
            on_deals(work.size, len(part.points))

    @property
    def rows(self) -> list[Row]:
        """What has been played, one row of the JSON for each size that has at least two deals."""
        begun = [joined_tables(parts) for parts in self._parts.values() if parts]
        plan = self.plan
        return [row_of(plan.names, plan.preset, plan.seed, tables) for tables in begun if len(tables.points) > 1]


def pool_plan(names: Sequence[str], preset: str, sizes: Sequence[int], num_deals: int, seed: int = 0) -> PoolPlan:
    """Return a plan; the order of the names decides nothing.

    Raises ValueError for a name that stands for no policy, for one given twice, for fewer than two names, and for fewer
    than two deals.
    """
    if num_deals < 2:
        raise ValueError(f"--deals {num_deals} is not allowed: an interval needs at least 2")
    if len(set(names)) < 2:
        raise ValueError(f"--pool {' '.join(names)} is not allowed: a pool needs at least two different policies")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"--pool names {', '.join(twice)} more than once")
    ordered = tuple(sorted(names))
    policies = tuple(settled_name(name) for name in ordered)
    for name in policies:
        _policy(name)
    return PoolPlan(ordered, policies, preset, tuple(sizes), num_deals, seed)


def main(asked: argparse.Namespace) -> int:
    """Play the pools asked for, print what they say, write the JSON, and return the exit status.

    Reads `pool`, `seats`, `deals`, `rules`, `seed`, `json` and `workers` as `training.evaluate` defines them.
    """
    # Late, because `training.evaluate` hands over to this module.
    from training.evaluate import INTERRUPTED, refuse, sizes_of

    torch.set_num_threads(1)
    try:
        plan = pool_plan(asked.pool, asked.rules, sizes_of(asked.seats), asked.deals, asked.seed)
    except ValueError as error:
        return refuse(error)
    run = PoolRun(plan)
    is_interrupted = False
    try:
        _play_with_bar(run, asked.workers)
    except KeyboardInterrupt:
        is_interrupted = True
        print("interrupted: this is what is finished", file=sys.stderr)
    except IllegalActionError as error:
        return refuse(error)
    rows = run.rows
    for row in rows:
        print(text_of(row), end="\n\n")
        if row["deals"] < plan.num_deals:
            print(f"{row['seats']} seats: stopped after {row['deals']} of {plan.num_deals} deals")
    if asked.json and rows:
        write_whole(asked.json, json.dumps(rows, indent=2) + "\n")
    return INTERRUPTED if is_interrupted else 0


def _play_with_bar(run: PoolRun, num_workers: int) -> None:
    with (
        tqdm(total=len(run.plan.sizes) * run.plan.num_deals, unit="deal", dynamic_ncols=True) as bar,
        Workers(num_workers if num_workers > 1 else 0) as workers,
    ):

        def on_deals(size: int, num_deals: int) -> None:
            bar.set_description(f"{size} seats", refresh=False)
            bar.update(num_deals)

        run.play(workers.in_order, on_deals)
