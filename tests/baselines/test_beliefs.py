"""Who probably holds a card: true hands are likelier than hands drawn alike, and what is impossible stays so."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.beliefs import KITTY, NUM_HOLDERS, log_odds
from baselines.careful import Careful
from chearts_env import Rules, VectorTables
from chearts_env.knowledge import redeal_observation
from chearts_env.observation import field_values
from tests.baselines.positions import position, sight
from tests.sizes import fewer


def score(odds: np.ndarray, hands: np.ndarray, kitty: np.ndarray) -> float:
    """How much likelier than chance a whole deal is, as a logarithm; `hands` (11, 52) are relative to the viewer."""
    return float((odds[:, 1:] * hands[1:].T).sum() + (odds[:, KITTY] * kitty).sum())


@pytest.mark.parametrize("num_players", [6, 8, 11])
def test_true_hands_are_likelier_than_hands_drawn_alike(num_players):
    """At tables of `careful`, with half of the hand played: on average over many decisions."""
    tables = VectorTables([Rules.card_page(num_players), Rules.classic(num_players)], fewer(40, 2), seed=99)
    careful, rng = Careful(), np.random.default_rng(0)
    for _ in range(num_players * (3 + tables.rules[0].hand_size // 2)):
        tables.step(careful.act(tables.observations, tables.action_masks, rng))
    gains = []
    for observation, hands in zip(tables.observations, tables.hidden_hands(), strict=True):
        odds = log_odds(observation)
        played = field_values(observation, "played").reshape(11, 52).sum(axis=0)
        _, worlds = redeal_observation(observation, rng, fewer(30, 5))
        drawn = [score(odds, world["private"]["hand"], world["hidden"]["kitty"]) for world in worlds]
        gains.append(score(odds, hands, 2 - played - hands.sum(axis=0)) - np.mean(drawn))
    assert np.mean(gains) > 0.3 or fewer(0, 1)


def test_seat_that_ducked_low_under_a_king_has_no_cards_between():
    """A seven under a live king: the eight to queen of clubs are less likely there than with seats still to play."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: KC 7C"], {2: "2C 3C 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD"})
    odds = log_odds(sight(game)[0])
    assert odds.shape == (52, NUM_HOLDERS)
    assert np.isfinite(odds).all()
    ducked, to_come = odds[6:11, 7], odds[6:11, 1:5]  # seat 1 lies seven to the left of seat 2
    assert ducked.mean() < to_come.mean()


def test_scores_of_earlier_hands_make_no_difference():
    """They were always 0 where it learned; in whole games they must not be noise."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: KC 7C"], {2: "2C 3C 2D 3D 4D 5D 6D 7D 8D 9D TD JD QD"})
    seen = sight(game)[0]
    later = seen.copy()
    field_values(later, "score_percent")[:] = 60
    field_values(later, "hands_left")[:] = 0
    np.testing.assert_array_equal(log_odds(seen), log_odds(later))
