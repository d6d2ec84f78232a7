"""Features and answers on a CPU, by kernels: the same as torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from baselines.careful.judgements import judgements
from baselines.careful.weights import new_weights
from tests.training.test_network import tables_at_step
from training.cpu_network import CpuNetwork
from training.features import dense_features
from training.network import Network

#: From the first cards passed to the last trick of the smallest tables.
STEPS = (0, 9, 20, 33, 45, 61, 77, 90, 100, 110, 117)
SHAPES = [
    {"width": 16, "num_layers": 2},
    {"width": 7, "num_layers": 1},
    {"width": 16, "num_layers": 3, "careful": True},
    {"width": 9, "num_layers": 2, "careful": True, "card_features": False},
]


def made_network(shape: dict[str, int], scale: float = 1.0) -> Network:
    """A network of random weights, those of the path of the cards not small either."""
    torch.manual_seed(5)
    network = Network(**shape).eval()  # type: ignore[arg-type]
    with torch.no_grad():
        network.card_path.bias.normal_().mul_(scale)
    return network


@pytest.mark.parametrize("steps", STEPS)
def test_kernel_makes_every_feature_that_the_expansion_makes(steps):
    """All sizes and presets, to the last bit; and the judgements behind them."""
    tables = tables_at_step(steps, seed=steps)
    network = Network(8, 1, careful=True)
    expected = network.expanded(*network.inputs(tables.observations, tables.action_masks))
    assert torch.equal(network.features(tables.observations, tables.action_masks), expected)


def test_features_in_bfloat16_are_the_others_rounded():
    """To the nearest, and of two as near to the even one, as torch does."""
    tables = tables_at_step(50)
    judged = judgements(tables.observations, tables.action_masks, new_weights())
    judged[:20] = 1 + np.random.default_rng(0).integers(0, 512, judged[:20].shape) / 512  # a quarter lie in the middle
    made = [
        dense_features(tables.observations, tables.action_masks, judged, kind)
        for kind in (torch.float32, torch.bfloat16)
    ]
    assert made[1].dtype == torch.bfloat16
    assert torch.equal(made[0].to(torch.bfloat16), made[1])
    assert not torch.equal(made[0], made[1].float())


def test_features_take_rows_that_do_not_lie_in_one_piece():
    """As rows of labels do not."""
    tables = tables_at_step(30)
    network = Network(8, 1)
    features = network.features(tables.observations, tables.action_masks)
    assert torch.equal(network.features(tables.observations[::2], tables.action_masks[::2]), features[::2])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
def test_answers_on_a_cpu_are_those_of_the_network(kind, shape):
    """By another order of the same sums: within rounding, minus infinity at the same places."""
    network = made_network(shape)
    answers = CpuNetwork(network, kind)
    for steps in STEPS:
        tables = tables_at_step(steps, seed=steps)
        with torch.inference_mode():
            expected = network(*network.inputs(tables.observations, tables.action_masks)).numpy()
        worths = answers.worths(tables.observations, tables.action_masks)
        error = 1e-5 if kind == torch.float32 else 0.02
        np.testing.assert_allclose(worths, expected, rtol=error, atol=error)


def test_answers_do_not_change_with_the_network():
    """A snapshot stays what it was, however the weights are trained on."""
    network = made_network(SHAPES[2])
    answers, tables = CpuNetwork(network, torch.float32), tables_at_step(40)
    before = answers.worths(tables.observations, tables.action_masks)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(1.0)
    np.testing.assert_array_equal(answers.worths(tables.observations, tables.action_masks), before)


def test_first_layer_without_weights_is_no_division_by_zero():
    """Integers stand for shares of a column's largest weight, which may be 0."""
    network = made_network(SHAPES[0])
    with torch.no_grad():
        network.body[0].weight.zero_()  # type: ignore[operator]
    tables = tables_at_step(40)
    worths = CpuNetwork(network, torch.bfloat16).worths(tables.observations, tables.action_masks)
    assert not np.isnan(worths).any()
