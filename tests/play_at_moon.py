"""The program, begun where the person in seat 1 has shot the moon: `python -m tests.play_at_moon RECORD`.

And an opponent that fails.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from chearts_env.observation import field_values
from chearts_env.play_app import app_of
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal
from chearts_env.record import RecordWriter
from tests.sizes import moon_history


class FailsInPlay(RandomLegal):
    """Passes, and then answers with what is no action."""

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return allowed actions for rows that pass, 99 for others."""
        is_passing = field_values(observations, "phase")[:, 0] == 1
        return np.where(is_passing, super().act(observations, action_masks, rng), 99)


def main(path: str) -> None:
    """Play on from there, and write the record."""
    history = moon_history(6, random.Random(3))
    with RecordWriter(path) as writer:
        table = PlayTable(history.begin(), 1, [("random", RandomLegal())], write=writer.write)
        for action in history.actions:
            table.take(action)
        app_of(table, 0).run()


if __name__ == "__main__":
    main(sys.argv[1])
