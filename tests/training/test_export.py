"""An exported network chooses the same cards, and says what it was made for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import baselines
from chearts_env import Rules, VectorTables
from training.checkpoint import save_checkpoint
from training.config import Config, NetworkConfig
from training.export import OnnxPolicy, export_onnx, main
from training.fit import new_network
from training.policy import NetworkPolicy

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
RULES = [preset(size) for preset in (Rules.card_page, Rules.classic) for size in range(6, 12)]


@pytest.mark.parametrize("careful", [False, True])
def test_exported_file_chooses_the_same_cards(tmp_path, careful):
    """At every decision of a hand of each size and reading, whatever the number of rows."""
    shape = NetworkConfig(32, 2, careful)
    network = new_network(shape, 3, 0)
    if network.constants is not None:
        network.constants["shed_leading"] = 2.5  # such as the network was fitted with, not those of today
    place = save_checkpoint(tmp_path / "run" / "checkpoints", network, Config(network=shape), 7)
    assert main([str(tmp_path / "run"), "-o", str(tmp_path / "policy.onnx")]) == 0
    exported, policy = OnnxPolicy(tmp_path / "policy.onnx"), NetworkPolicy.load(place, torch.float32)
    tables, rng = VectorTables(RULES, 24, seed=1), np.random.default_rng(0)
    different = 0
    for step in range(120):
        rows = slice(step % 5, 24)
        chosen = policy.act(tables.observations, tables.action_masks, rng)
        other = exported.act(tables.observations[rows], tables.action_masks[rows], rng)
        different += int((other != chosen[rows]).sum())
        tables.step(chosen)
    assert different == 0
    with pytest.raises(ValueError, match="row 0 allows no action"):
        exported.act(tables.observations, np.zeros_like(tables.action_masks), rng)


def test_pretrained_as_a_file_chooses_the_same_cards(tmp_path):
    """The network that is shipped, of full size: but where two cards are worth the same to a hundred-thousandth."""
    place = Path(baselines.__file__).parent / "pretrained"
    assert main([str(place), "-o", str(tmp_path / "policy.onnx")]) == 0
    exported, policy = OnnxPolicy(tmp_path / "policy.onnx"), NetworkPolicy.load(place, torch.float32)
    tables, rng = VectorTables(RULES, 48, seed=1), np.random.default_rng(0)
    for _ in range(120):
        chosen = policy.act(tables.observations, tables.action_masks, rng)
        other = exported.act(tables.observations, tables.action_masks, rng)
        worths, rows = policy.worths(tables.observations, tables.action_masks), np.arange(48)
        np.testing.assert_allclose(worths[rows, other], worths[rows, chosen], atol=1e-5)
        tables.step(chosen)


def test_file_for_other_observations_is_refused(tmp_path):
    """As a checkpoint is."""
    export_onnx(new_network(NetworkConfig(8, 1), 0, 0), tmp_path / "policy.onnx", 2)
    with pytest.raises(ValueError, match="these are of version 2"):
        OnnxPolicy(tmp_path / "policy.onnx")


def test_what_is_no_checkpoint_is_named(tmp_path, capsys):
    """And nothing is written."""
    assert main([str(tmp_path), "-o", str(tmp_path / "policy.onnx")]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert not (tmp_path / "policy.onnx").exists()
