"""What the processes that `torchrun` starts do, all but the first: their shares of fits and of self-play's updates.

They hold no state between the tasks that the first process sends, and write nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from training.config import FitConfig, PpoConfig
from training.critic import Critic
from training.fit import Fitter
from training.network import Network
from training.ppo import Learner
from training.precision import num_threads
from training.ranks import Ranks
from training.run_folder import RunFolder

#: What an error says that comes of another process's end, not of the work.
_LOST: Final = re.compile(r"gloo|nccl|connection|broken pipe", re.IGNORECASE)


@dataclass(frozen=True)
class FitTask:
    """Fit a network to the labels of a run folder, which all processes must see."""

    network: Network
    run: Path
    chunks: list[int]
    epochs: int
    rng: np.random.Generator
    settings: FitConfig
    device: str
    kind: torch.dtype
    threads: int

    def do(self, ranks: Ranks) -> None:
        """Do this process's share; the first decides when time is over."""
        labels = RunFolder.open(self.run).load_labels(self.chunks, ranks.rank, ranks.size)
        fitter = Fitter(self.network, self.settings, ranks.device(self.device), self.kind, self.threads)
        network = self.network.to(fitter.device)
        fitter.fit(network, labels, self.epochs, self.rng, float("inf"), ranks=ranks)


@dataclass(frozen=True)
class LearnTask:
    """Update a policy and its critic, in a state as `Learner.state` has it, until the first process sends no more."""

    policy: Network
    critic: Critic
    settings: PpoConfig
    device: str
    kind: torch.dtype
    threads: int
    state: dict[str, Any]

    def do(self, ranks: Ranks) -> None:
        """Do this process's share of each update."""
        device = ranks.device(self.device)
        learner = Learner(self.policy, self.critic, self.settings, device, self.kind, ranks)
        learner.load(self.state)
        with num_threads(self.threads):
            while num_decisions := ranks.of_first():
                learner.follow(num_decisions)


def follow(ranks: Ranks) -> None:
    """Do what the first process asks for, until it asks for nothing more. Raises ConnectionError if it is gone."""
    try:
        while (task := ranks.of_first()) is not None:  # a FitTask or a LearnTask
            task.do(ranks)
    except RuntimeError as error:
        if not _LOST.search(str(error)):
            raise
        raise ConnectionError(
            f"process {ranks.rank} ends, for the first is gone: {str(error).splitlines()[0]}"
        ) from None
