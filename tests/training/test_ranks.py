"""Two processes that learn together, as `torchrun` starts them, end where one does that has the whole of every batch.

Equal as far as floats can be: the same terms are added in another order. A gradient then differs by about 1e-7 of its
size, and Adam, which divides by that size, makes more of it where a gradient is next to nothing; over all weights the
difference stays below a ten-thousandth of the way they went.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from baselines.random_legal import RandomLegal
from tests.training.test_ppo import rollout_of
from training import train
from training.checkpoint import FOLDER, load_checkpoint
from training.config import PpoConfig, read_config
from training.critic import Critic
from training.followers import LearnTask, follow
from training.labels import LABEL
from training.network import Network
from training.ppo import Learner
from training.ranks import ALONE, Ranks, joined_ranks, leave
from training.run_folder import RunFolder

pytestmark = [
    pytest.mark.train,
    # TensorBoard and what it brings warn of their own ways with NumPy and protobuf.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
ROOT = Path(__file__).resolve().parents[2]
EQUAL = 1e-4
TINY = """
name: tiny
seed: 5
sizes: [6]
presets: [classic]
workers: 0
precision: float32
seconds: 1000
network: {width: 32, num_layers: 2, careful: true}
labels: {counts: [1000], tables: 48, playouts: 1}
fit: {epochs: 3, batch_size: 63}
ppo: {iterations: 2, hands: 24, batch_size: 256, warm_up: 1}
evaluation: {opponents: [low_card], deals: 2, early_deals: 2}
"""


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What a command says, run by two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)


def weights_of(module: torch.nn.Module) -> torch.Tensor:
    """All weights in one row."""
    return torch.cat([weight.detach().flatten() for weight in module.parameters()])


def difference(ours: torch.Tensor, theirs: torch.Tensor, start: torch.Tensor) -> float:
    """How far two results lie apart, as a share of the way from the start."""
    return float((ours - theirs).norm() / (theirs - start).norm())


# Whole runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of one run each, by one process and by two."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "tiny.yaml").write_text(TINY, "utf-8")
    assert train.main([str(folder / "tiny.yaml"), "--runs", str(folder / "one")]) == 0
    done = torchrun("-m", "training.train", str(folder / "tiny.yaml"), "--runs", str(folder / "two"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("run folder: ") == 2  # at the start and at the end, by the first process only
    (one,), (two,) = (list((folder / name).iterdir()) for name in ("one", "two"))
    return one, two


def rows_of(run: Path, stage: str) -> list[dict[str, str]]:
    """The metrics of a stage."""
    with (run / "metrics.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["stage"] == stage]


def test_fit_by_two_processes_is_that_by_one(runs: tuple[Path, Path]) -> None:
    """Batches of 63, of which the two hold now more, now fewer."""
    start, fitted = "00000000", json.loads((runs[0] / "state.json").read_text("utf-8"))["checkpoints"][0]
    before, one, two = (
        weights_of(load_checkpoint(run / FOLDER / step).network)
        for run, step in ((runs[0], start), (runs[0], fitted), (runs[1], fitted))
    )
    assert difference(two, one, before) < EQUAL
    last_one, last_two = (rows_of(run, "fit")[-1] for run in runs)
    assert last_one["labels"] == last_two["labels"]
    assert float(last_one["loss"]) == pytest.approx(float(last_two["loss"]), abs=2e-5)


def test_run_by_two_processes_goes_through_all_stages(runs: tuple[Path, Path]) -> None:
    """Self-play included; each checkpoint and each line was written once."""
    one, two = ([path.name for path in sorted((run / FOLDER).iterdir())] for run in runs)
    assert one == two
    assert len(rows_of(runs[1], "self-play")) == 2
    assert len(rows_of(runs[1], "report")) == 1
    assert json.loads((runs[1] / "state.json").read_text("utf-8"))["is_finished"]


def test_wrong_command_line_ends_all_processes(tmp_path: Path) -> None:
    """With the one line of the first."""
    done = torchrun("-m", "training.train", str(tmp_path / "nothing.yaml"))
    assert done.returncode != 0
    assert "train: there is no configuration" in done.stderr
    assert done.stderr.count("train: there is no") == 1


def test_process_that_torchrun_did_not_start_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where something else has set one of its variables."""
    for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConnectionError, match="WORLD_SIZE is set and RANK is not: torchrun sets both"):
        joined_ranks()


@dataclass(frozen=True)
class Fails:
    """Work in whose midst something goes wrong."""

    message: str

    def do(self, ranks: Ranks) -> None:
        raise RuntimeError(self.message)


class Follower(Ranks):
    """A process that gets one task."""

    def __init__(self, task: Any) -> None:
        super().__init__(1, 2)
        self._task = task

    def of_first(self, value: Any = None) -> Any:
        return self._task


def test_first_process_that_goes_in_the_midst_of_work_is_told_in_a_line() -> None:
    """And what is wrong with the work itself comes out as it is."""
    lost = (
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:538] Read error [127.0.0.1]:1: Connection reset by peer\nmore"
    )
    with pytest.raises(ConnectionError, match=r"process 1 ends, for the first is gone: .* reset by peer$"):
        follow(Follower(Fails(lost)))
    with pytest.raises(RuntimeError, match="the loss is no number"):
        follow(Follower(Fails("the loss is no number")))


# Updates of self-play

PROGRAM = """
    import sys
    from pathlib import Path
    import torch
    from tests.training.test_ranks import updates
    from training.ranks import joined_ranks

    torch.set_num_threads(1)
    updates(joined_ranks(), Path(sys.argv[1]))
"""


def updates(ranks: Ranks, file: Path) -> None:
    """Make three updates, the first of the critic alone; the first process writes what came of it."""
    if ranks.rank:
        follow(ranks)
        leave()
        return
    settings = PpoConfig(batch_size=100, epochs=2)
    torch.manual_seed(0)
    policy = Network(width=32, num_layers=1)
    critic = Critic(policy.num_features, 32)
    learner = Learner(policy, critic, settings, torch.device("cpu"), torch.float32, ranks)
    start = [weights_of(learner.policy), weights_of(learner.critic)]
    ranks.of_first(LearnTask(*learner.networks(), settings, "cpu", torch.float32, 1, learner.state()))
    told = [
        learner.update(rollout_of(RandomLegal(), seed), 0.5, np.random.default_rng(seed), learns=seed > 0)
        for seed in range(3)
    ]
    ranks.of_first(0)
    ranks.of_first(None)
    leave()
    torch.save((start, [weights_of(learner.policy), weights_of(learner.critic)], told), file)


def test_updates_by_two_processes_are_those_by_one(tmp_path: Path) -> None:
    """Policy, critic and all that is told, from hands of several sizes and minibatches of odd shares."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), "utf-8")
    updates(ALONE, tmp_path / "one.pt")
    done = torchrun(str(program), str(tmp_path / "two.pt"))
    assert done.returncode == 0, done.stderr
    starts, ones, told_one = torch.load(tmp_path / "one.pt")
    _, twos, told_two = torch.load(tmp_path / "two.pt")
    for start, one, two in zip(starts, ones, twos, strict=True):
        assert difference(two, one, start) < EQUAL
    for one, two in zip(told_one, told_two, strict=True):
        assert one.keys() == two.keys()
        for name, value in one.items():
            assert two[name] == pytest.approx(value, rel=1e-3, abs=1e-5), name


# Shares


def test_every_row_is_held_once() -> None:
    """Whatever the number of processes; counted from 0 in each."""
    order = np.random.default_rng(0).permutation(101)
    held = [Ranks(rank, 3).own(order) * 3 + rank for rank in range(3)]
    assert sorted(np.concatenate(held)) == list(range(101))
    np.testing.assert_array_equal(held[1], order[order % 3 == 1])
    np.testing.assert_array_equal(ALONE.own(order), order)


def test_labels_of_a_folder_are_read_in_shares(tmp_path: Path) -> None:
    """Each process reads every so many-th of them, counted through all chunks."""
    (tmp_path / "tiny.yaml").write_text(TINY, "utf-8")
    folder = RunFolder.create(tmp_path, read_config(tmp_path / "tiny.yaml"))
    made = np.zeros(23, LABEL)
    made["observation"][:, 0] = np.arange(23)
    for number, part in enumerate((made[:7], made[7:8], made[8:20], made[20:])):
        folder.save_chunk(0 if number < 3 else 1, number % 3, part)
    assert folder.count_labels([3, 1]) == 23
    np.testing.assert_array_equal(folder.load_labels([3, 1]), made)
    for rank in range(4):
        np.testing.assert_array_equal(folder.load_labels([3, 1], rank, 4), made[rank::4])


# What cannot be


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that share one would only wait for each other."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="2 processes learn on this machine and it has 1 GPUs"):
        Ranks(0, 2, 0, 2).device("cuda")


def test_gpus_without_nccl_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients on GPUs are added by NCCL; some builds of torch have none."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: False)
    with pytest.raises(ValueError, match="no NCCL"):
        Ranks(0, 2, 0, 2).device("cuda")


def test_first_process_that_does_not_answer_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that is taken, or a machine that is gone."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ConnectionError, match="process 0 of 2 that torchrun started cannot join the others"):
        joined_ranks()
