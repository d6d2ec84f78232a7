"""Advantages of decisions: each seat's along its own decisions, paid for by what its hand brought in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chearts_env.compiled import kernel
from chearts_env.rules import MAX_PLAYERS

Floats = npt.NDArray[np.float32]


def advantages(
    values: Floats, places: npt.NDArray[np.int64], seats: npt.NDArray[np.int64], rewards: Floats, trace: float
) -> tuple[Floats, Floats]:
    """Return the advantage and the return of each decision, both (N,) float32, in the units of the rewards.

    `values` (N,) are a critic's, of decisions in the order of time; `places` and `seats` (N,) say at which table and by
    which seat each was made; `rewards` (B, 11) are paid to a seat after its last decision. Nothing is discounted.
    `trace` is the lambda of generalized advantage estimation (https://arxiv.org/abs/1506.02438): with 1 the return is
    the reward, with 0 the value of the seat's next decision.
    """
    gained = np.zeros(len(values), np.float32)
    following = np.full((len(rewards), MAX_PLAYERS), -1, np.int64)
    _look_back(values, places, seats, rewards, trace, following, gained)
    return gained, gained + values


@kernel
def _look_back(values: Any, places: Any, seats: Any, rewards: Any, trace: float, following: Any, gained: Any) -> None:
    for number in range(values.shape[0] - 1, -1, -1):
        place = places[number]
        seat = seats[number]
        after = following[place, seat]  # the seat's next decision, -1 if this was its last
        if after < 0:
            gained[number] = rewards[place, seat] - values[number]
        else:
            gained[number] = values[after] - values[number] + trace * gained[after]
        following[place, seat] = number
