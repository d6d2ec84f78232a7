"""Learning curves: `python -m training.plot RUN... -o curves.png` draws advantage against time and decisions.

A point is the mean of the early matches after a round, or on the way of self-play, over table sizes and readings of the
rules, with its 95 % interval: all runs play them on the same deals.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Final

from chearts_env.whole_files import write_whole
from training.command import refuse
from training.run_folder import METRICS_FILE

_INCHES: Final = (10.0, 4.0)


@dataclass(frozen=True)
class Point:
    """Where a run stood: points saved per hand after so many seconds and decisions, `half` to either side."""

    seconds: float
    decisions: int
    advantage: float
    half: float


@dataclass(frozen=True)
class Curve:
    """The early matches of one run, against one field."""

    name: str
    field: str
    points: list[Point]


def read_curve(run: Path) -> Curve:
    """Return the learning curve in the metrics of a run folder. Raises ValueError if there is none."""
    path = run / METRICS_FILE
    if not path.is_file():
        raise ValueError(f"{run} is no run folder: it holds no {METRICS_FILE}")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    points, field = [], ""
    labels: dict[str, int] = {}  # decisions labelled, by round
    played = 0  # ... learned from in self-play
    for stage, of_stage in groupby(rows, key=lambda row: row["stage"]):
        group = list(of_stage)
        if stage == "labels":
            labels |= {row["round"]: int(row["labels"]) for row in group}
        elif stage == "self-play":
            played = int(float(group[-1]["decisions"]))
        elif stage == "early":
            field = group[0]["rules"].rpartition("-")[0]
            # Both readings of the rules are played with the same cards: their errors may add up.
            halves: dict[str, float] = defaultdict(float)
            for row in group:
                halves[row["seats"]] += (float(row["high"]) - float(row["low"])) / 2
            points.append(
                Point(
                    seconds=float(group[-1]["seconds"]),
                    decisions=sum(labels.values()) + played,
                    advantage=sum(float(row["advantage"]) for row in group) / len(group),
                    half=math.hypot(*halves.values()) / len(group),
                )
            )
    if not points:
        raise ValueError(f"{run} has played no early matches yet")
    return Curve(run.name, field, points)


def draw(curves: Sequence[Curve]) -> bytes:
    """Return a picture of learning curves, advantage against minutes and against decisions, as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    by_time, by_decisions = figure.subplots(1, 2, sharey=True)
    for curve in curves:
        heights = [point.advantage for point in curve.points]
        halves = [point.half for point in curve.points]
        for axes, places in (
            (by_time, [point.seconds / 60 for point in curve.points]),
            (by_decisions, [point.decisions / 1e6 for point in curve.points]),
        ):
            axes.errorbar(places, heights, halves, marker="o", markersize=4, capsize=3, label=curve.name)
    fields = sorted({curve.field for curve in curves})
    by_time.set_ylabel(f"points saved per hand among {' or '.join(fields)}")
    by_time.set_xlabel("minutes of training")
    by_decisions.set_xlabel("million decisions learned from")
    for axes in (by_time, by_decisions):
        axes.axhline(0, color="black", linewidth=0.8)
        axes.grid(alpha=0.3)
    by_time.legend(loc="lower right", fontsize="small")
    written = BytesIO()
    figure.savefig(written, format="png", dpi=150)
    return written.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the curves of run folders."""
    parser = argparse.ArgumentParser(prog="python -m training.plot", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    parser.add_argument("-o", "--output", type=Path, default=Path("curves.png"), metavar="FILE", help="the PNG file")
    asked = parser.parse_args(arguments)
    try:
        curves = [read_curve(run) for run in asked.runs]
    except ValueError as error:
        return refuse("plot", error)
    write_whole(asked.output, draw(curves))
    for curve in curves:
        last = curve.points[-1]
        print(
            f"{curve.name}: {last.advantage:+.2f} ± {last.half:.2f} among {curve.field} after "
            f"{last.seconds / 60:.1f} minutes and {last.decisions:,} decisions"
        )
    print(asked.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
