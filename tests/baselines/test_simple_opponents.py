"""The simple opponents: what they choose. What holds for every opponent stands in `test_opponents.py`."""

from __future__ import annotations

import numpy as np

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env import Game, Rules, VectorTables
from chearts_env.cards import face_from_text, face_to_text

HANDS = (
    "AC AC KD QS 2H 3H 4C 5C 6C 7C 8C 9C TC JC QC KC 2D",
    "2C 2C 3C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC 3D 3D 4D",
)


def game_with_hands(*hands: str) -> Game:
    """A table of 6 whose first hands are given; the others get what is left, in order."""
    used = [face_from_text(word) for hand in hands for word in hand.split()]
    left = [face for face in range(52) for _ in range(2 - used.count(face))]
    given = list(hands)
    while len(given) < 6:
        given.append(" ".join(face_to_text(face) for face in left[:17]))
        left = left[17:]
    return Game.from_hands(Rules(6), given, dealer=5, episode="hand")


def choice(policy, game: Game) -> str:
    """The card that a policy chooses for the mover."""
    seat = game.mover
    assert seat is not None
    action = policy.act(game.observation(seat)[None], game.action_mask()[None], np.random.default_rng(0))
    return face_to_text(int(action[0]))


def test_low_card_passes_its_highest_cards():
    """By rank alone: both aces, then the first of the kings in the order hearts, spades, diamonds, clubs."""
    game = game_with_hands(*HANDS)
    passed = []
    for _ in range(3):
        passed.append(choice(LowCard(), game))
        game.step(face_from_text(passed[-1]))
    assert passed == ["AC", "AC", "KD"]


def test_low_card_plays_its_lowest_legal_card():
    """R10: the 2 of hearts may not lead the first trick; of one rank, clubs go before diamonds."""
    game = game_with_hands(*HANDS)
    while game.phase == "pass":
        game.step(face_from_text(choice(LowCard(), game)))
    assert game.mover == 0
    assert choice(LowCard(), game) == "2D"
    game.step(face_from_text("4C"))
    assert choice(LowCard(), game) == "2C"


def test_low_card_settles_a_moon_by_subtracting():
    """R21: 52 subtracts."""
    tables = VectorTables(Rules(6), 1)
    mask = np.zeros((1, 54), np.int8)
    mask[0, 52:] = 1
    assert LowCard().act(tables.observations, mask, np.random.default_rng(0)).tolist() == [52]


def test_random_legal_takes_each_allowed_action_equally_often():
    """4,000 draws among 4 actions: 1,000 each, give or take four standard deviations."""
    masks = np.zeros((4_000, 54), np.int8)
    masks[:, [0, 7, 36, 53]] = 1
    actions = RandomLegal().act(np.zeros((4_000, 1024), np.int8), masks, np.random.default_rng(1))
    chosen, counts = np.unique(actions, return_counts=True)
    assert chosen.tolist() == [0, 7, 36, 53]
    assert (np.abs(counts - 1000) < 110).all()
