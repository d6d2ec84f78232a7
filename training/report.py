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
from html import escape
from pathlib import Path
from typing import Final

import numpy as np

from chearts_env.bench import cpu_model
from chearts_env.whole_files import try_place, write_whole
from training.page import facts, figure, folded, frame, interval, points, signed
from training.plots import Picture, advantage_picture, distribution_picture, parts_picture, tricks_picture
from training.report_tables import (
    Detail,
    Row,
    detail_of,
    moons_table,
    num_tricks,
    parts_table,
    results_table,
    shares_by_stretch,
    shares_table,
    stretches_table,
    suits_table,
    tricks_table,
)

__all__ = ["PAGE", "Detail", "detail_of", "ready", "write"]

PAGE: Final = "report.html"


def ready(folder: Path) -> None:
    """Make the folder of a report, before anything long is begun. Raises ValueError if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try_place(folder / PAGE)
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
    challenger, field = rows[0]["challenger"], rows[0]["field"]
    title = f"{field} alone among {challenger}" if rows[0]["swapped"] else f"{challenger} among {field}"
    for name, picture in pictures.items():
        write_whole(folder / f"{name}.png", picture.png)
    write_whole(folder / PAGE, frame(title, links, "\n".join(parts)))
    return folder / PAGE


def machine() -> str:
    """Return the machine in words: processor, cores, system."""
    return f"{cpu_model()}, {os.cpu_count()} cores, {platform.platform()}"


def _pictures_of(key: str, detail: Detail) -> dict[str, Picture]:
    by_trick = np.stack([losses.by_trick() for losses in detail.both])
    parts = [losses.parts() for losses in detail.both]
    stretches = np.stack([shares_by_stretch(each) for each in (detail.challenger_points, detail.field_points)])
    heights = np.array([list(each.values()) for each in parts])
    return {
        f"points-{key}": distribution_picture(stretches, f"points-{key}"),
        f"parts-{key}": parts_picture(list(parts[0]), heights, f"parts-{key}"),
        f"tricks-{key}": tricks_picture(by_trick[:, :, : num_tricks(detail)], f"tricks-{key}"),
    }


def _summary(rows: Sequence[Row], advantage: Picture) -> str:
    described = "Points saved per hand with 95 % intervals. " + " ".join(
        f"{row['seats']} seats: {signed(row['advantage'])}, from {interval(row['interval95'])}." for row in rows
    )
    return "\n".join(
        [
            f"<p>{verdict(rows)}</p>",
            results_table(rows),
            figure(advantage, "Points saved per hand, with 95 % intervals", described, is_alone=True),
            shares_table(rows),
        ]
    )


def verdict(rows: Sequence[Row]) -> str:
    """Return as HTML one sentence for each outcome that any table size had."""
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
            f'<div class="pictures">\n{"".join(shown)}\n{parts_table(key, detail)}\n</div>',
            moons_table(key, detail),
            folded("Points by the suit led", suits_table(key, detail)),
            folded("Points by trick", tricks_table(key, detail)),
            folded("Points of a hand", stretches_table(key, detail)),
            "</section>",
        ]
    )


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
    who = ("challengers", "the field's policy") if first["swapped"] else ("the field", "the challenger")
    method = (
        f"Every deal is played once by {who[0]} alone and once with {who[1]} in each seat, on the same cards. What is "
        "saved in a seat is the field's points there minus the challenger's. The mean over a deal's seats "
        "is one observation, and the intervals come from these means, by the normal distribution. A hand's points are "
        "the change of the score, moons settled; low is good."
    )
    raw = f"<pre>{escape(json.dumps(list(rows), indent=2))}</pre>"
    return (
        f'<section id="measured">\n<h2>How it was measured</h2>\n<p>{method}</p>\n{facts(named)}\n'
        f"{folded('The rows of the JSON', raw)}\n</section>"
    )
