"""The simplest ducking player: always its lowest card.

It passes its highest cards and plays its lowest legal one, by rank alone: ace high (R3), suits and points play no part.
Among cards of one rank it plays the first of clubs, diamonds, spades, hearts and passes the first of hearts, spades,
diamonds, clubs. It subtracts its moon from its own score (R21). It is deterministic.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_FACES, NUM_RANKS, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.observation import OBSERVATION
from chearts_env.table import PASS, SUBTRACT_MOON

#: Faces from low to high: by rank, then by suit. Shape (52,) int64.
FACES_BY_RANK: Final[npt.NDArray[np.int64]] = np.arange(NUM_FACES).reshape(NUM_SUITS, NUM_RANKS).T.ravel().copy()
FACES_BY_RANK.setflags(write=False)


class LowCard:
    """Passes its highest cards, plays its lowest."""

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        actions = np.empty(len(action_masks), np.int64)
        seen = np.ascontiguousarray(observations, np.int8).view(OBSERVATION)[:, 0]
        _choose_by_rank(seen, np.ascontiguousarray(action_masks), actions)
        return actions


@kernel
def low_card(mask: Any, is_pass: bool) -> int:
    """Return the lowest allowed face of a mask, (54,), or the highest when passing; settle a moon by subtracting."""
    for place in range(NUM_FACES):
        face = FACES_BY_RANK[NUM_FACES - 1 - place if is_pass else place]
        if mask[face]:
            return face  # type: ignore[no-any-return]
    return SUBTRACT_MOON


@kernel
def _choose_by_rank(seen: Any, masks: Any, actions: Any) -> None:
    for row in range(masks.shape[0]):
        actions[row] = low_card(masks[row], seen[row].phase[PASS] == 1)
