"""The network: one for 6 to 11 seats and all readings of the rules, from an observation to the worth of each action.

Observations arrive as the table writes them, int8, and are expanded on the device: counts into planes, the trick into
who lies where, and for each card what a player would ask of it (would it be the winner now, does it cancel, what is out
above and below it). What is left out was always the same in training: scores of earlier hands and hands left, because
training plays single hands; and the kitty's cards, which nobody sees but under a rare option.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from baselines.careful.judgements import JUDGEMENTS, judgements
from baselines.careful.weights import new_weights
from chearts_env import Rules, VectorTables
from chearts_env.cards import NUM_FACES, NUM_RANKS, NUM_SUITS
from chearts_env.observation import FIELDS, OBSERVATION_VERSION, SEAT_ENTRIES
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import NUM_ACTIONS

#: The observation version that `Expansion` reads. Raise it only together with the code below.
BUILT_FOR_OBSERVATION: Final = 1

_FIELD: Final = {field.name: field for field in FIELDS}
#: Divisors that bring numbers to about 1; 0 leaves a field out.
_SCALES: Final = {
    **{"cards_left": 17, "points_seen": 13, "trick_number": 17, "trick_pairs": 2, "trick_points": 13},
    **{"pile_points": 26, "kitty_size": 6, "moon_points": 26},
    **{"score_percent": 0, "mover": 0, "hands_left": 0},
}
#: The stretch of a seat's row, and that of the vector, taken over as numbers.
_SEAT_NUMBERS: Final = ("void", "has_kitty")
_TABLE_NUMBERS: Final = ("trick_number", "hands_left")
NUM_PLANES: Final = 14
NUM_CARD_FEATURES: Final = 5
FIRST_CARD_PLANE: Final = NUM_PLANES - NUM_CARD_FEATURES


def _stretch(names: tuple[str, str]) -> slice:
    """Return the places from the first field to the last."""
    first, last = (_FIELD[name] for name in names)
    return slice(first.place, last.place + last.size)


def _scales(names: tuple[str, str]) -> list[float]:
    """Return the factor of each entry from the first field to the last."""
    stretch = _stretch(names)
    is_per_seat = _FIELD[names[0]].is_per_seat
    fields = [each for each in FIELDS if each.is_per_seat == is_per_seat and stretch.start <= each.place < stretch.stop]
    divisors = [_SCALES.get(field.name, 1) for field in fields for _ in range(field.size)]
    return [1 / divisor if divisor else 0.0 for divisor in divisors]


#: What brings each number of a seat's row and of the vector to about 1.
SEAT_SCALES: Final = _scales(_SEAT_NUMBERS)
TABLE_SCALES: Final = _scales(_TABLE_NUMBERS)


def refuse_other_observations(version: int) -> None:
    """Raise ValueError unless observations of this version are those the network was built for."""
    if version != BUILT_FOR_OBSERVATION:
        raise ValueError(
            f"the network reads observations of version {BUILT_FOR_OBSERVATION}, and these are of version {version}: "
            "train anew with this version of chearts_env, or use the version that the checkpoint was made with"
        )


def rows_to_try(count: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Return observations (N, O) and masks (N, 54) of first decisions, to try how fast a network is."""
    tables = VectorTables(Rules(MAX_PLAYERS), count, seed=0)
    return tables.observations, tables.action_masks


class Expansion(nn.Module):
    """Observations (N, O) and masks (N, 54), both int8, to features (N, `size`), those of each card among them.

    Counts stay int8 for as long as they can: comparing bytes costs a fraction of comparing floats.
    """

    seat_scales: Tensor
    table_scales: Tensor
    higher: Tensor
    lower: Tensor
    ranks: Tensor
    sizes: Tensor
    is_of_card: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.size = NUM_PLANES * NUM_FACES + MAX_PLAYERS * (len(SEAT_SCALES) + 3) + len(TABLE_SCALES) + 3
        ranks = torch.arange(NUM_RANKS)
        for name, constant in {
            "seat_scales": torch.tensor(SEAT_SCALES),
            "table_scales": torch.tensor(TABLE_SCALES),
            "higher": (ranks[:, None] > ranks[None, :]).float() / 8,  # [of, than]
            "lower": (ranks[:, None] < ranks[None, :]).float() / 8,
            "ranks": (ranks + 1).to(torch.int8),  # 1 … 13, 0 = none
            "sizes": torch.arange(MIN_PLAYERS, MAX_PLAYERS + 1, dtype=torch.int8),
            "is_of_card": (torch.arange(self.size) // NUM_FACES >= FIRST_CARD_PLANE)
            & (torch.arange(self.size) < NUM_PLANES * NUM_FACES),
        }.items():
            # Not persistent: they are no weights, and a checkpoint holds weights only.
            self.register_buffer(name, constant, persistent=False)

    def forward(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return features in the floating type of the module."""
        kind = self.seat_scales.dtype
        seats = observations[:, : MAX_PLAYERS * SEAT_ENTRIES].view(-1, MAX_PLAYERS, SEAT_ENTRIES)
        hand, given, trick, pile = (_entries(observations, name) for name in ("hand", "given", "trick", "pile"))
        legal = masks[:, :NUM_FACES]
        num_players = (_entries(observations, "size") * self.sizes).amax(1)
        located = self._located(observations, seats, given, num_players)
        unseen = 2 - hand - located
        for seat in range(MAX_PLAYERS):
            unseen -= seats[:, seat, :NUM_FACES]
        single = trick == 1
        live = single & _entries(observations, "led_suit")[:, :NUM_SUITS].repeat_interleave(NUM_RANKS, dim=1).bool()
        best = (live * self.ranks.repeat(NUM_SUITS)).amax(1)
        cards = self._cards(observations, unseen, hand, single, best, kind) * legal[:, :, None]
        flags = torch.cat([hand >= 1, hand == 2, unseen >= 1, unseen == 2, single, trick == 2], dim=1)
        return torch.cat(
            [
                flags.to(kind),
                torch.cat([located, pile, legal], dim=1).to(kind),
                cards.flatten(1),
                self._seats(seats, live, best, kind).flatten(1),
                self._table(observations, seats, num_players, best, kind),
            ],
            dim=1,
        )

    @staticmethod
    def cards_of(features: Tensor) -> Tensor:
        """Return the five features of each card among all, (N, 52, 5)."""
        first = FIRST_CARD_PLANE * NUM_FACES
        return features[:, first : NUM_PLANES * NUM_FACES].view(-1, NUM_FACES, NUM_CARD_FEATURES)

    def _located(self, observations: Tensor, seats: Tensor, given: Tensor, num_players: Tensor) -> Tensor:
        """Return the cards given away and not played yet: their place is known (R7)."""
        offset = _entries(observations, "pass_offset")[:, 0]
        receiver = torch.where(offset < 0, num_players + offset, offset).long()
        played = seats[:, :, :NUM_FACES].gather(1, receiver[:, None, None].expand(-1, 1, NUM_FACES))[:, 0]
        return (given - played).clamp(min=0)

    def _cards(
        self, observations: Tensor, unseen: Tensor, hand: Tensor, single: Tensor, best: Tensor, kind: torch.dtype
    ) -> Tensor:
        """Return five features of each card, (N, 52, 5)."""
        led = _entries(observations, "led_suit")[:, :NUM_SUITS].bool()
        beats = ((self.ranks > best[:, None])[:, None, :] & led[:, :, None]).flatten(1)
        out = unseen.view(-1, NUM_SUITS, NUM_RANKS).to(kind)
        features = (
            beats & ~single,
            single,  # laying the second copy cancels both (R13)
            (hand == 1) & (unseen >= 1),  # its twin may still cancel it
            (out @ self.higher).flatten(1),
            (out @ self.lower).flatten(1),
        )
        return torch.stack([feature.to(kind) for feature in features], dim=2)

    def _seats(self, seats: Tensor, live: Tensor, best: Tensor, kind: torch.dtype) -> Tensor:
        """Return each seat's numbers, and of its card in the trick: laid, rank if it may win, winning so far."""
        numbers = seats[:, :, _stretch(_SEAT_NUMBERS)].to(kind) * self.seat_scales
        card = seats[:, :, _FIELD["trick_card"].place]
        laid = card > 0
        face = (card - 1).clamp(min=0)
        rank = (face % NUM_RANKS + 1) * (torch.gather(live, 1, face.long()) & laid)
        winning = (rank > 0) & (rank == best[:, None])
        of_trick = torch.stack([laid.to(kind), rank.to(kind) / NUM_RANKS, winning.to(kind)], dim=2)
        return torch.cat([numbers, of_trick], dim=2)

    def _table(
        self, observations: Tensor, seats: Tensor, num_players: Tensor, best: Tensor, kind: torch.dtype
    ) -> Tensor:
        laid = (seats[:, :, _FIELD["trick_card"].place] > 0).sum(1)
        more = torch.stack([each.to(kind) for each in (laid, num_players - laid - 1, best)], dim=1) / NUM_RANKS
        return torch.cat([observations[:, _stretch(_TABLE_NUMBERS)].to(kind) * self.table_scales, more], dim=1)


def hidden_layers(num_inputs: int, width: int, num_layers: int) -> nn.Sequential:
    """Return the layers of a multilayer perceptron before its head."""
    widths = [num_inputs, *[width] * num_layers]
    return nn.Sequential(*(layer for pair in pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())))


class Network(nn.Module):
    """A multilayer perceptron over the expanded observation, with a path from each card's own features to its worth.

    How each feature of a card counts on that path follows from the situation. With `careful`, what that rule player
    makes of each card (`baselines.careful.judgements`) goes in too, so that learning starts from what it knows.
    """

    def __init__(
        self, width: int = 256, num_layers: int = 3, careful: bool = False, card_features: bool = True
    ) -> None:
        refuse_other_observations(OBSERVATION_VERSION)
        super().__init__()
        self._shape = (width, num_layers, careful, card_features)
        self.has_card_features = card_features
        self.expansion = Expansion()
        #: The constants by which `careful` judges, kept with a checkpoint: it may be tuned anew meanwhile.
        self.constants = new_weights() if careful else None
        num_judgements = len(JUDGEMENTS) if careful else 0
        self.num_features = self.expansion.size + NUM_FACES * num_judgements
        self.body = hidden_layers(self.num_features, width, num_layers)
        self.head = nn.Linear(width, NUM_ACTIONS)
        self.card_path = nn.Linear(width, NUM_CARD_FEATURES + num_judgements)

    def fresh(self) -> Network:
        """Return a network of the same shape and constants with weights of its own."""
        network = Network(*self._shape)
        network.constants = self.constants
        return network

    def inputs(self, observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]) -> tuple[Tensor, ...]:
        """Return what `forward` takes for observations (N, O) and masks (N, 54), on the device of the weights."""
        device = self.head.weight.device
        parts = [torch.from_numpy(observations).to(device), torch.from_numpy(masks).to(device)]
        if self.constants is not None:
            parts.append(torch.from_numpy(judgements(observations, masks, self.constants)).to(device))
        return tuple(parts)

    def forward(self, observations: Tensor, masks: Tensor, judged: Tensor | None = None) -> Tensor:
        """Return the worth of each action, (N, 54), minus infinity where the mask, (N, 54) int8, excludes it.

        `judged` (N, 52, 8) are the judgements of `careful`, for a network that takes them. `inputs` makes all three.
        """
        return self.worths(self.expanded(observations, masks, judged), masks)

    def expanded(self, observations: Tensor, masks: Tensor, judged: Tensor | None = None) -> Tensor:
        """Return the features of what `forward` takes, (N, `num_features`): no weight takes part in them."""
        features: Tensor = self.expansion(observations, masks)
        if not self.has_card_features:
            features = features.masked_fill(self.expansion.is_of_card, 0.0)
        if judged is None:
            return features
        return torch.cat([features, judged.flatten(1).to(features.dtype)], dim=1)

    def worths(self, features: Tensor, masks: Tensor) -> Tensor:
        """Return what `forward` does, given the features."""
        situation = self.body(features)
        worth: Tensor = self.head(situation)
        weights = self.card_path(situation).to(features.dtype)
        own, judged = weights[:, :NUM_CARD_FEATURES], weights[:, NUM_CARD_FEATURES:]
        by_card = torch.einsum("nck,nk->nc", self.expansion.cards_of(features), own)
        if self.constants is not None:
            by_card = by_card + torch.einsum(
                "nck,nk->nc", features[:, self.expansion.size :].view(-1, NUM_FACES, len(JUDGEMENTS)), judged
            )
        worth = worth + nn.functional.pad(by_card, (0, NUM_ACTIONS - NUM_FACES))
        return worth.masked_fill(masks == 0, float("-inf"))


def _entries(observations: Tensor, name: str) -> Tensor:
    """Return a field of the vector, (N, size)."""
    field = _FIELD[name]
    return observations[:, field.place : field.place + field.size]
