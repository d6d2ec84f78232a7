"""The tables of a report, made of the rows of a match and of where its points came from; they are text, no pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import Match
from chearts_env.cards import NUM_CARDS
from training.losses import ATTEMPT_POINTS, ATTEMPT_TRICKS, ATTEMPTED, KINDS, PARTS_OF_MOONS, SHARES, STOPPED, Losses
from training.page import interval, per_thousand, percent, points, signed, span, table
from training.plots import STRETCHES, stretch_name

Row = dict[str, Any]

_SUITS: Final = ("clubs", "diamonds", "spades", "hearts")
_COMPARED: Final = ("challenger", "field", "saved")


@dataclass(frozen=True)
class Detail:
    """What the page shows of one match beyond its row: D deals, n seats, the same deals and seats for both."""

    challenger_points: npt.NDArray[np.int64]  # (D, n) of the challenger, by seat
    field_points: npt.NDArray[np.int64]  # (D, n) of the field's own policy in the same seats
    challenger: Losses  # of the same hands
    field: Losses

    @property
    def both(self) -> tuple[Losses, Losses]:
        """The losses of challenger and field."""
        return self.challenger, self.field


def detail_of(match: Match, losses: Sequence[tuple[Losses, Losses]]) -> Detail:
    """Return the detail of a match, given what `losses_of_match` said of each of its parts."""
    challenger, field = (reduce(add, part) for part in zip(*losses, strict=True))
    return Detail(match.challenger_points, match.field_points, challenger, field)


def shares_by_stretch(hand_points: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the shares of hands whose points lie in each of `plots.STRETCHES`, (9,)."""
    each = hand_points.reshape(-1, 1)
    low = [-np.inf if low is None else low for low, _ in STRETCHES]
    high = [np.inf if high is None else high for _, high in STRETCHES]
    shares: npt.NDArray[np.float64] = ((each >= low) & (each <= high)).mean(axis=0)
    return shares


def num_tricks(detail: Detail) -> int:
    """Return the tricks of a hand; the last one may have brought no points in a short match."""
    return NUM_CARDS // int(detail.field_points.shape[1])  # R5


def results_table(rows: Sequence[Row]) -> str:
    """Return the points of every match, and what was saved."""
    heads = (
        "seats",
        "saved per hand",
        "95 % interval",
        "points",
        "field's points",
        "deals",
        "hands",
        "µs per decision",
    )
    cells = [
        (
            str(row["seats"]), signed(row["advantage"]), interval(row["interval95"]), points(row["points_challenger"]),
            points(row["points_field"]), str(row["deals"]), str(row["hands"]),
            f"{row['microseconds_per_decision']:.2f}",
        )
        for row in rows
    ]  # fmt: skip
    return table("results", "Points per hand; low is good. Saved = the field's minus the challenger's", heads, cells)


def shares_table(rows: Sequence[Row]) -> str:
    """Return hands won and moons of every match, with their intervals."""
    heads = ("seats", "hands won", "95 %", "moons made in 1000", "95 %", "moons suffered in 1000", "95 %")
    cells = [
        (
            str(row["seats"]), percent(row["share_won"]), span(row["share_won95"], percent),
            per_thousand(row["moons_made"]), span(row["moons_made95"], per_thousand),
            per_thousand(row["moons_suffered"]), span(row["moons_suffered95"], per_thousand),
        )
        for row in rows
    ]  # fmt: skip
    return table("shares", "Hands that challengers won (a tie by its share), and moons", heads, cells)


def _compared(name: str, challenger: float, field: float) -> tuple[str, ...]:
    return name, points(challenger), points(field), signed(field - challenger)


def parts_table(key: str, detail: Detail) -> str:
    """Return where the points of a match come from; the lines add up to the points per hand."""
    challenger, field = (losses.parts() for losses in detail.both)
    lines = [_compared(part, challenger[part], field[part]) for part in challenger]
    lines.append(_compared("points per hand", sum(challenger.values()), sum(field.values())))
    untaken = [losses.untaken.sum() / losses.hands for losses in detail.both]
    caption = (
        "Where the points of a hand come from; moons change what was taken. Nobody took "
        f"{points(untaken[0])} points a hand at the challenger's tables, {points(untaken[1])} at the field's"
    )
    return table(f"parts-of-{key}", caption, ("", *_COMPARED), lines, has_sum=True)


def moons_table(key: str, detail: Detail) -> str:
    """Return the moons of the hands compared, what they cost, and how many were attempted and stopped."""
    lines = []
    for number, name in enumerate(PARTS_OF_MOONS):
        counts = [losses.moons[number] / losses.hands for losses in detail.both]
        costs = [losses.settled[number] / losses.hands for losses in detail.both]
        lines.append((name, *(per_thousand(count) for count in counts), *(points(cost) for cost in costs)))
    for number, name in ((ATTEMPTED, "moons attempted"), (STOPPED, "rivals' moons stopped")):
        counts = [losses.attempts[number] / losses.hands for losses in detail.both]
        lines.append((name, *(per_thousand(count) for count in counts), "", ""))
    heads = ("", "challenger in 1000", "field in 1000", "challenger's points", "field's points")
    caption = (
        "Moons in 1000 hands, and the points per hand that settling them changed. Attempted: alone with all points so "
        f"far, {ATTEMPT_POINTS} or more, and {ATTEMPT_TRICKS} tricks to come; stopped: took the first point after that"
    )
    return table(f"moons-of-{key}", caption, heads, lines)


def suits_table(key: str, detail: Detail) -> str:
    """Return the points by suit led and kind of card."""
    by_suit = [losses.taken.sum(axis=(0, 1)) / losses.hands for losses in detail.both]  # (kinds, suits)
    lines = []
    for suit, name in enumerate(_SUITS):
        for kind, kind_name in enumerate(KINDS):
            lines.append(_compared(f"{name} led: {kind_name}", by_suit[0][kind, suit], by_suit[1][kind, suit]))
    lines.append(_compared("points taken", by_suit[0].sum(), by_suit[1].sum()))
    caption = "Points per hand by the suit led to the trick that won them; pile and kitty count for that trick"
    return table(f"suits-of-{key}", caption, ("", *_COMPARED), lines, has_sum=True)


def tricks_table(key: str, detail: Detail) -> str:
    """Return the points by trick and share."""
    challenger, field = (losses.by_trick() for losses in detail.both)
    heads = ["trick", *(f"{who}: {share}" for share in SHARES for who in ("challenger", "field"))]
    lines = [
        (
            str(trick + 1),
            *(points(who[share, trick]) for share in range(len(SHARES)) for who in (challenger, field)),
        )
        for trick in range(num_tricks(detail))
    ]
    sums = [points(who[share].sum()) for share in range(len(SHARES)) for who in (challenger, field)]
    return table(f"tricks-of-{key}", "Points per hand by trick", heads, [*lines, ("all", *sums)], has_sum=True)


def stretches_table(key: str, detail: Detail) -> str:
    """Return how many hands had how many points."""
    shares = [shares_by_stretch(each) for each in (detail.challenger_points, detail.field_points)]
    lines = [
        (stretch_name(stretch), percent(shares[0][number]), percent(shares[1][number]))
        for number, stretch in enumerate(STRETCHES)
    ]
    return table(f"stretches-of-{key}", "Share of hands by points", ("points", "challenger", "field"), lines)
