"""A match as a page: one HTML file that needs nothing else, and its pictures as PNG files beside it.

`write` is the way in. It is handed what `training.evaluate` has anyway: the objects of its JSON, and for each of them
the points of all hands and where they came from (`training.losses`). It plays nothing and knows no rule.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_CARDS
from training.losses import KINDS, PARTS_OF_MOONS, SHARES, Losses
from training.page import facts, figure, folded, frame, interval, per_thousand, percent, points, signed, table
from training.plots import (
    STRETCHES,
    Picture,
    advantage_picture,
    distribution_picture,
    parts_picture,
    stretch_name,
    tricks_picture,
)

Row = dict[str, Any]

PAGE: Final = "report.html"
_SUITS: Final = ("clubs", "diamonds", "spades", "hearts")
_COMPARED: Final = ("challenger", "field", "saved")


@dataclass(frozen=True)
class Detail:
    """What the page shows of one match beyond its row: D deals, n seats, the same deals and seats for both."""

    challenger_points: npt.NDArray[np.int64]  # (D, n) of the challenger, by the seat it had
    field_points: npt.NDArray[np.int64]  # (D, n) of the field's own policy in the same seats
    challenger: Losses  # of the same hands
    field: Losses

    @property
    def both(self) -> tuple[Losses, Losses]:
        """The losses of challenger and field."""
        return self.challenger, self.field


def ready(folder: Path) -> None:
    """Make the folder of a report, before anything long is begun. Raises ValueError if nothing can be written there."""
    trial = folder / f"{PAGE}.unfinished"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        raise ValueError(f"no report can be written to {folder}: {error.strerror}") from error


def write(folder: Path, rows: Sequence[Row], details: Sequence[Detail], command: Sequence[str]) -> Path:
    """Write `report.html` and its PNG files into a folder, which is made if need be, and return the page's path.

    `rows` are objects of the JSON of one challenger and field, at least one, usually one for each table size; `details`
    one for each of them; `command` the words of the command line. Each file is written beside its place and then
    renamed; other files of the folder stay. Raises ValueError if the folder cannot be written to.
    """
    ready(folder)
    # By number too: rows of one size and other rules would share the names of their pictures.
    keys = [f"{number}-{row['seats']}-seats" for number, row in enumerate(rows, 1)]
    pictures = {"advantage": advantage_picture(rows)}
    for key, detail in zip(keys, details, strict=True):
        pictures |= _pictures_of(key, detail)
    parts = [_summary(rows, pictures["advantage"])]
    parts += [_section(key, row, detail, pictures) for key, row, detail in zip(keys, rows, details, strict=True)]
    parts.append(_measured(rows, command))
    links = {key: f"{row['seats']} seats" for key, row in zip(keys, rows, strict=True)} | {"measured": "how measured"}
    title = f"{rows[0]['challenger']} among {rows[0]['field']}"
    for name, picture in pictures.items():
        write_whole(folder / f"{name}.png", picture.png)
    write_whole(folder / PAGE, frame(title, links, "\n".join(parts)).encode())
    return folder / PAGE


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it: who reads it finds the old one or the new one, never half of it."""
    beside = path.with_name(f"{path.name}.unfinished")
    beside.write_bytes(content)
    beside.replace(path)


# ------------------------------------------------------------------------------------------- the numbers that are shown


def shares_by_stretch(hand_points: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the shares of hands whose points lie in each of `plots.STRETCHES`, (9,)."""
    each = hand_points.reshape(-1, 1)
    low = [-np.inf if low is None else low for low, _ in STRETCHES]
    high = [np.inf if high is None else high for _, high in STRETCHES]
    shares: npt.NDArray[np.float64] = ((each >= low) & (each <= high)).mean(axis=0)
    return shares


def machine() -> str:
    """Return the machine in words: processor, cores, system."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {platform.platform()}"


# ------------------------------------------------------------------------------------------------ the parts of the page


def _pictures_of(key: str, detail: Detail) -> dict[str, Picture]:
    by_trick = np.stack([losses.by_trick() for losses in detail.both])
    parts = [losses.parts() for losses in detail.both]
    stretches = np.stack([shares_by_stretch(each) for each in (detail.challenger_points, detail.field_points)])
    heights = np.array([list(each.values()) for each in parts])
    return {
        f"points-{key}": distribution_picture(stretches, f"points-{key}"),
        f"parts-{key}": parts_picture(list(parts[0]), heights, f"parts-{key}"),
        f"tricks-{key}": tricks_picture(by_trick[:, :, : _num_tricks(detail)], f"tricks-{key}"),
    }


def _num_tricks(detail: Detail) -> int:
    """Return the tricks of a hand; the last one may have brought no points in a short match."""
    return NUM_CARDS // int(detail.field_points.shape[1])  # R5


def _summary(rows: Sequence[Row], advantage: Picture) -> str:
    heads = ("seats", "saved per hand", "95 % interval", "points", "field's points", "hands won", "moons made in 1000",
             "moons suffered in 1000", "deals", "hands", "µs per decision")  # fmt: skip
    cells = [
        (
            str(row["seats"]), signed(row["advantage"]), interval(row["interval95"]), points(row["points_challenger"]),
            points(row["points_field"]), percent(row["share_won"]), per_thousand(row["moons_made"]),
            per_thousand(row["moons_suffered"]), str(row["deals"]), str(row["hands"]),
            f"{row['microseconds_per_decision']:.2f}",
        )
        for row in rows
    ]  # fmt: skip
    described = "Points saved per hand with 95 % intervals. " + " ".join(
        f"{row['seats']} seats: {signed(row['advantage'])}, from {interval(row['interval95'])}." for row in rows
    )
    return "\n".join(
        [
            f"<p>{_verdict(rows)}</p>",
            table("results", "Points per hand; low is good. Saved = the field's minus the challenger's", heads, cells),
            figure(advantage, "Points saved per hand, with 95 % intervals", described, is_alone=True),
        ]
    )


def _verdict(rows: Sequence[Row]) -> str:
    """Return one sentence for each outcome that any table size had."""
    sizes: dict[str, list[str]] = {"better": [], "worse": [], "open": []}
    for row in rows:
        low, high = row["interval95"]
        sizes["better" if low > 0 else "worse" if high < 0 else "open"].append(str(row["seats"]))
    name = f"<code>{escape(str(rows[0]['challenger']))}</code>"
    words = {
        "better": f'{name} is <strong class="better">better</strong> than the field with SIZES seats.',
        "worse": f'{name} is <strong class="worse">worse</strong> than the field with SIZES seats.',
        "open": "With SIZES seats these deals show no difference: the interval covers zero.",
    }
    return " ".join(words[kind].replace("SIZES", ", ".join(sizes[kind])) for kind in words if sizes[kind])


def _section(key: str, row: Row, detail: Detail, pictures: dict[str, Picture]) -> str:
    told = f"with {row['seats']} seats"
    shown = [
        figure(pictures[f"points-{key}"], "Points of a hand: challenger and field, same deals and seats",
               f"Share of hands by points {told}; the numbers are in the table of points of a hand."),
        figure(pictures[f"parts-{key}"], "Where the points come from",
               f"Points per hand by where they come from {told}; the numbers are in the table below."),
        figure(pictures[f"tricks-{key}"], "When they are taken: points per hand by trick",
               f"Points per hand by trick {told}, in shares; the numbers are in the table of points by trick."),
    ]  # fmt: skip
    sentence = (
        f"{row['challenger']} takes {points(row['points_challenger'])} points per hand and the field "
        f"{points(row['points_field'])} in the same seats: it saves {signed(row['advantage'])} "
        f"({interval(row['interval95'])})."
    )
    return "\n".join(
        [
            f'<section id="{key}">',
            f"<h2>{row['seats']} seats</h2>",
            f"<p>{escape(sentence)}</p>",
            f'<div class="pictures">\n{"".join(shown)}\n{_parts_table(key, detail)}\n</div>',
            _moons_table(key, row, detail),
            folded("Points by the suit led", _suits_table(key, detail)),
            folded("Points by trick", _tricks_table(key, detail)),
            folded("Points of a hand", _stretches_table(key, detail)),
            "</section>",
        ]
    )


def _compared(name: str, challenger: float, field: float) -> tuple[str, ...]:
    return name, points(challenger), points(field), signed(field - challenger)


def _parts_table(key: str, detail: Detail) -> str:
    challenger, field = (losses.parts() for losses in detail.both)
    lines = [_compared(part, challenger[part], field[part]) for part in challenger]
    lines.append(_compared("points per hand", sum(challenger.values()), sum(field.values())))
    untaken = [losses.untaken.sum() / losses.hands for losses in detail.both]
    caption = (
        "Where the points of a hand come from; moons change what was taken. Nobody took "
        f"{points(untaken[0])} points a hand at the challenger's tables, {points(untaken[1])} at the field's"
    )
    return table(f"parts-of-{key}", caption, ("", *_COMPARED), lines, has_sum=True)


def _moons_table(key: str, row: Row, detail: Detail) -> str:
    lines = []
    for number, name in enumerate(PARTS_OF_MOONS):
        counts = [losses.moons[number] / losses.hands for losses in detail.both]
        costs = [losses.settled[number] / losses.hands for losses in detail.both]
        lines.append((name, *(per_thousand(count) for count in counts), *(points(cost) for cost in costs)))
    heads = ("", "challenger in 1000", "field in 1000", "challenger's points", "field's points")
    return table(
        f"moons-of-{key}", "Moons in 1000 hands, and the points per hand that settling them changed", heads, lines
    )


def _suits_table(key: str, detail: Detail) -> str:
    by_suit = [losses.taken.sum(axis=(0, 1)) / losses.hands for losses in detail.both]  # (kinds, suits)
    lines = []
    for suit, name in enumerate(_SUITS):
        for kind, kind_name in enumerate(KINDS):
            lines.append(_compared(f"{name} led: {kind_name}", by_suit[0][kind, suit], by_suit[1][kind, suit]))
    lines.append(_compared("points taken", by_suit[0].sum(), by_suit[1].sum()))
    caption = "Points per hand by the suit led to the trick that won them; pile and kitty count for that trick"
    return table(f"suits-of-{key}", caption, ("", *_COMPARED), lines, has_sum=True)


def _tricks_table(key: str, detail: Detail) -> str:
    challenger, field = (losses.by_trick() for losses in detail.both)
    heads = ["trick", *(f"{who}: {share}" for share in SHARES for who in ("challenger", "field"))]
    lines = [
        (
            str(trick + 1),
            *(points(who[share, trick]) for share in range(len(SHARES)) for who in (challenger, field)),
        )
        for trick in range(_num_tricks(detail))
    ]
    sums = [points(who[share].sum()) for share in range(len(SHARES)) for who in (challenger, field)]
    return table(f"tricks-of-{key}", "Points per hand by trick", heads, [*lines, ("all", *sums)], has_sum=True)


def _stretches_table(key: str, detail: Detail) -> str:
    shares = [shares_by_stretch(each) for each in (detail.challenger_points, detail.field_points)]
    lines = [
        (stretch_name(stretch), percent(shares[0][number]), percent(shares[1][number]))
        for number, stretch in enumerate(STRETCHES)
    ]
    return table(f"stretches-of-{key}", "Share of hands by points", ("points", "challenger", "field"), lines)


def _measured(rows: Sequence[Row], command: Sequence[str]) -> str:
    first = rows[0]
    named = {
        "challenger": str(first["challenger"]),
        "field": str(first["field"]),
        "rules": ", ".join(dict.fromkeys(str(row["rules"]) for row in rows)),
        "deals": ", ".join(f"{row['deals']} with {row['seats']} seats" for row in rows),
        "hands of the challenger": ", ".join(f"{row['hands']} with {row['seats']} seats" for row in rows),
        "seed": ", ".join(dict.fromkeys(str(row["seed"]) for row in rows)),
        "versions": ", ".join(f"{package} {version}" for package, version in first["versions"].items()),
        "machine": machine(),
        "command": shlex.join(command),
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
    }
    method = (
        "Every deal is played once by the field alone and once with the challenger in each seat, on the same cards. "
        "What the challenger saves in a seat is the field's points there minus its own. The mean over a deal's seats "
        "is one observation, and the intervals come from these means, by the normal distribution. A hand's points are "
        "the change of the score, moons settled; low is good."
    )
    raw = f"<pre>{escape(json.dumps(list(rows), indent=2))}</pre>"
    return (
        f'<section id="measured">\n<h2>How it was measured</h2>\n<p>{method}</p>\n{facts(named)}\n'
        f"{folded('The rows of the JSON', raw)}\n</section>"
    )
