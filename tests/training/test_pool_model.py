"""The additive model, head-to-head differences and cycles, on points that are made up so that the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from training.pool_model import (
    Estimates,
    cycles,
    fit_additive,
    head_to_head,
    holm,
    normal_of_student,
    student_of_normal,
)
from training.pool_skill import skills
from training.pool_tables import drawn_seats


def made_up_points(generator, seats, places, effects, noise=1.0):
    """Points with everything that makes hands of one deal depend on one another, noise=0 leaving the additive parts."""
    num_deals, _, num_players = seats.shape
    deals = generator.normal(0, 3, (num_deals, 1, 1))
    cards = generator.normal(0, 5, (num_deals, 1, num_players)) * noise
    liking = generator.normal(0, 2, (num_deals, len(effects))) * noise  # a policy plays one deal well at all its tables
    luck = (generator.exponential(6, seats.shape) - 6) * noise
    luck -= luck.mean(axis=2, keepdims=True)  # what one seat is spared, others take
    of_places = np.linspace(-2, 2, num_players)[places]
    return 8 + deals + of_places + cards + np.take_along_axis(liking, seats.reshape(num_deals, -1), 1).reshape(
        seats.shape
    ) + np.asarray(effects)[seats] + luck  # fmt: skip


def drawn_places(generator, num_deals, num_players):
    """Seats counted from dealers that are drawn."""
    return (np.arange(num_players) - generator.integers(num_players, size=(num_deals, 1, 1))) % num_players


def lopsided(generator, num_deals, num_tables, num_players):
    """Three policies and a table each: policy 0 sits mostly in late places, and on the deals that cost most."""
    places = drawn_places(generator, num_deals, num_players)
    late = np.broadcast_to(places >= num_players // 2, (num_deals, num_tables, num_players))
    dear = (np.arange(num_deals) % 2 == 0)[:, None, None]
    often = np.where(late & dear, 0.8, 0.2)
    seats = np.where(generator.random(late.shape) < often, 0, generator.integers(1, 3, size=late.shape))
    return seats, places, dear


def test_intervals_cover_no_difference_95_times_of_100_among_identical_policies():
    """300 pools of 30 deals: of the policies, of the pairs, of head to head; and any pair at all in 5 of 100 (Holm)."""
    generator = np.random.default_rng(1)
    covers: dict[str, list] = {"policies": [], "pairs": [], "duels": []}
    false_alarms: dict[str, list] = {"pairs": [], "duels": []}
    upper = np.triu_indices(4, 1)
    for seed in range(300):
        seats = drawn_seats(seed, range(30), 4, 6)
        places = drawn_places(generator, 30, 6)
        points = made_up_points(generator, seats, places, np.zeros(4))
        fit = fit_additive(points, seats, places, 4)
        duels, _ = head_to_head(points - fit.places[places], seats, 4)
        found = {"policies": fit.policies, "pairs": fit.policies.differences(), "duels": duels}
        for name, estimates in found.items():
            intervals = estimates.intervals95 if name == "policies" else estimates.intervals95[upper]
            covers[name].append((intervals[:, 0] <= 0) & (intervals[:, 1] >= 0))
            if name != "policies":
                false_alarms[name].append((holm(estimates.p_values) < 0.05).any())
    assert {name: 0.93 <= np.mean(each) <= 0.97 for name, each in covers.items()} == dict.fromkeys(covers, True)
    assert {name: np.mean(each) <= 0.08 for name, each in false_alarms.items()} == dict.fromkeys(false_alarms, True)


def test_known_effects_are_recovered_exactly_without_noise_and_within_their_intervals_with_it():
    """Policies -1, 0 and 1 from the pool's mean; 40 pools with noise: 95 of 100 intervals hold the truth."""
    effects = np.array([-1.0, 0.0, 1.0])
    generator = np.random.default_rng(2)
    holds = []
    for seed in range(40):
        seats = drawn_seats(seed, range(60), 3, 7)
        places = drawn_places(generator, 60, 7)
        exact = fit_additive(made_up_points(generator, seats, places, effects, noise=0), seats, places, 3)
        assert exact.policies.values == pytest.approx(effects)
        assert exact.places == pytest.approx(np.linspace(-2, 2, 7))
        fit = fit_additive(made_up_points(generator, seats, places, effects), seats, places, 3)
        low, high = fit.policies.intervals95.T
        holds.append((low <= effects) & (effects <= high))
    assert 0.9 <= np.mean(holds) <= 0.99


def test_policy_is_not_charged_for_its_seats_and_deals_where_a_plain_mean_would():
    """Policy 0 is the best, and sits where points fall: its mean is the worst, its effect the true one."""
    generator = np.random.default_rng(3)
    seats, places, dear = lopsided(generator, 50, 4, 8)
    effects = np.array([-1.0, 0.5, 0.5])
    points = made_up_points(generator, seats, places, effects, noise=0) + 6 * dear
    means = [points[seats == policy].mean() for policy in range(3)]
    assert np.argmax(means) == 0
    assert min(means[0] - means[1], means[0] - means[2]) > 0.5
    fit = fit_additive(points, seats, places, 3)
    assert fit.policies.values == pytest.approx(effects)


def test_fit_is_that_of_one_column_for_each_policy_place_and_deal():
    """Written plainly and solved by numpy: the same effects, and errors near those of leaving out one deal in turn."""
    generator = np.random.default_rng(4)
    seats, places, _ = lopsided(generator, 24, 3, 6)
    points = made_up_points(generator, seats, places, [-1.0, 0.0, 1.0])
    columns = [
        seats.ravel()[:, None] == np.arange(3),
        np.broadcast_to(places, seats.shape).ravel()[:, None] == np.arange(6),
        np.repeat(np.arange(24), 18)[:, None] == np.arange(24),
    ]
    solved = np.linalg.lstsq(np.hstack(columns).astype(float), points.ravel(), rcond=None)[0][:3]
    fit = fit_additive(points, seats, places, 3)
    assert fit.policies.values == pytest.approx(solved - solved.mean())
    others = [np.delete(np.arange(24), deal) for deal in range(24)]
    left_out = np.array([fit_additive(points[kept], seats[kept], places[kept], 3).policies.values for kept in others])
    jackknife = np.sqrt(23 / 24 * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    assert fit.policies.errors == pytest.approx(jackknife, rel=0.1)


def test_policies_that_cannot_be_compared_are_refused():
    """One deal gives no interval; a policy alone on deals of its own gives no difference."""
    seats = drawn_seats(0, range(4), 2, 6)
    places = drawn_places(np.random.default_rng(0), 4, 6)
    points = np.zeros(seats.shape)
    with pytest.raises(ValueError, match="at least 2"):
        fit_additive(points[:1], seats[:1], places[:1], 2)
    apart = np.repeat([0, 0, 1, 1], 12).reshape(seats.shape)
    with pytest.raises(ValueError, match="cannot be compared"):
        fit_additive(points, apart, places, 2)
    with pytest.raises(ValueError, match="cannot be compared"):
        fit_additive(points, seats, places, 3)


def test_policies_that_never_differ_do_not_differ_by_rounding():
    """All points the same at all tables of a deal, fractions included: no difference, with certainty."""
    generator = np.random.default_rng(5)
    seats = drawn_seats(0, range(20), 3, 6)
    points = np.broadcast_to(generator.normal(size=(20, 1, 6)), seats.shape)
    fit = fit_additive(points, seats, drawn_places(generator, 20, 6), 3)
    assert np.abs(fit.policies.values).max() < 1e-12
    assert fit.policies.differences().p_values == pytest.approx(np.ones((3, 3)))


@pytest.mark.parametrize(("freedom", "quantile"), [(3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (999, 1.9623)])
def test_student_quantiles_are_those_of_the_printed_tables(freedom, quantile):
    """97.5 %: what makes intervals of few deals wide enough."""
    assert student_of_normal(1.959964, freedom) == pytest.approx(quantile, rel=0.012)
    assert normal_of_student(-quantile, freedom) == pytest.approx(-1.959964, rel=0.012)


def test_head_to_head_counts_pairs_of_seats_of_one_table():
    """Worked out by hand: two deals of one table; policy 2 and 3 never meet."""
    seats = np.array([[[0, 0, 1, 2]], [[0, 1, 1, 3]]])
    points = np.array([[[1, 3, 10, 0]], [[2, 4, 8, 5]]])
    duels, meetings = head_to_head(points, seats, 4)
    # 0 against 1: (1 - 10) + (3 - 10) on the first deal, (2 - 4) + (2 - 8) on the second, of 4 meetings.
    assert duels.values[0, 1] == pytest.approx((-16 - 8) / 4)
    assert duels.values[1, 0] == -duels.values[0, 1]
    assert meetings[0, 1] == 4
    assert duels.influences[:, 0, 1] == pytest.approx([(-16 + 12) / 4, (-8 + 12) / 4])
    assert meetings[2, 3] == 0
    assert np.isnan(duels.values[2, 3])
    assert holm(duels.p_values)[2, 3] == 1


def test_holm_multiplies_the_smallest_by_all_the_next_by_one_fewer_and_never_falls():
    """Three pairs: 3 times 0.01, 2 times 0.04, and 0.05, which may not be less than the one before."""
    p_values = np.ones((3, 3))
    p_values[np.triu_indices(3, 1)] = [0.04, 0.01, 0.05]
    adjusted = holm(np.minimum(p_values, p_values.T))
    assert adjusted[np.triu_indices(3, 1)] == pytest.approx([0.08, 0.03, 0.08])
    assert (adjusted == adjusted.T).all()


@pytest.mark.parametrize(
    ("beats", "expected"),
    [
        ([(0, 1), (1, 2), (2, 0)], [(0, 1, 2)]),
        ([(0, 2), (2, 1), (1, 0)], [(0, 2, 1)]),
        ([(0, 1), (1, 2), (0, 2)], []),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1, 2, 3)]),
        ([(0, 1), (1, 2), (2, 3), (3, 1)], [(1, 2, 3)]),
        ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], [(0, 1, 2), (3, 4, 5)]),
        ([], []),
    ],
)
def test_cycles_are_found_and_orders_are_none(beats, expected):
    """A relation given as pairs "first beats second", among six."""
    relation = np.zeros((6, 6), bool)
    for first, second in beats:
        relation[first, second] = True
    assert cycles(relation) == expected


def test_differences_have_the_error_of_the_difference_not_of_the_parts():
    """Two numbers that rise and fall together differ with certainty, however uncertain each is."""
    together = np.array([[1.0, 1.0], [-1.0, -1.0]])
    estimates = Estimates(np.array([5.0, 4.0]), together)
    assert estimates.errors == pytest.approx(2)
    assert estimates.differences().errors[0, 1] == 0
    assert estimates.differences().values[0, 1] == 1


def test_skill_rises_with_winning_is_equal_in_ties_and_comes_from_the_seed_alone():
    """Policy 0 wins, 1 and 2 tie behind it; hands of one policy alone teach nothing."""
    seats = np.tile([0, 1, 2, 2, 1, 0], (60, 1))
    points = np.where(seats == 0, -26, 10)
    first, second, third = skills(points, seats, 3, seed=1)
    assert first.mu > 27
    assert second.mu == pytest.approx(third.mu)
    assert second.mu < 24
    assert first.ordinal == first.mu - 3 * first.sigma
    assert skills(points, seats, 3, seed=1) == [first, second, third]
    assert skills(points[:5], np.zeros((5, 6), int), 1, seed=1)[0].mu == 25
