"""Runs with all stages, shrunken: the configurations that take hours, and self-play that is interrupted and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from training import train, trainer
from training.checkpoint import latest_checkpoint, load_checkpoint
from training.command import INTERRUPTED
from training.plot import read_curve
from training.self_play import SelfPlay

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    # TensorBoard and what it brings warn of their own ways with NumPy and protobuf.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SHRUNKEN = [
    "workers=0", "precision=float32", "network.width=16", "network.num_layers=1", "labels.tables=48",
    "fit.batch_size=64", "ppo.hands=24", "ppo.batch_size=256", "ppo.warm_up=1", "ppo.critic_width=16",
    "evaluation.deals=2", "evaluation.early_deals=2",
    "evaluation.opponents=[low_card]",
]  # fmt: skip


def run(config: Path, runs: Path, *overrides: str) -> tuple[int, Path]:
    """Exit status and folder of a shrunken run."""
    status = train.main([str(config), *SHRUNKEN, *overrides, "--runs", str(runs)])
    (folder,) = runs.iterdir()
    return status, folder


def final_weights(folder: Path) -> torch.Tensor:
    """Of the newest checkpoint, in one row."""
    network = load_checkpoint(latest_checkpoint(folder)).network
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("gpu", "[300,200,200]"),
        ("cluster", "[300,200,200]"),
        ("from_rules", "[300,200,200]"),
        ("strong", "[300,200]"),
    ],
)
def test_configuration_runs_in_a_shrunken_form(name, counts, tmp_path):
    """Every stage of it, the report included."""
    pieces = ["ppo.pieces=3"] if name == "cluster" else []
    status, folder = run(
        CONFIGS / f"{name}.yaml", tmp_path, f"labels.counts={counts}", "ppo.iterations=3", "sizes=[6,11]", *pieces
    )
    assert status == 0
    assert len(json.loads((folder / "table.json").read_text("utf-8"))) == 4
    stages = {line.split(",")[2] for line in (folder / "metrics.csv").read_text("utf-8").splitlines()}
    assert stages == {"stage", "labels", "fit", "early", "self-play", "report"}
    assert read_curve(folder).points[-1].decisions > 1000


def test_self_play_alone_needs_no_labels(tmp_path):
    """From fresh weights, without rounds."""
    status, folder = run(CONFIGS / "from_rules.yaml", tmp_path, "labels.counts=[]", "ppo.iterations=2", "sizes=[6]")
    assert status == 0
    assert len(list((folder / "checkpoints").iterdir())) == 3  # untrained, and after each iteration


def test_interrupted_self_play_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    """The process dies between two saves; what was lost is done again, and nothing twice."""
    overrides = ("labels.counts=[300]", "ppo.iterations=4", "sizes=[6]")
    _, whole = run(CONFIGS / "quick.yaml", tmp_path / "whole", *overrides)
    iterate = SelfPlay.iterate

    def dying(self: SelfPlay) -> dict[str, float]:
        if self.iteration == 3:
            raise KeyboardInterrupt
        return iterate(self)

    monkeypatch.setattr(trainer, "_SAVES_IN_ALL", 2)
    monkeypatch.setattr(SelfPlay, "iterate", dying)
    status, broken = run(CONFIGS / "quick.yaml", tmp_path / "broken", *overrides)
    assert status == INTERRUPTED
    monkeypatch.undo()
    assert not torch.equal(final_weights(broken), final_weights(whole))
    assert train.main(["--resume", str(broken)]) == 0
    assert torch.equal(final_weights(broken), final_weights(whole))
