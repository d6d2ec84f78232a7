"""The stage of a round in which its critic is fitted, before the labels whose playouts it ends."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from chearts_env.whole_files import written_beside
from training.critic import Critic
from training.foresight import Foresight
from training.labels import Chunk, rules_to_deal
from training.network import Network
from training.outcomes import fit_critic, new_critic
from training.run_folder import RunFolder
from training.workers import OutcomeWork, SharedForesight, SharedPlayer, WorkerSet

_CRITIC_STREAM: Final = 7


def fitted_critic(
    folder: RunFolder,
    round_number: int,
    player: SharedPlayer,
    workers: WorkerSet,
    kind: torch.dtype,
    seconds: float,
    on_part: Callable[[int, float], object],
) -> Critic:
    """Return the critic of a round: the one that the folder holds, or one fitted to hands that `player` plays.

    `kind` is the floating type to fit in, `seconds` the most that it may take; `on_part` is that of `fit_critic`. What
    playouts end with is right for the network of the round before, which `player` is.
    """
    config, path = folder.config, folder.critic_file(round_number)
    network: Network = player.network.get()
    critic = new_critic(network, config.critic, config.seed, round_number)
    # One that a power cut has left half written is fitted again.
    with suppress(OSError, SafetensorError, RuntimeError):
        critic.load_state_dict(load_file(path))
        return critic.eval()
    rules = rules_to_deal(config.rules(), config.labels)
    settings = replace(config.labels, tables=config.critic.tables)
    works = (
        OutcomeWork(Chunk(config.seed, round_number, number, rules, settings), player, config.critic.explore)
        for number in itertools.count()
    )
    rng = np.random.default_rng([config.seed, _CRITIC_STREAM, round_number])
    parts = workers.in_order(works)
    fit_critic(critic, network.constants, parts, config.critic, kind, rng, seconds, on_part)
    path.parent.mkdir(exist_ok=True)
    with written_beside(path) as beside:
        save_file(dict(critic.state_dict()), beside)
    return critic


def shared_foresight(
    critic: Critic, player: SharedPlayer, workers: WorkerSet, kind: torch.dtype, ahead: int
) -> SharedForesight:
    """Hand a critic to all workers, which ask it in the floating type `kind` at the `ahead`-th next decision."""
    network: Network = player.network.get()
    return SharedForesight(workers.share(Foresight(critic, network.constants, kind, ahead)))
