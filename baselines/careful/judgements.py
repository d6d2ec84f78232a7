"""What `careful` makes of each card, as numbers: for a learner that starts from its knowledge and goes beyond it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.choose import cost_of, write_costs
from baselines.careful.facts import FACTS, note_facts
from baselines.careful.play import ITEM
from chearts_env.cards import NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.observation import OBSERVATION
from chearts_env.table import MASK, MOON, NUM_ACTIONS

#: The numbers of a card, in this order: what it costs above the cheapest, then what that is made of (`play.ITEM`).
JUDGEMENTS: Final = ("cost", "wins", "set_aside", "pot", "taken", "back", "stops", "shed")
#: What brings each of them to about 1, and the most that is told: points, but for the two chances.
_SCALES: Final = (1 / 3, 1.0, 1.0, 1 / 10, 1 / 5, 1 / 3, 1 / 3, 1 / 3)
_MOST: Final = 5.0


def judgements(
    observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], weights: npt.NDArray[np.void]
) -> npt.NDArray[np.float32]:
    """Return the numbers of every legal card, (N, 52, 8), 0 for the others and where a moon is settled.

    `weights` (1,) of dtype `WEIGHTS` are the constants to judge by.
    """
    judged = np.zeros((len(observations), NUM_FACES, len(JUDGEMENTS)), np.float32)
    seen, masks = _as_records(observations, action_masks)
    _judge(seen, masks, weights, np.zeros(1, FACTS), np.zeros(1, ITEM), np.array(_SCALES, np.float32), judged)
    return judged


@kernel
def _judge(seen: Any, masks: Any, weights: Any, facts: Any, items: Any, scales: Any, judged: Any) -> None:
    item = items[0]
    for row in range(seen.shape[0]):
        if seen[row].phase[MOON]:
            continue
        note_facts(seen[row], weights[0], facts[0])
        lowest = np.inf
        for face in range(NUM_FACES):
            if masks[row].legal[face]:
                cost_of(seen[row], facts[0], weights[0], face, item)
                card = judged[row, face]
                card[0] = item.cost
                card[1] = item.wins
                card[2] = item.set_aside
                card[3] = item.pot
                card[4] = item.taken
                card[5] = item.back
                card[6] = item.stops
                card[7] = item.shed
                lowest = min(lowest, item.cost)
        for face in range(NUM_FACES):
            if masks[row].legal[face]:
                judged[row, face, 0] -= np.float32(lowest)
                for number in range(scales.shape[0]):
                    scaled = judged[row, face, number] * scales[number]
                    judged[row, face, number] = min(max(scaled, -_MOST), _MOST)


def costs_of(
    observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], weights: npt.NDArray[np.void]
) -> npt.NDArray[np.float64]:
    """Return what each legal action costs by `careful`, (N, 54) points; 0 for the others and to settle a moon."""
    costs = np.zeros((len(observations), NUM_ACTIONS))
    seen, masks = _as_records(observations, action_masks)
    _write_all_costs(seen, masks, weights, np.zeros(1, FACTS), np.zeros(1, ITEM), costs)
    return costs


def _as_records(observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8]) -> tuple[Any, Any]:
    """Return rows as the kernels take them."""
    seen = np.ascontiguousarray(observations, np.int8).view(OBSERVATION)[:, 0]
    return seen, np.ascontiguousarray(action_masks, np.int8).view(MASK)[:, 0]


@kernel
def _write_all_costs(seen: Any, masks: Any, weights: Any, facts: Any, items: Any, costs: Any) -> None:
    for row in range(seen.shape[0]):
        if not seen[row].phase[MOON]:
            write_costs(seen[row], masks[row].legal, weights[0], facts[0], items[0], costs[row])
