"""Who probably holds an unseen card, as `careful` players play: a small network, computed with NumPy alone.

Players tell much about their hands by what they play: whoever ducks with a seven under a king has no eight to queen of
that suit, as like as not. `redeal` knows what cannot be; this knows what is unlikely. `training.fit_beliefs` fits it to
tables of `careful` and writes `beliefs.npz`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_FACES
from chearts_env.observation import OBSERVATION_VERSION
from chearts_env.rules import MAX_PLAYERS

BELIEFS_FILE: Final = Path(__file__).with_suffix(".npz")
#: Who may hold a card: 0 = the kitty, else the seat, relative to the viewer.
KITTY: Final = 0
NUM_HOLDERS: Final = MAX_PLAYERS


def log_odds(observation: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    """Return how much likelier each holder has each face than chance has it, (52, 11), as logarithms.

    Chance deals unseen cards to whoever may hold them by the number of cards that they hold. A constant for all holders
    of a face means nothing.
    """
    first, first_bias, second, second_bias = _layers()
    hidden = np.maximum(observation.astype(np.float32) @ first + first_bias, 0)
    odds: npt.NDArray[np.float64] = (hidden @ second + second_bias).astype(np.float64)
    return odds.reshape(NUM_FACES, NUM_HOLDERS)


@cache
def _layers() -> tuple[npt.NDArray[np.float32], ...]:
    """Return weights and biases of both layers; they are kept in half precision."""
    with np.load(BELIEFS_FILE) as file:
        version = int(file["observation_version"])
        if version != OBSERVATION_VERSION:
            raise ValueError(
                f"{BELIEFS_FILE.name} reads observations of version {version}, and these are of version "
                f"{OBSERVATION_VERSION}: run python -m training.fit_beliefs"
            )
        return tuple(file[name].astype(np.float32) for name in ("first", "first_bias", "second", "second_bias"))
