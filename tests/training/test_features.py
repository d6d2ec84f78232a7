"""Features and answers on a CPU, by kernels: the same as torch's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from baselines.careful.judgements import judgements
from baselines.careful.weights import new_weights
from chearts_env import Rules, VectorTables
from chearts_env.cards import NUM_FACES
from chearts_env.observation import field_values
from chearts_env.table import MOON
from tests.training.test_network import tables_at_step
from training.cpu_network import CpuNetwork
from training.features import dense_features
from training.network import Network
from training.policy import NetworkPolicy

#: What no preset has, or seldom comes to: far passes and none, kitties to be seen, moons of many points.
ODD_RULES: list[dict[str, Any]] = [
    *({"pass_cycle": (offset,)} for offset in (0, 2, -2, 3, -3, 4, -4, 5, -5)),
    {"kitty_view": "everyone", "moon_points": 200},
    {"kitty_view": "winner", "kitty_to": "last_winner", "last_trick_set_aside": "leader", "moon": "off"},
    {"hearts_break": "always", "opening_lead": "any", "set_aside_leader": "left", "target_score": 1000},
]
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


@pytest.mark.parametrize("options", ODD_RULES, ids=str)
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
def test_kernel_makes_every_feature_under_odd_rules(kind, options):
    """From the deal to the last trick, in both floating types."""
    tables = VectorTables([Rules(size, **options) for size in range(6, 12)], 12, seed=3)
    rng = np.random.default_rng(3)
    expansion, network = Network(8, 1).expansion.to(kind), Network(8, 1)
    network.expansion.to(kind)
    for step in range(150):
        if step % 5 == 0:
            expected = expansion(torch.from_numpy(tables.observations), torch.from_numpy(tables.action_masks))
            assert torch.equal(network.features(tables.observations, tables.action_masks), expected)
        tables.step((tables.action_masks * (1 + rng.random(tables.action_masks.shape))).argmax(axis=1))


def test_kernel_makes_every_feature_where_a_moon_is_settled():
    """No cards are allowed then, and `careful` judges none (R21)."""
    tables = tables_at_step(100)
    observations, masks = tables.observations.copy(), np.zeros_like(tables.action_masks)
    field_values(observations, "phase")[:] = np.eye(4, dtype=np.int8)[MOON]
    masks[:, NUM_FACES:] = 1
    network = Network(8, 1, careful=True)
    features = network.features(observations, masks)
    assert torch.equal(features, network.expanded(*network.inputs(observations, masks)))


def test_features_without_those_of_cards_are_blind_to_them_alone():
    """As torch makes them."""
    tables = tables_at_step(40)
    network = Network(8, 1, careful=True, card_features=False)
    inputs = network.inputs(tables.observations, tables.action_masks)
    assert torch.equal(network.features(tables.observations, tables.action_masks), network.expanded(*inputs))


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


def test_one_unit_wide_network_is_no_view_of_the_weights():
    """Transposed, a single row is in order already; without features of cards its weights are set to 0, in a copy."""
    network = made_network({"width": 1, "num_layers": 1, "card_features": False})
    before = network.body[0].weight.clone()  # type: ignore[operator]
    answers, tables = CpuNetwork(network, torch.float32), tables_at_step(40)
    assert torch.equal(network.body[0].weight, before)  # type: ignore[arg-type]
    worths = answers.worths(tables.observations, tables.action_masks)
    with torch.no_grad():
        network.body[0].weight.add_(1.0)  # type: ignore[operator]
    np.testing.assert_array_equal(answers.worths(tables.observations, tables.action_masks), worths)


def test_floating_type_that_no_kernel_writes_is_refused():
    """Rather than to be taken for the other one."""
    network, tables = made_network(SHAPES[0]), tables_at_step(0)
    with pytest.raises(ValueError, match=r"float32 or bfloat16, not in torch\.float64"):
        CpuNetwork(network, torch.float64)
    with pytest.raises(ValueError, match=r"float32 or bfloat16, not in torch\.float16"):
        network.half().features(tables.observations, tables.action_masks)


def test_threads_that_share_a_policy_get_its_answers():
    """Kernels run without the GIL, so each call needs room of its own."""
    policy = NetworkPolicy(made_network(SHAPES[2]))
    batches = [tables_at_step(steps, seed=steps) for steps in STEPS]
    alone = [policy.worths(tables.observations, tables.action_masks) for tables in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = pool.map(lambda tables: policy.worths(tables.observations, tables.action_masks), batches)
            for expected, worths in zip(alone, together, strict=True):
                np.testing.assert_array_equal(worths, expected)


def test_first_layer_without_weights_is_no_division_by_zero():
    """Integers stand for shares of a column's largest weight, which may be 0."""
    network = made_network(SHAPES[0])
    with torch.no_grad():
        network.body[0].weight.zero_()  # type: ignore[operator]
    tables = tables_at_step(40)
    worths = CpuNetwork(network, torch.bfloat16).worths(tables.observations, tables.action_masks)
    assert not np.isnan(worths).any()
