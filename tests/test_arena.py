"""Duplicate matches: the arithmetic by hand, and that nothing but seed, deal and seat decides a hand."""

from __future__ import annotations

import numpy as np
import pytest

from chearts_env import Game, IllegalActionError, Rules, VectorTables
from chearts_env.arena import (
    Match,
    RowGenerator,
    deal_seeds,
    joined,
    mean_interval,
    moon_shooters,
    play_deals,
    play_match,
    ratio_interval,
)
from chearts_env.observation import field_values

RANKS = np.append(np.arange(52) % 13, [0, 1])  # of the 52 faces; then subtract, add


class Lowest:
    """Plays the lowest allowed rank and passes the highest; deterministic."""

    def act(self, observations, action_masks, rng):
        sign = 1 - 2 * field_values(observations, "phase")[:, :1]
        return np.where(action_masks == 1, RANKS * sign, 99).argmin(axis=1)


class Highest:
    def act(self, observations, action_masks, rng):
        return np.where(action_masks == 1, RANKS, -1).argmax(axis=1)


class Random:
    def act(self, observations, action_masks, rng):
        return (action_masks * rng.random(action_masks.shape)).argmax(axis=1)


class AlwaysAceOfHearts:
    def act(self, observations, action_masks, rng):
        return np.full(len(action_masks), 51)


class Silent:
    def act(self, observations, action_masks, rng):
        return np.zeros(len(action_masks) + 1, np.int64)


def match_of(field_points: list[list[int]], challenger_points: list[list[int]], **options) -> Match:
    """A match of 6 seats whose tables are the field's hand with the challenger's points put in."""
    field = np.array(field_points)
    tables = np.repeat(field[:, None, :], 6, axis=1)
    for seat in range(6):
        tables[:, seat, seat] = np.array(challenger_points)[:, seat]
    return Match(Rules(6, **options), 0, field, tables, decisions=100, challenger_seconds=0.001)


@pytest.mark.parametrize("num_players", [6, 11])
def test_match_of_identical_deterministic_policies_is_exactly_even(num_players):
    """The same cards played by the same policy: not a point saved, in no seat of no deal."""
    match = play_match(Lowest(), Lowest(), Rules(num_players), 4, seed=3)
    assert match.advantage == 0
    assert match.interval95 == (0, 0)
    assert (match.challenger_points == match.field_points).all()
    assert (match.table_points == match.field_points[:, None, :]).all()


def test_advantage_and_interval_are_those_worked_out_by_hand():
    """The unit is the deal: points saved per deal 2, -1 and 5, so mean 2, deviation 3, standard error sqrt(3)."""
    field = [[12, 8, 8, 8, 8, 8], [10, 10, 8, 8, 8, 8], [52, 0, 0, 0, 0, 0]]
    challenger = [[0, 8, 8, 8, 8, 8], [10, 10, 8, 8, 8, 14], [22, 0, 0, 0, 0, 0]]
    match = match_of(field, challenger, moon="off")
    assert match.saved.tolist() == [2, -1, 5]
    assert match.advantage == 2
    half = 1.959964 * 3 / np.sqrt(3)
    assert match.interval95 == pytest.approx((2 - half, 2 + half))
    assert match.points_field == pytest.approx(52 / 6)
    assert match.points_challenger == pytest.approx(52 / 6 - 2)
    assert (match.num_deals, match.num_hands) == (3, 18)
    assert match.microseconds_per_decision == pytest.approx(10)


def test_share_won_counts_ties_by_their_share():
    """One deal, six hands of the challenger: alone lowest in one, lowest of two in one, of six in one."""
    points = np.full((1, 6, 6), 9)
    points[0, 0, 0] = 1
    points[0, 1, 1:3] = 1
    points[0, 3:, 0] = 1
    match = Match(Rules(6), 0, np.full((1, 6), 9), points, 1, 1.0)
    assert match.share_won == pytest.approx((1 + 1 / 2 + 1 / 6) / 6)


def test_swapped_match_turns_the_roles_of_the_tables_and_keeps_the_sign():
    """One deal: the lone field policy takes 3 more than the challengers had in its seat, in every seat."""
    alone = np.array([[10, 8, 8, 8, 8, 10]])
    tables = np.repeat(alone[:, None, :], 6, axis=1)
    tables[0, range(6), range(6)] += 3
    match = Match(Rules(6, moon="off"), 0, alone, tables, 1, 1.0, swapped=True)
    assert match.advantage == 3
    assert match.points_field == match.points_challenger + 3
    assert match.points_challenger == pytest.approx(52 / 6)


def test_shares_of_a_swapped_match_are_those_of_a_challengers_seat():
    """One deal: the lone seat wins two hands of six alone and suffers one moon, made by one of five challengers."""
    points = np.full((1, 6, 6), 9)
    points[0, 0, 0] = points[0, 1, 1] = 1
    points[0, 2:5, 0] = 1
    points[0, 5] = [26, 26, 26, 0, 26, 26]
    match = Match(Rules(6), 0, np.full((1, 6), 9), points, 1, 1.0, swapped=True)
    assert match.share_won == pytest.approx((3 + 1) / 30)
    assert match.moons_made == pytest.approx(1 / 30)
    assert match.moons_suffered == pytest.approx(4 / 30)


@pytest.mark.parametrize(
    ("options", "points", "shooter"),
    [
        ({}, [-26, 0, 0, 0, 0, 0], 0),
        ({}, [26, 26, 0, 26, 26, 26], 2),
        ({"moon_points": 10}, [10, 10, 10, 10, 10, 0], 5),
        ({"moon": "off"}, [0, 52, 0, 0, 0, 0], 1),
        ({}, [26, 26, 0, 0, 0, 0], None),
        ({}, [0, 0, 0, 0, 0, 0], None),
        ({}, [13, 13, 13, 13, 0, 0], None),
    ],
)
def test_moon_is_read_from_the_points_of_a_hand(options, points, shooter):
    """R21: subtracted, added, or simply counted where `moon="off"`."""
    shot = moon_shooters(Rules(6, **options), np.array(points))
    assert np.flatnonzero(shot).tolist() == ([] if shooter is None else [shooter])


def test_better_policy_saves_points_and_the_worse_one_loses_them():
    """Passing high and playing low beats chance, by far more than the interval."""
    assert play_match(Lowest(), Random(), Rules(7), 12, seed=1).interval95[0] > 1
    assert play_match(Random(), Lowest(), Rules(7), 12, seed=1).interval95[1] < -1


def test_better_policy_is_the_better_one_in_a_swapped_match_too():
    """The sign is the challenger's in both kinds; what it is worth alone and in company differs."""
    for challenger, field, sign in ((Lowest(), Random(), 1), (Random(), Lowest(), -1)):
        match = play_match(challenger, field, Rules(7), 12, seed=1, swapped=True)
        assert min(sign * bound for bound in match.interval95) > 0
        assert match.decisions > 12 * 7 * 6 * 17  # of six seats at seven tables


def test_swapped_match_is_the_match_of_the_other_with_its_sign_turned():
    """The same tables, seen from the other side."""
    match = play_match(Lowest(), Random(), Rules(6), 3, seed=8)
    swapped = play_match(Random(), Lowest(), Rules(6), 3, seed=8, swapped=True)
    assert (swapped.table_points == match.table_points).all()
    assert (swapped.saved == -match.saved).all()
    assert (swapped.points_field, swapped.points_challenger) == (match.points_challenger, match.points_field)


def test_match_joined_from_parts_is_the_whole_match():
    """Deals have numbers, and nothing else decides how they are played."""
    whole = play_match(Random(), Lowest(), Rules(6), 5, seed=5, swapped=True)
    parts = joined(
        [play_deals(Random(), Lowest(), Rules(6), range(*ends), 5, swapped=True) for ends in ((0, 1), (1, 5))]
    )
    assert (parts.table_points == whole.table_points).all()
    assert (parts.alone_points == whole.alone_points).all()
    assert (parts.decisions, parts.swapped, parts.interval95) == (whole.decisions, True, whole.interval95)


def test_match_does_not_depend_on_how_many_tables_are_stepped_together():
    """Player randomness comes from seed, deal and the challenger's seat alone."""
    whole = play_match(Random(), Random(), Rules(6), 5, seed=5)
    for num_tables in (1, 15):
        parts = play_match(Random(), Random(), Rules(6), 5, seed=5, num_tables=num_tables)
        assert (parts.table_points == whole.table_points).all()
        assert (parts.field_points == whole.field_points).all()


def test_longer_match_begins_with_the_hands_of_a_shorter_one():
    """Deals have a stream of their own, indexed by their number."""
    short, long = (play_match(Random(), Lowest(), Rules.classic(8), deals, seed=9) for deals in (2, 4))
    assert (long.table_points[:2] == short.table_points).all()


def test_deals_do_not_depend_on_the_policies_and_hands_differ_by_seed():
    """The field's hand is the same whoever challenges; another seed gives other deals and other draws."""
    first, second = (play_match(policy, Lowest(), Rules(6), 3, seed=2) for policy in (Random(), Highest()))
    assert (first.field_points == second.field_points).all()
    other = play_match(Random(), Lowest(), Rules(6), 3, seed=3)
    assert (first.field_points != other.field_points).any()


def test_hand_of_the_field_is_the_game_of_that_seed():
    """The arena adds no rule: the same deal played through `Game` ends with the same points."""
    match = play_match(Highest(), Lowest(), Rules(9), 2, seed=4)
    for seed, points in zip(deal_seeds(4, 2), match.field_points, strict=True):
        game = Game(Rules(9), seed=int(seed), episode="hand")
        while not game.is_over:
            assert game.mover is not None
            observation = game.observation(game.mover)
            game.step(int(Lowest().act(observation[None], game.action_mask()[None], None)[0]))
        assert game.scores.tolist() == points.tolist()


def test_illegal_action_is_refused_naming_policy_seat_and_action():
    """A policy that does not hold the card it plays is the policy's fault, and told so."""
    with pytest.raises(IllegalActionError, match=r"challenger AlwaysAceOfHearts in seat \d chose action 51 \(AH\)"):
        play_match(AlwaysAceOfHearts(), Lowest(), Rules(6), 2)
    with pytest.raises(IllegalActionError, match="field AlwaysAceOfHearts in seat"):
        play_match(Lowest(), AlwaysAceOfHearts(), Rules(6), 2)


def test_wrong_number_of_actions_is_refused_naming_the_policy():
    """One action for each row."""
    with pytest.raises(ValueError, match="Silent returned int64 of shape"):
        play_match(Silent(), Lowest(), Rules(6), 2)


def test_match_of_one_deal_is_refused():
    """One deal has no interval."""
    with pytest.raises(ValueError, match="num_deals=1"):
        play_match(Lowest(), Lowest(), Rules(6), 1)


def test_rows_draw_from_streams_of_their_own():
    """Row i's numbers depend on key i only, and go on from call to call."""
    keys = np.arange(1000, dtype=np.uint64)
    all_rows, some_rows = RowGenerator(keys), RowGenerator(keys[10:20])
    first, second = all_rows.random((1000, 3)), all_rows.random(1000)
    assert (some_rows.random((10, 3)) == first[10:20]).all()
    assert (some_rows.random(10) == second[10:20]).all()
    assert len(np.unique(first)) == 3000
    assert abs(first.mean() - 0.5) < 0.02
    assert first.min() >= 0
    assert first.max() < 1


def test_row_generator_still_is_a_numpy_generator():
    """Other methods work, too."""
    rng = RowGenerator(np.arange(5, dtype=np.uint64))
    assert 0 <= rng.integers(0, 10) < 10
    assert isinstance(rng.random(), float)


def test_interval_covers_the_mean_about_95_times_in_100():
    """Of 400 samples of 50 normal numbers; three standard errors of that share are 3.3 %."""
    rng = np.random.default_rng(0)
    covered = [low <= 0 <= high for low, high in (mean_interval(rng.normal(size=50)) for _ in range(400))]
    assert 0.91 <= np.mean(covered) <= 0.98


def test_interval_of_a_ratio_covers_it_about_95_times_in_100():
    """Of 200 samples of 60 deals whose numerators follow their denominators; four standard errors are 6 %."""
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(200):
        denominators = rng.integers(1, 6, 60)
        low, high = ratio_interval(rng.binomial(denominators, 0.3), denominators, seed)
        covered.append(low <= 0.3 <= high)
    assert 0.89 <= np.mean(covered) <= 0.99


def test_interval_of_a_ratio_is_that_of_the_ratio_and_not_of_the_mean_of_ratios():
    """Numerators in proportion to denominators leave nothing uncertain; the same seed gives the same interval."""
    denominators = np.array([1, 5, 2, 9])
    assert ratio_interval(3 * denominators, denominators) == (3, 3)
    assert ratio_interval(np.zeros(4), denominators) == (0, 0)
    shares = np.array([0.0, 1.0, 0.5, 0.0])
    assert ratio_interval(shares, np.ones(4), 7) == ratio_interval(shares, np.ones(4), 7)
    low, high = ratio_interval(shares, np.ones(4), 7)
    assert 0 <= low < 0.375 < high <= 1


def test_deals_of_a_match_are_not_those_of_tables_with_the_same_seed() -> None:
    """Bug found: `evaluate --seed 0` played the very deals that `VectorTables(seed=0)` trains on."""
    for seed in range(20):
        tables = VectorTables(Rules(6), 50, seed=seed)
        assert not np.isin(deal_seeds(seed, 50), tables.seeds).any()
