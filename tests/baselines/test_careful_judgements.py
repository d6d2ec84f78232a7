"""The numbers that a learner is told are those that `careful` itself weighs."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.careful.judgements import JUDGEMENTS, costs_of, judgements
from baselines.careful.weights import new_weights
from chearts_env import Rules, VectorTables
from chearts_env.observation import field_values
from chearts_env.table import MOON
from tests.baselines.positions import item_of, position

RULES = [preset(size) for preset in (Rules.card_page, Rules.classic) for size in (6, 8, 11)]


def rows_of_whole_hands():
    """Observations and masks of `careful` at a table of each size and reading, two in three of them left out."""
    tables = VectorTables(RULES, 6, seed=3)
    careful, rng = Careful(), np.random.default_rng(0)
    for step in range(140):
        if step % 3 == 0:
            yield tables.observations.copy(), tables.action_masks.copy()
        tables.step(careful.act(tables.observations, tables.action_masks, rng))


def test_costs_lead_to_the_choice_of_careful_at_every_decision():
    """The first of the lowest is what it plays, and `explain` gives the same costs."""
    careful, rng = Careful(), np.random.default_rng(0)
    for observations, masks in rows_of_whole_hands():
        rows = field_values(observations, "phase")[:, MOON] == 0
        costs = np.where(masks > 0, costs_of(observations, masks, new_weights()), np.inf)
        chosen = careful.act(observations, masks, rng)
        np.testing.assert_array_equal(costs.argmin(axis=1)[rows], chosen[rows])
        reasons = careful.explain(observations[0], masks[0])
        assert {reason.action: reason.cost for reason in reasons} == {
            action: pytest.approx(costs[0, action]) for action in np.flatnonzero(masks[0])
        }


def test_judgements_are_costs_above_the_cheapest_and_what_they_are_made_of():
    """In thirds of a point, cut at 5; nothing is said of cards that are not legal."""
    for observations, masks in rows_of_whole_hands():
        judged = judgements(observations, masks, new_weights())
        assert judged.shape == (len(masks), 52, len(JUDGEMENTS))
        assert not judged[masks[:, :52] == 0].any()
        assert np.abs(judged).max() <= 5
        costs = np.where(masks[:, :52] > 0, costs_of(observations, masks, new_weights())[:, :52], np.nan)
        above = np.minimum((costs - np.nanmin(costs, axis=1, keepdims=True)) / 3, 5)
        np.testing.assert_allclose(judged[:, :, 0], np.nan_to_num(above), atol=1e-5)


def test_judgements_of_a_position_are_its_items():
    """Chances as they are, points in the units of the module."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: 5C KC 9C"], {3: "QC 2C 3C 4D 5D 6D 7D 8D 9D TD JD QD KD"})
    judged = judgements(game.observation(3)[None], game.action_mask()[None], new_weights())[0]
    for card, face in (("QC", 10), ("2C", 0)):
        item = item_of(game, card)
        told = dict(zip(JUDGEMENTS, judged[face], strict=True))
        assert told["wins"] == pytest.approx(item.wins)
        assert told["set_aside"] == pytest.approx(item.set_aside)
        assert told["pot"] == pytest.approx(item.pot / 10)
        assert told["shed"] == pytest.approx(item.shed / 3)
        assert told["taken"] == pytest.approx(item.taken / 5)


def test_seats_that_settle_a_moon_are_told_nothing():
    """R21: it is no card."""
    tables = VectorTables(Rules(6), 1, seed=0)
    observation = tables.observations.copy()
    field_values(observation, "phase")[:] = np.eye(4, dtype=np.int8)[MOON]
    masks = np.zeros((1, 54), np.int8)
    masks[0, 52:] = 1
    assert not judgements(observation, masks, new_weights()).any()
    assert not costs_of(observation, masks, new_weights()).any()
