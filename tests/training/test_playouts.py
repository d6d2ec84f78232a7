"""Labels: compiled players against the opponents they copy, playouts against a slow replay through `Game`."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.careful.judgements import costs_of
from baselines.careful.weights import new_weights
from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Game, Rules
from chearts_env.deal import seed_stream
from chearts_env.observation import field_values
from chearts_env.table import MOON, PASS, PLAY
from tests.training.decisions import ALL_RULES, decision, name_of
from training.config import LabelsConfig
from training.labels import Chunk, make_labels, rules_to_deal
from training.players import CAREFUL, LOW_CARD, NETWORK, RANDOM_LEGAL, choose, choose_any, new_tools, num_choices
from training.playouts import UNTRIED, centred, compiled_values, network_values


def low_card_action(game: Game) -> int:
    """What the opponent `low_card` does at a game."""
    assert game.mover is not None
    observation, mask = game.observation(game.mover)[None], game.action_mask()[None]
    return int(LowCard().act(observation, mask, np.random.default_rng(0))[0])


def slow_values(game: Game) -> np.ndarray:
    """Centred values of all actions by plain play through `Game`, everyone playing the low card."""
    seat = game.mover
    values = np.full(54, np.nan)
    for action in game.legal_actions():
        tried = game.copy()
        tried.step(action)
        while not tried.is_over:
            tried.step(low_card_action(tried))
        values[action] = tried.scores.mean() - tried.scores[seat]
    return values - np.nanmean(values)


def stacked(games: list[Game]) -> np.ndarray:
    """The tables of some games."""
    return np.concatenate([game._tables for game in games])


@pytest.mark.parametrize("rules", ALL_RULES, ids=name_of)
def test_compiled_players_choose_as_the_opponents_do(rules):
    """The low card is the same card at every decision; a random action is an allowed one; choices are the mask's."""
    stream = np.zeros(4, np.uint64)
    seed_stream(stream, np.uint64(1))
    tools = new_tools()
    game = Game(rules, seed=5, episode="hand")
    while not game.is_over:
        table = game._tables[0]
        assert game.mover is not None
        seen, mask = game.observation(game.mover)[None], game.action_mask()[None]
        assert choose(table, CAREFUL, stream, tools) == Careful().act(seen, mask, np.random.default_rng(0))[0]
        assert num_choices(table) == len(game.legal_actions())
        assert choose(table, LOW_CARD, stream, tools) == low_card_action(game)
        assert choose_any(table, stream) in game.legal_actions()
        game.step(choose(table, RANDOM_LEGAL, stream, tools))


def test_random_player_takes_each_allowed_action_equally_often():
    """A first lead with more than ten choices: 3,000 draws, each action within five standard deviations."""
    game = Game(Rules.bicycle(6), seed=1, episode="hand")
    stream = np.zeros(4, np.uint64)
    seed_stream(stream, np.uint64(3))
    legal = game.legal_actions()
    drawn, counts = np.unique([choose_any(game._tables[0], stream) for _ in range(3000)], return_counts=True)
    assert drawn.tolist() == legal
    expected = 3000 / len(legal)
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize("rules", ALL_RULES[:12], ids=name_of)
def test_values_are_those_of_a_slow_replay_through_game(rules):
    """Every allowed action, the same true deal, everyone playing the low card, points relative to the table's mean."""
    games = [decision(rules, seed) for seed in range(6)]
    players = np.full((6, 11), LOW_CARD, np.int8)
    before = stacked(games)
    tables = before.copy()
    values = compiled_values(tables, players, np.arange(6, dtype=np.uint64), 2, everything(6))
    assert tables.tobytes() == before.tobytes()
    np.testing.assert_allclose(values, [slow_values(game) for game in games], atol=1e-4)


def test_network_that_plays_the_low_card_gives_the_values_of_the_low_card():
    """Playouts by a network go the same way as compiled ones, whichever seats it has, forced actions included."""
    games = [decision(rules, seed) for seed, rules in enumerate(ALL_RULES)]
    rng = np.random.default_rng(0)
    seeds = np.arange(len(games), dtype=np.uint64)
    low = np.full((len(games), 11), LOW_CARD, np.int8)
    mixed = np.where(rng.random(low.shape) < 0.5, NETWORK, LOW_CARD).astype(np.int8)

    def network(observations, masks):
        return LowCard().act(observations, masks, rng)

    compiled = compiled_values(stacked(games), low, seeds, 1, everything(len(games)))
    for players in (mixed, np.full_like(low, NETWORK)):
        values = network_values(stacked(games), players, seeds, 2, everything(len(games)), network)
        np.testing.assert_allclose(values, compiled, atol=1e-4)


def test_random_playouts_share_their_chance_and_follow_from_their_seed():
    """The same seeds give the same values, other seeds others."""
    games = [decision(Rules(6), seed) for seed in range(8)]
    players = np.full((8, 11), RANDOM_LEGAL, np.int8)
    seeds = np.arange(8, dtype=np.uint64)
    first, again, other = (
        compiled_values(stacked(games), players, chosen, 3, everything(8))
        for chosen in (seeds, seeds, seeds + np.uint64(99))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, equal_nan=True)


def test_centred_values_have_mean_zero_over_allowed_actions():
    """NaN marks what is not allowed, infinity what was not tried, and neither takes part."""
    values = np.array([[1, np.nan, 3], [UNTRIED, 5, 6]], np.float32)
    np.testing.assert_array_equal(centred(values), [[-1, np.nan, 1], [UNTRIED, -0.5, 0.5]])


@pytest.mark.parametrize("by_network", [False, True])
def test_actions_not_tried_are_told_from_those_not_allowed(by_network):
    """The values of the others differ by a constant alone: the mean is that of what was tried."""
    games = [decision(rules, seed) for seed, rules in enumerate(ALL_RULES)]
    seeds, low = np.arange(len(games), dtype=np.uint64), np.full((len(games), 11), LOW_CARD, np.int8)
    whole = compiled_values(stacked(games), low, seeds, 1, everything(len(games)))
    tried = np.random.default_rng(0).random(whole.shape) < 0.6
    tried[np.arange(len(games)), np.isfinite(whole).argmax(axis=1)] = True
    if by_network:

        def network(observations, masks):
            return LowCard().act(observations, masks, np.random.default_rng(0))

        values = network_values(stacked(games), np.full_like(low, NETWORK), seeds, 1, tried, network)
    else:
        values = compiled_values(stacked(games), low, seeds, 1, tried)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(whole))
    np.testing.assert_array_equal(values == UNTRIED, ~np.isnan(whole) & ~tried)
    differences = np.where(np.isfinite(values), values - whole, np.nan)
    assert (np.nanmax(differences, axis=1) - np.nanmin(differences, axis=1)).max() < 1e-4


def test_promising_actions_are_the_best_ones_of_careful_and_some_others():
    """At play those within 1.5 points of its choice, five cards to give away, both ways of a moon; and chance ones."""
    labels = make_labels(Chunk(1, 0, 0, tuple(ALL_RULES[:12]), settings(tables=96, tried="promising")), None)
    values, observations = labels["values"].astype(np.float32), np.ascontiguousarray(labels["observation"])
    allowed = ~np.isnan(values)
    costs = np.where(allowed, costs_of(observations, allowed.view(np.int8), new_weights()), np.inf)
    is_play = field_values(observations, "phase")[:, PLAY] > 0
    near = (costs <= costs.min(axis=1, keepdims=True) + 1.5) & allowed
    assert np.isfinite(values)[is_play][near[is_play]].all()
    is_pass = field_values(observations, "phase")[:, PASS] > 0
    two_best = np.take_along_axis(values, costs.argsort(axis=1)[:, :2], axis=1)
    assert np.isfinite(two_best)[is_pass].all()
    others = (is_play[:, None] & allowed & ~near).sum()
    tried_anyway = (is_play[:, None] & np.isfinite(values) & ~near).sum()
    assert 0 < tried_anyway < 0.5 * others
    assert (np.isfinite(values).sum(axis=1) >= 2).all()
    assert np.abs(np.nanmean(np.where(np.isfinite(values), values, np.nan), axis=1)).max() < 0.05


def everything(count: int) -> np.ndarray:
    """Every action of so many decisions is tried."""
    return np.ones((count, 54), np.bool_)


def settings(**changes) -> LabelsConfig:
    """Small chunks."""
    return LabelsConfig(**{"tables": 24, "playouts": 1, **changes})


def test_labels_of_a_chunk_follow_from_seed_round_and_number():
    """Any process, any order: the same chunk; another number, round or seed gives another one."""
    rules = tuple(ALL_RULES[:12])
    chunk = Chunk(1, 0, 3, rules, settings())
    labels = make_labels(chunk, None)
    assert labels.tobytes() == make_labels(chunk, None).tobytes()
    for other in (
        Chunk(2, 0, 3, rules, settings()),
        Chunk(1, 1, 3, rules, settings()),
        Chunk(1, 0, 4, rules, settings()),
    ):
        assert labels.tobytes() != make_labels(other, None).tobytes()


def test_labels_are_choices_of_every_size_and_phase_with_centred_values():
    """A forced action teaches nothing and is not noted; values stand where actions are allowed."""
    labels = make_labels(Chunk(1, 0, 0, tuple(ALL_RULES[:12]), settings(tables=48)), None)
    allowed = ~np.isnan(labels["values"])
    assert (allowed.sum(axis=1) >= 2).all()
    held = field_values(labels["observation"], "hand") > 0
    playing = field_values(labels["observation"], "phase")[:, MOON] == 0
    assert (allowed[playing, :52] <= held[playing]).all()
    assert np.abs(np.nanmean(labels["values"].astype(np.float32), axis=1)).max() < 0.05
    assert (field_values(labels["observation"], "size").sum(axis=0) > 5).all()
    assert (field_values(labels["observation"], "phase").sum(axis=0)[:2] > 20).all()
    assert 3 < len(labels) / 48 < 6  # about 4.0 plays, fewer where many are forced, and 0.8 passes


def test_moon_is_worth_more_subtracted_in_ones_own_points():
    """R21: 26 less for oneself, or nothing; relative points would not tell the two apart."""
    labels = make_labels(Chunk(1, 0, 0, (Rules(11),), settings(tables=600, plays=0.0, passes=0.0)), None)
    assert len(labels) > 0
    assert (labels["values"][:, 52] == 13).all()
    assert (labels["values"][:, 53] == -13).all()


def test_choices_with_a_moon_in_sight_are_labelled_as_often_as_asked():
    """Where one seat has all points, 13 at least: all of them, not one in hundreds; others as often as before."""
    counts = {}
    for moons in (0.0, 1.0):
        chosen = settings(tables=300, plays=0.2, passes=0.0, moons=moons, tried="promising")
        labels = make_labels(Chunk(1, 0, 0, (Rules(11), Rules(9)), chosen), None)
        points = field_values(labels["observation"], "points_seen")[..., 0]
        in_sight = (points.sum(axis=1) >= 13) & (points.sum(axis=1) == points.max(axis=1))
        counts[moons] = (int(in_sight.sum()), int((~in_sight).sum()))
    assert counts[1.0][0] > 10 * max(counts[0.0][0], 1)
    assert 20 < counts[0.0][1] < 100
    assert 20 < counts[1.0][1] < 100


def test_labels_of_a_later_round_are_decisions_of_the_network():
    """The network is asked, and what it decided is valued, by compiled players and by itself."""
    asked = []

    def network(observations, masks):
        asked.append(len(masks))
        assert (masks.sum(axis=1) > 1).all()
        return RandomLegal().act(observations, masks, np.random.default_rng(len(asked)))

    chunk = Chunk(1, 1, 0, tuple(ALL_RULES[:12]), settings(network_playouts=0.5, self_play=0.3))
    labels = make_labels(chunk, network)
    assert len(labels) > 40
    assert sum(asked) > 1000
    assert np.isfinite(labels["values"][~np.isnan(labels["values"])]).all()


def test_crowded_tables_under_two_pairs_are_dealt_more_often():
    """TRAINING: labels are spent where a label says least."""
    dealt = rules_to_deal(ALL_RULES[:12], settings(crowded_weight=3))
    assert dealt.count(Rules(11)) == 3
    assert dealt.count(Rules(6)) == dealt.count(Rules.classic(11)) == 1
