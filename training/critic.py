"""The critic: what a hand will bring a seat, judged with all cards face up. It trains a policy and never plays."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from chearts_env.cards import NUM_FACES
from chearts_env.observation import field_values
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from training.network import hidden_layers

#: Points that make 1 in its output.
POINTS_PER_UNIT: Final = 10.0


class Critic(nn.Module):
    """A multilayer perceptron over the features that the policy's network has and, where it `sees_all`, other hands.

    What is already taken face up is counted, not learned: the output is added to it.
    """

    def __init__(self, num_features: int, width: int = 256, num_layers: int = 2, sees_all: bool = True) -> None:
        super().__init__()
        self._sees_all = sees_all
        hidden = (MAX_PLAYERS - 1) * NUM_FACES if sees_all else 0
        self.body = hidden_layers(num_features + hidden, width, num_layers)
        self.head = nn.Linear(width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, features: Tensor, hands: Tensor, taken: Tensor) -> Tensor:
        """Return the points below the table's mean that each seat will end the hand with, (N,), in units of 10.

        `features` (N, F) are those of `Network.expanded` for the seat, `hands` (N, 11, 52) all hands relative to it,
        `taken` (N,) what `points_taken` says of it.
        """
        if self._sees_all:
            features = torch.cat([features, hands[:, 1:].flatten(1).to(features.dtype)], dim=1)
        to_come: Tensor = self.head(self.body(features))[:, 0]
        return to_come.float() + taken


def points_taken(observations: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return the table's mean of the points taken face up less the seat's own, (N,), in units of 10."""
    points = field_values(observations, "points_seen").reshape(-1, MAX_PLAYERS).astype(np.float32)
    num_players = field_values(observations, "size") @ np.arange(MIN_PLAYERS, MAX_PLAYERS + 1)
    below: npt.NDArray[np.float32] = (points.sum(axis=1) / num_players - points[:, 0]).astype(np.float32)
    return below / np.float32(POINTS_PER_UNIT)
