"""Fitting: the loss by hand, what it is allowed to see, how long it may take."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from training.config import FitConfig, NetworkConfig
from training.fit import Fitter, batch_loss, new_network
from training.labels import LABEL, Labels

CPU = torch.device("cpu")


def labels_that_favour(face: int, count: int = 512) -> Labels:
    """Labels of three allowed actions, one of them worth 6 points more than the others."""
    labels = np.zeros(count, LABEL)
    labels["observation"][:, :52] = np.random.default_rng(0).integers(0, 3, (count, 52))
    labels["values"] = np.nan
    labels["values"][:, [3, 7, 40]] = -2
    labels["values"][:, face] = 4
    return labels


def test_loss_is_the_mean_square_over_tried_actions_worked_out_by_hand():
    """Targets 30 and -3 points: cut at 15, in units of 3 points 5 and -1; the network says ½ and -½, once centred."""
    network = new_network(NetworkConfig(8, 1), 0, 0)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        network.head.bias[5] = 1.0
        network.head.bias[9] = 77.0  # of an action that is not allowed
        network.head.bias[11] = 55.0  # of one that was not tried
    values = torch.full((1, 54), torch.nan)
    values[0, 5], values[0, 6], values[0, 11] = 30.0, -3.0, torch.inf
    masks = (~values.isnan()).to(torch.int8)
    loss, variance = batch_loss(network(torch.zeros((1, 1024), dtype=torch.int8), masks), values, FitConfig())
    assert float(loss.detach()) == pytest.approx(((5 - 0.5) ** 2 + (-1 + 0.5) ** 2) / 2)
    assert float(variance) == pytest.approx((25 + 1) / 2)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_fitted_network_prefers_what_its_labels_favour(kind):
    """In either floating type."""
    settings = FitConfig(batch_size=64, learning_rate=1e-2)
    network = new_network(NetworkConfig(16, 1), 0, 0)
    labels = labels_that_favour(7)
    progress = Fitter(network, settings, CPU, kind).fit(network, labels, 8, np.random.default_rng(0), 1e9)
    observations = torch.from_numpy(labels["observation"].copy())
    masks = torch.from_numpy((~np.isnan(labels["values"])).astype(np.int8))
    assert (network(observations, masks).argmax(dim=1) == 7).all()
    assert progress.loss < 0.5
    assert (progress.batches, progress.labels) == (64, 8 * 512)


def test_same_seed_gives_the_same_weights_and_another_seed_others():
    """Initial weights, order of the labels, everything."""
    settings = FitConfig(batch_size=64)

    def fitted(seed: int) -> torch.Tensor:
        network = new_network(NetworkConfig(8, 1), seed, 0)
        fitter = Fitter(network, settings, CPU, torch.float32)
        fitter.fit(network, labels_that_favour(3), 2, np.random.default_rng(seed), 1e9)
        return network.head.weight.detach()

    assert torch.equal(fitted(1), fitted(1))
    assert not torch.equal(fitted(1), fitted(2))


def test_fit_ends_when_its_time_is_over():
    """A thousand epochs in half a second: it stops, and the learning rate has come down."""
    network = new_network(NetworkConfig(8, 1), 0, 0)
    fitter = Fitter(network, FitConfig(batch_size=16), CPU, torch.float32)
    rates = []
    progress = fitter.fit(
        network,
        labels_that_favour(3),
        1000,
        np.random.default_rng(0),
        0.5,
        lambda each: rates.append(each.learning_rate),
    )
    assert 0 < progress.batches < 32000
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0]


def test_trial_chooses_one_of_the_two_types_and_leaves_the_network_alone():
    """It measures on a copy."""
    network = new_network(NetworkConfig(8, 1), 0, 0)
    before = network.head.weight.detach().clone()
    fitter = Fitter(network, FitConfig(), CPU)
    assert fitter.kind in (torch.float32, torch.bfloat16)
    assert fitter.labels_per_second > 0
    assert torch.equal(network.head.weight, before)


def test_delay_within_a_batch_changes_nothing(monkeypatch):
    """Weights of a run with time enough follow from its seed alone, however busy the machine is."""
    settings, labels = FitConfig(batch_size=64), labels_that_favour(7)

    def fitted() -> torch.Tensor:
        network = new_network(NetworkConfig(8, 1), 0, 0)
        Fitter(network, settings, CPU, torch.float32).fit(network, labels, 2, np.random.default_rng(0), 100.0)
        return torch.cat([weight.detach().flatten() for weight in network.parameters()])

    calm = fitted()
    clock = itertools.count(step=3)  # seconds that pass from look to look: the 16 batches take half of the time
    monkeypatch.setattr("training.fit.time.perf_counter", lambda: float(next(clock)))
    assert torch.equal(fitted(), calm)
