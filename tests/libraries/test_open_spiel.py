"""The OpenSpiel game: its own random simulations pass, it deals as the rules say, its search and learning run on it."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from open_spiel.python.tests import games_sim_test

from training.libraries import open_spiel_game

pytestmark = [pytest.mark.train, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("players", [6, 8, 11])
@pytest.mark.parametrize("reading", ["two_pairs", "no_live_card"])
def test_open_spiels_random_simulations_pass(players, reading):
    """Serialising, cloning, legal actions, chances and returns, as OpenSpiel checks them."""
    game = pyspiel.load_game(f"{open_spiel_game.NAME}(players={players},set_aside={reading})")
    pyspiel.random_sim_test(game, 2, True, False)


@pytest.mark.parametrize("players", [6, 8, 11])
@pytest.mark.parametrize("reading", ["two_pairs", "no_live_card"])
def test_open_spiels_own_suite_for_games_passes(players, reading):
    """`games_sim_test`: pickles of game and states, clones, utilities within their bounds, nothing legal at the end."""
    np.random.seed(players)  # noqa: NPY002 - that suite draws from NumPy's global generator
    game = pyspiel.load_game(f"{open_spiel_game.NAME}(players={players},set_aside={reading})")
    games_sim_test.GamesSimTest().sim_game(game)


def test_resampled_state_looks_the_same_to_the_player():
    """Same information, other cards elsewhere."""
    game = pyspiel.load_game(f"{open_spiel_game.NAME}(players=6)")
    rng = np.random.RandomState(1)
    state = game.new_initial_state()
    for _ in range(106 + 50):
        actions = [action for action, _ in state.chance_outcomes()] if state.is_chance_node() else state.legal_actions()
        state.apply_action(int(rng.choice(actions)))
    player = state.current_player()
    other = state.resample_from_infostate(player, rng.random_sample)
    assert other.information_state_string(player) == state.information_state_string(player)
    assert other.legal_actions() == state.legal_actions()
    assert (other.game.hand((player + 1) % 6) != state.game.hand((player + 1) % 6)).any()


def test_information_set_search_plays_hands(capsys):
    """At 6 seats."""
    open_spiel_game.main(["--seconds", "1", "--simulations", "6"])
    assert "points below the mean" in capsys.readouterr().out
