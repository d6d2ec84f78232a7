"""The worlds that search draws: none that the seat can rule out, passed from as `careful` players pass."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.likely_worlds import SHAPES_FILE, likely_worlds, measured_shapes
from chearts_env import Game, Rules
from chearts_env.cards import FACE_SUIT
from chearts_env.knowledge import redeal_observation
from chearts_env.rules import PRESETS
from tests.baselines.positions import action_of, likely_games, moments, sight, tuned_array
from tests.sizes import SIZES, fewer, moon_history, random_rules


def num_voids(game: Game) -> int:
    """Suits that seats other than seat 0 lack."""
    return sum(not game.hand(seat)[suit == FACE_SUIT].any() for seat in range(1, game.num_players) for suit in range(4))


@pytest.mark.parametrize("num_players", SIZES)
def test_likely_worlds_show_the_seat_what_it_sees(num_players):
    """R7, R18: in the pass and in play, under any options, bit for bit."""
    rng = random.Random(num_players)
    places = {"pass": [0, 2, 7, 3 * num_players - 1], "play": [0, 20, 45, 80]}
    for seed in range(fewer(4, 1)):
        for game in moments(random_rules(num_players, rng), seed, places):
            observation, mask = sight(game)
            for world in likely_games(observation, seed, fewer(4, 1)):
                assert (world.observation(0) == observation).all()
                assert (world.action_mask() == mask).all()


def test_likely_worlds_show_the_seat_what_it_sees_when_it_settles_a_moon():
    """R21: nothing is left to guess but a kitty."""
    game = moon_history(7, random.Random(1)).replay()
    observation, _ = sight(game)
    assert all((world.observation(0) == observation).all() for world in likely_games(observation, 0, 4))


def test_likely_worlds_are_whole_packs():
    """R2: two copies of every face, wherever they lie; tables count the cards of each suit as well."""
    for game in moments(Rules(7), 5, {"pass": [0, 8], "play": [0, 30, 70]}):
        for world in likely_games(sight(game)[0], 1, 3):
            held = sum(world.hand(seat) + world.played(seat) for seat in range(7)) + world.kitty
            chosen = sum(world.given(seat) for seat in range(7)) if world.phase == "pass" else 0
            assert (held + chosen == 2).all()
            for seat in range(7):
                by_suit = world.hand(seat).reshape(4, 13).sum(axis=1)
                assert (world._private["suits"][seat] == by_suit).all()


def test_seats_that_have_passed_have_passed_as_careful_does():
    """R7, R9: dealt the hands of the world, `careful` gives these cards."""
    (game,) = moments(Rules(8), 3, {"pass": [3 * 6]})
    for world in likely_games(sight(game)[0], 4, fewer(5, 1)):
        hands = np.array([world.hand(seat) + world.given(seat) for seat in range(8)])
        dealt = Game.from_hands(world.rules, hands, dealer=world.dealer)
        while dealt.mover != world.mover:
            dealt.step(action_of(Careful(), dealt))
        for seat in range(8):
            assert (dealt.given(seat) == world.given(seat)).all()


def test_likely_worlds_have_more_voids_after_a_pass_than_worlds_drawn_alike():
    """R7: short suits are given away."""
    num_worlds, likely, alike = fewer(60, 20), 0, 0
    for seed in range(fewer(6, 2)):
        (game,) = moments(Rules(6), seed, {"play": [0]})
        observation, _ = sight(game)
        likely += sum(map(num_voids, likely_games(observation, seed, num_worlds)))
        rules, tables = redeal_observation(observation, np.random.default_rng(seed), num_worlds)
        alike += sum(num_voids(Game._of_tables(rules, tables[place : place + 1], [])) for place in range(num_worlds))
    assert likely > 1.3 * alike > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_worlds_are_drawn_alike_where_nothing_is_passed_and_the_same_for_the_same_seed(preset):
    """R8: `redeal_observation` alone without a pass."""
    for game in moments(getattr(Rules, preset)(9), 2, {"play": [0, 40][: fewer(2, 1)]}):
        observation, _ = sight(game)
        _, alike = redeal_observation(observation, np.random.default_rng(1), 5)
        one, same, other = (
            likely_worlds(observation, np.random.default_rng(seed), 5, tuned_array()) for seed in (1, 1, 2)
        )
        assert one.tobytes() == same.tobytes() != other.tobytes()
        assert (one.tobytes() == alike.tobytes()) == (preset == "bicycle")


def test_shapes_are_ratios_for_every_size_and_length():
    """Not below zero anywhere, voids more often than before a pass, average lengths less often."""
    ratios = json.loads(SHAPES_FILE.read_text("utf-8"))["ratios"]
    assert list(ratios) == ["6", "7", "8", "9", "10", "11"]
    for size, by_length in ratios.items():
        assert len(by_length) == 20
        assert min(by_length) > 0
        assert by_length[0] > 1 > by_length[104 // int(size) // 4]


@pytest.mark.slow
def test_shapes_are_what_is_measured_again():
    """On other deals, where a length is frequent: within a fifth."""
    ratios = json.loads(SHAPES_FILE.read_text("utf-8"))["ratios"]
    for size, by_length in measured_shapes(2_000, seed=77).items():
        for length in range(104 // int(size) // 2):
            assert by_length[length] == pytest.approx(ratios[size][length], rel=0.2)
