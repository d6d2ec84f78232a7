"""Moons: every `moon` value, with and without the kitty, and what they do to the end of the game (R21 to R25)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from chearts_env.cards import face_to_text
from tests.beside import NO_PASS, SIZES, play_hand
from tests.deals import Deal, choose_any, fill_deal
from tests.referee import MOON_ADD, MOON_SUBTRACT, Referee, sum_points

SHOOTER = 1


def top_clubs(num_cards: int) -> str:
    """Name the highest clubs, both copies of each rank, from the ace down."""
    ranks = [rank for rank in "AKQJT98765432" for _ in range(2)]
    return " ".join(f"{rank}C" for rank in ranks[:num_cards])


def moon_deal(num_players: int, kitty: str = "", seed: int = 0) -> Deal:
    """Deal the shooter nothing but the highest clubs and the opening lead: without a pass, every trick is theirs.

    Both copies of a club are theirs, so no one can cancel it, and the last, single one is led when the others have no
    club left.
    """
    return fill_deal(num_players, {SHOOTER: top_clubs(104 // num_players)}, kitty, SHOOTER - 1, random.Random(seed))


def choose_moon(referee: Referee, rng: random.Random) -> int:
    """Lead one's highest card as the shooter; play anything as another seat."""
    return max(referee.legal_actions()) if referee.mover == SHOOTER else choose_any(referee, rng)


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("set_aside", ["two_pairs", "no_live_card"])
def test_moon_is_a_decision_of_the_shooter_when_chosen(set_aside: str, num_players: int) -> None:
    """The seat that took all 52 points chooses after the last trick, and is scored as it chose (R21)."""
    options = {"num_players": num_players, "set_aside": set_aside, **NO_PASS}
    game, referee = play_hand(options, moon_deal(num_players), choose_moon, seed=1)
    assert (game.phase, game.mover, game.legal_actions()) == ("moon", SHOOTER, [MOON_SUBTRACT, MOON_ADD])
    assert (referee.phase, len(game.score_sheet)) == ("moon", 0)
    other = game.copy()
    game.step(MOON_SUBTRACT)
    assert np.asarray(game.score_sheet).tolist() == [[-26 if seat == SHOOTER else 0 for seat in range(num_players)]]
    other.step(MOON_ADD)
    assert np.asarray(other.score_sheet).tolist() == [[0 if seat == SHOOTER else 26 for seat in range(num_players)]]
    referee.step(MOON_ADD)
    assert referee.score_sheet == np.asarray(other.score_sheet).tolist()


@pytest.mark.parametrize("moon_points", [1, 26, 52])
@pytest.mark.parametrize("moon", ["subtract", "add", "off"])
@pytest.mark.parametrize("num_players", SIZES)
def test_moon_is_settled_without_a_decision_when_not_chosen(num_players: int, moon: str, moon_points: int) -> None:
    """`subtract` and `add` act by themselves, with `off` the 52 points simply count (R21, `moon`, `moon_points`)."""
    options = {"num_players": num_players, "moon": moon, "moon_points": moon_points}
    options |= {"set_aside": "no_live_card", **NO_PASS}
    game, _ = play_hand(options, moon_deal(num_players), choose_moon, seed=2)
    shooter, others = {"subtract": (-moon_points, 0), "add": (0, moon_points), "off": (52, 0)}[moon]
    changes = [shooter if seat == SHOOTER else others for seat in range(num_players)]
    assert np.asarray(game.score_sheet).tolist() == [changes]
    assert (game.phase, game.hand_number) == ("play", 1)


@pytest.mark.parametrize("kitty_to", ["first_winner", "last_winner"])
def test_moon_is_completed_by_the_points_of_the_kitty(kitty_to: str) -> None:
    """Fifty points face up and two hearts in the kitty make a moon (R18, R21)."""
    options = {"num_players": 6, "set_aside": "no_live_card", "kitty_to": kitty_to, **NO_PASS}
    game, referee = play_hand(options, moon_deal(6, kitty="2H AH"), choose_moon, seed=3)
    assert referee.points_seen[SHOOTER] == 50
    assert (game.phase, game.mover) == ("moon", SHOOTER)


def test_moon_ends_the_game_when_added_and_not_when_subtracted() -> None:
    """Others at 130 reach the target of 150 by 26 more, the shooter's own 26 less ends nothing (R21, R22, R23, R24)."""
    options = {"num_players": 7, "set_aside": "no_live_card", "target_score": 150, **NO_PASS}
    scores = [130, 20, 0, 100, 60, 7, 0]
    game, _ = play_hand(options, moon_deal(7), choose_moon, seed=4, scores=scores)
    added, subtracted = game.copy(), game.copy()
    added.step(MOON_ADD)
    assert (added.phase, added.mover, added.is_truncated) == ("over", None, False)
    assert [int(score) for score in added.scores] == [156, 20, 26, 126, 86, 33, 26]
    assert list(added.winners) == [SHOOTER]
    subtracted.step(MOON_SUBTRACT)
    assert (subtracted.phase, subtracted.hand_number) == ("play", 1)
    assert [int(score) for score in subtracted.scores] == [130, -6, 0, 100, 60, 7, 0]


def unfinished_moon_deal(kitty: str) -> Deal:
    """Deal the shooter sixteen high clubs and one 2D; seat 2 holds the other 2D, seats 3 and 4 a Black Maria each."""
    held = {SHOOTER: f"{top_clubs(16)} 2D", 2: "2D", 3: "QS", 4: "QS"}
    return fill_deal(6, held, kitty, SHOOTER - 1, random.Random(5))


def choose_unfinished_moon(referee: Referee, rng: random.Random) -> int:
    """Keep 2D, 2D and one Black Maria to the last trick; shed diamonds first, then points, and no pairs if possible."""
    legal = referee.legal_actions()
    if referee.mover == SHOOTER:
        return next((face for face in legal if face_to_text(face)[1] == "C"), legal[0])
    kept = {2: "2D", 3: "QS"}.get(referee.mover or 0)
    played = [face for _, face in referee.trick]

    def reluctance(face: int) -> tuple[bool, bool, bool, bool]:
        name = face_to_text(face)
        return name == kept, face in played, name[1] != "D", sum_points([face]) == 0

    return min(legal, key=reluctance)


@pytest.mark.parametrize("kitty", ["3C 3C", "3H 4H"])
@pytest.mark.parametrize("kitty_to", ["first_winner", "last_winner"])
@pytest.mark.parametrize("set_aside", ["no_live_card", "two_pairs"])
def test_moon_fails_when_a_queen_lies_in_the_last_trick_set_aside(set_aside: str, kitty_to: str, kitty: str) -> None:
    """Thirty-nine points with one seat and a queen with nobody are no moon (R19, R21), unless the leader takes it."""
    options = {"num_players": 6, "set_aside": set_aside, "kitty_to": kitty_to, **NO_PASS}
    deal = unfinished_moon_deal(kitty)
    game, _ = play_hand({**options, "max_hands": 1}, deal, choose_unfinished_moon, seed=6)
    assert np.asarray(game.score_sheet).tolist() == [[0, 39, 0, 0, 0, 0]]
    assert game.is_truncated
    game, _ = play_hand({**options, "last_trick_set_aside": "leader"}, deal, choose_unfinished_moon, seed=6)
    assert (game.phase, game.mover) == ("moon", SHOOTER)


@pytest.mark.parametrize(("target_score", "is_truncated"), [(100, False), (200, True)])
def test_game_is_truncated_only_when_the_cap_comes_without_the_target(target_score: int, is_truncated: bool) -> None:
    """A last hand that also reaches the target is not truncated (R23, R25); either way the lowest win (R24)."""
    options = {
        "num_players": 8,
        "set_aside": "no_live_card",
        "moon": "off",
        "max_hands": 1,
        "target_score": target_score,
    }
    scores = [0, 60, -3, 5, -3, 0, 0, 0]
    game, _ = play_hand({**options, **NO_PASS}, moon_deal(8), choose_moon, seed=13, scores=scores)
    assert (game.phase, game.mover, game.is_truncated) == ("over", None, is_truncated)
    assert [int(score) for score in game.scores] == [0, 112, -3, 5, -3, 0, 0, 0]
    assert list(game.winners) == [2, 4]


@pytest.mark.parametrize(("score", "is_over"), [(47, False), (48, True)])
def test_game_ends_when_a_score_reaches_the_target_exactly(score: int, is_over: bool) -> None:
    """A score of 48 and all 52 points make 100, the target; 47 and 52 do not reach it (R23)."""
    options = {"num_players": 8, "set_aside": "no_live_card", "moon": "off", "target_score": 100, **NO_PASS}
    scores = [0, score, 0, 0, 0, 0, 0, 0]
    game, _ = play_hand(options, moon_deal(8), choose_moon, seed=15, scores=scores)
    assert int(game.scores[SHOOTER]) == score + 52
    assert (game.phase == "over", game.is_truncated) == (is_over, False)
