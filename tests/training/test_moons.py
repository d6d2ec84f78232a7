"""The table of moons: counts of the policy's own seat, of a thousand hands, by field and reading."""

from __future__ import annotations

import numpy as np

from training import moons
from training.losses import Losses


def losses(hands: int, made: int, suffered: int, attempted: int, stopped: int) -> Losses:
    """Losses with these counts."""
    taken, untaken = np.zeros((17, 3, 2, 4), np.int64), np.zeros((3, 2), np.int64)
    pairs = np.array([made, suffered]), np.array([attempted, stopped])
    return Losses(hands, taken, np.zeros(2, np.int64), *pairs, 0, untaken)


def test_counts_are_of_a_thousand_hands_in_their_columns():
    """Made, attempted, suffered, stopped."""
    found = {moons.MoonWork("me", "careful", "classic", 6, 10): losses(2000, 1, 4, 6, 8)}
    assert moons.table_of(found, [6]).splitlines()[2] == "`me` among `careful` | classic | 0.5 | 3.0 | 2.0 | 4.0"


def test_command_prints_a_line_for_each_field_and_reading(capsys):
    """Among `careful`, and among copies of itself."""
    assert moons.main(["low_card", "careful", "--seats", "6,11", "--deals", "4", "--workers", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        *["`low_card` among `careful`"] * 2, *["`low_card` among `low_card`"] * 2, *["`careful` among `careful`"] * 2,
    ]  # fmt: skip
    assert all(cell.count(" / ") == 1 for line in lines[2:] for cell in line.split(" | ")[2:])


def test_what_cannot_be_asked_is_refused(capsys):
    """A policy that is none, too few deals."""
    assert moons.main(["nobody"]) == 2
    assert "unknown policy 'nobody'" in capsys.readouterr().err
    assert moons.main(["careful", "--deals", "1"]) == 2
    assert "at least 2 deals" in capsys.readouterr().err
