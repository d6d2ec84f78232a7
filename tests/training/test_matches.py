"""Matches by name: the same results for any number of workers, and matches that end once they are narrow enough."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Rules
from chearts_env.arena import play_match
from training import matches
from training.checkpoint import save_checkpoint
from training.chunks import LEAST_DEALS, ChunkedRun, is_time_to_look
from training.config import Config, NetworkConfig
from training.fit import new_network
from training.matches import MatchPlan, WatchedMatch, half_width, row_of
from training.names import policy_named, settled_name
from training.policy import NetworkPolicy
from training.workers import Workers

PLAN = MatchPlan("low_card", "random_legal", "classic", (6, 9), 60, seed=4)


def rows_of(plan: MatchPlan, num_workers: int = 0) -> list[dict]:
    """The rows of a plan played to its end, without the time it took."""
    run = ChunkedRun(plan)
    with Workers(num_workers) as workers:
        run.play(workers, lambda size, num_deals: None)
    assert all(run.is_finished(size) for size in plan.sizes)
    rows = [row_of(match, plan.challenger, plan.field, plan.preset) for match in run.matches]
    return [row | {"microseconds_per_decision": None} for row in rows]


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of 20 deals at 6 seats, so that little is played."""
    monkeypatch.setattr(matches, "TABLES_AT_ONCE", 140)


def test_rows_are_those_of_the_arena(small_chunks):
    """Cut into chunks and put together again, a match is what `play_match` plays."""
    rows = rows_of(PLAN)
    assert [row["seats"] for row in rows] == [6, 9]
    for row in rows:
        whole = play_match(LowCard(), RandomLegal(), Rules.classic(row["seats"]), 60, seed=4)
        assert (row["advantage"], row["interval95"]) == (whole.advantage, list(whole.interval95))
        assert (row["deals"], row["hands"]) == (60, 60 * row["seats"])


def test_rows_hold_what_other_tools_read(small_chunks):
    """The keys are a promise, intervals are pairs that hold their number, and all of it is plain JSON."""
    (row,) = rows_of(replace(PLAN, sizes=(8,), num_deals=6))
    assert set(row) == {
        *("challenger", "field", "rules", "seats", "deals", "hands", "swapped", "advantage", "interval95"),
        *("points_challenger", "points_field", "share_won", "share_won95", "moons_made", "moons_made95"),
        *("moons_suffered", "moons_suffered95", "microseconds_per_decision", "seed", "versions"),
    }
    assert json.loads(json.dumps(row)) == row
    for key in ("share_won", "moons_made", "moons_suffered"):
        low, high = row[f"{key}95"]
        assert low <= row[key] <= high


@pytest.mark.slow
def test_workers_change_nothing(tmp_path):
    """1, 2 and 3 of them, a network at the table: bit for bit the same, however far ahead they were when it ended."""
    save_checkpoint(tmp_path, new_network(NetworkConfig(32, 1), 5, 0), Config(network=NetworkConfig(32, 1)), 0)
    plan = MatchPlan(str(tmp_path / "00000000"), "random_legal", "card_page", (11, 6), 170, seed=2, until=0.5)
    first, second, third = (rows_of(plan, num_workers) for num_workers in (0, 2, 3))
    assert first == second == third
    assert min(row["deals"] for row in first) < 170  # one of them ended early


def test_match_that_is_narrow_enough_ends_and_is_the_beginning_of_a_longer_one(small_chunks):
    """`until` is half the interval's width; deals come in chunks of 20, and --deals is the most."""
    plan = replace(PLAN, sizes=(6,), num_deals=2_000)
    (row,) = rows_of(replace(plan, until=0.6))
    low, high = row["interval95"]
    assert (high - low) / 2 <= 0.6
    assert row["deals"] % 20 == 0
    assert rows_of(replace(plan, num_deals=row["deals"])) == [row]
    # The look before was not narrow enough. Up to eight chunks there is one after each.
    assert 20 < row["deals"] <= 160
    before = play_match(LowCard(), RandomLegal(), Rules.classic(6), row["deals"] - 20, seed=4)
    assert half_width(before) > 0.6
    (row,) = rows_of(replace(plan, until=0.6, num_deals=30))
    assert row["deals"] == 30


def test_match_does_not_end_on_a_handful_of_deals(small_chunks):
    """Their interval may be narrow by chance, and chunks of players that search are as small as that."""
    (row,) = rows_of(replace(PLAN, sizes=(6,), num_deals=100, until=50.0))
    assert row["deals"] == LEAST_DEALS
    (row,) = rows_of(replace(PLAN, sizes=(6,), num_deals=25, until=50.0))
    assert row["deals"] == 25


def test_looks_at_the_interval_grow_apart():
    """Each look could end the match by chance."""
    looks = [number for number in range(1, 60) if is_time_to_look(number)]
    assert looks == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 51]


def test_match_interrupted_is_told_as_far_as_it_went(small_chunks):
    """Whole chunks count; a match with less than two deals is no match."""
    run = ChunkedRun(PLAN)
    played: list[tuple[int, int]] = []

    def interrupt(size: int, num_deals: int) -> None:
        played.append((size, num_deals))
        if len(played) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Workers(0) as workers:
        run.play(workers, interrupt)
    assert played == [(6, 20), (6, 20), (6, 20), (9, 14), (9, 14), (9, 14)]
    assert [(match.rules.num_players, match.num_deals) for match in run.matches] == [(6, 60), (9, 42)]
    assert [run.is_finished(size) for size in (6, 9)] == [True, False]
    whole = play_match(LowCard(), RandomLegal(), Rules.classic(9), 42, seed=4)
    assert (run.matches[1].table_points == whole.table_points).all()


def test_swapped_plan_plays_the_swapped_match(small_chunks):
    """The field's policy alone among challengers, and a positive advantage still the challenger's."""
    (row,) = rows_of(replace(PLAN, sizes=(6,), swapped=True))
    assert row["swapped"]
    assert row["interval95"][0] > 0
    assert row["points_field"] > row["points_challenger"]
    assert row["advantage"] == pytest.approx(row["points_field"] - row["points_challenger"])


@pytest.mark.parametrize("swapped", [False, True])
def test_watched_match_knows_where_the_points_of_both_came_from(small_chunks, swapped):
    """Over all chunks, the challenger's and the field's hands, and to the point."""
    run = ChunkedRun(replace(PLAN, sizes=(6,), num_deals=45, swapped=swapped, is_watched=True))
    with Workers(0) as workers:
        run.play(workers, lambda size, num_deals: None)
    match = run.match(6)
    assert isinstance(match, WatchedMatch)
    assert match.losses is not None
    for losses, points in zip(match.losses, (match.challenger_points, match.field_points), strict=True):
        assert losses.hands == points.size == 45 * 6
        assert losses.score_changes == points.sum()


def test_name_of_a_run_folder_is_settled_on_its_newest_checkpoint(tmp_path):
    """A run that goes on meanwhile gives no worker another network."""
    for step in (1, 2):
        shape = NetworkConfig(8, 1)
        save_checkpoint(tmp_path / "run" / "checkpoints", new_network(shape, 5, 0), Config(network=shape), step)
    settled = settled_name(str(tmp_path / "run"))
    assert settled == str(tmp_path / "run" / "checkpoints" / "00000002")
    assert settled_name(settled) == settled
    assert settled_name("low_card") == "low_card"
    assert isinstance(policy_named(settled), NetworkPolicy)
    with pytest.raises(ValueError, match="no checkpoint"):
        settled_name(str(tmp_path))
