"""Hints of the real players: `careful` in words, `search:K` in points."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.search import Search
from chearts_env import Game, Rules
from chearts_env.cards import face_from_text
from chearts_env.game import action_to_text
from chearts_env.play_hints import adviser_named, can_hint
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal, loaded_policy
from tests.play_tables import to_persons_turn
from tests.sizes import moon_history

pytestmark = pytest.mark.slow


def asked_table(adviser: Any, phase: str) -> PlayTable:
    """Return a table of `careful` players, where the person has to choose in a phase."""
    table = PlayTable(Game(Rules(7), 3), 2, [("careful", Careful())], adviser=adviser)
    while True:
        to_persons_turn(table, phase)
        if len(table.game.legal_actions()) > 1:
            return table
        table.choose(table.game.legal_actions()[0])


@pytest.mark.parametrize("phase", ["pass", "play"])
def test_careful_gives_each_allowed_card_its_cost_and_the_reason(phase):
    """As it explains itself, its own choice first."""
    table = asked_table(("careful", Careful()), phase)
    first, *lines = table.hints()
    assert first == "careful, best first:"
    seen, mask = table.game.observation(2), table.game.action_mask()
    chosen = Careful().act(seen[None], mask[None], np.random.default_rng(0))[0]
    assert face_from_text(lines[0][:2]) == chosen
    assert sorted(face_from_text(line[:2]) for line in lines) == table.game.legal_actions()
    for line, reason in zip(lines, Careful().explain(seen, mask), strict=True):
        assert line == f"{reason.card}  cost {reason.cost:+.1f} points: {reason.words}"


@pytest.mark.parametrize("phase", ["pass", "play"])
def test_search_gives_each_allowed_card_its_value(phase):
    """Points worse than the best; asked again, the same worlds are drawn."""
    table = asked_table(("search:8", Search(8)), phase)
    first, best, *others = table.hints()
    assert first == "search:8, best first:"
    assert re.fullmatch(r"\w\w  best", best)
    assert len(others) == len(table.game.legal_actions()) - 1
    found = [re.fullmatch(rf"\w\w  (\d+\.\d) points worse than {best[:2]}", line) for line in others]
    worse = [float(each[1]) for each in found if each]
    assert len(worse) == len(others)
    assert worse == sorted(worse)
    assert table.hints() == [first, best, *others]


def test_moon_is_no_matter_of_cost():
    """R21: the way that `careful` takes, first, and why."""
    history = moon_history(6, random.Random(3))
    table = PlayTable(history.begin(), 1, [("careful", Careful())], adviser=("careful", Careful()))
    for action in history.actions:
        table.take(action)
    lines = table.hints()
    assert [line.partition(":")[0] for line in lines[1:]] == [action_to_text(52), action_to_text(53)]
    assert "points:" not in "".join(lines)


def test_careful_hints_where_no_opponent_can_and_those_that_can_are_named():
    """As they are installed with the checkout."""
    usual = adviser_named(None, [("random", RandomLegal())])
    assert usual is not None
    assert usual[0] == "careful"
    assert [can_hint(loaded_policy(name)) for name in ("search:2", "plain_rules", "low_card")] == [True, False, False]
    with pytest.raises(ValueError, match=r"'plain_rules' can give no hints: .* these can: careful, .*search$"):
        adviser_named("plain_rules", [])
