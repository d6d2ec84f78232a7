"""Fitting the network to labels: regression of centred action values, few epochs, each label seen a few times at most.

The schedule runs over batches, or over the time allowed where that is shorter: either way the learning rate reaches 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from training.config import FitConfig, NetworkConfig
from training.labels import Labels
from training.network import Network, rows_to_try
from training.precision import faster_kind, faster_threads, num_threads
from training.ranks import ALONE, Ranks

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


def new_network(shape: NetworkConfig, seed: int, round_number: int) -> Network:
    """Return a network with fresh weights that follow from the seed and the round."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, round_number]).generate_state(1)[0]))
        return Network(**asdict(shape))


def batch_loss(worths: Tensor, values: Tensor, settings: FitConfig) -> tuple[Tensor, Tensor]:
    """Return the mean squared error over actions tried and the mean square of the targets, in the network's units.

    `worths` (N, 54) are those of the network, `values` (N, 54) points centred over the actions tried: NaN where an
    action is not allowed, infinite where it was not tried. Only differences between actions are known, so only they
    count.
    """
    tried = values.isfinite()
    targets = values.where(tried, 0.0).clamp(-settings.clip, settings.clip) / settings.points_per_unit
    worths = worths.float().where(tried, 0.0)
    worths = (worths - worths.sum(1, keepdim=True) / tried.sum(1, keepdim=True)).where(tried, 0.0)
    count = tried.sum()
    return (worths - targets).square().sum() / count, targets.square().sum() / count


class Fitter:
    """Fits networks on one device, in the floating type and with the number of threads that one-second trials favour.

    More threads are tried because the processes that make labels stand still meanwhile; on a busy machine they lose.
    """

    def __init__(
        self,
        network: Network,
        settings: FitConfig,
        device: torch.device,
        kind: torch.dtype | None = None,
        threads: int | None = None,
        most_threads: int = 1,
    ) -> None:
        """Hold the trials, on a network of the same shape, and measure the speed; `kind` and `threads` spare them."""
        self._settings = settings
        self.device = device
        trial = network.fresh().to(device)
        optimizer = torch.optim.AdamW(trial.parameters(), lr=0.0)
        observations, masks = rows_to_try(_TRIAL_ROWS)
        values = np.where(masks, np.float32(0.0), np.float32(np.nan))
        work = partial(self._step, trial, optimizer, observations, values)
        work(kind or torch.float32)  # the first call prepares
        self.kind = kind or faster_kind(work)
        work = partial(work, self.kind)
        self.threads = threads or (faster_threads(work, most_threads) if most_threads > 1 else 1)
        with num_threads(self.threads):
            began = time.perf_counter()
            work()
            self.labels_per_second = _TRIAL_ROWS / (time.perf_counter() - began)

    def fit(
        self,
        network: Network,
        labels: Labels,
        epochs: int,
        rng: np.random.Generator,
        seconds: float,
        on_batch: Callable[[Progress], object] = lambda progress: None,
        ranks: Ranks = ALONE,
    ) -> Progress:
        """Fit a network on this fitter's device in place: `epochs` times over the labels, or for `seconds`.

        Where several processes learn, each calls this with the same network, the labels it holds and an equal `rng`; a
        batch then has rows of all, and the clock of the first counts.
        """
        settings = self._settings
        matrices = [weight for weight in network.parameters() if weight.ndim == 2]
        vectors = [weight for weight in network.parameters() if weight.ndim != 2]
        groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)
        observations, values = labels["observation"], labels["values"]
        num_labels = round(ranks.sums(len(labels))[0])
        batch_size = min(settings.batch_size, num_labels)
        num_batches = epochs * (num_labels // batch_size)
        progress, began = Progress(), time.perf_counter()
        network.train()
        order = np.empty(0, np.int64)
        with num_threads(self.threads):
            while progress.batches < num_batches:
                progress.share = progress.batches / num_batches
                by_time = (time.perf_counter() - began) / seconds
                if by_time > (progress.batches + 1) / num_batches:
                    # Only a fit that is really late: a moment's delay must not change the learning rate.
                    progress.share = by_time
                progress.share = ranks.of_first(progress.share)
                if progress.share >= 1:
                    break
                if len(order) < batch_size:
                    order = rng.permutation(num_labels)
                rows, order = ranks.own(order[:batch_size]), order[batch_size:]
                progress.learning_rate = settings.learning_rate * (1 - progress.share)
                for group in optimizer.param_groups:
                    group["lr"] = progress.learning_rate
                loss, variance = self._step(network, optimizer, observations[rows], values[rows], self.kind, ranks)
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
        observations: npt.NDArray[np.int8],
        values: npt.NDArray[np.floating[Any]],
        kind: torch.dtype,
        ranks: Ranks = ALONE,
    ) -> tuple[float, float]:
        optimizer.zero_grad(set_to_none=True)
        # A batch's loss is a mean over actions tried, and processes may hold different numbers of them.
        share = ranks.share_of(int(np.isfinite(values).sum()))
        loss = variance = torch.zeros(())
        if len(values):
            masks = (~np.isnan(values)).view(np.int8)
            targets = torch.from_numpy(values).to(self.device, torch.float32)
            # The constants of the expansion decide the type of its features; weights stay float32 and are cast as used.
            network.expansion.to(kind)
            features = network.features(observations, masks)
            allowed = torch.from_numpy(masks).to(self.device)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=kind == torch.bfloat16):
                loss, variance = batch_loss(network.worths(features, allowed), targets, self._settings)
            (loss * share).backward()  # type: ignore[no-untyped-call]
            network.expansion.float()
        ranks.sum_gradients(network)
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        summed_loss, summed_variance = ranks.sums(float(loss.detach()) * share, float(variance) * share)
        return summed_loss, summed_variance
