"""Outcomes: decisions met at the table and what their seats had of the hand in the end, for a critic to learn from.

A chunk follows from the run's seed, the round, its number and the network of the round before, as one of labels does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from chearts_env.batch import begin_all
from chearts_env.observation import OBSERVATION_SIZE
from chearts_env.table import MOON, NUM_ACTIONS, new_tables
from training.config import CriticConfig
from training.critic import POINTS_PER_UNIT, Critic, points_taken
from training.foresight import NUM_HIDDEN, critic_features, hidden_from_movers
from training.labels import Chunk, draw_players, draw_seeds, note_decisions
from training.network import Network
from training.playouts import Chooser, seen_by_movers

#: What was seen at a decision and what was hidden, and the points below the table's mean that its seat ended with.
OUTCOME: Final = np.dtype(
    [
        ("observation", "i1", (OBSERVATION_SIZE,)),
        ("mask", "i1", (NUM_ACTIONS,)),
        ("hidden", "i1", (NUM_HIDDEN,)),
        ("points", "<f4"),
    ]
)
Outcomes = npt.NDArray[np.void]

#: Keeps the deals for critics apart from those for labels (`training.labels`) and those of matches.
_OUTCOME_STREAM: Final = 6
#: Decisions of a hand that are noted, cards played and passed: most of them, for playing costs more than learning.
_PLAYS: Final = 18.0
_PASSES: Final = 2.0
_MOST_GRADIENT: Final = 0.5


def make_outcomes(chunk: Chunk, network: Chooser, explore: float) -> Outcomes:
    """Deal the hands of a chunk, have them played to their end, and return decisions of the network on the way, (N,).

    `explore` is the share of actions replaced by random ones, so that the critic meets what the network would not do.
    """
    settings = replace(chunk.settings, plays=_PLAYS, passes=_PASSES, moons=0.0, explore=explore)
    rng = np.random.default_rng([chunk.seed, _OUTCOME_STREAM, chunk.round_number, chunk.number])
    tables = new_tables(chunk.rules_of_tables(), single_hand=True)
    begin_all(tables, draw_seeds(rng, len(tables)))
    players = draw_players(rng, tables, settings, with_network=True)
    noted, sources = note_decisions(tables, players, draw_seeds(rng, len(tables)), settings, network)
    kept = noted["public"]["phase"] != MOON  # a critic is not asked there: both ways are worth the same (R21)
    noted, sources = noted[kept], sources[kept]
    every = np.arange(len(noted))
    outcomes = np.zeros(len(noted), OUTCOME)
    outcomes["observation"], outcomes["mask"] = seen_by_movers(noted, every)
    outcomes["hidden"] = hidden_from_movers(noted, every, players[sources])
    changes = tables["public"]["score_changes"].astype(np.float32)
    means = changes.sum(axis=1) / tables["options"]["num_players"]
    outcomes["points"] = means[sources] - changes[sources, noted["public"]["mover"]]
    return outcomes


def new_critic(network: Network, settings: CriticConfig, seed: int, round_number: int) -> Critic:
    """Return a critic with fresh weights, for the features of a network, that follow from the seed and the round."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, _OUTCOME_STREAM, round_number]).generate_state(1)[0]))
        return Critic(network.num_features, settings.width, settings.num_layers, NUM_HIDDEN)


def fit_critic(
    critic: Critic,
    constants: npt.NDArray[np.void] | None,
    parts: Iterable[Outcomes],
    settings: CriticConfig,
    kind: torch.dtype,
    rng: np.random.Generator,
    on_part: Callable[[int, float], object] = lambda count, foreseen: None,
) -> None:
    """Fit a critic in place on the CPU, each outcome once, until it has seen `settings.decisions` of them.

    Means are what is wanted, of points that two queens or a moon make far apart: the loss is the squared error, not one
    that cares less for rare outcomes. `on_part` is told how many outcomes have been seen and which share of the last
    ones' variance was foreseen.
    """
    optimizer = torch.optim.Adam(critic.parameters(), lr=settings.learning_rate, fused=True)
    critic.train()
    count = 0
    for outcomes in parts:
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * max(0.0, 1 - count / settings.decisions)
        errors = 0.0
        points = outcomes["points"] / np.float32(POINTS_PER_UNIT)
        for batch in _batches(len(outcomes), settings.batch_size, rng):
            rows = outcomes[batch]
            observations = np.ascontiguousarray(rows["observation"])
            features = critic_features(observations, np.ascontiguousarray(rows["mask"]), constants, kind)
            taken = torch.from_numpy(points_taken(observations))
            with torch.autocast("cpu", torch.bfloat16, enabled=kind == torch.bfloat16):
                foreseen = critic(features, torch.from_numpy(np.ascontiguousarray(rows["hidden"])), taken)
            loss = (foreseen - torch.from_numpy(points[batch])).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(critic.parameters(), _MOST_GRADIENT)
            optimizer.step()
            errors += float(loss.detach()) * len(batch)
        count += len(outcomes)
        on_part(count, 1 - errors / len(outcomes) / max(float(points.var()), 1e-9))
        if count >= settings.decisions:
            break
    critic.eval()


def _batches(count: int, size: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    order = rng.permutation(count)
    yield from np.array_split(order, max(1, round(count / size)))
