"""The pictures of a report, drawn once and written twice: as PNG files, and as SVG that lies in the page.

The SVG takes the page's font and colours: each colour below stands in it as a variable of the style sheet, so that one
drawing serves light and dark. Pictures are about as wide as a phone, so that nothing needs to be shrunk there.
Matplotlib is imported when the first picture is drawn, and its global state is left alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from training.losses import SHARES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours by the names of the page's variables; the values are those of the PNG files and of a light page.
COLOURS: Final = {
    "ink": "#1d2329",
    "rule": "#c9cfd4",
    "challenger": "#1f6fb2",
    "field": "#c8701a",
    "hearts": "#c4314b",
    "marias": "#4b3f8f",
    "pile": "#b98a00",
    "kitty": "#2e8b6f",
}
#: Points of a hand are counted in these stretches, from and to: moons made and suffered, one Black Maria, two.
STRETCHES: Final = ((None, -1), (0, 0), (1, 2), (3, 5), (6, 12), (13, 15), (16, 25), (26, 26), (27, None))

_WIDTH: Final = 4.0  # inches of 72 units, which a phone shows a little larger than that
_FONT_SIZE: Final = 9.0
_FIELD_ALPHA: Final = 0.45
_SHARE_COLOURS: Final = ("hearts", "marias", "pile", "kitty")  # of `losses.SHARES`


@dataclass(frozen=True)
class Picture:
    """A picture as a PNG file's bytes and as an `<svg>` element without its describing attributes."""

    png: bytes
    svg: str


def advantage_picture(rows: Sequence[dict[str, Any]]) -> Picture:
    """Draw what is saved per hand at each table size, with 95 % intervals; rows are objects of the JSON."""
    figure, axes = _figure(0.9 + 0.28 * len(rows))
    places = np.arange(len(rows))
    axes.axvline(0, color=COLOURS["ink"], linewidth=0.8)
    for place, ends in zip(places, (row["interval95"] for row in rows), strict=True):
        axes.plot(ends, (place, place), color=COLOURS["challenger"], marker="|", markersize=9)
    axes.plot([row["advantage"] for row in rows], places, "o", color=COLOURS["challenger"], markersize=5)
    axes.set_yticks(places, [f"{row['seats']} seats" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("points saved per hand; right of 0 is better")
    axes.grid(axis="x", color=COLOURS["rule"], linewidth=0.6)
    return _drawn(figure, "advantage")


def distribution_picture(shares: npt.NDArray[np.float64], name: str) -> Picture:
    """Draw shares of hands by points, (2, 9), challenger's and field's, in the stretches of STRETCHES."""
    stretches = [stretch_name(stretch) for stretch in STRETCHES]
    return _paired_bars(stretches, 100 * shares, "% of hands, by the points of the hand", 0.24, name)


def stretch_name(stretch: tuple[int | None, int | None]) -> str:
    """Return a stretch of points in words as short as an axis needs."""
    low, high = stretch
    if low is None:
        return "< 0"
    if high is None:
        return f"{low} +"
    return str(low) if low == high else f"{low}–{high}"  # noqa: RUF001 - a range


def tricks_picture(points: npt.NDArray[np.float64], name: str) -> Picture:
    """Draw points per hand by trick, (2, 4, T), challenger's beside the field's, stacked in the shares of SHARES."""
    figure, axes = _figure(2.9)
    numbers = np.arange(1, points.shape[2] + 1)
    for who, offset, alpha in ((0, -0.2, 1.0), (1, 0.2, _FIELD_ALPHA)):
        below = np.zeros(len(numbers))
        for colour, heights in zip(_SHARE_COLOURS, points[who], strict=True):
            axes.bar(numbers + offset, heights, 0.38, below, color=COLOURS[colour], alpha=alpha)
            below += heights
    for colour, share in zip(_SHARE_COLOURS, SHARES, strict=True):
        axes.bar(0, 0, color=COLOURS[colour], label=share)
    axes.set_xticks(numbers)
    axes.set_xlim(0.4, len(numbers) + 0.6)
    axes.set_xlabel("trick (left bar the challenger, right and pale the field)")
    axes.set_ylabel("points per hand")
    axes.grid(axis="y", color=COLOURS["rule"], linewidth=0.6)
    _legend(axes, 2)
    return _drawn(figure, name)


def parts_picture(parts: Sequence[str], points: npt.NDArray[np.float64], name: str) -> Picture:
    """Draw points per hand by named parts, (2, N), the challenger's above the field's; negative ones go left."""
    return _paired_bars(parts, points, "points per hand", 0.36, name)


def _paired_bars(
    names: Sequence[str], lengths: npt.NDArray[np.float64], label: str, inches_each: float, name: str
) -> Picture:
    figure, axes = _figure(0.9 + inches_each * len(names))
    places = np.arange(len(names))
    for number, (who, offset) in enumerate((("challenger", -0.2), ("field", 0.2))):
        axes.barh(places + offset, lengths[number], 0.38, color=COLOURS[who], label=who)
    axes.axvline(0, color=COLOURS["ink"], linewidth=0.8)
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(label)
    axes.grid(axis="x", color=COLOURS["rule"], linewidth=0.6)
    _legend(axes, 2)
    return _drawn(figure, name)


def _figure(height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure  # not pyplot: that one keeps figures and a backend for the whole process

    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _legend(axes: Axes, num_columns: int) -> None:
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=num_columns, frameon=False,
        handlelength=1.0, columnspacing=1.2, fontsize=_FONT_SIZE,
    )  # fmt: skip


def _drawn(figure: Figure, name: str) -> Picture:
    """Return a figure as PNG and SVG; `name` keeps the ids within the SVG apart from those of others on the page."""
    import matplotlib

    axes = figure.axes[0]
    for text in (axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set_fontsize(_FONT_SIZE)
        text.set_color(COLOURS["ink"])
    axes.tick_params(color=COLOURS["ink"], labelsize=_FONT_SIZE, labelcolor=COLOURS["ink"])
    for spine in axes.spines.values():
        spine.set_color(COLOURS["ink"])
    legend = axes.get_legend()
    for text in legend.get_texts() if legend else ():
        text.set_color(COLOURS["ink"])
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, for both files
    png, svg = io.BytesIO(), io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(png, format="png", dpi=200, facecolor="white", metadata={"Software": None})
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    return Picture(png.getvalue(), _in_page(svg.getvalue(), name))


def _in_page(svg: str, name: str) -> str:
    """Return an SVG file as an element of a page: no header, no addresses, ids of its own, colours as variables."""
    svg = svg[svg.index("<svg") :]
    size = re.search(r'viewBox="[^"]+"', svg)
    assert size is not None
    svg = f"<svg {size.group()}>" + svg[svg.index(">") + 1 :]
    svg = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(xlink:)?href="#([^"]+)"', rf'href="#{name}-\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r" font-family: [^;\"]*;", "", svg)
    for variable, colour in COLOURS.items():
        svg = svg.replace(colour, f"var(--{variable})")
    return svg.strip()
