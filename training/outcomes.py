"""Outcomes: decisions met at the table and what their seats had of the hand in the end, for a critic to learn from.

A chunk follows from the run's seed, the round, its number and the network of the round before, and from nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from chearts_env.batch import begin_all
from chearts_env.observation import OBSERVATION_SIZE
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import MOON, NUM_ACTIONS, new_tables
from training.config import CriticConfig
from training.critic import POINTS_PER_UNIT, Critic, points_taken
from training.foresight import NUM_HIDDEN, critic_features, hidden_from_movers
from training.labels import Chunk, draw_players, draw_seeds, note_decisions
from training.network import Network
from training.playouts import Chooser, seen_by_movers
from training.returns import advantages

#: A decision: of which hand of the chunk and which seat, those of a hand in the order of time; what was seen there and
#: what was hidden; and the points below the table's mean that the seat ended with.
OUTCOME: Final = np.dtype(
    [
        ("hand", "<i8"),
        ("seat", "<i8"),
        ("observation", "i1", (OBSERVATION_SIZE,)),
        ("mask", "i1", (NUM_ACTIONS,)),
        ("hidden", "i1", (NUM_HIDDEN,)),
        ("points", "<f4"),
    ]
)
Outcomes = npt.NDArray[np.void]

#: Keeps the deals for critics apart from those for labels (`training.labels`) and those of matches.
_OUTCOME_STREAM: Final = 6
_MOST_GRADIENT: Final = 0.5
#: Share of its time by which a fit may be late before it hurries.
_DELAY: Final = 0.05
#: Rows that a critic is asked about at once.
_ROWS: Final = 4096


def make_outcomes(chunk: Chunk, network: Chooser, explore: float) -> Outcomes:
    """Deal the hands of a chunk, have them played to their end, and return the network's decisions on the way, (N,).

    `explore` is the share of actions replaced by random ones, so that the critic meets what the network would not do.
    """
    settings = replace(chunk.settings, explore=explore)
    rng = np.random.default_rng([chunk.seed, _OUTCOME_STREAM, chunk.round_number, chunk.number])
    tables = new_tables(chunk.rules_of_tables(), single_hand=True)
    begin_all(tables, draw_seeds(rng, len(tables)))
    players = draw_players(rng, tables, settings, with_network=True)
    noted, sources = note_decisions(tables, players, draw_seeds(rng, len(tables)), settings, network, notes_all=True)
    kept = noted["public"]["phase"] != MOON  # a critic is not asked there: both ways are worth the same (R21)
    noted, sources = noted[kept], sources[kept]
    every = np.arange(len(noted))
    outcomes = np.zeros(len(noted), OUTCOME)
    outcomes["hand"], outcomes["seat"] = sources, noted["public"]["mover"]
    outcomes["observation"], outcomes["mask"] = seen_by_movers(noted, every)
    outcomes["hidden"] = hidden_from_movers(noted, every, players[sources])
    changes = tables["public"]["score_changes"].astype(np.float32)
    means = changes.sum(axis=1) / tables["options"]["num_players"]
    outcomes["points"] = means[sources] - changes[sources, outcomes["seat"]]
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
    seconds: float = math.inf,
    on_part: Callable[[int, float], object] = lambda count, foreseen: None,
) -> None:
    """Fit a critic in place on the CPU, each outcome once: `settings.decisions` of them, or for `seconds`.

    `constants` are those by which `careful` judges cards, or None; `kind` is the floating type of the matrices; `rng`
    draws the order in which the outcomes of a part are learned from.

    Means are what is wanted, of points that two queens or a moon make far apart: the loss is the squared error, not one
    that cares less for rare outcomes. `on_part` is told how many outcomes have been seen and which share of the
    variance of the last ones' points was foreseen before the critic learned from them.
    """
    optimizer = torch.optim.Adam(critic.parameters(), lr=settings.learning_rate, fused=True)
    unit = np.float32(POINTS_PER_UNIT)
    count, began = 0, 0.0
    for outcomes in parts:
        began = began or time.perf_counter()  # the first part is waited for, and learned from in any case
        share, by_time = count / settings.decisions, (time.perf_counter() - began) / seconds
        if by_time > share + max(_DELAY, len(outcomes) / settings.decisions):
            share = by_time  # only one that is really late: a moment's delay must not change the learning rate
        if share >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * (1 - share)
        asked = _questions(outcomes, constants, kind)
        before = _answers(critic, asked, kind) * unit
        wanted = torch.from_numpy(returns_of(outcomes, before, settings.trace) / unit)
        order = torch.from_numpy(rng.permutation(len(outcomes)))
        for rows in order.tensor_split(max(1, round(len(outcomes) / settings.batch_size))):
            with torch.autocast("cpu", torch.bfloat16, enabled=kind == torch.bfloat16):
                foreseen = critic(*(part[rows] for part in asked))
            loss = (foreseen - wanted[rows]).square().mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(critic.parameters(), _MOST_GRADIENT)
            optimizer.step()
        count += len(outcomes)
        variance = max(float(outcomes["points"].var()), 1e-9)
        on_part(count, 1 - float(np.var(outcomes["points"] - before)) / variance)
        if count >= settings.decisions:  # and no more are made
            break
    critic.eval()


def _questions(outcomes: Outcomes, constants: npt.NDArray[np.void] | None, kind: torch.dtype) -> tuple[Tensor, ...]:
    """Return what a critic takes for outcomes (N,): features (N, F), what is hidden (N, H), points taken (N,)."""
    observations, masks, hidden = (np.ascontiguousarray(outcomes[name]) for name in ("observation", "mask", "hidden"))
    features = critic_features(observations, masks, constants, kind)
    return features, torch.from_numpy(hidden), torch.from_numpy(points_taken(observations))


def _answers(critic: Critic, asked: tuple[Tensor, ...], kind: torch.dtype) -> npt.NDArray[np.float32]:
    """Return what a critic says, (N,) in units of 10 points."""
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=kind == torch.bfloat16):
        parts = [critic(*(part[start : start + _ROWS] for part in asked)) for start in range(0, len(asked[0]), _ROWS)]
    answers: npt.NDArray[np.float32] = torch.cat(parts).numpy()
    return answers


def returns_of(outcomes: Outcomes, foreseen: npt.NDArray[np.float32], trace: float) -> npt.NDArray[np.float32]:
    """Return what a critic is to learn of each decision, (N,) points, `foreseen` (N,) being what it says now.

    With `trace` 1 that is what the seat ended with. The smaller it is, the more what the critic says of the seat's next
    decisions counts instead: that varies less, and is right on average once the critic is.
    """
    hands, seats = outcomes["hand"], outcomes["seat"]
    paid = np.zeros((int(hands.max()) + 1, MAX_PLAYERS), np.float32)
    paid[hands, seats] = outcomes["points"]
    _, returns = advantages(foreseen, hands, seats, paid, trace)
    return returns
