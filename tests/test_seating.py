"""Any policies in any seats: who is asked where, that tables do not touch one another, and what a watcher sees."""

from __future__ import annotations

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.policy import RowGenerator, sub_keys
from chearts_env.seating import Played, play_seated, table_keys

RULES = Rules(6, first_dealer=0)


class Random:
    """Uniform over the mask; keeps how many rows it was asked about."""

    def __init__(self) -> None:
        self.rows = 0

    def act(self, observations, action_masks, rng):
        self.rows += len(action_masks)
        return (action_masks * rng.random(action_masks.shape)).argmax(axis=1)


class First:
    """The first allowed action; deterministic."""

    def act(self, observations, action_masks, rng):
        return action_masks.argmax(axis=1)


class Vandal:
    """Allows itself in its copy of the mask what it then plays."""

    def act(self, observations, action_masks, rng):
        action_masks[:] = 1
        return np.full(len(action_masks), 53)


class Watcher:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.played: list[list[tuple[int, int]]] = []
        self.ended: list[list[int]] = []

    def before_step(self, tables, actions, playing):
        self.played.append([(int(tables.movers[row]), int(actions[row])) for row in np.flatnonzero(playing)])

    def after_step(self, tables, playing):
        self.ended.append(np.flatnonzero(playing & (tables.terminations | tables.truncations)).tolist())


def keys_of(num_tables: int) -> np.ndarray:
    """One key for each table."""
    return sub_keys(np.uint64(8) * np.ones(1, np.uint64), np.arange(num_tables))


def hands_of(rules: Rules, num_tables: int) -> list[Game]:
    """A hand for each table, with the seeds from 0 on."""
    return [Game(rules, seed=seed, episode="hand") for seed in range(num_tables)]


def play_alone(game: Game, policies: list, seats: np.ndarray, key: np.uint64) -> Game:
    """The same table, a decision at a time through `Game`: the slow twin of the batched loop."""
    game = game.copy()
    keys = np.array([key])
    while not game.is_over:
        keys = sub_keys(keys, np.ones(1))
        assert game.mover is not None
        observation, mask = game.observation(game.mover)[None], game.action_mask()[None]
        game.step(int(policies[seats[game.mover]].act(observation, mask, RowGenerator(keys))[0]))
    return game


def test_tables_end_as_each_does_alone_through_game():
    """The batched loop adds no rule and mixes nothing: any seating, hands that end at different steps (R21)."""
    seats = np.random.default_rng(3).integers(0, 3, (5, 6))
    policies: list = [Random(), First(), Random()]
    games = hands_of(RULES, 5)
    played = play_seated(games, policies, seats, keys_of(5))
    for row, game in enumerate(games):
        assert play_alone(game, policies, seats[row], keys_of(5)[row]).scores.tolist() == played.points[row].tolist()
    assert played.hands.tolist() == [1] * 5


@pytest.mark.parametrize("options", [{"target_score": 100}, {"max_hands": 3}])
def test_whole_games_end_with_the_scores_and_hands_of_each_alone(options):
    """R23 and R25: at the target or at the cap, whatever the hand the other tables are in."""
    games = [Game(Rules(11, **options), seed=seed) for seed in (4, 5, 6)]
    seats = np.arange(33).reshape(3, 11) % 2
    together, alone = Random(), Random()
    played = play_seated(games, [together, First()], seats, keys_of(3))
    ends = [play_alone(game, [alone, First()], seats[row], keys_of(3)[row]) for row, game in enumerate(games)]
    assert together.rows == alone.rows == played.decisions[0]  # it is not asked for tables that wait for others
    assert played.points.tolist() == [end.scores.tolist() for end in ends]
    assert played.hands.tolist() == [len(end.score_sheet) for end in ends]
    assert len(set(played.hands)) > 1 or options == {"max_hands": 3}


def test_table_is_played_alike_whatever_is_played_beside_it():
    """A table's stream is its key's."""
    games, seats, keys = hands_of(RULES, 7), np.zeros((7, 6), np.int64), keys_of(7)
    whole = play_seated(games, [Random()], seats, keys)
    part = play_seated(games[3:5], [First(), Random()], seats[3:5] + 1, keys[3:5])
    assert (part.points == whole.points[3:5]).all()
    assert (play_seated(games, [Random()], seats, keys[::-1].copy()).points != whole.points).any()


def test_decisions_are_counted_and_policies_asked_for_their_own_seats_only():
    """Every card given and played is one decision of the policy that has the seat; whoever has no seat has none."""
    policies = [Random(), Random(), Random()]
    seats = np.array([[0, 1, 1, 1, 1, 1]] * 4)
    played = play_seated(hands_of(Rules(6, moon="off"), 4), policies, seats, keys_of(4))
    assert played.decisions.tolist() == [4 * 20, 4 * 100, 0]
    assert [policy.rows for policy in policies] == [4 * 20, 4 * 100, 0]
    assert (played.seconds > 0).tolist() == [True, True, False]
    assert played.points.sum(axis=1).max() <= 52


def test_watcher_sees_every_action_before_it_is_taken_and_every_end():
    """What it is told makes the same hands again, and it is told nothing of tables that wait for others."""
    games, watcher = [Game(Rules(11, target_score=100), seed=seed) for seed in range(3)], Watcher()
    played: Played = play_seated(games, [Random()], np.zeros((3, 11), np.int64), keys_of(3), watch=watcher)
    again = [game.copy() for game in games]
    for step, taken in enumerate(watcher.played):
        going = [game for game in again if not game.is_over]
        for game, (seat, action) in zip(going, taken, strict=True):
            assert game.mover == seat
            game.step(action)
        assert watcher.ended[step] == [
            row for row, game in enumerate(again) if game.is_over and any(game is each for each in going)
        ]
    assert [game.scores.tolist() for game in again] == played.points.tolist()
    assert sum(bool(ended) for ended in watcher.ended) > 1  # so some did wait


def test_games_stay_as_they_are():
    """They are copied into the tables."""
    games = hands_of(RULES, 2)
    before = [game.to_bytes() for game in games]
    play_seated(games, [First()], np.zeros((2, 6), np.int64), keys_of(2))
    assert [game.to_bytes() for game in games] == before


def test_policy_that_writes_into_its_mask_is_refused_all_the_same():
    """What is allowed is looked up in the tables."""
    with pytest.raises(ValueError, match=r"the vandal in seat \d chose action 53 \(add\)"):
        play_seated(hands_of(RULES, 2), [Vandal()], np.zeros((2, 6), np.int64), keys_of(2), names=["the vandal"])


@pytest.mark.parametrize(
    ("games", "seats", "keys", "message"),
    [
        ([], np.zeros((0, 6), int), keys_of(0), "at least one game"),
        ([*hands_of(Rules(6), 1), *hands_of(Rules(7), 1)], np.zeros((2, 6), int), keys_of(2), "all of one size"),
        (hands_of(RULES, 2), np.zeros((2, 7), int), keys_of(2), r"of shape \(2, 6\)"),
        (hands_of(RULES, 2), np.zeros((2, 6)), keys_of(2), "float64"),
        (hands_of(RULES, 2), np.zeros((2, 6), int), keys_of(3), r"uint64 of shape \(2,\)"),
        (hands_of(RULES, 2), np.zeros((2, 6), int), np.arange(2), "int64"),
        (hands_of(RULES, 2), np.full((2, 6), -1), keys_of(2), r"-1 … -1: places 0 … 0"),
        (hands_of(RULES, 2), np.ones((2, 6), int), keys_of(2), r"1 … 1: places 0 … 0"),
    ],
)
def test_arguments_that_do_not_fit_together_are_refused(games, seats, keys, message):
    """ValueError, for the user, before anything is played."""
    with pytest.raises(ValueError, match=message):
        play_seated(games, [First()], seats, keys)


def test_every_table_of_every_deal_has_luck_of_its_own() -> None:
    """Streams of players: seed, stream, deal and table each make another key, and deals keep theirs in any stretch."""
    keys = table_keys(3, 1, range(50), 8)
    assert len(set(keys.tolist())) == 400
    others = np.concatenate([table_keys(4, 1, range(50), 8), table_keys(3, 2, range(50), 8)])
    assert not np.isin(keys, others).any()
    assert (table_keys(3, 1, range(20, 50), 8) == keys[160:]).all()
