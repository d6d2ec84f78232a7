"""Corner hands set up by hand: the situations that random play meets rarely or never.

Each deal is written as text; seats are numbered, seat 1 leads first (seat 0 deals) and nothing is passed unless said.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text, face_from_text, faces_from_text, faces_to_text
from chearts_env.observation import field_values
from tests.deals import fill_deal

MOON_SUBTRACT, MOON_ADD = 52, 53

# Seats 1 and 2 hold all clubs of 6 seats, one of each face; the others must discard on every club led.
TWIN_CLUBS = {
    1: "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC 2H 2S 3S 4S",
    2: "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC 5S 6S 7S 8S",
    3: "2D 2D 3D 3D 4D 4D 5D 5D 6D 6D 7D 7D 8D 8D 9D 9D TD",
    4: "3H 3H 4H 4H 5H 5H 6H 6H 7H 7H 8H 8H 9H 9H TH TH JH",
    5: "2S 3S 4S 5S 6S 7S 8S 9S 9S TS TS JS JS KS KS AS AS",
    0: "TD JD JD QD QD KD KD AD AD QS QS JH QH QH KH KH AH",
}


def begin(num_players: int, held: dict[int, str], kitty: str = "", seed: int = 1, **options: Any) -> Game:
    """Deal the cards named and the rest at random, seat 0 dealing, without a pass unless `pass_cycle` is given."""
    scores = options.pop("scores", None)
    deal = fill_deal(num_players, held, kitty, 0, random.Random(seed))
    rules = Rules(num_players, **({"pass_cycle": (0,)} | options))
    hands = [faces_to_text(hand) for hand in deal.hands]
    return Game.from_hands(rules, hands, faces_to_text(deal.kitty), dealer=0, scores=scores)


def play(game: Game, cards: str) -> None:
    """Play cards in order, whoever is to move; every one must be legal."""
    for face in faces_from_text(cards):
        assert face in game.legal_actions(), f"{faces_to_text([face])} is not legal for seat {game.mover}"
        game.step(face)


def sweep(**options: Any) -> Game:
    """Play a hand of 6 seats in which seat 1 wins all 17 tricks with clubs, up to its end or the choice of the moon."""
    held = {1: "AC AC KC KC QC QC JC JC TC TC 9C 9C 8C 8C 7C 7C 6C", 2: "6C 5C 5C 4C 4C 3C 3C 2C 2C"}
    game = begin(6, held, "AH 3D", set_aside="no_live_card", **options)
    for lead in faces_from_text(held[1]):
        game.step(lead)
        while game.trick and not game.is_over and game.phase == "play":
            game.step(game.legal_actions()[0])
    return game


# Cancelling and setting aside (R13 to R17)


@pytest.mark.parametrize(
    ("set_aside", "leader", "pile"), [("two_pairs", 1, "5C 5C 6C 7C 7C KC"), ("no_live_card", 5, "")]
)
def test_two_pairs_with_a_higher_single_card_are_set_aside_by_one_reading_only(
    set_aside: str, leader: int, pile: str
) -> None:
    """R15: two pairs set a trick aside even if an uncancelled card of the suit led remains, or that card wins it."""
    held = {1: "5C", 2: "5C", 3: "7C", 4: "7C", 5: "KC", 0: "6C"}
    game = begin(6, held, set_aside=set_aside)
    play(game, "5C 5C 7C 7C KC 6C")
    assert (game.leader, game.mover, counts_to_text(game.pile)) == (leader, leader, pile)


@pytest.mark.parametrize("set_aside", ["two_pairs", "no_live_card"])
def test_one_pair_that_is_the_whole_suit_led_is_set_aside_under_both_readings(set_aside: str) -> None:
    """R15: no uncancelled card of the suit led remains, whatever else lies on the trick."""
    game = begin(6, TWIN_CLUBS, set_aside=set_aside)
    play(game, "AC AC 2D 3H AS AD")
    assert counts_to_text(game.pile) == "AC AC 2D AD AS 3H"
    assert (game.leader, game.points_seen.tolist()) == (1, [0] * 6)


@pytest.mark.parametrize(("set_aside_leader", "leader"), [("same", 1), ("left", 2)])
def test_leader_after_a_set_aside_trick_is_the_one_the_option_names(set_aside_leader: str, leader: int) -> None:
    """R17: the same seat leads again, or the seat to its left."""
    game = begin(6, TWIN_CLUBS, set_aside_leader=set_aside_leader)
    play(game, "AC AC 2D 3H AS AD")
    assert game.mover == leader


@pytest.mark.parametrize("set_aside", ["two_pairs", "no_live_card"])
def test_winner_takes_three_tricks_set_aside_before_it(set_aside: str) -> None:
    """R16, R18: three set-aside tricks in a row, then the winner takes all four, and with them the waiting kitty."""
    game = begin(6, TWIN_CLUBS, set_aside=set_aside)
    kitty_points = int((game.kitty[39:]).sum() + 13 * game.kitty[36])
    play(game, "2C 2C 2D 3H 2S TD  3C 3C 2D 4H 3S JD  4C 4C 3D 5H 4S QD")
    assert (game.pile.sum(), game.kitty_taker, game.trick_number) == (18, None, 3)
    play(game, "AC 5C 3D 6H 5S KD")
    assert (game.leader, game.kitty_taker, game.pile.sum()) == (1, 1, 0)
    assert game.points_seen.tolist() == [0, 4, 0, 0, 0, 0]
    assert game.points_taken[1] == 4 + kitty_points


def test_first_trick_set_aside_leaves_the_kitty_to_the_first_winner() -> None:
    """R18: the kitty waits for the first seat that does win a trick."""
    game = begin(6, TWIN_CLUBS)
    play(game, "2C 2C 2D 3H 2S TD")
    assert game.kitty_taker is None
    play(game, "3C AC 2D 3H 3S JD")
    assert [game.kitty_taker, game.leader] == [2, 2]


# Breaking hearts (R12)


def test_heart_on_a_set_aside_trick_breaks_hearts() -> None:
    """R12: a heart played to any trick, set-aside ones included, breaks hearts."""
    game = begin(6, TWIN_CLUBS)
    play(game, "2C 2C 2D 3H 2S TD")
    assert game.hearts_broken
    assert face_from_text("2H") in game.legal_actions()


def lead_aces_for(hand: str, hearts_break: str) -> Game:
    """Bring seat 1 of 11 to lead from a short hand with hearts unbroken: until then it leads aces and wins."""
    leads = ["AC", "AC", "AD", "AD", "AS", "AS", "KC", "KC"][: 9 - len(hand.split())]
    others = [seat for seat in range(11) if seat != 1]
    rest = [face for face in range(39) for _ in range(2)]
    for face in faces_from_text(" ".join([*leads, hand])):
        if face in rest:
            rest.remove(face)
    kitty = ""
    if hearts_break != "heart":  # both Black Marias out of the way
        rest = [face for face in rest if face != 36]
        kitty = "QS QS"
    # Every other seat gets enough cards that are no hearts to last until then, the lowest first.
    held = {seat: faces_to_text(rest[place::10][: len(leads)]) for place, seat in enumerate(others)}
    game = begin(11, {1: " ".join([*leads, hand]), **held}, kitty, hearts_break=hearts_break, seed=4)
    for lead in faces_from_text(" ".join(leads)):
        game.step(lead)
        while game.trick:
            game.step(next(action for action in game.legal_actions() if action < 39))
        assert game.mover == 1
    return game


@pytest.mark.parametrize(
    ("hand", "hearts_break", "legal"),
    [
        ("5C 2H KH", "heart_or_queen", "5C"),
        ("5C 2H KH", "heart", "5C"),
        ("2H KH", "heart", "2H KH"),
        ("QS 2H", "heart", "QS"),
    ],
)
def test_unbroken_leader_of_a_short_hand_may_lead_only_what_the_clause_says(
    hand: str, hearts_break: str, legal: str
) -> None:
    """R12: no heart while anything else is held, hearts from hearts alone, a Black Maria before a heart.

    Hands of two cards with hearts unbroken need `hearts_break="heart"`: only 76 cards are no point cards.
    """
    game = lead_aces_for(hand, hearts_break)
    assert counts_to_text(game.hand(1)) == hand
    assert not game.hearts_broken
    assert game.legal_actions() == faces_from_text(legal)


def test_opener_with_only_point_cards_may_lead_any_of_them() -> None:
    """R10: a seat that holds only point cards may lead any card to the first trick."""
    hand = "QS QS 2H 2H 3H 4H 5H 6H 7H"
    game = begin(11, {1: hand})
    assert game.legal_actions() == sorted(set(faces_from_text(hand)))


def test_opener_may_not_lead_a_point_card_when_it_holds_another() -> None:
    """R10: the opening lead is any card that is not a point card."""
    game = begin(11, {1: "QS QS 2H 2H 3H 4H 5H 6H 2C"})
    assert game.legal_actions() == [face_from_text("2C")]


# Twins


def test_trick_takes_both_queens_when_they_cancel_each_other() -> None:
    """R13: cancelled cards keep their points; the highest spade left takes 26."""
    game = begin(6, {1: "QS", 2: "QS", 3: "3S", 4: "9S", 5: "4S", 0: "5S"}, opening_lead="any")
    play(game, "QS QS 3S 9S 4S 5S")
    assert (game.leader, game.points_seen.tolist()) == (4, [0, 0, 0, 0, 26, 0])


def test_playing_one_copy_of_a_face_leaves_the_other() -> None:
    """R2: faces have counts; AS AS held, one played, one stays and both looked the same."""
    game = begin(6, {1: "AS AS"})
    assert game.hand(1)[face_from_text("AS")] == 2
    play(game, "AS")
    assert game.hand(1)[face_from_text("AS")] == 1


def test_both_copies_of_a_card_can_be_passed() -> None:
    """R7: both copies of a face may be passed; they leave the hand as chosen and arrive in the exchange."""
    game = begin(6, {1: "AS AS 2C"}, pass_cycle=(1,))
    play(game, "AS AS 2C")
    assert counts_to_text(game.given(1)) == "2C AS AS"
    assert game.hand(1)[face_from_text("AS")] == 0
    before = game.hand(2)
    while game.phase == "pass":
        kept = [action for action in game.legal_actions() if not before[action]] or game.legal_actions()
        game.step(kept[0])
    assert game.hand(2)[face_from_text("AS")] >= 2
    assert field_values(game.observation(2), "received").tolist() == game.given(1).tolist()


# The end of a hand (R18 to R24)


@pytest.mark.parametrize(("last_trick_set_aside", "change"), [("nobody", 39), ("leader", None)])
def test_last_trick_set_aside_with_a_queen_makes_no_moon_for_the_other_39(
    last_trick_set_aside: Any, change: int | None
) -> None:
    """R19, R21: one point with nobody, and there is no moon; only if the leader takes that trick too."""
    hands = {
        1: "AC AC KC KC QC QC JC JC TC TC 9C 9C 2C",
        2: "8C 8C 7C 7C 6C 6C 5C 5C 4C 4C 3C 3C 2C",
        3: "2D 3D 4D 5D 6D 7D 8D 9D TD JD QD 2H KD",
        4: "3D 4D 5D 6D 7D 8D 9D TD JD QD 2H KD AD",
        5: "2S 3S 4S 5S 6S 7S 8S 9S TS JS KS AS QS",
        6: "3S 4S 5S 6S 7S 8S 9S TS JS QS KS AS 2S",
        7: "3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH 2D",
        0: "4H 5H 6H 7H 8H 9H TH JH QH KH AH 3H AD",
    }
    rules = Rules(8, pass_cycle=(0,), last_trick_set_aside=last_trick_set_aside)
    game = Game.from_hands(rules, [hands[seat] for seat in range(8)], "", dealer=0)
    for trick in range(13):  # every seat plays its cards in the order written; seat 1 leads throughout
        for seat in (1, 2, 3, 4, 5, 6, 7, 0):
            play(game, hands[seat].split()[trick])
        assert trick == 12 or (game.leader, game.pile.sum()) == (1, 0)
    if change is None:
        assert (game.phase, game.mover) == ("moon", 1)
    else:
        assert game.score_sheet.tolist() == [[0, change, 0, 0, 0, 0, 0, 0]]


def test_kitty_completes_a_moon() -> None:
    """R18, R21: 51 points face up and a heart in the kitty are all 52."""
    game = sweep()
    assert (game.phase, game.mover, game.points_seen[1], game.points_taken[1]) == ("moon", 1, 51, 52)
    assert game.legal_actions() == [MOON_SUBTRACT, MOON_ADD]


@pytest.mark.parametrize(
    ("action", "scores", "is_over", "winners"),
    [
        (MOON_ADD, [130, 40, 26, 66, 26, 26], True, [2, 4, 5]),
        (MOON_SUBTRACT, [104, 14, 0, 40, 0, 0], False, []),
    ],
)
def test_moon_choice_decides_whether_the_game_ends(
    action: int, scores: list[int], is_over: bool, winners: list[int]
) -> None:
    """R21, R23: adding lifts another seat over the target and ends the game, subtracting does not."""
    game = sweep(target_score=110, scores=[104, 40, 0, 40, 0, 0])
    game.step(action)
    assert game.scores.tolist() == scores
    assert (game.is_over, game.winners) == (is_over, winners)


def test_seats_that_tie_for_lowest_share_the_win() -> None:
    """R24: the lowest score wins, shared by those that have it."""
    game = sweep(target_score=110, scores=[104, 36, 10, 10, 50, 50])
    game.step(MOON_ADD)
    assert game.scores.tolist() == [130, 36, 36, 36, 76, 76]
    assert game.winners == [1, 2, 3]


@pytest.mark.parametrize(
    ("moon", "moon_points", "changes"),
    [
        ("subtract", 26, [0, -26, 0, 0, 0, 0]),
        ("add", 26, [26, 0, 26, 26, 26, 26]),
        ("add", 7, [7, 0, 7, 7, 7, 7]),
        ("off", 26, [0, 52, 0, 0, 0, 0]),
    ],
)
def test_moon_without_a_choice_is_settled_at_once(moon: str, moon_points: int, changes: list[int]) -> None:
    """R21, options `moon` and `moon_points`; R22: scores may be negative."""
    game = sweep(moon=moon, moon_points=moon_points)
    assert game.score_sheet.tolist() == [changes]
    assert np.array_equal(game.scores, changes)
