"""Training on a Ray cluster of two nodes, each a set of processes of its own, ends with the weights of a local run.

Whatever dies on the way: an actor, or the head with all its actors.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chearts_env import Rules, VectorTables
from training import train
from training.checkpoint import load_checkpoint
from training.ray_cluster import brief, join
from training.ray_workers import RayWorkers, _Actor

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # other people's code warns of other people's code
]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120
TINY = """
name: tiny
seed: 5
sizes: [6]
presets: [classic]
workers: 1
precision: float32
threads: 1
seconds: 1000
network: {width: 32, num_layers: 1}
labels: {counts: [500, 100], tables: 12, playouts: 30}
fit: {epochs: 1, epochs_between: 1, batch_size: 64}
ppo: {iterations: 2, hands: 12, pieces: 3, batch_size: 256, warm_up: 1, snapshots: 0.4}
evaluation: {opponents: [low_card], deals: 2, early_deals: 2}
"""


@pytest.fixture(autouse=True, scope="module")
def surroundings() -> Iterator[None]:
    """What every process of a cluster is started with: no files in the home folder, short patience with a dead head."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "5")
        yield


def arguments(folder: Path, *more: str) -> list[str]:
    """Of a tiny run whose folder is made in `folder`."""
    folder.mkdir(exist_ok=True)
    path = folder / "tiny.yaml"
    path.write_text(TINY, "utf-8")
    return [str(path), *more, "--runs", str(folder / "runs")]


# Addresses


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes calls and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_address_at_which_nobody_answers_is_refused_in_seconds(tmp_path: Path, capsys: Any) -> None:
    """In one line, and no run folder is made."""
    began = time.monotonic()
    assert train.main(arguments(tmp_path, "--ray", "127.0.0.1:1")) == 2
    assert time.monotonic() - began < 10
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("train: --ray 127.0.0.1:1: nobody answers there")
    assert not (tmp_path / "runs").exists()


def test_what_answers_and_is_no_head_is_refused_in_seconds(silent: str, tmp_path: Path, capsys: Any) -> None:
    """Ray itself would try for minutes."""
    began = time.monotonic()
    assert train.main(arguments(tmp_path, "--ray", silent)) == 2
    assert time.monotonic() - began < 40
    assert f"--ray {silent}: what answers there is no Ray head" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ray", "somewhere"], "--ray somewhere is not allowed: it must be auto, local, or HOST:PORT"),
        (["--ray", "ray://somewhere:10001"], "--ray ray://somewhere:10001 is not allowed"),
        (["--ray", "local", "workers=0"], "workers=0 is not allowed with --ray local"),
    ],
)
def test_wrong_command_line_is_answered_in_one_line(more: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    """No traceback for the user, no run folder."""
    assert train.main(arguments(tmp_path, *more)) == 2
    assert f"train: {message}" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_no_cluster_to_join_is_said_in_one_line(tmp_path: Path, capsys: Any) -> None:
    """Where none runs on this machine; that of this file begins below."""
    if importlib.import_module("ray._private.services").find_gcs_addresses():
        pytest.skip("a Ray cluster runs on this machine")
    assert train.main(arguments(tmp_path, "--ray", "auto")) == 2
    assert "train: --ray auto: no Ray cluster could be joined" in capsys.readouterr().err


# Work


def new_cluster() -> Any:
    """Two nodes with one core each."""
    node = {"num_cpus": 1, "object_store_memory": 100_000_000}
    made = importlib.import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={**node, "include_dashboard": False}
    )
    made.add_node(**node)
    return made


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster that stands for as long as the tests of this file."""
    made = new_cluster()
    yield made
    made.shutdown()


@pytest.fixture(scope="class")
def workers(cluster: Any) -> Iterator[RayWorkers]:
    """Two workers, so one on each node."""
    join(cluster.address)
    with RayWorkers(2) as made:
        yield made


@dataclass(frozen=True)
class Where:
    """Say on which node this is done."""

    number: int

    def __call__(self) -> tuple[int, str]:
        time.sleep(0.05)
        return self.number, importlib.import_module("ray").get_runtime_context().get_node_id()


@dataclass(frozen=True)
class Dies:
    """Take the process with it, each time or the first time only, in the midst of other work."""

    folder: Path
    number: int
    is_fatal: Callable[[int, bool], bool] = lambda number, is_new: True

    def __call__(self) -> int:
        mark = self.folder / str(self.number)
        is_new = not mark.exists()
        mark.touch()
        if self.is_fatal(self.number, is_new):
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number


class FailsOnOneNode(_Actor):
    """Cannot begin but on the first node."""

    def begin(self) -> dict[str, str]:
        """Say what it is made of."""
        ray = importlib.import_module("ray")
        first = min(node["NodeID"] for node in ray.nodes() if node["Alive"])
        if ray.get_runtime_context().get_node_id() != first:
            raise OSError("no disk is left here")
        return super().begin()


class TestTwoWorkers:
    """Actors, one on each node."""

    def test_results_come_in_the_order_of_the_work_from_both_nodes(self, workers: RayWorkers) -> None:
        """As from local processes, more of it than is begun ahead."""
        numbers, nodes = zip(*workers.in_order(Where(number) for number in range(40)), strict=True)
        assert numbers == tuple(range(40))
        assert len(set(nodes)) == 2

    def test_what_is_left_of_an_order_does_not_turn_up_in_the_next(self, workers: RayWorkers) -> None:
        """A round of labels ends while more are being made."""
        for number, _ in workers.in_order(map(Where, count())):
            if number == 3:
                break
        assert [number for number, _ in workers.in_order(Where(number) for number in range(100, 104))] == [
            *range(100, 104)
        ]

    def test_lost_work_is_done_again_and_comes_out_once(self, workers: RayWorkers, tmp_path: Path, capsys: Any) -> None:
        """Workers die one after the other, the one that waits for its turn with them."""
        works = [Dies(tmp_path, number, lambda number, is_new: is_new and number in (2, 3, 7)) for number in range(12)]
        assert list(workers.in_order(works)) == list(range(12))
        assert capsys.readouterr().out.count("a worker has died and is replaced") == 3

    def test_work_that_kills_every_worker_is_given_up(self, workers: RayWorkers, tmp_path: Path) -> None:
        """In one line, not for ever."""
        with pytest.raises(ConnectionError, match="5 workers died with the same work"):
            list(workers.in_order([Dies(tmp_path, 0)]))

    def test_what_work_itself_raises_comes_out_as_it_is(self, workers: RayWorkers) -> None:
        """It would raise again."""
        with pytest.raises(ZeroDivisionError):
            list(workers.in_order([lambda: 1 // 0]))


def test_machine_on_which_no_worker_can_begin_is_done_without(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """After five trials; why it cannot is said."""
    monkeypatch.setattr("training.ray_workers._Actor", FailsOnOneNode)
    join(cluster.address)
    said, nodes, end = "", set(), time.monotonic() + PATIENCE
    with RayWorkers(2) as workers:
        for _, node in workers.in_order(map(Where, count())):
            nodes.add(node)
            said += capsys.readouterr().out
            if "done without" in said or time.monotonic() > end:
                break
        assert workers.num_at_work == 1
    assert len(nodes) == 1
    assert "a worker cannot begin and is done without: OSError: no disk is left here" in said


def test_error_is_told_by_the_line_that_says_most() -> None:
    """Which in a traceback is the last that names an error, and elsewhere the first."""
    traceback = (
        "The actor failed to import.\n\nTraceback:\n  File x\nModuleNotFoundError: No module named 'training'\nnote"
    )
    assert brief(RuntimeError(traceback)) == "ModuleNotFoundError: No module named 'training'"
    assert brief(RuntimeError("\n  The actor died.\n\tclass_name: x")) == "The actor died."
    assert brief(RuntimeError()) == "RuntimeError"


def test_workers_of_other_sources_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with another checkout would make other labels, in silence."""
    monkeypatch.setattr("training.ray_workers.made_with", lambda: {"sources": "others"})
    join(cluster.address)
    with RayWorkers(1) as made, pytest.raises(ConnectionError, match=r"sources \w+ there, others here"):
        next(made.in_order([os.getpid]))


# Runs


def test_rllib_plays_in_env_runners_on_both_nodes(cluster: Any, tmp_path: Path) -> None:
    """RLlib's own, started by the example's `--ray`; what they learned plays."""
    command = [sys.executable, "-m", "training.libraries.rllib_ppo", "--ray", cluster.address, "--runners", "2"]
    options = ["--seconds", "1", "--out", str(tmp_path)]
    said = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    ).stdout
    assert "2 processes play, on 2 nodes" in said
    assert re.search(r"^[1-9][\d,]+ steps$", said, re.MULTILINE)
    policy = importlib.import_module("training.libraries.rllib_ppo").Policy(tmp_path / "module")
    tables = VectorTables(Rules(6), 4, seed=0)
    actions = policy.act(tables.observations, tables.action_masks, np.random.default_rng(0))
    assert tables.action_masks[np.arange(4), actions].all()


def weights_of(folder: Path) -> torch.Tensor:
    """The final weights of the only run, in one row."""
    (run,) = (folder / "runs").iterdir()
    return torch.cat([weight.detach().flatten() for weight in load_checkpoint(run).network.parameters()])


def begin(arguments: list[str]) -> subprocess.Popen[str]:
    """Start `training.train`."""
    command = [sys.executable, "-m", "training.train", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a run to end as it should, and return what it said."""
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    return said


def wait_for_labels(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a run is in the midst of its first round."""
    end = time.monotonic() + PATIENCE
    while not list(folder.glob("runs/*/labels/0-000002.npy")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)


def actors_at_work(cluster: Any) -> list[int]:
    """The processes of actors that are doing something."""
    raylets = {node.all_processes["raylet"][0].process.pid for node in [cluster.head_node, *cluster.worker_nodes]}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if name.startswith(b"ray::_Actor.do") and parent in raylets:
            found.append(int(folder.name))
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> torch.Tensor:
    """The weights of a run without Ray."""
    folder = tmp_path_factory.mktemp("local")
    assert train.main(arguments(folder, "workers=0")) == 0
    return weights_of(folder)


def test_run_on_ray_ends_with_the_weights_of_a_local_one(local: torch.Tensor, cluster: Any, tmp_path: Path) -> None:
    """One worker; all stages: labels, a second round by the network of the first, matches, self-play."""
    finish(begin(arguments(tmp_path, "--ray", cluster.address)))
    assert torch.equal(weights_of(tmp_path), local)


def test_killed_worker_changes_nothing(local: torch.Tensor, cluster: Any, tmp_path: Path) -> None:
    """Two workers, one of them killed while it makes labels; the other's go on meanwhile."""
    process = begin(arguments(tmp_path, "workers=2", "--ray", cluster.address))
    wait_for_labels(tmp_path, process)
    end = time.monotonic() + PATIENCE
    while not (actors := actors_at_work(cluster)):
        assert time.monotonic() < end
    os.kill(actors[0], signal.SIGKILL)
    assert finish(process).count("a worker has died and is replaced") == 1
    assert torch.equal(weights_of(tmp_path), local)


def test_run_whose_head_died_is_resumed_on_a_new_one(local: torch.Tensor, tmp_path: Path) -> None:
    """The head goes with everything on it; the run ends, says so, and goes on elsewhere from what its folder holds."""
    first = new_cluster()
    process = begin(arguments(tmp_path, "--ray", first.address))
    wait_for_labels(tmp_path, process)
    first.shutdown()
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode not in (0, None), said
    second = new_cluster()
    (run,) = (tmp_path / "runs").iterdir()
    assert not (run / "table.txt").exists()
    finish(begin(["--resume", str(run), "--ray", second.address]))
    second.shutdown()
    assert torch.equal(weights_of(tmp_path), local)
