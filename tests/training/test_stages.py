"""Runs with all stages, shrunken: the configurations that take hours, and self-play that is interrupted and resumed."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from training import critic_stage, train, trainer
from training.checkpoint import CRITIC, latest_checkpoint, load_checkpoint
from training.command import INTERRUPTED
from training.labels import Labels
from training.plot import read_curve
from training.run_folder import RunFolder
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


def metrics(folder: Path) -> list[dict[str, str]]:
    """The rows of a run's metrics."""
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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
        ("foresight", "[300,200]"),
    ],
)
def test_configuration_runs_in_a_shrunken_form(name, counts, tmp_path):
    """Every stage of it, the report included."""
    more = {"cluster": ["ppo.pieces=3"], "foresight": ["critic.decisions=3000", "critic.tables=24", "critic.width=16"]}
    overrides = [f"labels.counts={counts}", "ppo.iterations=3", "sizes=[6,11]", *more.get(name, [])]
    status, folder = run(CONFIGS / f"{name}.yaml", tmp_path, *overrides)
    assert status == 0
    assert len(json.loads((folder / "table.json").read_text("utf-8"))) == 4
    stages = {line.split(",")[2] for line in (folder / "metrics.csv").read_text("utf-8").splitlines()}
    critics = {"critic"} if name == "foresight" else set()
    assert stages == {"stage", "labels", "fit", "early", "self-play", "report"} | critics
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
    decisions = [int(float(row["decisions"])) for row in metrics(broken) if row["stage"] == "self-play"]
    assert decisions == [int(float(row["decisions"])) for row in metrics(whole) if row["stage"] == "self-play"]


WITH_CRITIC = (
    "labels.counts=[300,200]", "labels.network_playouts=1", "critic.decisions=2000", "critic.width=16",
    "critic.tables=6", "critic.batch_size=64", "sizes=[6]",
)  # fmt: skip


def dying_in_round_two(save_chunk: Callable[..., None], number: int = 0) -> Callable[..., None]:
    """What saves chunks of labels, and breaks off at one of the second round."""

    def dying(self: RunFolder, round_number: int, place: int, labels: Labels) -> None:
        if (round_number, place) == (1, number):
            raise KeyboardInterrupt
        save_chunk(self, round_number, place, labels)

    return dying


@pytest.mark.parametrize("dies_at", [0, 1])
def test_critic_of_an_interrupted_run_is_kept_and_the_run_ends_the_same(dies_at, tmp_path, monkeypatch):
    """Stopped while the critic ends playouts: it is not fitted again, and the last weights are the same."""
    _, whole = run(CONFIGS / "quick.yaml", tmp_path / "whole", *WITH_CRITIC)
    monkeypatch.setattr(RunFolder, "save_chunk", dying_in_round_two(RunFolder.save_chunk, dies_at))
    status, broken = run(CONFIGS / "quick.yaml", tmp_path / "broken", *WITH_CRITIC)
    assert status == INTERRUPTED
    monkeypatch.undo()
    monkeypatch.setattr(critic_stage, "fit_critic", None)  # calling it would end the run
    assert train.main(["--resume", str(broken)]) == 0
    assert torch.equal(final_weights(broken), final_weights(whole))
    told, again = (
        [int(float(row["decisions"])) for row in metrics(folder) if row["stage"] == "critic"]
        for folder in (whole, broken)
    )
    assert told == again
    assert told[-1] >= 2000
    assert len(told) > 2
    assert not (broken / "critics").exists()
    assert (latest_checkpoint(broken) / CRITIC).read_bytes() == (latest_checkpoint(whole) / CRITIC).read_bytes()
    without = [each for each in WITH_CRITIC if "decisions" not in each]
    _, plain = run(CONFIGS / "quick.yaml", tmp_path / "plain", *without)
    assert not torch.equal(final_weights(plain), final_weights(whole))


def test_critic_that_a_power_cut_left_half_written_is_fitted_again(tmp_path, monkeypatch):
    """The run that goes on ends with the same weights."""
    _, whole = run(CONFIGS / "quick.yaml", tmp_path / "whole", *WITH_CRITIC)
    monkeypatch.setattr(RunFolder, "save_chunk", dying_in_round_two(RunFolder.save_chunk))
    _, broken = run(CONFIGS / "quick.yaml", tmp_path / "broken", *WITH_CRITIC)
    monkeypatch.undo()
    path = broken / "critics" / "1.safetensors"
    path.write_bytes(path.read_bytes()[:50])
    assert train.main(["--resume", str(broken)]) == 0
    assert torch.equal(final_weights(broken), final_weights(whole))


def test_workers_end_playouts_by_the_same_critic(tmp_path):
    """Two processes, or none: the same weights."""
    _, here = run(CONFIGS / "quick.yaml", tmp_path / "here", *WITH_CRITIC)
    _, elsewhere = run(CONFIGS / "quick.yaml", tmp_path / "elsewhere", *WITH_CRITIC, "workers=2")
    assert torch.equal(final_weights(here), final_weights(elsewhere))


@pytest.mark.parametrize("goes_on", [True, False])
def test_fit_goes_on_from_the_round_before_where_it_is_to(goes_on, tmp_path):
    """Learning next to nothing, the second network is the first one, or another draw of fresh weights."""
    overrides = ("labels.counts=[200,150]", "sizes=[6]", "fit.learning_rate=1e-12", "fit.weight_decay=0")
    _, folder = run(CONFIGS / "quick.yaml", tmp_path, *overrides, f"fit.goes_on={goes_on}")
    first, second = sorted((folder / "checkpoints").iterdir())[-2:]
    one, other = load_checkpoint(first).network, load_checkpoint(second).network
    assert torch.allclose(one.head.weight, other.head.weight, atol=1e-6) == goes_on


def test_fit_takes_the_labels_of_the_latest_rounds(tmp_path, monkeypatch):
    """`fit.rounds=2` of three: the first round's labels are left out of the last fit, and of that alone."""
    asked = []
    load_labels = RunFolder.load_labels

    def noting(self: RunFolder, chunks: list[int], *part: int) -> Labels:
        asked.append([count > 0 for count in chunks])
        return load_labels(self, chunks, *part)

    monkeypatch.setattr(RunFolder, "load_labels", noting)
    run(CONFIGS / "quick.yaml", tmp_path, "labels.counts=[200,150,100]", "sizes=[6]", "fit.rounds=2")
    assert asked == [[True], [True, True], [False, True, True]]


@pytest.mark.parametrize("dies_at", [1, 2])
def test_early_matches_that_did_not_come_about_are_played_by_the_resumed_run(dies_at, tmp_path, monkeypatch):
    """Stopped between a fit and its matches, after the last round too: no point of the learning curve is missing."""
    play_early = trainer.Trainer._play_early

    def dying(self: trainer.Trainer, round_number: int, workers: object) -> None:
        if round_number == dies_at:
            raise KeyboardInterrupt
        play_early(self, round_number, workers)  # type: ignore[arg-type]

    monkeypatch.setattr(trainer.Trainer, "_play_early", dying)
    status, folder = run(CONFIGS / "quick.yaml", tmp_path, "labels.counts=[300,200]", "sizes=[6]")
    assert status == INTERRUPTED
    monkeypatch.undo()
    assert train.main(["--resume", str(folder)]) == 0
    early = [row["round"] for row in metrics(folder) if row["stage"] == "early"]
    assert early == ["1", "1", "2", "2"]  # both readings of the rules
    rows = metrics(folder)
    assert [float(row["seconds"]) for row in rows] == sorted(float(row["seconds"]) for row in rows)
    assert [row["stage"] for row in rows if row["stage"] == "labels"] == ["labels"] * 2


def test_killed_run_goes_on_to_the_same_weights(tmp_path):
    """SIGKILL at three moments, in bfloat16 and with two threads that fit: the end is that of a run left alone."""
    settings = [
        "precision=bfloat16",
        "threads=2",
        "labels.counts=[400,300]",
        "fit.epochs=3",
        "sizes=[6]",
        "network.width=64",
    ]
    command = [sys.executable, "-m", "training.train"]
    overrides = [each for each in (*SHRUNKEN, *settings) if each not in ("precision=float32", "network.width=16")]
    begun = [*command, str(CONFIGS / "quick.yaml"), *overrides, "--runs"]
    subprocess.run([*begun, str(tmp_path / "whole")], check=True, cwd=CONFIGS.parent, stdout=subprocess.DEVNULL)
    (whole,) = (tmp_path / "whole").iterdir()
    runs, kills = tmp_path / "killed", 0
    process = subprocess.Popen([*begun, str(runs)], cwd=CONFIGS.parent, stdout=subprocess.DEVNULL)
    while kills < 3 and process.poll() is None:
        before = written(runs)
        while process.poll() is None and written(runs) == before:
            time.sleep(0.002)
        process.kill()
        process.wait()
        kills += 1
        (killed,) = runs.iterdir()
        load_checkpoint(killed)
        resumed = [*command, "--resume", str(killed)]
        process = subprocess.Popen(resumed, cwd=CONFIGS.parent, stdout=subprocess.DEVNULL)
    assert process.wait() == 0
    assert kills == 3
    assert torch.equal(final_weights(killed), final_weights(whole))
    assert [row["stage"] for row in metrics(killed)].count("early") == 4


def written(runs: Path) -> list[str]:
    """What has been written of the run in a folder: the state, once there is a checkpoint, and the labels."""
    states = [
        path.read_text("utf-8") for path in runs.glob("*/state.json") if any(runs.glob("*/checkpoints/????????/*"))
    ]
    return states + [path.name for path in runs.glob("*/labels/*.npy")]
