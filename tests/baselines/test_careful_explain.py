"""`careful` explains what it plays, and its constants are what they are said to be."""

from __future__ import annotations

import random

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.careful.weights import (
    WEIGHTS,
    flat_weights,
    tuned_weights,
    weights_from_flat,
    weights_without_set_aside,
)
from chearts_env import Game, Rules, VectorTables
from chearts_env.cards import face_to_text
from chearts_env.rules import PRESETS
from tests.baselines.positions import action_of, choice, facts_of, item_of, sight
from tests.sizes import fewer, moon_history, random_history, random_rules

# Reasons


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("num_players", [6, 9, 11])
def test_explain_gives_every_legal_card_its_cost_and_first_what_is_played(num_players, preset):
    """Issue, opponents: each legal card its cost and the reason in words, at every decision of whole hands."""
    for seed in range(fewer(3, 1)):
        game = Game(getattr(Rules, preset)(num_players), seed=seed, episode="hand")
        while game.mover is not None:
            reasons = Careful().explain(*sight(game))
            assert sorted(reason.action for reason in reasons) == game.legal_actions()
            costs = [reason.cost for reason in reasons]
            assert costs == sorted(costs)
            assert np.isfinite(costs).all()
            if game.phase != "moon":
                assert all(reason.card == face_to_text(reason.action) for reason in reasons)
            assert all(reason.words for reason in reasons)
            assert reasons[0].action == action_of(Careful(), game)
            game.step(reasons[0].action)


def test_explain_says_the_same_under_any_options_as_is_played():
    """The kitty, the break of hearts, the moon's points: explain and act look at the same."""
    rng = random.Random(1)
    for seed in range(fewer(12, 2)):
        game = Game(random_rules(rng.choice((6, 8, 11)), rng), seed=seed, episode="hand")
        while game.mover is not None:
            if rng.random() < fewer(100, 30) / 100:
                assert Careful().explain(*sight(game))[0].action == action_of(Careful(), game)
            game.step(rng.choice(game.legal_actions()))


def test_explain_names_the_ways_to_settle_a_moon():
    """R21: two actions that are not cards."""
    game = moon_history(6, random.Random(3)).replay()
    assert [reason.card for reason in Careful().explain(*sight(game))] == ["subtract from mine", "add to the others"]


@pytest.mark.parametrize("num_rows", [0, 2])
def test_explain_refuses_what_is_no_single_observation(num_rows):
    """ValueError naming both shapes."""
    tables = VectorTables(Rules(6), 2)
    with pytest.raises(ValueError, match=rf"not \({num_rows}, 1024\) and \({num_rows}, 54\)"):
        Careful().explain(tables.observations[:num_rows], tables.action_masks[:num_rows])
    with pytest.raises(ValueError, match=r"not \(1024,\) and \(2, 54\)"):
        Careful().explain(tables.observations[0], tables.action_masks)


def test_explain_refuses_a_game_that_is_over():
    """Nothing is left to decide, though the mask allows all."""
    game = random_history(Rules(6, max_hands=1), random.Random(1)).replay()
    with pytest.raises(ValueError, match="this game is over"):
        Careful().explain(game.observation(0), game.action_mask())


# Constants


def test_tuned_constants_are_finite_and_chances_are_chances():
    """What the tuning script wrote."""
    weights = tuned_weights()
    assert np.isfinite(list(flat_weights(weights).values())).all()
    for name in (
        *("overtakes", "overtakes_high", "cancels", "pairs_following", "pairs_discarding"),
        *("queen_drops", "queen_forced", "queen_discarded"),
    ):
        assert 0 <= weights[name] <= 1, name


def test_constants_go_to_names_and_back():
    """A constant for every place of the record, each in its own."""
    weights = np.zeros(1, WEIGHTS)[0]
    flat = flat_weights(weights)
    values = {name: float(place + 1) for place, name in enumerate(flat)}
    made = weights_from_flat(values)
    assert flat_weights(made) == values
    assert made.play.guard == values["play.guard"]
    assert made.cancels == values["cancels"]


@pytest.mark.parametrize("change", ["missing", "unknown"])
def test_constants_with_other_names_are_refused(change):
    """ValueError that says which."""
    flat = flat_weights(tuned_weights())
    flat = {name: value for name, value in flat.items() if name != "cancels"} | (
        {} if change == "missing" else {"cancells": 0.5}
    )
    with pytest.raises(ValueError, match="cancels"):
        weights_from_flat(flat)


# The set-aside rule and without it


def only_unaware() -> np.record:
    """The tuned constants of a player that never heard of second pairs, all else as it is."""
    return weights_from_flat(flat_weights(tuned_weights()) | {"knows_set_aside": 0.0})


def decisions_that_differ(preset: str, weights: np.record) -> int:
    """Count decisions of careful play, at all sizes, on which careful with other constants decides otherwise."""
    all_rules = [getattr(Rules, preset)(size, pass_cycle=(0,)) for size in range(6, 12)]
    tables = VectorTables(all_rules, fewer(96, 6), seed=5)
    rng = np.random.default_rng(0)
    num_different = 0
    for _ in range(fewer(128, 15)):
        actions = Careful().act(tables.observations, tables.action_masks, rng)
        others = Careful(weights).act(tables.observations, tables.action_masks, rng)
        num_different += int((actions != others).sum())
        tables.step(actions)
    return num_different


def test_second_pairs_are_reckoned_with_under_two_pairs_only():
    """R15: switched off, another play under `two_pairs` and the very same under `no_live_card`."""
    assert decisions_that_differ("card_page", only_unaware()) > 0
    assert decisions_that_differ("classic", only_unaware()) == 0


def test_constants_without_set_aside_change_no_decision_in_which_it_has_no_part():
    """R15, R21: `classic`, no card that may leave nobody to win, no rival: the same card for the same price."""
    without = weights_without_set_aside()
    assert decisions_that_differ("card_page", without) > 0
    num_compared = 0
    for seed in range(fewer(12, 1)):
        game = Game(Rules.classic((11, 8, 6)[seed % 3]), seed=seed, episode="hand")
        while game.mover is not None:
            if game.phase == "play" and (seed or game.trick_number < 3) and facts_of(sight(game)[0]).rival < 0:
                items = [item_of(game, face) for face in game.legal_actions()]
                if not any(item.set_aside for item in items):
                    num_compared += 1
                    costs = [item_of(game, face, without).cost for face in game.legal_actions()]
                    assert costs == [item.cost for item in items]
                    assert choice(game, Careful(without)) == choice(game)
            game.step(action_of(Careful(), game))
    assert num_compared > fewer(100, 5)
