"""A network's answers on a CPU, in half the time that torch takes: its first layer adds up rows of weights.

Of the features few are not 0 (`training.features`), and each adds its row of the first layer's weights; layers behind
it are torch's. The sums are the same in another order, so that answers differ from the network's by rounding alone.
"""

from __future__ import annotations

import copy
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from chearts_env.cards import NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.table import NUM_ACTIONS
from training.feature_layout import FIRST_CARD, FIRST_SEAT, NUM_CARD_FEATURES
from training.features import card_judgements, note_features
from training.network import Network
from training.precision import KINDS

_MOST_INTEGER: Final = np.float32(np.iinfo(np.int16).max)
_SMALLEST: Final = np.float32(1e-30)
#: Batches for torch are filled up to a multiple of this: every new shape costs it a kernel, and memory that it keeps.
_ROWS_STEP: Final = 64


class CpuNetwork:
    """Answers as the network did when this was made; later changes of its weights do not show."""

    def __init__(self, network: Network, kind: torch.dtype) -> None:
        """Take over a network's weights; `kind` is the floating type of the layers behind the first.

        Where that is bfloat16, the first layer's weights are kept as 16-bit integers: more exact than bfloat16, and
        all of them stay near the processor.
        """
        if kind not in KINDS.values():
            raise ValueError(f"a network answers in {' or '.join(KINDS)}, not in {kind}")
        first, *behind = network.body
        assert isinstance(first, nn.Linear)
        with torch.no_grad():
            weights = first.weight.float().cpu().numpy().T.copy(order="C")
            self._bias = first.bias.float().cpu().numpy().copy()
            self._scales = np.ones_like(self._bias)
            if not network.has_card_features:
                weights[FIRST_CARD:FIRST_SEAT] = 0
            if kind == torch.bfloat16:
                self._scales = np.maximum(np.abs(weights).max(axis=0), _SMALLEST) / _MOST_INTEGER
                weights = np.rint(weights / self._scales).astype(np.int16)
            self._weights = weights
            # Head and path of the cards read the same: one layer of both.
            last = nn.Linear(network.head.in_features, network.head.out_features + network.card_path.out_features)
            last.weight.copy_(torch.cat([network.head.weight, network.card_path.weight]))
            last.bias.copy_(torch.cat([network.head.bias, network.card_path.bias]))
            if not network.has_card_features:
                own = slice(NUM_ACTIONS, NUM_ACTIONS + NUM_CARD_FEATURES)
                last.weight[own], last.bias[own] = 0, 0
        # The first of those behind is the ReLU of the first layer, which the kernel takes.
        self._behind = copy.deepcopy(nn.Sequential(*behind[1:], last)).to("cpu", kind).eval().requires_grad_(False)
        self._kind = kind
        self._constants = network.constants

    def worths(self, observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return what the network does, (N, 54) float32, for observations (N, O) and masks (N, 54), int8."""
        observations, masks = np.ascontiguousarray(observations), np.ascontiguousarray(masks)
        count = len(observations)
        hidden = np.zeros((filled_up(count), len(self._bias)), np.float32)
        cards = np.empty((count, NUM_FACES, NUM_CARD_FEATURES), np.float32)
        judged = card_judgements(observations, masks, self._constants)
        _first_layer(observations, masks, judged, self._weights, self._scales, self._bias, cards, hidden)
        answer: Tensor = self._behind(torch.from_numpy(hidden).to(self._kind))[:count]
        worths = np.empty((count, NUM_ACTIONS), np.float32)
        _add_cards(answer.float().numpy(), masks, cards, judged, worths)
        return worths


def filled_up(count: int) -> int:
    """Return the next number of rows that batches have."""
    step = _ROWS_STEP if count <= 4 * _ROWS_STEP else 4 * _ROWS_STEP
    return count + -count % step


@kernel
def _first_layer(
    observations: Any, masks: Any, judged: Any, weights: Any, scales: Any, bias: Any, cards: Any, hidden: Any
) -> None:
    places, values = np.empty(weights.shape[0] + 4, np.int64), np.empty(weights.shape[0] + 4, np.float32)
    unseen = np.empty(NUM_FACES, np.int8)
    for row in range(observations.shape[0]):
        count = note_features(observations[row], masks[row], judged[row], unseen, places, values, cards[row])
        # Four at a time: sums are read and written a quarter as often.
        for more in range(4):
            places[count + more] = 0
            values[count + more] = 0
        sums = hidden[row]
        sums[:] = 0
        for start in range(0, count, 4):
            _add_rows(weights, places[start : start + 4], values[start : start + 4], sums)
        for place in range(sums.shape[0]):
            sums[place] = max(sums[place] * scales[place] + bias[place], np.float32(0))


@kernel
def _add_rows(weights: Any, places: Any, values: Any, sums: Any) -> None:
    a, b, c, d = weights[places[0]], weights[places[1]], weights[places[2]], weights[places[3]]
    of_a, of_b, of_c, of_d = values[0], values[1], values[2], values[3]
    for place in range(sums.shape[0]):
        sums[place] += (of_a * np.float32(a[place]) + of_b * np.float32(b[place])) + (
            of_c * np.float32(c[place]) + of_d * np.float32(d[place])
        )


@kernel
def _add_cards(answers: Any, masks: Any, cards: Any, judged: Any, worths: Any) -> None:
    for row in range(masks.shape[0]):
        answer = answers[row]
        for action in range(NUM_ACTIONS):
            if not masks[row, action]:
                worths[row, action] = -np.inf
                continue
            worth = answer[action]
            if action < NUM_FACES:
                for number in range(NUM_CARD_FEATURES):
                    worth += cards[row, action, number] * answer[NUM_ACTIONS + number]
                for number in range(judged.shape[2]):
                    worth += judged[row, action, number] * answer[NUM_ACTIONS + NUM_CARD_FEATURES + number]
            worths[row, action] = worth
