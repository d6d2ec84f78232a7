"""Fitting the network to labels: regression of centred action values, few epochs, each label seen a few times at most.

The schedule runs over batches, or over the time allowed where that is shorter: either way the learning rate reaches 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from training.config import FitConfig
from training.labels import Labels
from training.network import Network
from training.precision import faster_kind

#: Rows of the trial that chooses the floating type and measures the speed.
_TRIAL_ROWS = 2048


@dataclass
class Progress:
    """How far a fit has come, `share` of the way; `loss` is relative to the variance of the last labels."""

    share: float = 0.0
    batches: int = 0
    labels: int = 0
    loss: float = 1.0
    learning_rate: float = 0.0


def new_network(width: int, num_layers: int, seed: int, round_number: int) -> Network:
    """Return a network with fresh weights that follow from the seed and the round."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, round_number]).generate_state(1)[0]))
        return Network(width, num_layers)


def batch_loss(network: Network, observations: Tensor, values: Tensor, settings: FitConfig) -> tuple[Tensor, Tensor]:
    """Return the mean squared error over allowed actions and the mean square of the targets, in the network's units.

    `values` (N, 54) are centred points, NaN where an action is not allowed.
    """
    masks = ~values.isnan()
    targets = values.nan_to_num(0.0).clamp(-settings.clip, settings.clip) / settings.points_per_unit
    worths = network(observations, masks.view(torch.int8)).float().masked_fill(~masks, 0.0)
    count = masks.sum()
    return (worths - targets).square().sum() / count, targets.square().sum() / count


class Fitter:
    """Fits networks on one device and in one floating type: `kind`, or what a one-second trial shows to be faster."""

    def __init__(
        self, network: Network, settings: FitConfig, device: torch.device, kind: torch.dtype | None = None
    ) -> None:
        """Hold the trial, on a network of the same shape, and measure the speed."""
        self._settings = settings
        self.device = device
        trial = Network(network.width, network.num_layers).to(device)
        optimizer = torch.optim.AdamW(trial.parameters(), lr=0.0)
        observations = torch.zeros((_TRIAL_ROWS, network.num_inputs), dtype=torch.int8, device=device)
        values = torch.zeros((_TRIAL_ROWS, network.num_actions), device=device)
        work = partial(self._step, trial, optimizer, observations, values)
        work(kind or torch.float32)  # the first call prepares
        self.kind = kind or faster_kind(work)
        began = time.perf_counter()
        work(self.kind)
        self.labels_per_second = _TRIAL_ROWS / (time.perf_counter() - began)

    def fit(
        self,
        network: Network,
        labels: Labels,
        epochs: int,
        rng: np.random.Generator,
        seconds: float,
        on_batch: Callable[[Progress], object] = lambda progress: None,
    ) -> Progress:
        """Fit a network on this fitter's device in place: `epochs` times over the labels, or for `seconds`."""
        settings = self._settings
        matrices = [weight for weight in network.parameters() if weight.ndim == 2]
        vectors = [weight for weight in network.parameters() if weight.ndim != 2]
        groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)
        observations = torch.from_numpy(labels["observation"])
        values = torch.from_numpy(labels["values"])
        batch_size = min(settings.batch_size, len(labels))
        num_batches = epochs * (len(labels) // batch_size)
        progress, began = Progress(), time.perf_counter()
        network.train()
        order = np.empty(0, np.int64)
        while progress.batches < num_batches:
            progress.share = max(progress.batches / num_batches, (time.perf_counter() - began) / seconds)
            if progress.share >= 1:
                break
            if len(order) < batch_size:
                order = rng.permutation(len(labels))
            rows, order = torch.from_numpy(order[:batch_size]), order[batch_size:]
            progress.learning_rate = settings.learning_rate * (1 - progress.share)
            for group in optimizer.param_groups:
                group["lr"] = progress.learning_rate
            loss, variance = self._step(
                network, optimizer, observations[rows].to(self.device), values[rows].to(self.device), self.kind
            )
            progress.batches += 1
            progress.labels += batch_size
            weight = max(1 / progress.batches, 0.02)
            progress.loss += weight * (loss / max(variance, 1e-9) - progress.loss)
            on_batch(progress)
        network.eval()
        self.labels_per_second = progress.labels / (time.perf_counter() - began)
        return progress

    def _step(
        self,
        network: Network,
        optimizer: torch.optim.Optimizer,
        observations: Tensor,
        values: Tensor,
        kind: torch.dtype,
    ) -> tuple[float, float]:
        # The constants of the expansion decide the type of its features; weights stay float32 and are cast as used.
        network.expansion.to(kind)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=kind == torch.bfloat16):
            loss, variance = batch_loss(network, observations, values, self._settings)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        network.expansion.float()
        return float(loss.detach()), float(variance)
