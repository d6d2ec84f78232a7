"""Checkpoints: whole or not there, whatever happens while one is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from training.checkpoint import (
    DESCRIPTION,
    WEIGHTS,
    drop_later_checkpoints,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from training.config import Config, NetworkConfig
from training.fit import new_network
from training.network import Network

CONFIG = Config(network=NetworkConfig(width=8, num_layers=1))


class Killed(BaseException):
    """Stands for the end of the process."""


def network(seed: int) -> Network:
    """A small network."""
    return new_network(NetworkConfig(8, 1), seed, 0)


def same(first: Network, second: Network) -> bool:
    """Whether two networks have the same weights."""
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


def save(run: Path, seed: int, step: int) -> Path:
    """Save a network into a run folder."""
    return save_checkpoint(run / "checkpoints", network(seed), CONFIG, step, what="test")


def test_loaded_network_is_the_saved_one_and_its_json_says_what_it_is(tmp_path):
    """Weights as safetensors; configuration, observation version, rules, step and versions as JSON."""
    place = save(tmp_path, seed=1, step=12)
    loaded = load_checkpoint(place)
    assert same(loaded.network, network(1))
    assert not same(loaded.network, network(2))
    description = json.loads((place / DESCRIPTION).read_text("utf-8"))
    assert description["step"] == 12
    assert description["observation_version"] == 1
    assert description["config"]["network"] == {
        "width": 8,
        "num_layers": 1,
        "careful": False,
        "card_features": True,
    }
    assert {rules["num_players"] for rules in description["rules"]} == set(range(6, 12))
    assert {rules["set_aside"] for rules in description["rules"]} == {"two_pairs", "no_live_card"}
    assert {"chearts_env", "torch", "numpy"} <= description["versions"].keys()


def test_newest_checkpoint_of_a_run_is_the_one_of_the_highest_step(tmp_path):
    """A run folder stands for its newest."""
    for step in (5, 1000, 40):
        save(tmp_path, seed=step, step=step)
    assert latest_checkpoint(tmp_path).name == "00001000"
    assert same(load_checkpoint(tmp_path).network, network(1000))


@pytest.mark.parametrize("fails", ["training.checkpoint.save_file", "pathlib.Path.rename", "pathlib.Path.write_text"])
@pytest.mark.parametrize("step", [2, 1])
def test_kill_while_saving_leaves_the_last_checkpoint_whole(tmp_path, monkeypatch, fails, step):
    """At the weights, at the JSON, at the rename; the next save goes well."""
    save(tmp_path, seed=0, step=0)
    save(tmp_path, seed=1, step=1)

    def kill(*arguments, **more):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(fails, kill)
        with pytest.raises(Killed):
            save(tmp_path, seed=2, step=step)
    survivor = load_checkpoint(tmp_path).network
    assert same(survivor, network(1)) or (step == 1 and same(survivor, network(0)))
    save(tmp_path, seed=2, step=step)
    assert same(load_checkpoint(tmp_path).network, network(2))


def test_half_written_weights_are_never_under_a_checkpoints_name(tmp_path, monkeypatch):
    """What a kill leaves behind stands beside, and is not taken for a checkpoint."""
    save(tmp_path, seed=1, step=1)

    def half(weights, path):
        Path(path).write_bytes(b"half of it")
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("training.checkpoint.save_file", half)
        with pytest.raises(Killed):
            save(tmp_path, seed=2, step=2)
    assert [place.name for place in (tmp_path / "checkpoints").glob(f"*/{WEIGHTS}")] == [WEIGHTS] * 2
    assert latest_checkpoint(tmp_path).name == "00000001"


def test_checkpoint_for_other_observations_is_refused(tmp_path):
    """The network would read the wrong places without a word."""
    place = save(tmp_path, seed=1, step=1)
    description = json.loads((place / DESCRIPTION).read_text("utf-8"))
    (place / DESCRIPTION).write_text(json.dumps(description | {"observation_version": 99}), "utf-8")
    with pytest.raises(ValueError, match="version 1, and these are of version 99"):
        load_checkpoint(place)


def test_folder_without_checkpoints_is_refused(tmp_path):
    """ValueError, for the user."""
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (WEIGHTS, b"cut sho"),
        (DESCRIPTION, b'{"format": 1, '),
        (DESCRIPTION, b'{"format": 1}'),
        (DESCRIPTION, b"[]"),
    ],
)
def test_damaged_checkpoint_is_refused_by_its_name(tmp_path, name, content):
    """ValueError, for the user, in one line; a half-written file of someone else's making included."""
    place = save(tmp_path, seed=1, step=1)
    (place / name).write_bytes(content)
    with pytest.raises(ValueError, match="00000001 is damaged: ") as refused:
        load_checkpoint(place)
    assert "\n" not in str(refused.value)


def test_checkpoint_whose_weights_do_not_fit_is_refused(tmp_path):
    """The description speaks of a network of another width."""
    place = save(tmp_path, seed=1, step=1)
    description = json.loads((place / DESCRIPTION).read_text("utf-8"))
    description["config"]["network"]["width"] += 1
    (place / DESCRIPTION).write_text(json.dumps(description), "utf-8")
    with pytest.raises(ValueError, match="00000001 is damaged: "):
        load_checkpoint(place)


def test_constants_of_careful_are_kept_with_a_network_that_takes_its_judgements(tmp_path):
    """Tuned anew meanwhile, they would be other inputs than the network was fitted to."""
    shape = NetworkConfig(8, 1, careful=True)
    made = new_network(shape, 0, 0)
    assert made.constants is not None
    made.constants["leads_again"] = 7.5
    loaded = load_checkpoint(save_checkpoint(tmp_path, made, Config(network=shape), 1))
    assert loaded.network.constants == made.constants
    assert loaded.network.fresh().constants == made.constants
    assert "careful" not in load_checkpoint(save_checkpoint(tmp_path, network(0), CONFIG, 2)).description


def test_checkpoints_of_later_steps_are_dropped_when_a_run_has_gone_on_from_before(tmp_path):
    """An interrupted fit left 00000090; the fit that was done again ended, cut by time, at 80."""
    for step in (10, 90, 95):
        save(tmp_path, seed=step, step=step)
    place = save(tmp_path, seed=1, step=80)
    drop_later_checkpoints(place)
    assert sorted(path.name for path in place.parent.iterdir()) == ["00000010", "00000080"]
    assert latest_checkpoint(tmp_path) == place
