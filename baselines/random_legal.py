"""The opponent that takes any allowed action, each equally likely."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chearts_env.compiled import kernel


class RandomLegal:
    """Chooses uniformly among the allowed actions; a face held twice counts once."""

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        actions = np.empty(len(action_masks), np.int64)
        _choose_by_draws(np.ascontiguousarray(action_masks), rng.random(len(action_masks)), actions)
        return actions


@kernel
def _choose_by_draws(masks: Any, draws: Any, actions: Any) -> None:
    for row in range(masks.shape[0]):
        num_allowed = 0
        for action in range(masks.shape[1]):
            num_allowed += masks[row, action]
        wanted = int(draws[row] * num_allowed)
        for action in range(masks.shape[1]):
            wanted -= masks[row, action]
            if wanted < 0:
                actions[row] = action
                break
