"""Rare ends of a hand, in deals constructed or searched for them, Game beside the slow referee.

Last tricks set aside, for both `last_trick_set_aside` and both `kitty_to`; first tricks set aside; hands in which
nobody wins a trick; hands of point cards alone; who may see the kitty.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from chearts_env import Game
from chearts_env.cards import face_from_text, faces_from_text, faces_to_text
from tests.beside import NO_PASS, SIZES, assert_same_table, begin_both, replay_hand, step_both
from tests.deals import Deal, Options, any_won, choose_any, choose_pairs, fill_deal, random_deal, search_hand
from tests.referee import Referee, sum_points

# Tricks set aside


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("kitty_to", ["first_winner", "last_winner"])
@pytest.mark.parametrize("set_aside_leader", ["same", "left"])
@pytest.mark.parametrize("last_trick_set_aside", ["nobody", "leader"])
def test_last_tricks_set_aside_go_where_the_option_says(
    last_trick_set_aside: str, set_aside_leader: str, kitty_to: str, num_players: int
) -> None:
    """The last two tricks set aside, points among them: nobody's, or with the kitty the last leader's (R17 to R20)."""
    options = {
        "num_players": num_players,
        "last_trick_set_aside": last_trick_set_aside,
        "set_aside_leader": set_aside_leader,
        "kitty_to": kitty_to,
    }

    def happens(referee: Referee) -> bool:
        lost = referee.pile or referee.taken[referee.last_to_win or 0][-2 * num_players :]
        return referee.trick_winners[-2:] == [None, None] and sum_points(lost) > 0

    deal, actions = search_hand(options, happens, choose_pairs, seed=7)
    _, referee = replay_hand(options, deal, actions)
    if last_trick_set_aside == "nobody":
        assert referee.points_nobody_took == sum_points(referee.pile) > 0
    else:
        assert (referee.points_nobody_took, referee.pile) == (0, [])


@pytest.mark.parametrize(
    ("set_aside", "num_players", "num_set_aside"),
    [("two_pairs", 6, 3), ("two_pairs", 9, 3), ("two_pairs", 11, 3), ("no_live_card", 6, 2), ("no_live_card", 7, 1)],
)
def test_first_tricks_set_aside_leave_the_kitty_to_the_first_winner(
    set_aside: str, num_players: int, num_set_aside: int
) -> None:
    """Tricks set aside at the start, then a winner: it takes them all and a kitty with points (R16, R18)."""
    options = {"num_players": num_players, "set_aside": set_aside}

    def happens(referee: Referee) -> bool:
        starts_so = referee.trick_winners[:num_set_aside] == [None] * num_set_aside and any_won(referee)
        return starts_so and sum_points(referee.kitty) > 0

    deal, actions = search_hand(options, happens, choose_pairs, seed=8)
    _, referee = replay_hand(options, deal, actions)
    first_winner = next(winner for winner in referee.trick_winners if winner is not None)
    assert referee.kitty_taker == first_winner
    assert referee.hand_points[first_winner] == referee.points_seen[first_winner] + sum_points(referee.kitty)


@pytest.mark.parametrize("kitty_to", ["first_winner", "last_winner"])
@pytest.mark.parametrize("num_players", [10, 11])
def test_hand_without_any_winner_leaves_all_52_points_with_nobody(num_players: int, kitty_to: str) -> None:
    """Every trick set aside: no trick, no pile and no kitty is taken (R19, R20)."""
    options = {"num_players": num_players, "kitty_to": kitty_to}
    deal, actions = search_hand(options, lambda referee: not any_won(referee), choose_pairs, seed=9)
    game, referee = replay_hand(options, deal, actions)
    assert (referee.points_nobody_took, referee.kitty_taker) == (52, None)
    assert np.asarray(game.score_sheet).tolist() == [[0] * num_players]


@pytest.mark.parametrize("kitty_to", ["first_winner", "last_winner"])
@pytest.mark.parametrize("num_players", [10, 11])
def test_hand_without_any_winner_is_a_moon_when_the_leader_takes_the_last_trick(
    num_players: int, kitty_to: str
) -> None:
    """Every trick set aside and `last_trick_set_aside="leader"`: the leader takes all 52 points at once (R19, R21)."""
    options = {"num_players": num_players, "kitty_to": kitty_to, "last_trick_set_aside": "leader"}
    deal, actions = search_hand(options, lambda referee: not any_won(referee), choose_pairs, seed=9)
    game, referee = begin_both(options, deal)
    for action in actions:
        step_both(game, referee, action)
        assert_same_table(game, referee)
    assert (game.phase, game.mover) == ("moon", (deal.dealer + 1) % num_players)


# Hands of point cards alone


@pytest.mark.parametrize("opening_lead", ["no_points", "any"])
def test_opener_may_lead_any_card_when_it_holds_only_points(opening_lead: str) -> None:
    """A seat that holds only point cards may lead any of them to the first trick (R10)."""
    points = "QS QS 2H 2H 5H 9H TH KH AH"
    deal = fill_deal(11, {1: points}, "", 0, random.Random(10))
    game, referee = begin_both({"num_players": 11, "opening_lead": opening_lead, **NO_PASS}, deal)
    assert game.legal_actions() == sorted(set(faces_from_text(points)))
    assert_same_table(game, referee)


def test_discard_to_the_first_trick_may_be_points_when_nothing_else_is_held() -> None:
    """`first_trick_discard="no_points"` forbids points unless nothing else is held (R11)."""
    held = {1: "AC", 2: "QS 2H 2H 4H 5H 9H TH KH AH", 3: "QS 2D 3D 4D 5D 6D 7D 3H 3H"}
    deal = fill_deal(11, held, "", 0, random.Random(11))
    options = {"num_players": 11, "first_trick_discard": "no_points", **NO_PASS}
    game, referee = begin_both(options, deal)
    step_both(game, referee, face_from_text("AC"))
    assert game.legal_actions() == sorted(set(faces_from_text(held[2])))
    assert_same_table(game, referee)
    step_both(game, referee, face_from_text("4H"))
    assert game.legal_actions() == faces_from_text("2D 3D 4D 5D 6D 7D")
    assert_same_table(game, referee)


@pytest.mark.parametrize(
    ("hand", "hearts_break", "expected"),
    [
        ("AC QS QS 2H 2H 5H 9H TH KH", "heart_or_queen", "QS"),
        ("AC QS QS 2H 2H 5H 9H TH KH", "heart", "QS"),
        ("AC QS QS 2H 2H 5H 9H TH KH", "always", "QS 2H 5H 9H TH KH"),
        ("AC 2H 2H 5H 9H TH KH KH AH", "heart_or_queen", "2H 5H 9H TH KH AH"),
        ("AC 2H 2H 5H 9H TH KH KH 5C", "heart_or_queen", "5C"),
        ("AC 2H 2H 5H 9H TH KH KH 5C", "always", "5C 2H 5H 9H TH KH"),
    ],
)
def test_second_lead_is_bound_by_unbroken_hearts(hand: str, hearts_break: str, expected: str) -> None:
    """Unbroken: another suit first, a queen before hearts, and a heart from hearts alone (R12, `hearts_break`)."""
    clubs = zip([0, *range(2, 11)], ["2C", "2C", "3C", "3C", "4C", "4C", "6C", "6C", "7C", "7C"], strict=True)
    held = {1: hand, **dict(clubs)}
    deal = fill_deal(11, held, "", 0, random.Random(12))
    game, referee = begin_both(
        {"num_players": 11, "hearts_break": hearts_break, "set_aside": "no_live_card", **NO_PASS}, deal
    )
    step_both(game, referee, face_from_text("AC"))
    while referee.trick:
        step_both(game, referee, referee.legal_actions()[0])
        assert_same_table(game, referee)
    assert (game.mover, game.hearts_broken) == (1, False)
    assert game.legal_actions() == sorted(faces_from_text(expected))


# Who may see the kitty


def swap_with_kitty(deal: Deal, seat: int, held: int, buried: int) -> Deal:
    """Exchange a card of a seat's hand for one of the kitty."""
    hands = [list(hand) for hand in deal.hands]
    kitty = list(deal.kitty)
    hands[seat].remove(held)
    hands[seat].append(buried)
    kitty.remove(buried)
    kitty.append(held)
    return Deal([sorted(hand) for hand in hands], sorted(kitty), deal.dealer)


def is_playable(options: Options, deal: Deal, actions: list[int]) -> bool:
    """Tell whether actions are legal, one after the other, in another deal."""
    referee = Referee(options)
    referee.begin_hand(*deal, 0)
    for action in actions:
        if action not in referee.legal_actions():
            return False
        referee.step(action)
    return True


def other_kitty(options: Options, deal: Deal, actions: list[int], viewer: int) -> Deal:
    """Find a deal that differs in one card of the kitty and one of a seat other than the viewer, neither played yet."""
    for seat, hand in enumerate(deal.hands):
        for held in sorted(set(hand)) if seat != viewer else []:
            for buried in sorted(set(deal.kitty) - {held}):
                swapped = swap_with_kitty(deal, seat, held, buried)
                if is_playable(options, swapped, actions):
                    return swapped
    raise AssertionError("no other kitty goes with these actions")


@pytest.mark.parametrize("num_players", [6, 7, 9, 10, 11])
@pytest.mark.parametrize("kitty_view", ["nobody", "winner", "everyone"])
def test_kitty_is_seen_by_those_the_option_names(kitty_view: str, num_players: int) -> None:
    """An observation tells one kitty from another only if its seat was shown it, and not before it is taken (R18)."""
    options = {"num_players": num_players, "kitty_view": kitty_view, **NO_PASS}
    rng = random.Random(14)
    deal = random_deal(num_players, rng)
    game, referee = begin_both(options, deal)
    actions: list[int] = []
    while referee.kitty_taker is None:
        if not referee.trick:
            assert_kitty_is_seen_as_the_referee_says(options, deal, actions, game, referee)
        actions.append(choose_any(referee, rng))
        step_both(game, referee, actions[-1])
    assert_kitty_is_seen_as_the_referee_says(options, deal, actions, game, referee)
    seeing = [seat for seat in range(num_players) if referee.kitty_seen_by(seat)]
    assert seeing == {"nobody": [], "winner": [referee.kitty_taker], "everyone": list(range(num_players))}[kitty_view]


def assert_kitty_is_seen_as_the_referee_says(
    options: Options, deal: Deal, actions: list[int], game: Game, referee: Referee
) -> None:
    """Compare each seat's observation with the one it would have had with another kitty."""
    for viewer in range(referee.num_players):
        other_deal = other_kitty(options, deal, actions, viewer)
        other, _ = begin_both(options, other_deal)
        for action in actions:
            other.step(action)
        tells = not np.array_equal(game.observation(viewer), other.observation(viewer))
        where = f"P{viewer}, kitty {faces_to_text(deal.kitty)} or {faces_to_text(other_deal.kitty)}"
        assert tells == referee.kitty_seen_by(viewer), where
