"""Pools at mixed tables: who sits where, what may and may not change the result, and cycles that are really there."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.arena import deal_seeds
from chearts_env.observation import field_values
from training import pool
from training.chunks import ChunkedRun, ChunkWork
from training.pool import PoolPlan, pool_names
from training.pool_report import row_of, text_of
from training.pool_tables import PoolTables, drawn_seats, play_tables
from training.workers import Workers

RANDOM, RANDOM_TOO = "random_legal", "baselines.random_legal:RandomLegal"
HERE = "tests.training.test_pool"

FACES = np.arange(52)
RANK, SUIT = FACES % 13, FACES // 13
POINTS = np.where(SUIT == 3, 1, 0) + 13 * (FACES == 36)


class Grudge:
    """Shows by the cards it plays which of three kinds it is, and throws points on those it takes for the next kind.

    A face has one of three signs, which change places with the pass, so that no kind holds better cards. It plays its
    lowest card of its own sign; where it may discard, points if the trick is going to the kind it bears a grudge, and
    anything else if not. The queen of spades, too, falls under an ace or king of that kind alone.
    """

    def __init__(self, kind: int = 0) -> None:
        self.kind = kind

    def act(self, observations, action_masks, rng):
        signs = (RANK + SUIT + field_values(observations, "pass_offset").astype(int)) % 3  # (N, 52)
        led = field_values(observations, "led_suit")[:, :4]
        suit = led.argmax(axis=1)[:, None]
        cards = field_values(observations, "trick_card")[..., 0].astype(int) - 1  # (N, 11)
        alone = np.take_along_axis(field_values(observations, "trick") == 1, np.maximum(cards, 0), 1)
        heights = np.where((cards >= 0) & alone & (SUIT[cards] == suit), RANK[cards], -1)
        played = field_values(observations, "played").astype(float)  # (N, 11, 52)
        shown = played @ (signs[:, :, None] == np.arange(3)).astype(float)  # (N, 11, 3)
        winner = heights.argmax(axis=1)[:, None]
        of_winner = np.take_along_axis(shown, winner[:, :, None], 1)[:, 0]  # (N, 3)
        runners_up = np.sort(of_winner, axis=1)[:, 1]
        has_grudge = (heights.max(axis=1) >= 0) & (of_winner[:, (self.kind + 1) % 3] > runners_up)
        must_follow = (action_masks[:, :52] * (suit == SUIT)).any(axis=1)
        costs = np.where(signs == self.kind, 0, 13) + RANK
        throws = np.where(has_grudge[:, None], -100 * POINTS - RANK, 100 * POINTS + costs)
        costs = np.where((led.any(axis=1) & ~must_follow)[:, None], throws, costs)
        is_covered = must_follow & (suit[:, 0] == 2) & (heights.max(axis=1) > 10)
        costs[is_covered, 36] = np.where(has_grudge[is_covered], -1000, 1000)
        costs = np.where(field_values(observations, "phase")[:, :1] == 1, -RANK, costs)
        costs = np.concatenate([costs, np.zeros((len(costs), 2))], axis=1)
        return np.where(action_masks == 1, costs, np.inf).argmin(axis=1)


class Illegal:
    def act(self, observations, action_masks, rng):
        return np.full(len(action_masks), 51)


class Interrupted:
    """Plays low, and is interrupted by Ctrl-C at its 1,400th call."""

    calls: ClassVar[int] = 0

    def act(self, observations, action_masks, rng):
        type(self).calls += 1
        if self.calls == 1400:
            raise KeyboardInterrupt
        return action_masks.argmax(axis=1)


def asked(*names, **options):
    """What `training.evaluate` hands over."""
    defaults = {"seats": "6", "deals": 20, "rules": "card_page", "seed": 0, "json": None, "workers": 1, "until": None}
    return argparse.Namespace(pool=list(names), **(defaults | options))


def untimed(rows):
    """Rows without the only numbers that depend on the clock."""
    for row in rows:
        for each in row["policies"]:
            del each["microseconds_per_decision"]
    return rows


class Here(Workers):
    """Does the work here, or something in its stead."""

    def __init__(self, do=lambda work: work()) -> None:
        super().__init__(0)
        self._do = do

    def in_order(self, works):
        return map(self._do, works)


def rows_of(names, size=6, num_deals=20, seed=0, workers=None, until=None):
    """The rows of a pool at one size."""
    plan = PoolPlan(*pool_names(names), "card_page", (size,), num_deals, seed, until)
    run = ChunkedRun(plan)
    run.play(workers or Here(), lambda size, num_deals: None)
    return [plan.row(tables) for tables in run.matches]


# ------------------------------------------------------------------------------------------------------- seatings


@pytest.mark.parametrize(("num_policies", "num_players"), [(2, 6), (3, 7), (5, 11), (20, 8)])
def test_every_policy_has_every_seat_once_on_every_deal_and_all_pairs_meet_about_equally(num_policies, num_players):
    """Exactly balanced by seat; and at each table every seat is filled independently, so pairs meet as by chance."""
    seats = drawn_seats(3, range(600), num_policies, num_players)
    assert seats.shape == (600, num_policies, num_players)
    assert (np.sort(seats, axis=1) == np.arange(num_policies)[:, None]).all()
    counts = (seats[..., None] == np.arange(num_policies)).sum(axis=2)  # (D, P, P) seats of a policy at a table
    meetings = np.einsum("dti,dtj->ij", counts, counts) - np.diag(counts.sum(axis=(0, 1)))
    expected = 600 * num_players * (num_players - 1) / num_policies
    scatter = meetings / expected - 1
    assert np.abs(scatter).max() < 6 / np.sqrt(expected)
    assert len(np.unique(seats[:, 0], axis=0)) > 0.8 * min(num_policies**num_players, 600)


def test_seatings_and_deals_have_streams_of_their_own():
    """A piece of a pool is the pool's piece; the deals are a match's, whoever sits there; another seed, others."""
    whole = drawn_seats(5, range(8), 4, 6)
    assert (drawn_seats(5, range(3, 8), 4, 6) == whole[3:]).all()
    assert (drawn_seats(6, range(8), 4, 6) != whole).any()
    policies = [Grudge(0), Grudge(1), Grudge(2)]
    tables = [play_tables(policies[:num], "abc"[:num], Rules(7), 5, range(2, 6)) for num in (2, 3)]
    games = [Game(Rules(7), seed=int(seed), episode="hand") for seed in deal_seeds(5, 6)[2:]]
    for each in tables:
        assert each.dealers.tolist() == [game.dealer for game in games]
        assert (each.places[:, 0].argmin(axis=1) == each.dealers).all()


def test_tables_are_alike_in_however_many_pieces_they_are_played(monkeypatch):
    """Policies that draw at random, played all at once and a deal at a time: the same rows."""
    whole = untimed(rows_of([RANDOM, "low_card", RANDOM_TOO]))
    monkeypatch.setattr(pool, "TABLES_AT_ONCE", 1)
    assert untimed(rows_of([RANDOM, "low_card", RANDOM_TOO])) == whole


# --------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("size", [6, 11])
def test_one_policy_under_two_names_is_not_told_apart(size):
    """The null in the game itself: neither by points, nor head to head, nor by its rating."""
    (row,) = rows_of([RANDOM, RANDOM_TOO], size, 300, seed=7)
    (pair,) = row["pairs"]
    for name in ("difference", "head_to_head"):
        low, high = pair[f"{name}_interval95"]
        assert low < 0 < high
        assert high - low < 3
    first, second = (each["openskill"]["mu"] for each in row["policies"])
    assert abs(first - second) < 3


def test_better_policy_has_fewer_points_in_every_column():
    """low_card beats chance: by points, head to head, and by rating; the pool's mean is the table's."""
    (row,) = rows_of([RANDOM, "low_card"], 8, 60, seed=1)
    assert row["pool"] == ["low_card", RANDOM]
    better, worse = row["policies"]
    assert better["interval95"][1] < 0 < worse["interval95"][0]
    assert better["openskill"]["ordinal"] > worse["openskill"]["ordinal"]
    assert row["pairs"][0]["head_to_head_interval95"][1] < 0
    assert row["pairs"][0]["difference"] == pytest.approx(better["points"] - worse["points"])
    assert (better["points"] + worse["points"]) / 2 == pytest.approx(52 / 8, abs=1)
    assert row["cycles"] == []
    text = text_of(row)
    assert "no cycle" in text
    assert "tell all pairs apart" in text


def test_pool_ends_early_when_all_its_intervals_are_narrow_enough(monkeypatch):
    """And not before: the deals it has are the first of the longer pool."""
    monkeypatch.setattr(pool, "TABLES_AT_ONCE", 16)
    (row,) = rows_of([RANDOM, "low_card"], 8, 400, until=0.8)
    assert 8 < row["deals"] < 400
    assert all(high - low <= 1.6 for low, high in (each["interval95"] for each in row["policies"]))
    assert untimed([row]) == untimed(rows_of([RANDOM, "low_card"], 8, row["deals"]))


def test_order_of_names_changes_nothing():
    """Rows and text are in the order of the results."""
    forth = rows_of([RANDOM, "low_card", RANDOM_TOO])
    back = rows_of([RANDOM_TOO, "low_card", RANDOM])
    assert untimed(forth) == untimed(back)


# ---------------------------------------------------------------------------------------------------------- cycles


def planted(beats):
    """A stand-in for play: `beats[a][b]` is what a seat of policy a saves for each seat of policy b at its table."""

    def play(work: ChunkWork[PoolTables]) -> PoolTables:
        plan = work.plan
        assert isinstance(plan, PoolPlan)
        generator = np.random.default_rng([plan.seed, 8, work.deals.start])
        seats = drawn_seats(plan.seed, work.deals, len(beats), work.size)
        counts = (seats[..., None] == np.arange(len(beats))).sum(axis=2)
        saved = np.einsum("dtp,dtnp->dtn", counts, np.asarray(beats, float)[seats])
        points = np.rint(8 - saved + generator.normal(0, 4, seats.shape)).astype(int)
        nothing = np.zeros(len(beats), int)
        return PoolTables(
            Rules(work.size),
            points,
            seats,
            generator.integers(work.size, size=len(seats)),
            nothing,
            nothing.astype(float),
        )

    return Here(play)


def test_planted_cycle_shows_as_one():
    """Rock, paper and scissors: nobody is better in points per hand, and each beats one and loses to the other."""
    names = [f"{HERE}:Grudge", RANDOM, "low_card"]  # sorted: random_legal is last
    first, second, third = sorted(names)
    (row,) = rows_of(names, 6, 400, workers=planted([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]))
    (cycle,) = row["cycles"]
    begin = cycle.index(first)
    assert cycle[begin:] + cycle[:begin] == [first, second, third]
    assert all(low < 0 < high for low, high in (each["interval95"] for each in row["policies"]))
    text = text_of(row)
    assert "CYCLE" in text
    assert " beats ".join([*cycle, cycle[0]]) in text


def test_planted_order_shows_no_cycle():
    """Each beats all that come after it: differences head to head, and no way back."""
    names = [f"{HERE}:Grudge", RANDOM, "low_card"]
    (row,) = rows_of(names, 6, 400, workers=planted([[0, 1, 1], [-1, 0, 1], [-1, -1, 0]]))
    assert row["pool"] == sorted(names)
    assert all(pair["head_to_head_p_holm"] < 0.05 for pair in row["pairs"])
    assert row["cycles"] == []


def test_chance_alone_shows_no_cycle():
    """Among three equals one in four pools goes round by chance; of 30, none is called a cycle."""
    names = [f"{HERE}:Grudge", RANDOM, "low_card"]
    rows = [row for seed in range(30) for row in rows_of(names, seed=seed, workers=planted(np.zeros((3, 3))))]
    assert len(rows) == 30
    assert not any(row["cycles"] for row in rows)


def test_cycle_of_players_shows_as_one_in_the_game():
    """Three kinds that see nothing but observations, and of which each throws its points on the next."""
    names = ["beats paper", "beats scissors", "beats rock"]
    rules = Rules(6, pass_cycle=(1, 2, 3))
    tables = play_tables([Grudge(0), Grudge(1), Grudge(2)], names, rules, 1, range(1500))
    row = row_of(names, "card_page", 1, tables)
    assert len(row["cycles"]) == 1
    cycle = row["cycles"][0]
    begin = cycle.index(names[0])
    assert cycle[begin:] + cycle[:begin] == names
    spread = max(each["relative"] for each in row["policies"]) - min(each["relative"] for each in row["policies"])
    assert spread < 0.4


# ----------------------------------------------------------------------------------------------------- the command


def test_json_is_the_same_whatever_the_number_of_workers(tmp_path: Path, monkeypatch):
    """Bit for bit, over several chunks and sizes; the microseconds alone are the clock's."""
    monkeypatch.setattr(pool, "TABLES_AT_ONCE", 16)
    told = []
    for workers in (1, 2):
        path = tmp_path / f"{workers}.json"
        assert pool.main(asked(RANDOM, "low_card", seats="6,9", deals=20, json=path, workers=workers)) == 0
        told.append(untimed(json.loads(path.read_text("utf-8"))))
    assert told[0] == told[1]
    assert [row["seats"] for row in told[0]] == [6, 9]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.json", "2.json"]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ([RANDOM], {}, "at least two different"),
        ([RANDOM, RANDOM], {}, "at least two different"),
        ([RANDOM, "low_card", RANDOM], {}, "random_legal more than once"),
        ([RANDOM, "nobody"], {}, "unknown policy 'nobody': known are random_legal, low_card"),
        ([RANDOM, "low_card"], {"seats": "5"}, "--seats 5"),
        ([RANDOM, f"{HERE}:Illegal"], {}, f"{HERE}:Illegal in seat"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(names, options, message, capsys):
    """Exit status 2, and a line that says what is wrong."""
    assert pool.main(asked(*names, **options)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    last = said.err.splitlines()[-1]
    assert last.startswith("evaluate: ")
    assert message in last


def test_what_is_finished_is_told_after_an_interrupt(tmp_path: Path, monkeypatch, capsys):
    """Ctrl-C in the second size: the first whole, the second as far as it came, in text and JSON; status 130."""
    monkeypatch.setattr(pool, "TABLES_AT_ONCE", 16)
    monkeypatch.setattr(Interrupted, "calls", 0)
    monkeypatch.setattr(pool, "named_policy", lambda name: Interrupted())
    path = tmp_path / "rows.json"
    assert pool.main(asked(RANDOM, "low_card", seats="6,8", deals=28, json=path)) == 130
    first, second = json.loads(path.read_text("utf-8"))
    assert first["deals"] == 28
    assert 8 <= second["deals"] < 28
    said = capsys.readouterr()
    assert f"8 seats: stopped after {second['deals']} of 28 deals" in said.out
    assert "interrupted" in said.err
