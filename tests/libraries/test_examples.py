"""Every library example trains for some seconds, plays legally at every size, and its checkpoint plays in matches."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from chearts_env import Rules
from chearts_env.arena import play_match
from chearts_env.policy import RandomLegal
from tests.libraries.environments import ENVIRONMENTS, examples_here

SIZES = (6, 8, 11)
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # other people's code warns of other people's code
]


def test_this_environment_has_examples():
    """So that a name that is wrong does not leave all out in silence."""
    assert examples_here()


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", [name for environment in ENVIRONMENTS for name in environment.examples])
def test_example_trains_legally_and_its_checkpoint_plays(name, num_players, tmp_path, monkeypatch, engine):
    """Half a minute or less each; the policy is asked at every size, and about what it may do."""
    monkeypatch.chdir(tmp_path)
    example = importlib.import_module(f"training.libraries.{name}")
    example.main(["--seconds", "3", "--seats", str(num_players)])
    assert engine.decisions > 100
    assert engine.illegal == 0
    match = play_match(example.latest(), RandomLegal(), Rules(num_players), 4, seed=1)
    assert match.decisions > 0
    assert np.isfinite(match.advantage)


@pytest.mark.parametrize("name", ["cleanrl_ppo", "agilerl_ppo"])
def test_example_gains_on_random_play(name, tmp_path, monkeypatch):
    """Some self-play saves points among random players, its interval above zero."""
    monkeypatch.chdir(tmp_path)
    example = importlib.import_module(f"training.libraries.{name}")
    example.main(["--seconds", "40"])
    match = play_match(example.latest(), RandomLegal(), Rules(6), 100, seed=1)
    assert match.interval95[0] > 0
