"""A pool's result as a row of the JSON and as text: points per hand first, ratings beside them, then who beats whom.

Everything is in the order of the ratings, best first, whatever order the names were given in.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from training.checkpoint import versions
from training.pool_model import Estimates, cycles, fit_additive, head_to_head, holm
from training.pool_skill import skills
from training.pool_tables import PoolTables

Row = dict[str, Any]

#: What counts as more than chance, over all pairs of a pool together (Holm).
LEVEL: Final = 0.05
_HOLM: Final = f"Holm, {100 * LEVEL:.0f} % over all pairs"
#: Pairs and cycles spelled out in the text; the JSON has all.
_MOST_SPELLED_OUT: Final = 6


def row_of(names: Sequence[str], preset: str, seed: int, tables: PoolTables) -> Row:
    """Return what a pool's tables say as one object of the JSON.

    `names` are the policies' by number. Points are per hand, low is good; `relative` is to the mean of the pool.
    """
    num_policies, num_players = len(names), tables.points.shape[2]
    fit = fit_additive(tables.points, tables.seats, tables.places, num_policies)
    duels, meetings = head_to_head(tables.points - fit.places[tables.places], tables.seats, num_policies)
    rated = skills(tables.points.reshape(-1, num_players), tables.seats.reshape(-1, num_players), num_policies, seed)
    gaps = fit.policies.differences()
    gap_chances, duel_chances = holm(gaps.p_values), holm(duels.p_values)
    order = sorted(range(num_policies), key=lambda number: (fit.policies.values[number], names[number]))
    policies = [
        {
            "policy": names[number],
            "points": fit.mean + float(fit.policies.values[number]),
            **_estimate(fit.policies, number, "relative", "interval95"),
            "openskill": {name: getattr(rated[number], name) for name in ("mu", "sigma", "ordinal")},
            "microseconds_per_decision": 1e6 * float(tables.seconds[number] / max(1, tables.decisions[number])),
        }
        for number in order
    ]
    pairs = [
        {
            "policy": names[better],
            "other": names[worse],
            **_estimate(gaps, (better, worse), "difference", "difference_interval95"),
            "difference_p_holm": float(gap_chances[better, worse]),
            **_estimate(duels, (better, worse), "head_to_head", "head_to_head_interval95"),
            "head_to_head_p_holm": float(duel_chances[better, worse]),
            "meetings": int(meetings[better, worse]),
        }
        for place, better in enumerate(order)
        for worse in order[place + 1 :]
    ]
    beats = ((duels.values < 0) & (duel_chances < LEVEL))[np.ix_(order, order)]
    return {
        "pool": [names[number] for number in order],
        "rules": preset,
        "seats": num_players,
        "deals": tables.num_deals,
        "hands": int(tables.points.shape[0] * tables.points.shape[1]),
        "policies": policies,
        "pairs": pairs,
        "cycles": [[names[order[number]] for number in cycle] for cycle in cycles(beats)],
        "seats_from_dealer": fit.places.tolist(),
        "seed": seed,
        "versions": {**versions(), "openskill": version("openskill")},
    }


def _estimate(estimates: Estimates, place: Any, name: str, interval: str) -> Row:
    value = float(estimates.values[place])
    if np.isnan(value):
        return {name: None, interval: None}
    return {name: value, interval: [float(end) for end in estimates.intervals95[place]]}


def text_of(row: Row) -> str:
    """Return a row of the JSON as text of several lines."""
    begin = (
        f"{row['seats']} seats, {row['rules']}: {row['deals']} deals, {row['hands']} hands, seed {row['seed']}; "
        "points per hand, low is good; relative to the pool; mu of OpenSkill, high is good"
    )
    return "\n".join([begin, "", *_ratings(row), "", *_duels(row), "", *_conclusions(row)])


def _ratings(row: Row) -> list[str]:
    width = max(len(name) for name in [*row["pool"], "policy"]) + 1
    heading = f"    {'policy':<{width}}{'points':>7}{'relative':>10}   {'95 % interval':<16}"
    heading += f"{'mu':>6}{'sigma':>7}{'ordinal':>9}"
    lines = [heading, "-" * len(heading)]
    for number, each in enumerate(row["policies"], 1):
        interval = " … ".join(_signed(end) for end in each["interval95"])
        skill = each["openskill"]
        lines.append(
            f"{number:>2}  {each['policy']:<{width}}{each['points']:>7.2f}{_signed(each['relative']):>10}"
            f"   {interval:<16}{skill['mu']:>6.1f}{skill['sigma']:>7.1f}{skill['ordinal']:>9.1f}"
        )
    return lines


def _duels(row: Row) -> list[str]:
    """Return the matrix of head-to-head differences, both triangles."""
    numbers = {name: number for number, name in enumerate(row["pool"])}
    cells = [["."] * len(numbers) for _ in numbers]
    for pair in row["pairs"]:
        value = pair["head_to_head"]
        star = "*" if pair["head_to_head_p_holm"] < LEVEL else " "
        first, second = numbers[pair["policy"]], numbers[pair["other"]]
        cells[first][second] = "?" if value is None else f"{_signed(value)}{star}"
        cells[second][first] = "?" if value is None else f"{_signed(-value)}{star}"
    lines = [f"row's points minus column's at tables where both sit; * = beyond chance ({_HOLM})"]
    lines.append("    " + "".join(f"{number:>8} " for number in range(1, len(numbers) + 1)))
    for number, line in enumerate(cells, 1):
        lines.append(f"{number:>2}  " + "".join(f"{cell:>9}" if cell[-1] in "* " else f"{cell:>8} " for cell in line))
    return [line.rstrip() for line in lines]


def _conclusions(row: Row) -> list[str]:
    alike = [f"{pair['policy']} and {pair['other']}" for pair in row["pairs"] if pair["difference_p_holm"] >= LEVEL]
    if alike:
        lines = [f"points per hand do not tell apart ({_HOLM}): {_some(alike)}"]
    else:
        lines = [f"points per hand tell all pairs apart ({_HOLM})"]
    if row["cycles"]:
        lines.append("head to head there is a CYCLE beyond chance, so no single number says who is better:")
        lines += [f"  {' beats '.join([*cycle, cycle[0]])}" for cycle in row["cycles"][:_MOST_SPELLED_OUT]]
        more = len(row["cycles"]) - _MOST_SPELLED_OUT
        lines += [f"  and {more} more"] if more > 0 else []
    else:
        lines.append("head to head there is no cycle beyond chance")
    return lines


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"  # adding nothing turns -0.0 into 0.0


def _some(words: Sequence[str]) -> str:
    more = len(words) - _MOST_SPELLED_OUT
    return "; ".join(words[:_MOST_SPELLED_OUT]) + (f"; and {more} more" if more > 0 else "")
