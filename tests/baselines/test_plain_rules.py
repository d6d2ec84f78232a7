"""The plain rule player: better than the low card, worse than `careful`, and it has heard of tricks set aside."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.low_card import LowCard
from baselines.plain_rules import PlainRules, _voids, measured_voids
from chearts_env import Rules
from chearts_env.arena import play_match
from tests.baselines.positions import position, sight


def choice(game) -> int:
    """What it plays at a game."""
    seen, mask = sight(game)
    return int(PlainRules().act(seen[None], mask[None], np.random.default_rng(0))[0])


@pytest.mark.jit
@pytest.mark.parametrize("rules", [Rules.card_page(8), Rules.classic(6)])
def test_plain_rules_stand_between_the_low_card_and_careful(rules):
    """Points saved per hand, intervals far from 0."""
    assert play_match(PlainRules(), LowCard(), rules, 60, seed=1).interval95[0] > 0.5
    assert play_match(Careful(), PlainRules(), rules, 60, seed=1).interval95[0] > 0


def test_black_maria_is_thrown_when_another_suit_is_led():
    """R11: void in clubs."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: 5C KC 9C"], {3: "QS 2S 3D 4D 5D 6D 7D 8D 9D TD JD QD KD"})
    assert choice(game) == 36


def test_black_maria_is_kept_from_a_trick_that_nobody_can_win():
    """R15: two pairs lie there, so that it would come back to somebody at random."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: 5C 5C 9C 9C"], {4: "QS 2S 3D 4D 5D 6D 7D 8D 9D TD JD QD KD"})
    assert choice(game) != 36


@pytest.mark.jit
def test_chances_of_a_trick_set_aside_are_those_in_the_file():
    """Measured anew at a few tables; with two seats to come and one pair, about one in two at 11 seats."""
    found = measured_voids(11, 300, seed=5)
    assert np.abs(found - _voids()[5]).max() < 0.06
    assert found[0, 0] == found[0, 1] == 0  # no pair, at most one card to come
    assert 0.4 < found[1, 2] < 0.6
