"""`search:K`: its outcomes are those of worlds that a seat cannot rule out, and it goes by them where they agree."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.search import HAND_REWARDS, Search
from chearts_env import Game, Rules
from chearts_env.cards import face_from_text
from tests.baselines.positions import action_of, choice, likely_games, moments, position, sight
from tests.sizes import SIZES, fewer, moon_history, random_rules


def reward_of(game: Game, seat: int, reward: str) -> float:
    """What a seat earns by the first hand scored (R18 and the contract)."""
    changes = [float(change) for change in game.score_sheet[0]]
    return -changes[seat] + (sum(changes) / len(changes) if reward == "relative" else 0.0)


def played_out(game: Game, action: int) -> Game:
    """Take an action and have `careful` play the hand to its end in every seat."""
    after = game.copy()
    after.step(action)
    while not len(after.score_sheet):
        after.step(action_of(Careful(), after))
    return after


# Outcomes


@pytest.mark.parametrize("num_players", SIZES)
def test_outcomes_are_those_of_worlds_played_out_by_careful(num_players):
    """Slow twin: each world of `likely_worlds`, each legal action, `Careful` on a `Game`, the score sheet."""
    rules = random_rules(num_players, random.Random(num_players))
    num_worlds = fewer(2, 1)
    late = num_players * (rules.hand_size - 2) + 2
    phases = {"pass": [1], "play": [2 * num_players + 3, late]} if fewer(1, 0) else {"play": [late]}
    for game in moments(rules, num_players, phases):
        observation, mask = sight(game)
        ends = [
            [played_out(world, action) for world in likely_games(observation, 6, num_worlds)]
            for action in game.legal_actions()
        ]
        for reward in HAND_REWARDS:
            outcomes = Search(num_worlds, reward).outcomes(observation, mask, np.random.default_rng(6))
            expected = [[reward_of(end, 0, reward) for end in row] for row in ends]
            assert outcomes == pytest.approx(np.array(expected))


@pytest.mark.parametrize("reward", HAND_REWARDS)
def test_outcomes_are_what_happens_when_no_card_is_hidden(reward):
    """In the last trick the last two seats know all: nobody else has a card whose place is in doubt."""
    for num_players in (6, 8, 11):
        rules = Rules(num_players, kitty_view="everyone")
        last = num_players * rules.hand_size
        for seed in range(fewer(8, 1)):
            for game in moments(rules, seed, {"play": [last - 2, last - 1]}):
                seat = game.mover
                assert seat is not None
                outcomes = Search(4, reward).outcomes(*sight(game), np.random.default_rng(seed))
                if num_players == 8 or game.kitty_taker is not None:
                    truth = reward_of(played_out(game, game.legal_actions()[0]), seat, reward)
                    assert outcomes == pytest.approx(np.full((1, 4), truth))


def test_outcomes_are_taken_from_all_hidden_cards_alike_and_not_from_the_true_ones():
    """R7, R18: tables that differ in hidden cards alone give the same outcomes, bit for bit."""
    rules = Rules(7)
    for game in moments(rules, 3, {"play": [fewer(60, 80), 75][: fewer(2, 1)]}):
        assert game.mover is not None
        other = game.redeal(game.mover, np.random.default_rng(1))
        assert any((game.hand(seat) != other.hand(seat)).any() for seat in range(7))
        first, second = (Search(3).outcomes(*sight(each), np.random.default_rng(2)) for each in (game, other))
        assert (first == second).all()


# Values and choices


@pytest.mark.parametrize("reward", HAND_REWARDS)
def test_values_are_finite_for_legal_actions_and_for_no_others(reward):
    """In the pass, in play, whatever the number of worlds."""
    places = {"pass": [4], "play": [3, 50]} if fewer(1, 0) else {"play": [85]}
    for num_worlds in (1, 2, 5):
        for game in moments(Rules(9), 2, places):
            observation, mask = sight(game)
            values = Search(num_worlds, reward).values(observation, mask, np.random.default_rng(1))
            assert values.shape == (54,)
            assert (np.isfinite(values) == (mask == 1)).all()
            assert (values[mask == 0] == -np.inf).all()
            assert values[action_of(Careful(), game)] == 0  # what the others are compared with


def test_values_are_the_same_for_the_same_seed_and_others_for_another():
    """Early in a hand worlds differ; `act` takes the best."""
    (game,) = moments(Rules(6), 1, {"play": [fewer(2, 75)]})
    one, same, other = (Search(2).values(*sight(game), np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


def test_act_takes_the_action_of_the_highest_value():
    """Each row draws its worlds from a stream of its own."""
    search = Search(2)
    (game,) = moments(Rules(6), 1, {"play": [70]})
    observation, mask = sight(game)
    draw = np.random.default_rng(4).random(1)[0]
    own = np.random.Generator(np.random.PCG64(int(draw * 2**53)))
    assert action_of(search, game, seed=4) == search.values(observation, mask, own).argmax()


def test_act_is_led_by_the_worlds_when_they_agree(monkeypatch):
    """Whatever `careful` holds of it: an action that brings ten points more in every world is taken."""
    (game,) = moments(Rules(6), 1, {"play": [2]})
    legal = game.legal_actions()
    for place in range(len(legal)):
        planted = np.zeros((len(legal), 64))
        planted[place] = 10
        monkeypatch.setattr(Search, "outcomes", lambda *arguments, planted=planted: planted)
        assert action_of(Search(64), game) == legal[place]


def test_act_does_what_careful_does_when_worlds_say_nothing(monkeypatch):
    """All actions alike in every world, in the pass and in play."""
    for game in moments(Rules(6), 1, {"pass": [0, 5, 11], "play": [0, 7, 40]}):
        alike = np.zeros((len(game.legal_actions()), 4))
        monkeypatch.setattr(Search, "outcomes", lambda *arguments, alike=alike: alike)
        assert action_of(Search(4), game) == action_of(Careful(), game)


CLEAR = [  # last of 8 to the first trick; hands besides their suit led as in `test_careful.py`
    ("5C KC 9C QS QH KH AH", "AC KC 2S 3S 4S 5S 2D 3D 4D 5D 6D 7D 8D", "KC"),  # 16 points by the ace
    ("4S 9S JS 7S QH KH AH", "QS 2S 2C 3C 4C 5C 2D 3D 4D 5D 6D 7D 8D", "2S"),  # 16 points not to be won
]


@pytest.mark.parametrize("reward", HAND_REWARDS)
@pytest.mark.parametrize(("played", "hand", "best"), CLEAR)
def test_card_that_is_clearly_better_is_found(played, hand, best, reward):
    """R13, R14: more than ten points lie between it and the other, and it has the best average over its worlds, too."""
    game = position(Rules.classic(8, pass_cycle=(0,)), [f"0: {played}"], {7: hand})
    if fewer(1, 0):
        search = Search(8, reward)
        outcomes = search.outcomes(*sight(game), np.random.default_rng(0)).mean(axis=1)
        assert game.legal_actions()[outcomes.argmax()] == face_from_text(best)
        assert choice(game, search) == best


@pytest.mark.parametrize("num_players", SIZES)
def test_moon_is_settled_for_ones_own_points(num_players):
    """R21: subtracted, it saves the shooter 26 points; added, nothing."""
    game = moon_history(num_players, random.Random(2)).replay()
    observation, mask = sight(game)
    outcomes = Search(2, "points").outcomes(observation, mask, np.random.default_rng(0))
    assert outcomes.tolist() == [[26, 26], [0, 0]]
    assert action_of(Search(2, "points"), game) == 52
    relative = Search(2).outcomes(observation, mask, np.random.default_rng(0))
    assert relative == pytest.approx(np.full((2, 2), 26 - 26 / num_players))


# Arguments


@pytest.mark.parametrize("num_worlds", [0, -1, 2.5, True, "8", None])
def test_number_of_worlds_that_is_none_is_refused(num_worlds: Any):
    """ValueError that says what is allowed."""
    with pytest.raises(ValueError, match=rf"num_worlds={num_worlds!r} is not allowed: .* at least 1"):
        Search(num_worlds)


@pytest.mark.parametrize("reward", ["win", "score", None])
def test_reward_that_the_end_of_a_hand_does_not_decide_is_refused(reward: Any):
    """`"win"` is known and named as what cannot be."""
    with pytest.raises(ValueError, match=rf"reward={reward!r} is not allowed: .*'points' or 'relative'.*'win'"):
        Search(8, reward)
