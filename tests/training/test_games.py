"""Whole games: places and wins by hand, the same cards for the same seed, and what the command writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Game, Rules
from chearts_env.arena import deal_seeds
from training import evaluate
from training import games as games_module
from training.chunks import ChunkedRun
from training.games import GamePlan, Games, play_games, row_of
from training.workers import Workers


def games_of(own: list[int], others: list[int]) -> Games:
    """Two like seeds of 6 seats: the challenger's score in each seat, and what the five others have beside it."""
    scores = np.zeros((2, 6, 6), np.int64)
    for seat in range(6):
        scores[:, seat] = np.insert(others, seat, own[seat])
    return Games(Rules(6), 0, scores, np.full((2, 6), 12), 100, 0.001)


def test_places_and_wins_are_those_worked_out_by_hand():
    """R24: others have 10, 20, 20, 30, 150; who ties shares the win, and the mean of the places."""
    games = games_of([5, 10, 20, 25, 150, 160], [10, 20, 20, 30, 150])
    assert games.places.tolist() == [[1, 1.5, 3, 4, 5.5, 6]] * 2
    assert games.wins.tolist() == [[1, 0.5, 0, 0, 0, 0]] * 2
    assert games.shares_of_places() * 6 == pytest.approx([1.5, 0.5 + 1 / 3, 1 / 3, 1 / 3 + 1, 0.5, 1.5])
    row = row_of(games, "me", "them", "card_page") | {"versions": {}}
    assert row["place"] == pytest.approx(21 / 6)
    assert row["score_ahead"] == pytest.approx(46 - 370 / 6)
    assert (row["deals"], row["games"], row["hands_per_game"]) == (2, 12, 12)
    assert row["microseconds_per_decision"] == pytest.approx(10)


def test_equals_win_their_share_and_come_out_in_the_middle():
    """A deterministic policy among itself plays the same game in every seat, so the shares are exact."""
    games = play_games(LowCard(), LowCard(), Rules(7, target_score=100), range(3), seed=1)
    assert (games.scores == games.scores[:, :1]).all()
    assert games.wins.mean(axis=1) == pytest.approx([1 / 7] * 3)
    assert games.places.mean(axis=1) == pytest.approx([4] * 3)
    assert games.shares_of_places() == pytest.approx([1 / 7] * 7)


def test_game_of_the_field_is_the_game_of_that_seed():
    """R23: the scores and the hands are those of the same game through `Game`."""
    rules = Rules(6, target_score=100)
    games = play_games(LowCard(), LowCard(), rules, range(1, 2), seed=3)
    game = Game(rules, seed=int(deal_seeds(3, 2)[1]))
    while not game.is_over:
        assert game.mover is not None
        action = LowCard().act(game.observation(game.mover)[None], game.action_mask()[None], np.random.default_rng(0))
        game.step(int(action[0]))
    assert games.scores[0, 0].tolist() == game.scores.tolist()
    assert games.hands[0, 0] == len(game.score_sheet)


def test_hands_of_a_seed_are_dealt_alike_whoever_plays():
    """The table's own stream deals and does nothing else: hand by hand the same cards, dealer and pass."""

    def deals(choice: int) -> list[tuple]:
        seen: list[tuple] = []
        game, hand = Game(Rules(8), seed=5), -1
        while not game.is_over and len(seen) < 5:
            if game.hand_number != hand:
                hand = game.hand_number
                cards = [game.hand(seat).tolist() for seat in range(8)]
                seen.append((cards, game.dealer, game.pass_offset))
            game.step(game.legal_actions()[choice])
        return seen

    assert deals(0) == deals(-1)
    assert len(deals(0)) == 5


def test_games_do_not_depend_on_what_is_played_beside_them():
    """Chunks put together are the whole, and players draw by seed, number and seat."""
    rules = Rules.classic(9, max_hands=3)
    whole = play_games(RandomLegal(), LowCard(), rules, range(5), seed=6)
    parts = [play_games(RandomLegal(), LowCard(), rules, deals, seed=6) for deals in (range(2), range(2, 5))]
    joined = GamePlan("random_legal", "low_card", "classic", (9,), 5).joined(parts)
    assert (joined.scores == whole.scores).all()
    assert (joined.hands == whole.hands).all()
    assert joined.decisions == whole.decisions
    assert (whole.hands == 3).all()
    assert (play_games(RandomLegal(), LowCard(), rules, range(5), seed=7).scores != whole.scores).any()


def test_better_policy_wins_more_games_than_its_share():
    """By more than the interval, and the scores say the same."""
    row = row_of(
        play_games(LowCard(), RandomLegal(), Rules(6), range(20), seed=0), "low_card", "random_legal", "card_page"
    )
    assert row["wins95"][0] > 1 / 6
    assert row["place95"][1] < 3.5
    assert row["score_ahead95"][0] > 0
    assert row["wins"] == pytest.approx(row["shares_of_places"][0], abs=1e-12)


def test_games_from_the_command_line(tmp_path, capsys):
    """The keys, and what cannot go together."""
    file = tmp_path / "games.json"
    names = ["--challenger", "low_card", "--field", "random_legal", "--games"]
    assert evaluate.main([*names, "--seats", "6,11", "--deals", "4", "--json", str(file)]) == 0
    rows = json.loads(file.read_text("utf-8"))
    assert [(row["seats"], row["deals"], row["games"]) for row in rows] == [(6, 4, 24), (11, 4, 44)]
    for row in rows:
        for key in ("wins", "place", "hands_per_game", "score_challenger", "score_field", "score_ahead"):
            low, high = row[f"{key}95"]
            assert low <= row[key] <= high, key
        assert sum(row["shares_of_places"]) == pytest.approx(1)
    assert "one low_card among random_legal; whole games" in capsys.readouterr().out
    assert evaluate.main([*names, "--swapped"]) == 2
    assert evaluate.main([*names, "--until", "0.1"]) == 2


def test_games_are_cut_alike_for_any_number_of_workers(monkeypatch):
    """Chunks hold the same seeds; the last one is smaller."""
    monkeypatch.setattr(games_module, "TABLES_AT_ONCE", 18)
    plan = GamePlan("low_card", "random_legal", "card_page", (6,), 5, seed=2)
    run, stretches = ChunkedRun(plan), []
    with Workers(0) as workers:
        run.play(workers, lambda size, num_deals: stretches.append(num_deals))
    assert stretches == [3, 2]
    whole = play_games(LowCard(), RandomLegal(), Rules(6), range(5), seed=2)
    assert (run.match(6).scores == whole.scores).all()
