"""Fits who holds what to tables of `careful`: `python -m training.fit_beliefs` writes `baselines/beliefs.npz`.

What is learned is how much likelier a holder has a card than chance has it, given everything that a seat has seen.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from tqdm import tqdm

from baselines.beliefs import BELIEFS_FILE, KITTY, NUM_HOLDERS
from baselines.careful import Careful
from chearts_env import Rules, VectorTables
from chearts_env.cards import NUM_FACES, NUM_RANKS, NUM_SUITS
from chearts_env.observation import OBSERVATION_SIZE, OBSERVATION_VERSION, field_values
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import PLAY
from training.checkpoint import write_whole

_WIDTH: Final = 256
_TABLES: Final = 1200
#: Share of the decisions that are kept, and of actions replaced by random ones.
_KEPT: Final = 0.1
_EXPLORE: Final = 0.02
_BATCH: Final = 1024
_LEARNING_RATE: Final = 1e-3
_HELD_OUT: Final = 20_000
_NEXT_TO_NOTHING: Final = 1e-9


def samples(count: int, seed: int) -> Iterator[tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]]:
    """Yield observations (N, O) of decisions in play and who holds what, (N, 52, 11) copies, about `count` in all."""
    rules = [
        preset(size) for preset in (Rules.card_page, Rules.classic) for size in range(MIN_PLAYERS, MAX_PLAYERS + 1)
    ]
    tables = VectorTables(rules, _TABLES, seed=seed)
    careful, rng = Careful(), np.random.default_rng(seed)
    done = 0
    while done < count:
        observations, masks = tables.observations, tables.action_masks
        kept = np.flatnonzero(
            (rng.random(_TABLES) < _KEPT)
            & (field_values(observations, "phase")[:, PLAY] > 0)
            & (field_values(observations, "hand").sum(axis=1) > 1)
        )
        if len(kept):
            yield observations[kept], _holders(observations[kept], tables.hidden_hands()[kept])
            done += len(kept)
        actions = careful.act(observations, masks, rng)
        anyhow = np.flatnonzero(rng.random(_TABLES) < _EXPLORE)
        actions[anyhow] = (masks[anyhow] * (1 + rng.random((len(anyhow), masks.shape[1])))).argmax(axis=1)
        tables.step(actions)


def _holders(observations: npt.NDArray[np.int8], hands: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return copies of each face by holder, (N, 52, 11); cards whose place is known count for nobody."""
    holders = hands.transpose(0, 2, 1).copy()
    played = field_values(observations, "played").reshape(-1, MAX_PLAYERS, NUM_FACES).sum(axis=1)
    holders[:, :, KITTY] = 2 - played - hands.sum(axis=1)
    known = field_values(observations, "given") > 0
    holders[known] = 0
    return holders


def chances(observations: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return the logarithm of what chance gives each holder of each face, (N, 52, 11); next to nothing if it cannot.

    By the numbers of cards that holders have and by the suits they lack alone; what else `redeal` knows is learned.
    """
    counts = field_values(observations, "cards_left").reshape(-1, MAX_PLAYERS).astype(np.float32)
    counts[:, KITTY] = field_values(observations, "kitty_size")[:, 0]
    may = 1 - field_values(observations, "void").reshape(-1, MAX_PLAYERS, NUM_SUITS)
    may[:, KITTY] = 1
    cards = counts[:, None, :] * may.repeat(NUM_RANKS, axis=2).transpose(0, 2, 1)
    logarithms: npt.NDArray[np.float32] = np.log(np.maximum(cards, _NEXT_TO_NOTHING))
    return logarithms


def loss_of(odds: Tensor, chance: Tensor, holders: Tensor) -> Tensor:
    """Return the mean negative log likelihood of the holders, in nats a card."""
    log_chances = torch.log_softmax(odds.view(-1, NUM_FACES, NUM_HOLDERS) + chance, dim=2)
    return -(holders * log_chances).sum() / holders.sum()


class Beliefs(nn.Module):
    """The network, from observations (N, O) to log odds (N, 52 * 11); zero, that is chance, before it has learned."""

    def __init__(self, scale: Tensor) -> None:
        super().__init__()
        self.scale = scale
        self.first = nn.Linear(OBSERVATION_SIZE, _WIDTH)
        self.second = nn.Linear(_WIDTH, NUM_FACES * NUM_HOLDERS)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, observations: Tensor) -> Tensor:
        """Return the log odds."""
        odds: Tensor = self.second(torch.relu(self.first(observations.float() * self.scale)))
        return odds

    def layers(self, observations: Tensor) -> dict[str, npt.NDArray[np.float16]]:
        """Return what `baselines.beliefs` computes with.

        `observations` (N, O) are some that it was fitted to. Entries that are all alike there, such as scores in single
        hands, have taught it nothing: whatever they are elsewhere, they count as they did there.
        """
        first = (self.first.weight * self.scale).T
        alike = (observations == observations[:1]).all(dim=0)
        first_bias = self.first.bias + (observations[0].float() * alike) @ first
        weights = {
            "first": first * ~alike[:, None], "first_bias": first_bias,
            "second": self.second.weight.T, "second_bias": self.second.bias,
        }  # fmt: skip
        return {name: weight.detach().numpy().astype(np.float16) for name, weight in weights.items()}


def gathered(parts: Sequence[tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Return observations, what chance gives, and holders of some samples, as the network and its loss take them."""
    observations, holders = (np.concatenate(part) for part in zip(*parts, strict=True))
    tensors = (observations, chances(observations), holders.astype(np.float32))
    first, second, third = map(torch.from_numpy, tensors)
    return first, second, third


def fitted(num_samples: int, seed: int) -> tuple[dict[str, npt.NDArray[np.float16]], float, float]:
    """Return layers of a network fitted to so many decisions, and what it and chance lose on others, nats a card."""
    torch.manual_seed(seed)
    held_out = gathered(list(samples(_HELD_OUT, seed + 1)))
    network = Beliefs(1 / held_out[0].float().abs().amax(0).clamp(min=1))
    optimizer = torch.optim.Adam(network.parameters(), lr=_LEARNING_RATE)
    seen = 0
    waiting: list[tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]] = []
    with tqdm(total=num_samples, unit=" samples", unit_scale=True, dynamic_ncols=True) as bar:
        for part in samples(num_samples, seed):
            waiting.append(part)
            if sum(len(rows) for rows, _ in waiting) < _BATCH:
                continue
            observations, chance, holders = gathered(waiting)
            waiting.clear()
            for group in optimizer.param_groups:
                group["lr"] = _LEARNING_RATE * max(0.0, 1 - seen / num_samples)
            loss = loss_of(network(observations), chance, holders)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            seen += len(observations)
            bar.update(len(observations))
    with torch.no_grad():
        observations, chance, holders = held_out
        odds = network(observations)
        known, unknown = (float(loss_of(each, chance, holders)) for each in (odds, torch.zeros_like(odds)))
        return network.layers(observations), known, unknown


def main(arguments: Sequence[str] | None = None) -> int:
    """Gather, fit, say how much better than chance it is on held-out tables, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m training.fit_beliefs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=2_000_000, help="decisions to learn from, each once")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    layers, known, chance = fitted(asked.samples, asked.seed)
    print(f"held out: {known:.4f} nats a card, chance {chance:.4f}")
    written = BytesIO()
    kept: dict[str, Any] = {"observation_version": np.int64(OBSERVATION_VERSION), **layers}
    np.savez_compressed(written, **kept)
    write_whole(BELIEFS_FILE, written.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
