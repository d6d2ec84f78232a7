"""Records as data for offline learning: arrays of what was seen, allowed, done and earned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chearts_env.observation import OBSERVATION_SIZE
from chearts_env.record_format import HandRecord
from chearts_env.table import NUM_ACTIONS
from chearts_env.whole_files import written_beside


@dataclass(frozen=True)
class Decision:
    """One decision of a record."""

    seat: int
    observation: npt.NDArray[np.int8]  # (O,)
    action_mask: npt.NDArray[np.int8]  # (54,)
    action: int


def decisions_of(record: HandRecord) -> Iterator[Decision]:
    """Yield what each seat saw, might do and did, in the order played; raises RecordError where the rules disagree."""
    for game, number, action in record.replay():
        seat = record.moves[number][0]
        yield Decision(seat, game.observation(seat), game.action_mask(), action)


def save_numpy(records: Iterable[HandRecord], path: Path) -> int:
    """Write all decisions of some records to an `.npz` file and return their number.

    Arrays by decision: `observations` (N, O) int8, `action_masks` (N, 54) int8, `actions` (N,) int8, `seats` (N,) int8,
    `hands` (N,) int32, the number of the record, and `returns` (N,) float32: minus the score change of its seat. All
    lie in memory, 1.1 kilobytes a decision, until they are written.
    """
    parts: list[dict[str, npt.NDArray[Any]]] = [_empty()]
    for number, record in enumerate(records):
        decisions = list(decisions_of(record))
        seats = np.array([decision.seat for decision in decisions], np.int8)
        parts.append(
            {
                "observations": np.stack([decision.observation for decision in decisions]),
                "action_masks": np.stack([decision.action_mask for decision in decisions]),
                "actions": np.array([decision.action for decision in decisions], np.int8),
                "seats": seats,
                "hands": np.full(len(decisions), number, np.int32),
                "returns": -np.array(record.score_changes, np.float32)[seats],
            }
        )
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    with written_beside(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type] # none of them is named as an option
    return len(arrays["returns"])


def _empty() -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of no decision."""
    observations, masks = np.zeros((0, OBSERVATION_SIZE), np.int8), np.zeros((0, NUM_ACTIONS), np.int8)
    numbers = {"actions": np.int8, "seats": np.int8, "hands": np.int32, "returns": np.float32}
    arrays: dict[str, npt.NDArray[Any]] = {name: np.zeros(0, kind) for name, kind in numbers.items()}
    return {"observations": observations, "action_masks": masks} | arrays
