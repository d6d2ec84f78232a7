"""Where points come from: every point attributed once, to the source, trick and suit that the slow referee names."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Game, Rules
from chearts_env.arena import play_deals
from chearts_env.cards import BLACK_MARIA
from chearts_env.rules import MAX_PLAYERS
from chearts_env.seating import play_seated
from chearts_env.table import NOBODY
from tests.referee import Referee
from training.losses import KINDS, MADE, SOURCES, SUFFERED, LossWatch, losses_of_match

PRESETS = [preset(size) for preset in (Rules.card_page, Rules.classic, Rules.bicycle) for size in range(6, 12)]
VARIANTS = [
    Rules(7, kitty_to="last_winner"),
    Rules(11, last_trick_set_aside="leader", moon="add"),
    Rules(11, kitty_to="last_winner", last_trick_set_aside="leader", moon="off"),
    Rules(9, set_aside_leader="left", moon="subtract", moon_points=5),
    Rules(10, pass_cycle=(0,), kitty_to="last_winner", kitty_view="everyone"),
]
WORTHS = np.array([1, 13])


class Recorder(LossWatch):
    """A watch that also keeps the actions of every table."""

    actions: list[list[int]] | None = None

    def before_step(self, tables, actions, playing):
        super().before_step(tables, actions, playing)
        self.actions = self.actions or [[] for _ in actions]
        for row in np.flatnonzero(playing):
            self.actions[row].append(int(actions[row]))


def played(rules: Rules, num_hands: int, kind: type[LossWatch] = LossWatch):
    """Hands between the two simple players, their watch, who sat where, and the score changes."""
    games = [Game(rules, seed=seed, episode="hand") for seed in range(num_hands)]
    seats = np.random.default_rng(7).integers(0, 2, (num_hands, rules.num_players))
    watch = kind()
    keys = np.arange(num_hands, dtype=np.uint64)
    result = play_seated(games, [RandomLegal(), LowCard()], seats, keys, watch=watch)
    return games, watch, seats, result.points


@pytest.mark.parametrize("rules", PRESETS + VARIANTS, ids=str)
def test_attributed_points_and_moons_are_the_score_changes_of_every_hand(rules):
    """R20, R21: hand by hand and seat by seat, and 52 with what nobody took."""
    _, watch, seats, points = played(rules, 300)
    taken = watch.points_taken()[:, : rules.num_players]
    untaken = (watch.untaken * WORTHS).sum(axis=(1, 2))
    np.testing.assert_array_equal(taken.sum(axis=1) + untaken, 52)
    np.testing.assert_array_equal(watch.points[:, : rules.num_players], points)
    is_shooter = taken == 52
    rest = ~is_shooter.any(axis=1) if rules.moon != "off" else np.ones(len(points), np.bool_)
    np.testing.assert_array_equal(taken[rest], points[rest])
    for picked in (seats == 0, seats == 1, is_shooter):
        losses = watch.losses(picked)
        assert losses.score_changes == points[picked].sum()
        assert losses.taken.sum() + losses.settled.sum() == losses.score_changes
        assert losses.hands == picked.sum()
        assert losses.taken.sum() == taken[picked].sum()


def test_moons_are_counted_for_who_made_and_who_suffered_them():
    """R21: at 11 seats some pile is swept now and then; a subtracted moon costs 52 + 26 less, an added one 26 more."""
    _, watch, seats, points = played(Rules(11), 1500)
    shooters = watch.points_taken()[:, :11] == 52
    everyone = watch.losses(np.ones_like(shooters))
    assert everyone.moons[MADE] == shooters.sum() > 5
    assert everyone.moons[SUFFERED] == 10 * shooters.sum()
    subtracted = (points < 0).any(axis=1).sum()
    added = shooters.sum() - subtracted
    assert subtracted > 0
    assert added > 0
    assert everyone.settled[MADE] == -78 * subtracted - 52 * added
    assert everyone.settled[SUFFERED] == 26 * 10 * added
    assert watch.losses(shooters).moons.tolist() == [shooters.sum(), 0]
    parts = watch.losses(seats == 1).parts()
    assert sum(parts.values()) == pytest.approx(points[seats == 1].mean())


@pytest.mark.parametrize("rules", PRESETS[::5] + VARIANTS, ids=str)
def test_takings_are_those_that_the_referee_sees(rules):
    """R14 to R19: who took, by which suit, how many hearts and Black Marias of trick, pile and kitty."""
    games, watch, _, _ = played(rules, 12, Recorder)
    assert isinstance(watch, Recorder)
    assert watch.actions
    sources = set()
    for row, game in enumerate(games):
        expected, untaken = takings_of_referee(rules, game, watch.actions[row])
        for trick, taking in enumerate(watch.takings[row]):
            taker, led, cards = expected.get(trick, (NOBODY, 0, np.zeros((3, 2))))
            assert (taking["taker"], taking["led"]) == (taker, led), (row, trick)
            np.testing.assert_array_equal(taking["cards"], cards, str((row, trick)))
            sources |= set(np.flatnonzero(cards.any(axis=1)).tolist())
        np.testing.assert_array_equal(watch.untaken[row], untaken)
    if rules.set_aside == "two_pairs" and rules.kitty_size:
        assert sources == {0, 1, 2}


def takings_of_referee(rules: Rules, game: Game, actions: list[int]):
    """Play a hand over on the referee; what each trick brought whom, and what nobody took, by source and kind."""
    options = {name: value for name, value in asdict(rules).items() if name != "num_players"}
    referee = Referee({"num_players": rules.num_players, **options})
    faces = [[face for face in range(52) for _ in range(game.hand(seat)[face])] for seat in range(rules.num_players)]
    kitty = [face for face in range(52) for _ in range(game.kitty[face])]
    referee.begin_hand(faces, kitty, game.dealer, game.hand_number, game.pass_offset)
    takings, kitty_taken = {}, False
    for action in actions:
        pile, trick, number = list(referee.pile), [face for _, face in referee.trick], referee.trick_number
        had = [len(cards) for cards in referee.taken]
        referee.step(action)
        if referee.trick_number == number:
            continue
        takers = [seat for seat, cards in enumerate(referee.taken) if len(cards) > had[seat]]
        brings_kitty = referee.kitty_taker is not None and not kitty_taken
        kitty_taken = kitty_taken or brings_kitty
        if takers or brings_kitty:
            taker = takers[0] if takers else referee.kitty_taker
            parts = [[*trick, action] if takers else [], pile if takers else [], kitty if brings_kitty else []]
            takings[number] = (taker, [*trick, action][0] // 13, np.array([counted(part) for part in parts]))
    left = [[], referee.pile, [] if kitty_taken else kitty]
    return takings, np.array([counted(part) for part in left])


def counted(faces: list[int]) -> list[int]:
    """Hearts and Black Marias among some cards."""
    return [sum(face // 13 == 3 for face in faces), faces.count(BLACK_MARIA)]


@pytest.mark.parametrize("swapped", [False, True])
def test_losses_of_a_match_are_those_of_the_hands_it_compares(swapped):
    """The lone seats against the same seats of the tables without it; what is saved is what the losses differ by."""
    watch = LossWatch()
    match = play_deals(LowCard(), RandomLegal(), Rules(7), range(3, 40), 5, swapped=swapped, watch=watch)
    challenger, field = losses_of_match(watch, match)
    assert challenger.hands == field.hands == match.num_hands
    assert challenger.score_changes == match.challenger_points.sum()
    assert field.score_changes == match.field_points.sum()
    assert (field.score_changes - challenger.score_changes) / match.num_hands == pytest.approx(match.advantage)


def test_losses_of_two_matches_add_up():
    """So that a match may be played in parts, on many processes."""
    _, watch, seats, _ = played(Rules(11), 400)
    early = np.arange(400)[:, None] < 150
    whole = watch.losses(seats == 1)
    summed = watch.losses((seats == 1) & early) + watch.losses((seats == 1) & ~early)
    for name, value in asdict(whole).items():
        np.testing.assert_array_equal(value, getattr(summed, name), name)


def test_shares_by_trick_and_table_of_takings_say_the_same():
    """The four shares are sources and kinds put together; nothing is taken after the last trick."""
    _, watch, seats, _ = played(Rules(9), 200)
    losses = watch.losses(seats == 0)
    assert losses.taken.shape == (17, len(SOURCES), len(KINDS), 4)
    assert losses.by_trick().sum() * losses.hands == pytest.approx(losses.taken.sum())
    assert not losses.by_trick()[:, 11:].any()
    assert len(watch.takings) == 200
    assert watch.points.shape == (200, MAX_PLAYERS)


def watched(tricks: list[tuple[int, int, int]], num_players: int) -> LossWatch:
    """One table: trick number, who took it, and how many hearts; 13 of them stand for a Black Maria."""
    watch = LossWatch()
    watch._begin(1)
    for number, taker, hearts in tricks:
        taking = watch.takings[0, number]
        taking["taker"] = taker
        taking["cards"][0] = (0, 1) if hearts == 13 else (hearts, 0)
    return watch


@pytest.mark.parametrize(
    ("tricks", "attempted", "stopped"),
    [
        ([(0, 2, 13), (1, 2, 7), (2, 4, 1)], [2], [4]),  # 20 points alone, and seat 4 takes the next
        ([(0, 2, 13), (1, 2, 6), (2, 4, 1)], [], []),  # 19 are too few
        ([(0, 4, 1), (1, 2, 13), (2, 2, 13)], [], []),  # never alone
        ([(0, 2, 13), (1, 2, 13), (3, 2, 9), (12, 5, 1)], [2], [5]),  # stopped in the last trick
        ([(9, 2, 13), (10, 2, 13), (11, 3, 1)], [], []),  # with two tricks to come it is too late to call it one
        ([(0, 2, 13), (1, 2, 13), (2, 2, 13), (3, 2, 13)], [2], []),  # nobody stopped it
    ],
)
def test_moons_attempted_and_stopped_are_those_of_hands_set_up(tricks, attempted, stopped):
    """Thirteen tricks at 8 seats; each seat is asked about alone."""
    watch = watched(tricks, 8)
    for seat in range(8):
        losses = watch.losses(np.eye(8, dtype=np.bool_)[[seat]])
        assert losses.attempts.tolist() == [seat in attempted, seat in stopped]


def test_every_moon_made_early_was_attempted():
    """At 11 seats: attempts are more than moons, and whoever stopped one did not attempt it."""
    _, watch, seats, _ = played(Rules(11), 1500)
    everyone = watch.losses(np.ones((len(seats), 11), np.bool_))
    assert everyone.attempts[0] > 0
    assert 0 < everyone.attempts[1] <= everyone.attempts[0]
