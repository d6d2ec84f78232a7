"""Same-step auto-reset: what a step says of the episode that ended, and that nothing of it survives in the new one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from chearts_env import Game, Rules, VectorTables
from tests.sizes import SIZES, fewer, preferred, priorities, random_rules

KINDS = ("hand", "game")
REWARDS = ("points", "relative", "win")


def mixed_rules(seed: int, **options: Any) -> list[Rules]:
    """Draw rules of all sizes."""
    rng = random.Random(seed)
    return [random_rules(size, rng, **options) for size in (6, 7, 8, 9, 10, 11)]


def expected_rewards(game: Game, num_hands_before: int, reward: str) -> npt.NDArray[np.float64]:
    """Say what the step just taken must pay, from the score sheet alone, (11,)."""
    paid = np.zeros(11)
    sheet = game.score_sheet
    if len(sheet) == num_hands_before:
        return paid
    if reward == "points":
        paid[: game.num_players] = -sheet[-1]
    elif reward == "relative":
        paid[: game.num_players] = sheet[-1].mean() - sheet[-1]
    elif game.is_over:
        paid[game.winners] = 1 / len(game.winners)
    return paid


class ByHand:
    """The games of a batch, each stepped, and dealt anew when it ends, outside the batch."""

    def __init__(self, tables: VectorTables, kind: Any, reward: str) -> None:
        self.tables = tables
        self.kind = kind
        self.reward = reward
        self.games = [self.new_game(place) for place in range(len(tables))]
        self.num_episodes = 0
        self.num_truncated = 0

    def new_game(self, place: int) -> Game:
        """Deal what the slot's present episode was dealt."""
        return Game(self.tables.rules[place], seed=int(self.tables.episode_seeds[place]), episode=self.kind)

    def step(self, actions: npt.NDArray[np.int64]) -> None:
        """Step the batch and the games, and compare all that the batch shows."""
        tables = self.tables
        tables.step(actions)
        for place, game in enumerate(self.games):
            num_hands = len(game.score_sheet)
            game.step(int(actions[place]))
            assert np.allclose(tables.rewards[place], expected_rewards(game, num_hands, self.reward), rtol=1e-6, atol=0)
            assert tables.truncations[place] == game.is_truncated
            assert tables.terminations[place] == (game.is_over and not game.is_truncated)
            if game.is_over:
                self._end(place, game)
            new = self.games[place]
            assert tables.movers[place] == new.mover
            assert tables.observations[place].tobytes() == new.observation(int(tables.movers[place])).tobytes()
            assert tables.action_masks[place].tobytes() == new.action_mask().tobytes()

    def _end(self, place: int, game: Game) -> None:
        tables = self.tables
        scores = tables.final_scores[place]
        assert scores[: game.num_players].tolist() == game.scores.tolist()
        assert not scores[game.num_players :].any()
        self.num_episodes += 1
        self.num_truncated += game.is_truncated
        self.games[place] = self.new_game(place)
        # The whole state, hidden parts included, is that of a table that never held another episode.
        assert tables.game(place).to_bytes() == self.games[place].to_bytes()


@pytest.mark.slow
def test_a_thousand_episodes_by_auto_reset_equal_those_dealt_by_hand() -> None:
    """Contract, auto-reset: step by step, and each new episode's whole state is a fresh one's."""
    tables = VectorTables(mixed_rules(1), fewer(60, 6), seed=2)
    by_hand = ByHand(tables, "hand", "points")
    step = 0
    order = priorities(997, seed=3)
    while by_hand.num_episodes < fewer(1000, 8):
        by_hand.step(preferred(tables.action_masks, order[step % len(order)]))
        step += 1


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("kind", KINDS)
def test_results_of_an_ended_episode_are_right_for_each_reward_and_kind(kind: Any, reward: Any) -> None:
    """Contract, reward: paid when a hand is scored; final scores and flags are those of the old episode."""
    tables = VectorTables(
        mixed_rules(4, target_score=100, max_hands=4), fewer(12, 3), seed=5, episode=kind, reward=reward
    )
    by_hand = ByHand(tables, kind, reward)
    for priority in priorities(fewer(1300, 150), seed=6):
        by_hand.step(preferred(tables.action_masks, priority))
    assert by_hand.num_episodes >= fewer(18, 0)


def test_a_game_is_truncated_and_not_terminated_when_it_reaches_max_hands() -> None:
    """R25: `max_hands` truncates; with a target that one hand reaches, the same game terminates."""
    rules = [
        Rules(6, target_score=10_000, max_hands=1, moon="off"),
        Rules(8, target_score=1_000, max_hands=2, moon="off"),
    ]
    with pytest.warns(UserWarning, match="target_score=1 is below 100"):
        rules.append(Rules(11, target_score=1, max_hands=1, moon="off"))
    tables = VectorTables(rules, 3, seed=7, episode="game", reward="win")
    by_hand = ByHand(tables, "game", "win")
    ended: list[set[str]] = [set(), set(), set()]
    for priority in priorities(300, seed=8):
        by_hand.step(preferred(tables.action_masks, priority))
        for place in range(3):
            if tables.truncations[place]:
                ended[place].add("truncated")
            if tables.terminations[place]:
                ended[place].add("terminated")
    assert ended == [{"truncated"}, {"truncated"}, {"terminated"}]


@pytest.mark.parametrize("num_players", SIZES)
def test_rewards_and_flags_are_cleared_when_the_next_step_ends_nothing(num_players: int) -> None:
    """Contract, `VectorTables`: rewards are those paid by that step alone, seats that are absent are paid nothing."""
    tables = VectorTables(Rules(num_players), fewer(8, 2), seed=9)
    was_over = np.zeros(len(tables), np.bool_)
    for priority in priorities(fewer(400, 150), seed=10):
        tables.step(preferred(tables.action_masks, priority))
        over = tables.terminations | tables.truncations
        assert not (over & was_over).any()
        assert (tables.rewards[over].sum(axis=1) != 0).all()
        assert not tables.rewards[~over].any()
        assert not tables.rewards[:, num_players:].any()
        was_over = over


def test_relative_rewards_sum_to_zero_and_win_rewards_to_one_when_an_episode_ends() -> None:
    """Contract, reward: `relative` sums to zero at each table; of `win` the winners share 1."""
    totals: dict[Any, float] = {"relative": 0.0, "win": 1.0}
    for reward, total in totals.items():
        tables = VectorTables(mixed_rules(11), fewer(24, 3), seed=12, reward=reward)
        num_ended = 0
        for priority in priorities(fewer(500, 150), seed=13):
            tables.step(preferred(tables.action_masks, priority))
            over = tables.terminations
            num_ended += int(over.sum())
            assert np.allclose(tables.rewards[over].sum(axis=1), total, atol=1e-4)
        assert num_ended >= len(tables)
