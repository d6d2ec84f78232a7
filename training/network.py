"""The network: one for 6 to 11 seats and all readings of the rules, from an observation to the worth of each action.

Observations arrive as the table writes them, int8, and are expanded on the device: counts into planes, the trick into
who lies where, and for each card what a player would ask of it (would it be the winner now, does it cancel, what is out
above and below it). Left out are scores of earlier hands and hands left, because training plays single hands; the
kitty's cards, which nobody sees but under a rare option; and who played or gave which cards, beyond what suits and what
points each seat has shown: all that is gone is counted together.
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
from chearts_env.observation import OBSERVATION_VERSION, SEAT_ENTRIES
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import NUM_ACTIONS
from training.feature_layout import (
    FIELD,
    FIRST_CARD,
    FIRST_SEAT,
    NUM_CARD_FEATURES,
    NUM_FEATURES,
    SEAT_DIVISORS,
    SEAT_NUMBERS,
    TABLE_DIVISORS,
    TABLE_NUMBERS,
)
from training.features import card_judgements, dense_features

#: The observation version that `Expansion` reads. Raise it only together with the code below.
BUILT_FOR_OBSERVATION: Final = 1


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

    seat_divisors: Tensor
    table_divisors: Tensor
    higher: Tensor
    lower: Tensor
    ranks: Tensor
    sizes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.size = NUM_FEATURES
        ranks = torch.arange(NUM_RANKS)
        for name, constant in {
            # Whole numbers, or infinite: dividing by them rounds once, in any floating type.
            "seat_divisors": torch.tensor(SEAT_DIVISORS),
            "table_divisors": torch.tensor(TABLE_DIVISORS),
            "higher": (ranks[:, None] > ranks[None, :]).float() / 8,  # [of, than]
            "lower": (ranks[:, None] < ranks[None, :]).float() / 8,
            "ranks": (ranks + 1).to(torch.int8),  # 1 … 13, 0 = none
            "sizes": torch.arange(MIN_PLAYERS, MAX_PLAYERS + 1, dtype=torch.int8),
        }.items():
            # Not persistent: they are no weights, and a checkpoint holds weights only.
            self.register_buffer(name, constant, persistent=False)

    def forward(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return features in the floating type of the module."""
        kind = self.seat_divisors.dtype
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
        return features[:, FIRST_CARD:FIRST_SEAT].view(-1, NUM_FACES, NUM_CARD_FEATURES)

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
        numbers = seats[:, :, SEAT_NUMBERS].to(kind) / self.seat_divisors
        card = seats[:, :, FIELD["trick_card"].place]
        laid = card > 0
        face = (card - 1).clamp(min=0)
        rank = (face % NUM_RANKS + 1) * (torch.gather(live, 1, face.long()) & laid)
        winning = (rank > 0) & (rank == best[:, None])
        of_trick = torch.stack([laid.to(kind), rank.to(kind) / NUM_RANKS, winning.to(kind)], dim=2)
        return torch.cat([numbers, of_trick], dim=2)

    def _table(
        self, observations: Tensor, seats: Tensor, num_players: Tensor, best: Tensor, kind: torch.dtype
    ) -> Tensor:
        laid = (seats[:, :, FIELD["trick_card"].place] > 0).sum(1)
        more = torch.stack([each.to(kind) for each in (laid, num_players - laid - 1, best)], dim=1) / NUM_RANKS
        return torch.cat([observations[:, TABLE_NUMBERS].to(kind) / self.table_divisors, more], dim=1)


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

    def features(self, observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]) -> Tensor:
        """Return the features of observations (N, O) and masks (N, 54), (N, `num_features`), on the weights' device.

        They are those of `expanded`, in the floating type of the expansion; a CPU makes them in a third of the time.
        """
        if self.head.weight.device.type != "cpu":
            return self.expanded(*self.inputs(observations, masks))
        judged = card_judgements(observations, masks, self.constants)
        features = dense_features(observations, masks, judged, self.expansion.seat_divisors.dtype)
        if not self.has_card_features:
            features[:, FIRST_CARD:FIRST_SEAT] = 0
        return features

    def forward(self, observations: Tensor, masks: Tensor, judged: Tensor | None = None) -> Tensor:
        """Return the worth of each action, (N, 54), minus infinity where the mask, (N, 54) int8, excludes it.

        `judged` (N, 52, 8) are the judgements of `careful`, for a network that takes them. `inputs` makes all three.
        """
        return self.worths(self.expanded(observations, masks, judged), masks)

    def expanded(self, observations: Tensor, masks: Tensor, judged: Tensor | None = None) -> Tensor:
        """Return the features of what `forward` takes, (N, `num_features`): no weight takes part in them."""
        features: Tensor = self.expansion(observations, masks)
        if not self.has_card_features:
            features[:, FIRST_CARD:FIRST_SEAT] = 0
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
    field = FIELD[name]
    return observations[:, field.place : field.place + field.size]
