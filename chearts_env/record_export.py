"""Records as data for offline learning: arrays of what was seen, allowed, done and earned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chearts_env.record_format import HandRecord


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
    `hands` (N,) int32, the number of the record, and `returns` (N,) float32: minus the score change of its seat.
    """
    parts: dict[str, list[Any]] = {name: [] for name in ("observations", "action_masks", "actions", "seats", "hands")}
    returns = []
    for number, record in enumerate(records):
        for decision in decisions_of(record):
            parts["observations"].append(decision.observation)
            parts["action_masks"].append(decision.action_mask)
            parts["actions"].append(decision.action)
            parts["seats"].append(decision.seat)
            parts["hands"].append(number)
            returns.append(-record.score_changes[decision.seat])
    kinds = {"hands": np.int32}
    arrays = {name: np.array(values, kinds.get(name, np.int8)) for name, values in parts.items()}
    beside = path.with_name(path.name + ".unfinished")
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, returns=np.array(returns, np.float32))
    beside.replace(path)
    return len(returns)
