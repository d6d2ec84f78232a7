"""Tune the constants of `careful`: coordinate by coordinate, on one set of deals, and report the gain on another.

One seat plays by changed constants among seats that play by the present ones, in every seat of every deal, as in a
match; a change is kept if it saves points beyond doubt on two sets of deals. The result is
`baselines/careful/tuned.json`, which is what `careful` plays by.

Example: `python -m training.tune_careful --sweeps 3 --workers 2`. Ctrl-C keeps what has been found.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.playout import ROOM, play_hand_out
from baselines.careful.weights import (
    FIXED_WEIGHTS,
    TUNED_FILE,
    WEIGHTS,
    flat_weights,
    tuned_weights,
    weights_from_flat,
    weights_without_set_aside,
)
from chearts_env.arena import NORMAL_95, deal_seeds
from chearts_env.compiled import kernel
from chearts_env.deal import begin_episode
from chearts_env.rules import MAX_PLAYERS, Rules
from chearts_env.table import TABLE, new_tables
from chearts_env.whole_files import write_whole

SIZES: Final = (6, 8, 11)
PRESETS: Final = ("card_page", "classic")
#: Sets of deals, kept apart: two for each sweep to tune on, one to report on.
_TUNING, _CONFIRMING, _REPORTING = 1, 2, 3
#: A change is looked at again if it gains this many standard errors, and kept if it does so on both sets together.
_FIRST_DOUBT, _LAST_DOUBT = 1.0, 1.5

Flat = dict[str, float]


@dataclass(frozen=True)
class Task:
    """One duel: challenger and field as flat weights, on some deals of one preset and size."""

    challenger: Flat
    field: Flat
    preset: str
    num_players: int
    seeds: npt.NDArray[np.uint64]


@kernel
def _duel(template: Any, seeds: Any, weights: Any, scratch: Any, room: Any, saved: Any) -> None:
    """Write the points that `weights[1]` saves among seats of `weights[0]`, the mean of all its seats, by deal."""
    num_players = template[0].options.num_players
    players = np.zeros(MAX_PLAYERS, np.int64)
    for deal in range(seeds.shape[0]):
        total = 0
        for challenger in range(num_players + 1):  # the last time the field plays alone
            scratch[0] = template[0]
            begin_episode(scratch[0], seeds[deal])
            players[:] = 0
            if challenger < num_players:
                players[challenger] = 1
            play_hand_out(scratch[0], weights, players, room[0])
            changes = scratch[0].public.score_changes
            if challenger < num_players:
                total -= changes[challenger]
            else:
                for seat in range(num_players):
                    total += changes[seat]
        saved[deal] = total / num_players


def duel(task: Task) -> npt.NDArray[np.float64]:
    """Return the points saved per hand on each deal, (D,); positive means that the challenger is better."""
    weights = np.zeros(2, WEIGHTS)
    weights[0], weights[1] = weights_from_flat(task.field), weights_from_flat(task.challenger)
    saved = np.zeros(len(task.seeds))
    template = new_tables([getattr(Rules, task.preset)(task.num_players)], single_hand=True)
    _duel(template, task.seeds, weights, np.zeros(1, TABLE), np.zeros(1, ROOM), saved)
    return saved


class Judge:
    """Plays duels over all presets and sizes, in worker processes; its answers do not depend on their number."""

    def __init__(self, num_workers: int) -> None:
        # Ctrl-C in a terminal reaches all its processes, and is for this one alone.
        ignoring: Any = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        self._pool = ProcessPoolExecutor(num_workers, get_context("spawn"), **ignoring) if num_workers > 1 else None

    def saved(self, challenger: Flat, field: Flat, seed: int, deals: int) -> tuple[float, float]:
        """Return the mean of the points saved over presets and sizes, and its standard error."""
        tasks = [Task(challenger, field, preset, size, deal_seeds(seed, deals)) for preset in PRESETS for size in SIZES]
        results = list(self._pool.map(duel, tasks) if self._pool else map(duel, tasks))
        error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in results)) / len(results)
        return float(np.mean([each.mean() for each in results])), float(error)


def candidates(name: str, value: float, step: float) -> list[float]:
    """Return the values to try in place of one: larger and smaller by a factor, across zero where it is small."""
    tried = [value + 0.1, value - 0.1] if abs(value) < 0.05 else [value * step, value / step]
    return [each for each in tried if name not in CHANCES or 0 <= each <= 1]


CHANCES: Final = frozenset(
    ("overtakes", "overtakes_high", "cancels", "pairs_following", "pairs_discarding", "queen_drops", "queen_forced",
     "queen_discarded", "heart_discarded", "play.twin_out", "giving.twin_out")
)  # fmt: skip


def sweep(weights: Flat, judge: Judge, number: int, deals: int, step: float) -> None:
    """Try to better each constant once, in an order of its own, and change `weights` where that succeeds."""
    rng = np.random.default_rng([number, _TUNING])
    names = [name for name in weights if name not in FIXED_WEIGHTS]
    for place in rng.permutation(len(names)):
        name = names[place]
        present = weights[name]
        best, best_gain = present, 0.0
        for value in candidates(name, present, step):
            changed = weights | {name: value}
            gain, error = judge.saved(changed, weights, 1000 * number + _TUNING, deals)
            if gain < _FIRST_DOUBT * error or gain <= best_gain:
                continue
            again, error_again = judge.saved(changed, weights, 1000 * number + _CONFIRMING, 2 * deals)
            both = (gain + 2 * again) / 3
            if both > max(best_gain, _LAST_DOUBT * np.hypot(error, 2 * error_again) / 3):
                best, best_gain = value, both
        if best != present:
            print(f"sweep {number}: {name} {present:.3f} -> {best:.3f}, saves {best_gain:.3f}", flush=True)
            weights[name] = best


def report(weights: Flat, before: Flat, judge: Judge, deals: int, seed: int) -> dict[str, Any]:
    """Return what the constants save among the former ones and, of knowing about set-aside tricks, by table size."""
    mean, error = judge.saved(weights, before, 1000 * seed + _REPORTING, deals)
    told: dict[str, Any] = {"saved_among_former": [round(mean, 3), round(NORMAL_95 * error, 3)]}
    without = flat_weights(weights_without_set_aside(weights_from_flat(weights)))
    for preset in PRESETS:
        for size in SIZES:
            saved = duel(Task(weights, without, preset, size, deal_seeds(1000 * seed + _REPORTING, deals)))
            half = NORMAL_95 * saved.std(ddof=1) / np.sqrt(deals)
            told[f"knowing_set_aside_{preset}_{size}"] = [round(float(saved.mean()), 3), round(float(half), 3)]
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune, write the constants, and print what they save on deals that took no part."""
    parser = argparse.ArgumentParser(prog="python -m training.tune_careful", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sweeps", type=int, default=3, help="times that every constant is tried; 0 only reports")
    parser.add_argument("--first", type=int, default=1, help="number of the first sweep: each has deals of its own")
    parser.add_argument("--deals", type=int, default=200, help="deals of each duel; twice as many to confirm")
    parser.add_argument("--step", type=float, default=1.3, help="factor by which a constant is changed")
    parser.add_argument("--report-deals", type=int, default=2000, help="deals of each duel that is reported")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=TUNED_FILE)
    asked = parser.parse_args(arguments)
    if min(asked.deals, asked.report_deals) < 2 or asked.step <= 1 or asked.workers < 1:
        parser.error("--deals and --report-deals must be at least 2, --step above 1, --workers at least 1")
    if min(asked.sweeps, asked.first) < 0:
        parser.error("--sweeps and --first must be at least 0")
    if not asked.out.parent.is_dir():
        parser.error(f"--out: there is no folder {asked.out.parent}")
    judge = Judge(asked.workers)
    before = flat_weights(tuned_weights())
    weights = dict(before)
    try:
        for number in range(asked.first, asked.first + asked.sweeps):
            sweep(weights, judge, number, asked.deals, asked.step)
            _write(asked.out, weights, {"sweep": number})
    except KeyboardInterrupt:
        print("interrupted: this is what has been found", file=sys.stderr)
        _write(asked.out, weights, {})
    told = report(weights, before, judge, asked.report_deals, asked.first + asked.sweeps)
    _write(asked.out, weights, told)
    print(json.dumps(told, indent=2))
    return 0


def _write(path: Path, weights: Flat, told: dict[str, Any]) -> None:
    rounded = {name: round(value, 4) for name, value in weights.items()}
    write_whole(path, json.dumps({"weights": rounded, "measured": told}, indent=1).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
