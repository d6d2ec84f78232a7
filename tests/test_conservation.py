"""Nothing is lost or made: cards, points and what a seat knows of them, at every step of games of every size."""

from __future__ import annotations

import random

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import FACE_POINTS, POINTS_IN_ALL, counts_of_faces
from chearts_env.observation import decode
from tests.sizes import SIZES, Counts, fewer, moon_history, play, random_rules


def count_all_cards(game: Game) -> Counts:
    """Add up the cards wherever they lie, (52,)."""
    where = [game.kitty]
    for seat in range(game.num_players):
        where += [game.hand(seat), game.played(seat)]
        if game.phase == "pass":
            where.append(game.given(seat))
    return np.sum(where, axis=0)


def cards_out_of_sight(game: Game, viewer: int) -> Counts:
    """Add up the cards whose place a seat does not know, from the game itself and not from what it is shown, (52,)."""
    hidden = np.zeros(52, np.int8)
    for seat in range(game.num_players):
        if seat == viewer:
            continue
        hidden += game.hand(seat)
        if game.phase == "pass":
            hidden += game.given(seat)
        elif game.pass_offset and seat == (viewer + game.pass_offset) % game.num_players:
            still_there = np.maximum(game.given(viewer) - game.played(seat), 0)
            assert (still_there <= game.hand(seat)).all()
            hidden -= still_there
    if not sees_kitty(game, viewer):
        hidden += game.kitty
    return hidden


def sees_kitty(game: Game, viewer: int) -> bool:
    """Say whether `kitty_view` lets a seat see the kitty by now (R18)."""
    if game.kitty_taker is None:
        return False
    return game.rules.kitty_view == "everyone" or (game.rules.kitty_view == "winner" and viewer == game.kitty_taker)


def assert_knowledge_is_conserved(game: Game, viewer: int) -> None:
    """Own, seen and unseen copies of each face are two, and the unseen ones are those that are truly out of sight."""
    known = decode(game.observation(viewer))
    own = known.hand + (known.given if known.phase == "pass" else 0)
    seen = known.played.sum(axis=0) + known.located + counts_of_faces(known.kitty_cards)
    assert np.array_equal(own + seen + known.unseen, np.full(52, 2)), f"seat {viewer} of {game}"
    assert np.array_equal(known.unseen, cards_out_of_sight(game, viewer)), f"seat {viewer} of {game}"
    on_the_table = counts_of_faces([face for _, face in known.trick])
    assert (on_the_table + known.pile <= known.played.sum(axis=0)).all()


def points_not_taken(game: Game) -> int:
    """Add up the points in hands, on the trick, in the pile and in a kitty that nobody has taken."""
    left = game.pile + counts_of_faces([face for _, face in game.trick])
    for seat in range(game.num_players):
        left += game.hand(seat)
        if game.phase == "pass":
            left += game.given(seat)
    if game.kitty_taker is None:
        left += game.kitty
    return int(left @ FACE_POINTS)


def assert_all_is_conserved(game: Game) -> None:
    """Check cards, points and what every seat knows."""
    assert np.array_equal(count_all_cards(game), np.full(52, 2)), f"{game}"
    taken = game.points_taken
    assert taken.sum() + points_not_taken(game) == POINTS_IN_ALL, f"{game}"
    face_down = game.points_seen.astype(int) - taken
    assert not np.delete(face_down, game.kitty_taker if game.kitty_taker is not None else []).any()
    for viewer in range(game.num_players):
        assert_knowledge_is_conserved(game, viewer)


@pytest.mark.parametrize("num_players", SIZES)
def test_cards_and_points_are_conserved_at_every_step_of_random_games(num_players: int) -> None:
    """R2, R5, R20: 104 cards; own + seen + unseen = 2 per face and viewer; points taken + left + never taken = 52."""
    rng = random.Random(num_players)
    for number in range(fewer(5, 1)):
        rules = random_rules(num_players, rng, max_hands=2) if number else Rules(num_players, max_hands=2)
        for game in play(Game(rules, seed=rng.randrange(2**64)), rng):
            assert_all_is_conserved(game)


@pytest.mark.parametrize("num_players", SIZES)
def test_scores_and_points_nobody_took_make_52_when_a_hand_is_scored(num_players: int) -> None:
    """R19, R20: what the seats score and what lies in the pile or an untaken kitty at the end make 52."""
    rng = random.Random(100 + num_players)
    for _ in range(fewer(60, 2)):
        rules = random_rules(num_players, rng, max_hands=1, moon="off")
        *_, game = play(Game(rules, seed=rng.randrange(2**64)), rng)
        assert game.score_sheet.sum() + points_not_taken(game) == POINTS_IN_ALL
        assert np.array_equal(game.score_sheet.sum(axis=0), game.scores)


@pytest.mark.parametrize("num_players", SIZES)
def test_cards_and_points_are_conserved_when_a_moon_is_chosen_and_scored(num_players: int) -> None:
    """R21: in the moon phase, and after it, all cards and points are still where they went."""
    history = moon_history(num_players, random.Random(200 + num_players), max_hands=1)
    game = history.replay()
    assert_all_is_conserved(game)
    assert game.points_taken.tolist() == [52 if seat == 1 else 0 for seat in range(num_players)]
    game.step(52)
    assert game.phase == "over"
    assert_all_is_conserved(game)
