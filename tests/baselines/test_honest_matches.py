"""What a match says of equals: nothing, as often as it should, in every seat, and however often one asks."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Game, Rules
from chearts_env.arena import Match, deal_seeds, play_match
from chearts_env.observation import field_values

REPETITIONS = 200
DEALS = 16
#: What chi-square with so many degrees of freedom exceeds once in a thousand.
CHI_SQUARE_999 = {6: 22.5, 7: 24.3}


class Uneven:
    """Plays any card, and its lowest if it deals or one of the next three seats does: good at some places only."""

    def act(self, observations, action_masks, rng):
        low, any_card = (player.act(observations, action_masks, rng) for player in (LowCard(), RandomLegal()))
        dealer = field_values(observations, "is_dealer").reshape(len(observations), -1).argmax(axis=1)
        return np.where(dealer < 4, low, any_card)


def matches_of(policy, num_players: int, seeds: range, swapped: bool = False) -> list[Match]:
    """A match of equals for each seed."""
    return [play_match(policy, policy, Rules(num_players), DEALS, seed, swapped=swapped) for seed in seeds]


@pytest.fixture(scope="module", params=[(RandomLegal, 6, False), (Uneven, 7, True)], ids=["6", "7-swapped"])
def even(request) -> list[Match]:
    """Two hundred matches of equals."""
    policy, num_players, swapped = request.param
    return matches_of(policy(), num_players, range(REPETITIONS), swapped)


@pytest.mark.slow
def test_interval_of_equals_covers_zero_about_95_times_in_100(even):
    """Of 200, 95 % less what 16 deals cost, give or take four standard deviations of 1.6 %; it misses either way."""
    low, high = np.array([match.interval95 for match in even]).T
    assert 0.86 <= ((low <= 0) & (high >= 0)).mean() <= 0.985
    assert abs((low > 0).sum() - (high < 0).sum()) <= 11
    advantages = np.array([match.advantage for match in even])
    assert abs(advantages.mean()) < 3.3 * advantages.std() / np.sqrt(REPETITIONS)


def chi_square(saved: np.ndarray) -> float:
    """Distance of the mean of rows, (D, n), from zero: chi-square with n degrees of freedom where it is zero."""
    mean = saved.mean(axis=0)
    return float(len(saved) * mean @ np.linalg.solve(np.cov(saved.T), mean))


@pytest.mark.slow
def test_no_seat_and_no_place_at_the_table_is_favoured(even):
    """R6, R8, R10: seats are alike; places counted from the dealer are not, and yet nothing is saved in any of them."""
    rules = even[0].rules
    n = rules.num_players
    points = np.concatenate([match.field_points for match in even])
    saved = points - np.concatenate([match.challenger_points for match in even])
    assert chi_square(saved.astype(float)) < CHI_SQUARE_999[n]
    seeds = np.concatenate([deal_seeds(match.seed, DEALS) for match in even])
    dealers = np.array([Game(rules, seed=int(seed), episode="hand").dealer for seed in seeds])
    places = (dealers[:, None] + np.arange(n)) % n  # [D, n] the seat at each place from the dealer on
    by_place = np.take_along_axis(saved, places, axis=1)
    assert chi_square(by_place.astype(float)) < CHI_SQUARE_999[n]
    if n == 7:  # that this says something: these places are not worth the same, by far more than chance
        relative = np.take_along_axis(points - points.mean(axis=1, keepdims=True), places, axis=1)
        assert chi_square(relative[:, 1:]) > 5 * CHI_SQUARE_999[n]


@pytest.mark.slow
def test_two_hundred_promotions_among_equals_gain_nothing_on_fresh_deals(even):
    """Whoever is promoted for its luck looks better on the deals it was chosen by, and is not on any others."""
    policy, rules = (RandomLegal() if even[0].rules.num_players == 6 else Uneven()), even[0].rules
    claimed = np.array([match.advantage for match in even if match.advantage > 0])
    assert 70 <= len(claimed) <= 130
    fresh_seeds = [1000 + match.seed for match in even if match.advantage > 0]
    fresh = np.concatenate([play_match(policy, policy, rules, DEALS, seed).saved for seed in fresh_seeds])
    error = fresh.std() / np.sqrt(len(fresh))
    assert claimed.mean() > 5 * error
    assert abs(fresh.mean()) < 3.3 * error
    # Those whose whole interval lay above zero: 2.5 % of 200, and four standard deviations more; they gain nothing too.
    sure = [match.seed for match in even if match.interval95[0] > 0]
    assert len(sure) <= 14
    if sure:
        fresh = np.concatenate([play_match(policy, policy, rules, 5 * DEALS, 1000 + seed).saved for seed in sure])
        assert abs(fresh.mean()) < 3.3 * fresh.std() / np.sqrt(len(fresh))


class Wasteful(RandomLegal):
    """Plays as `RandomLegal` does, and keeps its first draws; draws more of them the more rows there are."""

    def __init__(self) -> None:
        self.draws: list[float] = []

    def act(self, observations, action_masks, rng):
        actions = super().act(observations, action_masks, rng)
        self.draws += rng.random(len(action_masks)).tolist()
        rng.random((len(action_masks), 1 + len(action_masks) % 3))
        rng.integers(0, 9, len(action_masks))
        return actions


class FirstLook:
    """A watcher that keeps all hands as they were dealt."""

    hands: np.ndarray | None = None

    def before_step(self, tables, actions, playing):
        if self.hands is None:
            self.hands = tables.hidden_hands()

    def after_step(self, tables, playing):
        pass


def test_deals_and_players_draw_from_streams_of_their_own(monkeypatch):
    """Other draws of the players leave the deals as they are, and other deals the draws."""
    looks: list[np.ndarray] = []
    policies: list[Wasteful] = []
    points: list[np.ndarray] = []
    for streams in ({}, {"_PLAYER_STREAM": 77}, {"_DEAL_STREAM": 77}):
        look, policy = FirstLook(), Wasteful()
        with monkeypatch.context() as patch:
            for name, number in streams.items():
                patch.setattr(f"chearts_env.arena.{name}", number)
            points.append(play_match(policy, policy, Rules(6), 3, seed=2, watch=look).table_points)
        assert look.hands is not None
        looks.append(look.hands)
        policies.append(policy)
    # The first card of every table is given before anything tells the tables apart but seed, deal and seat.
    first, other_players, other_deals = (policy.draws[:21] for policy in policies)
    assert (looks[1] == looks[0]).all()
    assert first != other_players
    assert (points[1] != points[0]).any()
    assert (looks[2] != looks[0]).any()
    assert sorted(first) == sorted(other_deals)
    plain = FirstLook()
    assert (play_match(RandomLegal(), RandomLegal(), Rules(6), 3, seed=2, watch=plain).table_points == points[0]).all()
    assert plain.hands is not None
    assert (plain.hands == looks[0]).all()
