"""The network that comes with the project: small, whole, and better than the rule player it learned from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from baselines.careful import Careful
from chearts_env import Rules, VectorTables
from chearts_env.arena import play_match
from training.checkpoint import CRITIC, DESCRIPTION, WEIGHTS, load_checkpoint
from training.config import Config, read_config
from training.names import _PRETRAINED_PLACE, PRETRAINED, policy_named

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def test_pretrained_is_small_and_says_what_made_it():
    """At most 8 MB; configuration, versions, rules and time of the run beside the weights."""
    assert sum(path.stat().st_size for path in _PRETRAINED_PLACE.iterdir()) < 8e6
    assert {path.name for path in _PRETRAINED_PLACE.iterdir()} - {CRITIC} == {DESCRIPTION, WEIGHTS, "README.md"}
    description = load_checkpoint(_PRETRAINED_PLACE).description
    assert description["config"]["name"] == "strong"
    assert description["seconds"] > 0
    assert {rules["num_players"] for rules in description["rules"]} == set(range(6, 12))
    assert json.loads((_PRETRAINED_PLACE / DESCRIPTION).read_text("utf-8")) == description


def test_pretrained_was_made_by_the_configuration_that_is_said_to_have_made_it():
    """`configs/strong.yaml` as it stands, but for the matches; settings that came later have their usual values."""
    made_by = load_checkpoint(_PRETRAINED_PLACE).description["config"]
    usual, now = Config().to_dict(), read_config(CONFIGS / "strong.yaml").to_dict()
    for key in ("evaluation", "keep_labels"):
        made_by[key] = now[key]
    for section, settings in usual.items():
        if isinstance(settings, dict):
            made_by[section] = settings | made_by.get(section, {})
    assert usual | made_by == now


def test_pretrained_is_legal_under_any_preset_and_size():
    """Whole hands; the engine refuses anything else."""
    rules = [preset(size) for preset in (Rules.card_page, Rules.classic, Rules.bicycle) for size in range(6, 12)]
    tables, policy, rng = VectorTables(rules, 36, seed=5), policy_named(PRETRAINED), np.random.default_rng(0)
    for _ in range(150):
        tables.step(policy.act(tables.observations, tables.action_masks, rng))


@pytest.mark.slow
@pytest.mark.parametrize("num_players", range(6, 12))
@pytest.mark.parametrize("preset", [Rules.card_page, Rules.classic, Rules.bicycle])
def test_pretrained_is_legal_at_every_decision_of_some_hands(preset, num_players, request):
    """`--hands 2000` plays as many as the issue on opponents asks for."""
    count = request.config.getoption("--hands")
    tables, policy = (
        VectorTables(preset(num_players), min(count, 500), seed=count, episode="hand"),
        policy_named(PRETRAINED),
    )
    num_ended, rng = 0, np.random.default_rng(0)
    while num_ended < count:
        tables.step(policy.act(tables.observations, tables.action_masks, rng))
        num_ended += int(tables.terminations.sum())


@pytest.mark.slow
@pytest.mark.parametrize("preset", [Rules.card_page, Rules.classic])
def test_pretrained_saves_points_among_careful(preset):
    """At 6 seats, where it saves most, the whole interval is above 0 after 200 deals."""
    match = play_match(policy_named(PRETRAINED), Careful(), preset(6), 200, seed=77)
    assert match.interval95[0] > 0
