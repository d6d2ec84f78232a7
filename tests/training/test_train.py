"""Runs from the command line, tiny ones: to the end, interrupted and resumed, and better than they began."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from baselines.random_legal import RandomLegal
from chearts_env import Rules
from chearts_env.arena import play_match
from training import evaluate, train
from training.checkpoint import FOLDER, latest_checkpoint, load_checkpoint
from training.command import INTERRUPTED
from training.names import policy_named
from training.policy import NetworkPolicy
from training.run_folder import METRICS

pytestmark = [
    pytest.mark.train,
    # TensorBoard and what it brings warn of their own ways with NumPy and protobuf.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

# Fresh networks prefer some faces to others, which alone is worth anything from -5 to +4 points a hand among random
# players; that of this seed is about as good as chance.
TINY = """
name: tiny
seed: 5
sizes: [6, 11]
workers: 0
precision: float32
seconds: 1000
network: {width: 64, num_layers: 2}
labels: {counts: [3000, 300], tables: 48, playouts: 2}
fit: {epochs: 2, epochs_between: 3, batch_size: 64}
evaluation: {deals: 4, early_deals: 2}
"""
ROOT = Path(__file__).resolve().parents[2]


def tiny(folder: Path, *overrides: str) -> list[str]:
    """Arguments of a tiny run whose folder is made in `folder`."""
    path = folder / "tiny.yaml"
    path.write_text(TINY, "utf-8")
    return [str(path), *overrides, "--runs", str(folder / "runs")]


def only_run(folder: Path) -> Path:
    """The one run folder."""
    (run,) = (folder / "runs").iterdir()
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A run that went through."""
    folder = tmp_path_factory.mktemp("finished")
    assert train.main(tiny(folder)) == 0
    return only_run(folder)


def test_run_leaves_what_it_was_made_with_its_metrics_checkpoints_and_table(finished):
    """Everything a reader of the result needs."""
    assert (finished / "config.yaml").read_text("utf-8").startswith("name: tiny")
    assert json.loads((finished / "made_with.json").read_text("utf-8")).keys() >= {"git_commit", "versions", "seed"}
    assert list(finished.glob("events.out.tfevents*"))
    with (finished / "metrics.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == METRICS
    assert {row["stage"] for row in rows} == {"labels", "fit", "early", "report"}
    table = json.loads((finished / "table.json").read_text("utf-8"))
    assert [(row["field"], row["rules"], row["seats"]) for row in table] == [
        (field, rules, seats)
        for field in ("random_legal", "low_card")
        for rules in ("card_page", "classic")
        for seats in (6, 11)
    ]
    assert len((finished / "table.txt").read_text("utf-8").splitlines()) == 2 + 2 + 8
    assert len(list((finished / FOLDER).iterdir())) == 3
    assert not (finished / "labels").exists()


def test_trained_network_is_better_than_it_began(finished):
    """Among random players, on deals that took no part: a few seconds of training are worth more than the intervals."""
    untrained = NetworkPolicy(load_checkpoint(finished / FOLDER / "00000000").network)
    trained = NetworkPolicy(load_checkpoint(finished).network)
    for rules in (Rules(6), Rules.classic(11)):
        before, after = (play_match(policy, RandomLegal(), rules, 60, seed=77) for policy in (untrained, trained))
        assert after.interval95[0] > max(before.interval95[1], 0), (rules, before.interval95, after.interval95)


def test_run_that_is_finished_is_not_begun_again(finished, capsys):
    """Resuming it shows its table."""
    before = latest_checkpoint(finished)
    assert train.main(["--resume", str(finished)]) == 0
    assert "low_card" in capsys.readouterr().out
    assert latest_checkpoint(finished) == before


def test_interrupted_run_is_usable_and_resumed_ends_like_one_that_was_not(finished, tmp_path):
    """Ctrl-C in the second round, labels made by a process of its own; then `--resume`."""
    command = [sys.executable, "-m", "training.train", *tiny(tmp_path, "workers=1")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 120
    while not list(tmp_path.glob("runs/*/labels/1-*.npy")) and time.monotonic() < end:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    run = only_run(tmp_path)
    assert process.returncode == INTERRUPTED, said
    assert f"python -m training.train --resume {run}" in said
    assert isinstance(NetworkPolicy.load(run, torch.float32), NetworkPolicy)
    assert train.main([str(tmp_path / "tiny.yaml"), "--resume", "--runs", str(tmp_path / "runs")]) == 0
    weights, resumed = (load_checkpoint(each).network.state_dict() for each in (finished, run))
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)


def test_time_that_is_over_cuts_labels_and_epochs_short(tmp_path):
    """The last round still ends with a network, and the report is played."""
    assert train.main(tiny(tmp_path, "seconds=1.5", "labels.counts=[100000,100000]", "evaluation.deals=2")) == 0
    run = only_run(tmp_path)
    state = json.loads((run / "state.json").read_text("utf-8"))
    assert state["is_finished"]
    assert state["seconds"] < 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["configs/none.yaml"], "there is no configuration"),
        ([], "a configuration is needed"),
        (["configs/quick.yaml", "evaluation.opponents=[low]"], "unknown policy 'low': known are random_legal"),
        (["--resume", "nowhere"], "nowhere is no run folder"),
        (["--resume", "--runs", "nowhere"], "there is no unfinished run"),
    ],
)
def test_wrong_command_line_is_answered_in_one_line(arguments, message, capsys):
    """No traceback for the user."""
    assert train.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed: tests/libraries has what it answers")
def test_ray_that_is_not_installed_is_said_in_one_line(tmp_path, capsys):
    """With what installs it; no run folder is made."""
    assert train.main(tiny(tmp_path, "workers=1", "--ray", "auto")) == 2
    assert "train: --ray auto: Ray is not installed; pip install" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_evaluate_writes_one_object_for_each_table_size(finished, tmp_path):
    """The keys that other tools read."""
    file = tmp_path / "result.json"
    arguments = ["--challenger", str(finished), "--field", "low_card", "--seats", "7,11", "--deals", "3", "--seed", "5"]
    assert evaluate.main([*arguments, "--rules", "classic", "--json", str(file)]) == 0
    rows = json.loads(file.read_text("utf-8"))
    assert [row["seats"] for row in rows] == [7, 11]
    assert [row["hands"] for row in rows] == [21, 33]
    for row in rows:
        assert row.keys() >= {"challenger", "field", "rules", "points_challenger", "points_field", "versions"}
        assert (row["deals"], row["seed"], row["rules"]) == (3, 5, "classic")
        low, high = row["interval95"]
        assert low < row["advantage"] < high
        assert row["microseconds_per_decision"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--challenger", "nobody", "--field", "low_card"], "and the path of a checkpoint"),
        (["--challenger", "low_card", "--field", "low_card", "--seats", "5"], "--seats 5 is not allowed"),
        (["--challenger", "low_card", "--field", "low_card", "--deals", "1"], "--deals 1 is not allowed"),
    ],
)
def test_evaluate_answers_a_wrong_command_line_in_one_line(arguments, message, capsys):
    """No traceback for the user."""
    assert evaluate.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_name_of_a_policy_may_be_a_run_folder_or_a_baseline(finished):
    """One resolver for learned and written policies."""
    assert isinstance(policy_named(str(finished)), NetworkPolicy)
    assert type(policy_named("low_card")).__name__ == "LowCard"
