"""The facts that `careful` notes are what a slow count of the decoded observation gives, field by field."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baselines.careful.weights import tuned_weights
from chearts_env import Game, Rules
from chearts_env.cards import (
    BLACK_MARIA,
    FACE_POINTS,
    FACE_SUIT,
    NUM_RANKS,
    SPADES,
    faces_of_counts,
    faces_to_text,
)
from chearts_env.observation import Knowledge, decode
from tests.baselines.positions import facts_of, sight
from tests.deals import fill_deal
from tests.sizes import SIZES, fewer, play, random_rules

SUITS = range(4)
FACES = range(52)


def points_of(cards: list[int]) -> int:
    """Points of some cards (R4)."""
    return sum(int(FACE_POINTS[face]) for face in cards)


def of_suit(cards: list[int], suit: int) -> list[int]:
    """The cards of a suit."""
    return [face for face in cards if FACE_SUIT[face] == suit]


def facts_of_cards(seen: Knowledge) -> dict[str, Any]:
    """Count the cards that others hold and those held, one by one."""
    out, mine = faces_of_counts(seen.unseen + seen.located), faces_of_counts(seen.hand)
    twins = [2 * len([face for face in FACES if FACE_SUIT[face] == suit and out.count(face) == 2]) for suit in SUITS]
    suits_out = [len(of_suit(out, suit)) for suit in SUITS]
    return {
        "out": [out.count(face) for face in FACES],
        "below": [sum(other < face for other in of_suit(out, face // NUM_RANKS)) for face in FACES],
        "above": [sum(other > face for other in of_suit(out, face // NUM_RANKS)) for face in FACES],
        "suits_out": suits_out,
        "suits_mine": [len(of_suit(mine, suit)) for suit in SUITS],
        "first": [sum(FACE_SUIT[face] < suit for face in mine) for suit in range(5)],
        "twins": [number / max(count, 1) for number, count in zip(twins, suits_out, strict=True)],
        "tricks_left": len(mine),
        "cards_out": len(out),
        "points_out": points_of(out),
        "queens_out": out.count(BLACK_MARIA),
        "in_hands": min(1, sum(map(int, seen.cards_left[1:])) / max(len(out), 1)),
    }


def facts_of_trick(seen: Knowledge) -> dict[str, Any]:
    """Look at the cards on the table one by one, and at the seats that are still to play."""
    out = faces_of_counts(seen.unseen + seen.located)
    faces = [face for _, face in seen.trick]
    led = FACE_SUIT[faces[0]] if faces else -1
    live = [face for face in faces if faces.count(face) == 1]
    others = range(1, seen.num_players)
    behind = [seat for seat in others if seat not in dict(seen.trick)]
    unseen_kitty = 0 if seen.kitty_cards else seen.kitty_size
    waits = seen.kitty_taker is None and unseen_kitty > 0 and seen.options["kitty_to"] == "first_winner"
    in_sight = points_of(faces) + points_of(faces_of_counts(seen.pile))
    return {
        "num_players": seen.num_players,
        "led": led,
        "behind": len(behind),
        "open": [sum(not seen.void[seat, suit] for seat in others) for suit in SUITS],
        "open_behind": [sum(not seen.void[seat, suit] for seat in behind) for suit in SUITS],
        "two_pairs": seen.options["set_aside"] == "two_pairs",
        "pairs": len([face for face in set(faces) if faces.count(face) == 2]),
        "singles": len([face for face in live if face in out]),
        "singles_led": len([face for face in of_suit(live, led) if face in out]),
        "live_led": len(of_suit(live, led)),
        "kitty_waits": waits,
        "pot": in_sight + waits * unseen_kitty * points_of(out) / max(len(out), 1),
    }


def facts_of_moons(seen: Knowledge) -> dict[str, Any]:
    """Say who has points, face up, and whether one other seat has them all (R21)."""
    others = [] if seen.options["moon"] == "off" else [s for s in range(1, seen.num_players) if seen.points_seen[s]]
    alone = len(others) == 1 and seen.points_seen[0] == 0
    is_rival = alone and seen.points_seen[others[0]] >= tuned_weights()["rival_from"]
    return {
        "my_points": seen.points_seen[0],
        "rival": others[0] if is_rival else -1,
    }


@pytest.mark.parametrize("num_players", SIZES)
def test_facts_are_what_a_slow_count_gives_at_random_moments(num_players):
    """Whole hands under any options, the pass included, seats relative to the mover."""
    rng = random.Random(num_players)
    for _ in range(fewer(6, 1)):
        game = Game(random_rules(num_players, rng), seed=rng.randrange(2**64), episode="hand")
        for moment in play(game, rng):
            if moment.is_over or rng.random() < 0.7:
                continue
            observation, _ = sight(moment)
            seen, facts = decode(observation), facts_of(observation)
            for name, value in (facts_of_cards(seen) | facts_of_trick(seen) | facts_of_moons(seen)).items():
                np.testing.assert_allclose(facts[name], value, err_msg=f"{name} of {moment}")
            mine = faces_of_counts(seen.hand)
            assert facts.cards[: facts.tricks_left].tolist() == mine
            for face in mine:
                rivals = facts.below[face] + facts.above[face]
                assert facts.beats[face] == pytest.approx(facts.below[face] / rivals if rivals else 0)


@pytest.mark.parametrize("num_players", SIZES)
def test_chances_among_the_facts_are_chances_and_prices_are_not_negative(num_players):
    """Of holding a suit, of live cards being cancelled, of a moon; a price only where there is a rival."""
    rng = random.Random(20 + num_players)
    for _ in range(fewer(6, 1)):
        game = Game(random_rules(num_players, rng), seed=rng.randrange(2**64), episode="hand")
        for moment in play(game, rng):
            if moment.is_over or rng.random() < 0.7:
                continue
            facts = facts_of(sight(moment)[0])
            for chances in (facts.holds, facts.twins, facts.beats[: facts.tricks_left], facts.live_above):
                assert ((chances >= 0) & (chances <= 1)).all()
            assert ((facts.holds > 0) <= (facts.open > 0)).all()
            assert 0 <= facts.queens_behind <= facts.queens_out
            assert 0 <= facts.points_discarded <= 13
            assert (facts.rival_price > 0) <= (facts.rival >= 0)
            assert facts.moon_swing >= 0


@pytest.mark.parametrize(("offset", "is_behind"), [(1, True), (-1, False)])
def test_queen_that_i_passed_is_known_to_lie_behind_me_or_before(offset, is_behind):
    """R7: it lies with its receiver, on my left or my right, while the other may lie anywhere."""
    deal = fill_deal(8, {0: "QS 2C 3C", 2: "QS"}, "", 3, random.Random(2))
    hands = [faces_to_text(cards) for cards in deal.hands]
    game = Game.from_hands(Rules(8, pass_cycle=(offset,)), hands, dealer=deal.dealer)
    while game.phase == "pass":
        game.step(BLACK_MARIA if game.mover == 0 and game.hand(0)[BLACK_MARIA] else game.legal_actions()[0])
    while game.mover != 0:
        game.step(game.legal_actions()[0])
    assert [seat for seat, _ in game.trick] == [4, 5, 6, 7]
    facts = facts_of(sight(game)[0])
    assert facts.queens_out == 2
    assert facts.queens_behind == pytest.approx(is_behind + facts.open_behind[SPADES] / facts.open[SPADES])
