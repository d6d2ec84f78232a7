"""`careful`: what it plays in positions with one sensible answer, clause by clause, and what it says of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from baselines.careful import Careful
from chearts_env import Game, Rules
from chearts_env.cards import face_from_text, faces_to_text
from tests.baselines.positions import action_of, choice, facts_of, item_of, position, sight, words_of
from tests.deals import fill_deal
from tests.sizes import moon_history

# Seat 7 of 8 is last to the first trick and holds these besides its cards of the suit led.
NO_CLUBS = "2S 3S 4S 5S 2D 3D 4D 5D 6D 7D"
NO_SPADES = "2C 3C 4C 5C 2D 3D 4D 5D 6D 7D 8D"


def first_trick(played: str, last_hand: str, set_aside: Any = "two_pairs") -> Game:
    """Eight seats, no pass, no kitty: seven have played, seat 7 is last."""
    rules = Rules(8, pass_cycle=(0,), set_aside=set_aside)
    return position(rules, [f"0: {played}"], {7: last_hand})


# Last to play


def test_last_to_play_ducks_with_its_highest_card_that_loses():
    """R14: under a live ace any club loses, so the king goes and the low ones stay."""
    assert choice(first_trick("5C 9C AC 7C 8C TC 6C", f"2C 3C KC {NO_CLUBS}")) == "KC"


def test_last_to_play_cancels_the_top_card_rather_than_win_a_queen():
    """R13: the second king takes both out of the running; the ace would bring 13 points home."""
    assert choice(first_trick("5C KC 9C QS 7C 8C TC", f"AC AC KC {NO_CLUBS}")) == "KC"


def test_last_to_play_wins_with_its_highest_card_when_every_card_wins():
    """R14: all clubs held are above the trick, so the most dangerous one goes."""
    assert choice(first_trick("5C 9C 2C 7C 8C TC 6C", f"JC QC AC {NO_CLUBS}")) == "AC"


@pytest.mark.parametrize(("set_aside", "nobody_wins"), [("two_pairs", 1), ("no_live_card", 0)])
def test_last_to_play_lays_a_second_pair_on_a_dear_trick(set_aside, nobody_wins):
    """R15: with a pair and a queen there, the 9 sets all aside or, by the other reading, leaves it to the 4."""
    game = first_trick("5C 5C 9C 3C QS 2H 4C", f"9C AC {NO_CLUBS} 8D", set_aside)
    assert choice(game) == "9C"
    assert item_of(game, "9C").set_aside == nobody_wins
    assert item_of(game, "AC").wins == 1
    words = words_of(game)["9C"]
    assert ("completes a second pair" in words) == ("set aside" in words) == bool(nobody_wins)


@pytest.mark.parametrize("set_aside", ["two_pairs", "no_live_card"])
def test_last_to_play_may_leave_nobody_to_win(set_aside):
    """R15: with every club cancelled the queen goes to nobody, by both readings."""
    game = first_trick("5C 5C KC 2D 3D QS 4D", f"KC AC {NO_CLUBS} 8D", set_aside)
    assert (item_of(game, "KC").wins, item_of(game, "KC").set_aside) == (0, 1)
    assert (item_of(game, "AC").wins, item_of(game, "AC").set_aside) == (1, 0)
    assert choice(game) == "KC"


def test_second_pair_of_another_suit_sets_a_trick_aside_too():
    """R15: pairs of any suits count, so a seat that cannot follow may veto."""
    game = first_trick("5C 5C 9C QS 2H 3C 4C", f"QS 2D {NO_SPADES}".replace("2C 3C 4C 5C", "2S 3S 4S 5S"))
    assert item_of(game, "QS").set_aside == 1
    assert item_of(game, "2D").set_aside == 0
    assert "completes a second pair" in words_of(game)["QS"]


def test_black_maria_is_thrown_when_it_cannot_win():
    """R11: void in clubs, the queen goes to whoever wins."""
    assert choice(first_trick("5C 9C AC 7C 8C TC 6C", "QS 2S 3D 4D 5D 6D 7D 8D 2H 3H 4H 5H 6H")) == "QS"


@pytest.mark.parametrize("high", ["AS", "KS"])
def test_black_maria_is_laid_under_a_live_high_spade_when_last(high):
    """R14: it loses for sure."""
    assert choice(first_trick(f"4S 9S {high} 7S 8S TS 6S", f"QS 2S {NO_SPADES}")) == "QS"


def test_black_maria_is_kept_when_it_would_win_itself():
    """R14: above all spades of the trick it would bring 16 points home, its own among them."""
    assert choice(first_trick("4S 9S JS 7S QH KH AH", f"QS 2S {NO_SPADES}")) == "2S"


def test_second_black_maria_cancels_the_first_rather_than_win_with_the_ace():
    """R13: 26 points go to the jack."""
    assert choice(first_trick("4S 9S JS QS 8S TS 6S", f"QS AS {NO_SPADES}")) == "QS"


# Seats behind


def test_nothing_wins_below_a_live_card_whose_twin_cannot_come():
    """R13, R14: I hold the other king, so nobody will cancel the one that lies there."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: 5C KC 9C"], {3: f"QC 2C KC {NO_CLUBS}"})
    assert item_of(game, "QC").wins == item_of(game, "2C").wins == 0
    assert "does not win" in words_of(game)["QC"]


def test_anything_may_win_below_a_live_card_whose_twin_may_come():
    """R13: the queen is next if somebody behind lays the other king."""
    game = position(Rules(8, pass_cycle=(0,)), ["0: 5C KC 9C"], {3: f"QC 2C 3C {NO_CLUBS}"})
    assert 0 < item_of(game, "2C").wins < item_of(game, "QC").wins < 0.5


def test_twin_still_out_makes_a_high_card_less_likely_to_win():
    """R13: nobody can cancel an ace of which I hold both copies."""
    rules = Rules(8, pass_cycle=(0,), set_aside="no_live_card")
    one, both = (position(rules, ["0: 5C"], {1: f"{hand} {NO_CLUBS} 8D"}) for hand in ("AC 3C", "AC AC"))
    assert item_of(one, "AC").wins < item_of(both, "AC").wins == 1


def test_trick_with_a_pair_on_it_is_more_likely_to_be_set_aside():
    """R15: one pair more is enough, and the more seats behind the likelier; the other reading never asks."""
    rules = Rules(11, pass_cycle=(0,))
    hands = [f"KC {'2S 3S 4S 5S 2D 3D 4D 5D'}", f"KC 5C {'2S 3S 4S 5S 2D 3D 4D'}"]
    without, with_pair = (
        position(rules, [f"0: {played}"], {3: hand})
        for played, hand in zip(("5C 9C 7C", "9C 9C 7C"), hands, strict=True)
    )
    late = position(rules, ["0: 9C 9C 7C 8C 4C 3C 2C 2D 3D"], {9: f"KC {'2S 3S 4S 5S 4D 5D 6D 7D'}"})
    assert item_of(without, "KC").set_aside < item_of(with_pair, "KC").set_aside
    assert 0 < item_of(late, "KC").set_aside < item_of(with_pair, "KC").set_aside < 1
    other = position(Rules.classic(11, pass_cycle=(0,)), ["0: 9C 9C 7C"], {3: hands[1]})
    assert item_of(other, "KC").set_aside == 0


def test_leader_does_not_call_for_a_queen_with_both_aces_of_spades():
    """R13, R14: nobody can cancel the ace, and a queen may fall on it; a low diamond hardly ever wins."""
    game = position(
        Rules.classic(8, pass_cycle=(0,)),
        ["0: 5C 9C AC 7C 8C TC 6C 2C"],
        {2: "AS AS 2D 4D 5D 6D 7D 3H 4H 5H 6H 7H"},
    )
    ace, two = item_of(game, "AS"), item_of(game, "2D")
    assert ace.wins == 1 > two.wins
    assert ace.pot > two.pot
    assert choice(game).endswith("D")
    assert "leads; wins" in words_of(game)["AS"]


# The kitty


HIGH_CLUBS = "JC QC AC KC 2S 3S 4S 5S 2D 3D 4D 5D 6D 7D 8D 9D TD"


def test_kitty_that_waits_makes_the_trick_dearer():
    """R18: at 6 seats two unseen cards lie there until someone wins; their points are an expectation."""
    waiting = position(Rules(6, pass_cycle=(0,)), ["0: 5C 9C 2C 7C 8C"], {5: HIGH_CLUBS})
    facts = facts_of(sight(waiting)[0])
    expected = 2 * facts.points_out / facts.cards_out
    assert item_of(waiting, "JC").pot == pytest.approx(expected)
    assert f"wins {expected:.1f} points" in words_of(waiting)["JC"]


def test_kitty_that_is_taken_makes_no_trick_dearer():
    """R18: the same trick after one that seat 0 has won."""
    rules = Rules(6, pass_cycle=(0,))
    taken = position(rules, ["0: AS 3S 4S 6S 7S 2S", "0: 5C 9C 2C 7C 8C"], {5: HIGH_CLUBS.removesuffix(" TD")})
    assert taken.kitty_taker == 0
    assert item_of(taken, "JC").pot == 0
    assert "wins 0.0 points" in words_of(taken)["JC"]


def test_kitty_for_the_last_winner_makes_the_first_trick_no_dearer():
    """R18: `kitty_to="last_winner"` hands it out at the end."""
    rules = Rules(6, pass_cycle=(0,), kitty_to="last_winner")
    assert item_of(position(rules, ["0: 5C 9C 2C 7C 8C"], {5: HIGH_CLUBS}), "JC").pot == 0


# Passing


def passed(hand: str) -> list[str]:
    """The three cards that seat 0 of 8 gives of a hand, to the left."""
    deal = fill_deal(8, {0: hand}, "", 7, random.Random(1))
    game = Game.from_hands(Rules(8), [faces_to_text(cards) for cards in deal.hands], dealer=deal.dealer)
    given = []
    for _ in range(3):
        given.append(choice(game))
        game.step(face_from_text(given[-1]))
    return given


def test_unguarded_black_maria_is_passed():
    """R7: with one low spade beside it the queen comes down soon."""
    assert "QS" in passed("QS 2S 2C 3C 4C 5C 2D 3D 4D 5D 2H 3H 4H")


def test_black_maria_among_low_spades_is_kept():
    """R7: seven spades below it hold off every lead, and the high hearts are the greater danger."""
    assert "QS" not in passed("QS 2S 3S 4S 5S 6S 7S 8S AH KH QH AD AC")


# Moons (R21)

TAKING = {  # 50 points to the seat that leads: all but one JH and one QH
    seat: [
        f"{seat}: AS QS 2S 3S 4S 5S 6S 7S",
        f"{seat}: AH 2H 3H 4H 5H 6H 7H 8H",
        f"{seat}: KH 2H 3H 4H 5H 6H 7H 8H",
        f"{seat}: KS QS 2S 3S 4S 5S 6S 7S",
        f"{seat}: AH 9H 9H TH TH JH QH KH",
    ]
    for seat in (0, 1)
}


def after_taking(taker: int, tricks: list[str], hand: str, **options: Any) -> Game:
    """Eight seats, seat 0 to move with this hand; seat 0 or 1 has taken 50 points before these tricks."""
    return position(Rules.classic(8, pass_cycle=(0,), **options), TAKING[taker] + tricks, {0: hand})


JACK_LEADS = "1: JC 3C 4C 5C 6C 7C JH"
QUEEN_OR_TEN = "QC TC 2D 3D 4D 5D 6D 7D"


def test_trick_is_taken_from_a_seat_that_has_all_points_so_far():
    """R21: one point taken now ends a moon that is near; where there are no moons the ten ducks."""
    game = after_taking(1, [JACK_LEADS], QUEEN_OR_TEN)
    assert facts_of(sight(game)[0]).rival == 1
    assert item_of(game, "QC").stops > item_of(game, "TC").stops == 0
    assert choice(game) == "QC"
    assert "may stop a moon" in words_of(game)["QC"]
    without_moons = after_taking(1, [JACK_LEADS], QUEEN_OR_TEN, moon="off")
    assert item_of(without_moons, "QC").stops == item_of(without_moons, "TC").stops == 0
    assert choice(without_moons) == "TC"


def test_point_is_thrown_to_another_seat_than_the_one_that_has_all():
    """R21: a heart to seat 2 ends seat 1's moon, a diamond does not; a heart to seat 1 feeds it."""
    hand = "JH AD KD 2D 3D 3D 4D 4D"
    other_wins = after_taking(1, ["1: 3C KC 4C 5C 6C 7C 8C"], hand)
    assert item_of(other_wins, "JH").stops > item_of(other_wins, "AD").stops == 0
    assert choice(other_wins) == "JH"
    rival_wins = after_taking(1, ["1: KC 3C 4C 5C 6C 7C 8C"], hand)
    assert item_of(rival_wins, "JH").stops == item_of(rival_wins, "AD").stops == 0


def test_nobody_needs_stopping_once_two_seats_have_points():
    """R21: with one heart at seat 2 there is no moon, and the ten ducks."""
    heart_to_seat_2 = ["1: 3C KC 4C 5C 6C 7C JH 2C", "2: JD 2D 3D 4D 5D 6D 7D AD"]
    game = after_taking(1, [*heart_to_seat_2, "1: JC 3C 4C 5C 6C 8C QH"], "QC TC 2D 3D 4D 5D")
    assert facts_of(sight(game)[0]).rival == -1
    assert item_of(game, "QC").stops == item_of(game, "TC").stops == 0
    assert choice(game) == "TC"


LAST_POINTS = [  # seat 0 gives the lead away, and the last two hearts come
    "0: 2C JC 3C 4C 5C 6C 7C 8C",
    "1: 9C 3C 4C 5C 6C JH QH",
]
KING_OR_TWO = "KC 2C 2D 3D 4D 5D 6D"


def test_last_points_are_taken_when_all_others_are_mine():
    """R21: 50 and these two are a moon; ducked, the 50 count."""
    game = after_taking(0, LAST_POINTS, KING_OR_TWO)
    assert game.points_seen[0] == 50
    assert choice(game) == "KC"
    assert "as it nears my own moon" in words_of(game)["KC"]


def test_last_points_are_ducked_where_there_are_no_moons():
    """R21, `moon="off"`: two points are two points."""
    assert choice(after_taking(0, LAST_POINTS, KING_OR_TWO, moon="off")) == "2C"


def test_last_points_are_ducked_when_one_lies_elsewhere():
    """R21: if one point lies with another seat, there is no moon."""
    elsewhere = ["0: 2C JC 3C 4C 5C 6C 7C JH", "1: 9C 3C 4C 5C 6C 7C QH"]
    game = after_taking(0, elsewhere, KING_OR_TWO)
    assert game.points_seen[1] == 1
    assert choice(game) == "2C"


@pytest.mark.parametrize(
    ("mine", "highest", "lowest", "choice_wins"),
    [
        (40, 90, 60, False),  # nobody would reach 150
        (40, 123, 60, False),  # ... by a point
        (40, 124, 60, True),
        (40, 149, 15, True),  # 41 is more than 40
        (120, 130, 60, False),  # it would end the game, and another would win it
    ],
)
def test_moon_is_added_only_when_that_wins_the_game_at_once(mine, highest, lowest, choice_wins):
    """R21, R23: in a game to 150 adding is better where it ends the game with the shooter as its only winner."""
    history = moon_history(8, random.Random(1))
    scores = [70, mine, highest, 80, 70, lowest, 100, 70]
    game = Game.from_hands(history.rules, history.hands, history.kitty, history.dealer, scores=scores)
    for action in history.actions:
        game.step(action)
    assert (game.phase, game.mover) == ("moon", 1)
    reasons = Careful().explain(*sight(game))
    assert [reason.action for reason in reasons] == ([53, 52] if choice_wins else [52, 53])
    assert action_of(Careful(), game) == reasons[0].action
    game.step(53)
    assert (game.winners == [1]) == choice_wins
