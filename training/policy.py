"""A trained network at the table: a `Policy` for the arena."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from training.checkpoint import SELF_PLAY, load_checkpoint
from training.cpu_network import CpuNetwork
from training.network import Network, rows_to_try
from training.precision import CPU, faster_kind

Rows = npt.NDArray[np.int8]
#: Rows computed at once; the expanded observations of more would not stay in a CPU's cache.
_MOST_ROWS: Final = 4096


class NetworkPolicy:
    """Takes the action that a network holds to be worth most, or draws one where `temperature` is given.

    `temperature` is in points: an action worth that much less is drawn e times less often.
    """

    def __init__(
        self,
        network: Network,
        kind: torch.dtype = torch.float32,
        device: torch.device | None = None,
        temperature: float | None = None,
        points_per_unit: float = 3.0,
    ) -> None:
        self._device = device or CPU
        if self._device.type == "cpu":
            self._answer: Callable[[Rows, Rows], npt.NDArray[np.float32]] = CpuNetwork(network, kind).worths
        else:
            copy = network.fresh()
            copy.load_state_dict(network.state_dict())
            self._answer = partial(_by_torch, copy.to(self._device, kind).eval())
        self._scale = points_per_unit / temperature if temperature else None
        self._points_per_unit = points_per_unit

    @staticmethod
    def load(path: Path, kind: torch.dtype | None = None, temperature: float | None = None) -> NetworkPolicy:
        """Load a checkpoint, or a run's newest; without `kind`, a one-second trial chooses the floating type.

        Returns a `ValuePolicy` unless the network comes from self-play: what it puts out then says how much an action
        is preferred, not how many points it saves.
        """
        loaded = load_checkpoint(path)
        if kind is None:
            kind = faster_inference(loaded.network)
        points = loaded.description["config"]["fit"]["points_per_unit"]
        policy = NetworkPolicy if loaded.description.get("what") == SELF_PLAY else ValuePolicy
        return policy(loaded.network, kind, temperature=temperature, points_per_unit=points)

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,). Raises ValueError if a row allows none."""
        actions: npt.NDArray[np.int64] = action_masks.argmax(axis=1)
        free = np.flatnonzero(num_allowed(action_masks) > 1)
        if len(free):
            worths = self.worths(observations[free], action_masks[free])
            if self._scale is not None:
                # The largest of worths with Gumbel noise is a draw from their softmax.
                draws = rng.random((len(action_masks), action_masks.shape[1]))[free]
                worths = worths * self._scale - np.log(-np.log(np.clip(draws, 1e-12, 1 - 1e-12)))
            actions[free] = worths.argmax(axis=1)
        return actions

    def worths(self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return the network's output, (N, 54), minus infinity where an action is not allowed."""
        worths = np.empty(action_masks.shape, np.float32)
        with torch.inference_mode():
            for start in range(0, len(observations), _MOST_ROWS):
                rows = slice(start, min(start + _MOST_ROWS, len(observations)))
                worths[rows] = self._answer(observations[rows], action_masks[rows])
        return worths

    def choose(self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """Return the action worth most for each row, (N,): what playouts ask for. ValueError if a row allows none."""
        num_allowed(action_masks)
        best: npt.NDArray[np.int64] = self.worths(observations, action_masks).argmax(axis=1)
        return best


class ValuePolicy(NetworkPolicy):
    """A policy whose network puts out points: what it was fitted to."""

    def points(self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return what each action is held to be worth, (N, 54) points, minus infinity where it is not allowed.

        Only differences within a row mean something.
        """
        return self.worths(observations, action_masks) * np.float32(self._points_per_unit)


def num_allowed(action_masks: Rows) -> npt.NDArray[np.int64]:
    """Return how many actions each row allows, (N,). Raises ValueError if one allows none: no answer to it is right."""
    counts: npt.NDArray[np.int64] = action_masks.sum(axis=1, dtype=np.int64)
    if not counts.all():
        raise ValueError(f"row {int(counts.argmin())} allows no action")
    return counts


def _by_torch(network: Network, observations: Rows, masks: Rows) -> npt.NDArray[np.float32]:
    answer: torch.Tensor = network(*network.inputs(observations, masks))
    return answer.float().cpu().numpy()


def faster_inference(network: Network, device: torch.device = CPU) -> torch.dtype:
    """Return the floating type in which a network answers faster on a device."""
    observations, masks = rows_to_try(1024)
    policies: dict[torch.dtype, NetworkPolicy] = {}

    def answer(kind: torch.dtype) -> None:
        if kind not in policies:
            policies[kind] = NetworkPolicy(network, kind, device)
        policies[kind].worths(observations, masks)

    return faster_kind(answer)
