"""The critic: what a hand will bring a seat, judged with all cards face up.

It trains a policy, in self-play and by ending playouts. Search asks it of worlds that are drawn, never of the table.
"""

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
#: Counts of cards in the other seats' hands.
OTHER_HANDS: Final = (MAX_PLAYERS - 1) * NUM_FACES


class Critic(nn.Module):
    """A multilayer perceptron over the features that the policy's network has and what is hidden from the policy.

    What is already taken face up is counted, not learned: the output is added to it.
    """

    def __init__(self, num_features: int, width: int = 256, num_layers: int = 2, num_hidden: int = OTHER_HANDS) -> None:
        super().__init__()
        self.num_hidden = num_hidden
        self.body = hidden_layers(num_features + num_hidden, width, num_layers)
        self.head = nn.Linear(width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, features: Tensor, hidden: Tensor, taken: Tensor) -> Tensor:
        """Return the points below the table's mean that each seat will end the hand with, (N,), in units of 10.

        `features` (N, F) are those of `Network.expanded` for the seat, `hidden` (N, `num_hidden`) what it does not see,
        `taken` (N,) what `points_taken` says of it.
        """
        to_come: Tensor = self.head(self.body(torch.cat([features, hidden.to(features.dtype)], dim=1)))[:, 0]
        return to_come.float() + taken


def other_hands(hands: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return all hands but the first of each row, (N, 11, 52), side by side: (N, `OTHER_HANDS`)."""
    return hands[:, 1:].reshape(len(hands), OTHER_HANDS)


def points_taken(observations: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return the table's mean of the points taken face up less the seat's own, (N,), in units of 10."""
    points = field_values(observations, "points_seen").reshape(-1, MAX_PLAYERS).astype(np.float32)
    num_players = field_values(observations, "size") @ np.arange(MIN_PLAYERS, MAX_PLAYERS + 1)
    below: npt.NDArray[np.float32] = (points.sum(axis=1) / num_players - points[:, 0]).astype(np.float32)
    return below / np.float32(POINTS_PER_UNIT)
