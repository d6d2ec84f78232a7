"""Every library example trains for some seconds, plays legally at every size, and its checkpoint plays in matches."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

from chearts_env import Rules, SingleSeatEnv
from chearts_env.aec import GuardedEnv
from chearts_env.arena import play_match
from chearts_env.policy import RandomLegal
from chearts_env.seat_tables import SeatTables

SIZES = (6, 8, 11)
EXAMPLES = ("cleanrl_ppo", "sb3_maskable_ppo", "tianshou_ppo", "torchrl_ppo", "rllib_ppo")
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # other people's code warns of other people's code
]


def refuse(*details: Any) -> None:
    """Stand in for what an illegal action leads to."""
    raise AssertionError("an illegal action reached the engine")


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_trains_legally_and_its_checkpoint_plays(name, num_players, tmp_path, monkeypatch):
    """Half a minute or less each; the policy is asked at every size, and about what it may do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(GuardedEnv, "_end_by_illegal_move", refuse)
    monkeypatch.setattr(SeatTables, "_end_illegal", refuse)
    example = importlib.import_module(f"training.libraries.{name}")
    example.main(["--seconds", "5", "--seats", str(num_players)])
    match = play_match(example.latest(), RandomLegal(), Rules(num_players), 4, seed=1)
    assert match.decisions > 0
    assert np.isfinite(match.advantage)


@pytest.mark.parametrize("name", ["cleanrl_ppo"])
def test_example_gains_on_random_play(name, tmp_path, monkeypatch):
    """A minute of self-play saves points among random players, its interval above zero."""
    monkeypatch.chdir(tmp_path)
    example = importlib.import_module(f"training.libraries.{name}")
    example.main(["--seconds", "60"])
    match = play_match(example.latest(), RandomLegal(), Rules(6), 100, seed=1)
    assert match.interval95[0] > 0


def test_sb3s_own_check_passes_without_a_warning():
    """Warnings are errors here."""
    checker = importlib.import_module("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(SingleSeatEnv(num_players=7))
