"""How much the tests play, and random games for them to play.

With the JIT off a kernel runs some hundred times slower, so counts and sizes shrink there; no test is skipped.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from chearts_env import Game, Rules
from chearts_env.cards import faces_from_text
from chearts_env.rules import CHOICES

SIZES = (6, 8, 11) if numba.config.DISABLE_JIT else (6, 7, 8, 9, 10, 11)

Counts = npt.NDArray[np.int8]


class History(NamedTuple):
    """A game as it was dealt and what was done since: enough to play it again, or to play another like it."""

    rules: Rules
    hands: Counts  # (n, 52) as dealt
    kitty: Counts  # (52,)
    dealer: int
    actions: list[int]

    def replay(self) -> Game:
        """Deal the hands again and take all actions; raises IllegalActionError where one is not possible."""
        game = self.begin()
        for action in self.actions:
            game.step(action)
        return game

    def begin(self) -> Game:
        """Deal the hands again."""
        return Game.from_hands(self.rules, self.hands, self.kitty, self.dealer)


def fewer(count: int, without_jit: int) -> int:
    """Return how often to do something: `count` times, or `without_jit` times with the JIT off."""
    return without_jit if numba.config.DISABLE_JIT else count


def random_rules(num_players: int, rng: random.Random, **options: Any) -> Rules:
    """Draw a value for every option that is a word, and a pass cycle; options given by name stay as given."""
    drawn: dict[str, Any] = {option: rng.choice(allowed) for option, allowed in CHOICES.items()}
    drawn["pass_cycle"] = rng.choice([(1, -1), (0,), (2, 0, -3), (-1,)])
    return Rules(num_players, **(drawn | options))


def random_history(rules: Rules, rng: random.Random, num_steps: int | None = None) -> History:
    """Deal a hand of a game and play it at random for some steps, or until it is over; every seat may be the dealer."""
    cards = [face for face in range(52) for _ in range(2)]
    rng.shuffle(cards)
    hands = np.zeros((rules.num_players, 52), np.int8)
    for card, face in enumerate(cards[: rules.num_players * rules.hand_size]):
        hands[card // rules.hand_size, face] += 1
    history = History(rules, hands, (2 - hands.sum(axis=0)).astype(np.int8), rng.randrange(rules.num_players), [])
    game = history.begin()
    while not game.is_over and len(history.actions) != num_steps:
        history.actions.append(rng.choice(game.legal_actions()))
        game.step(history.actions[-1])
    return history


def moon_history(num_players: int, rng: random.Random, **options: Any) -> History:
    """Deal and play a hand up to the choice of the seat that shoots the moon: seat 1, with the highest clubs.

    It holds both copies of nearly all its cards, so nobody can cancel them, and always plays the highest.
    """
    rules = Rules(num_players, **({"set_aside": "no_live_card", "moon": "choose"} | options))
    clubs = [rank + "C" for rank in "AKQJT98765432" for _ in range(2)]
    after_pass: list[list[int]] = [[] for _ in range(num_players)]
    after_pass[1] = faces_from_text(" ".join(clubs[: rules.hand_size]))
    rest = [face for face in range(52) for _ in range(2)]
    for face in after_pass[1]:
        rest.remove(face)
    rng.shuffle(rest)
    for seat in range(num_players):
        while len(after_pass[seat]) < rules.hand_size:
            after_pass[seat].append(rest.pop())
    offset = rules.pass_cycle[0]
    gifts = [after_pass[(seat + offset) % num_players][:3] if offset else [] for seat in range(num_players)]
    hands = np.zeros((num_players, 52), np.int8)
    for seat in range(num_players):
        np.add.at(hands[seat], after_pass[seat], 1)
        np.add.at(hands[seat], gifts[seat], 1)
        np.add.at(hands[(seat + offset) % num_players], gifts[seat], -1)
    history = History(rules, hands, (2 - hands.sum(axis=0)).astype(np.int8), 0, [])
    history.actions.extend(face for turn in range(num_players) for face in gifts[(1 + turn) % num_players])
    game = history.replay()
    while game.phase == "play":
        history.actions.append(max(game.legal_actions()) if game.mover == 1 else rng.choice(game.legal_actions()))
        game.step(history.actions[-1])
    assert game.phase == "moon"
    return history


def play(game: Game, rng: random.Random) -> Iterator[Game]:
    """Play a game at random to its end; yield it before the first step and after each."""
    yield game
    while not game.is_over:
        game.step(rng.choice(game.legal_actions()))
        yield game


def priorities(num_steps: int, seed: int) -> npt.NDArray[np.int16]:
    """Draw an order of preference among the actions for each step, (num_steps, 54); see `preferred`."""
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(1, 55, dtype=np.int16), (num_steps, 1)), axis=1)


def preferred(masks: npt.NDArray[np.int8], priority: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Choose the legal action that comes first in an order of preference, (B,): no slot's choice depends on others."""
    return (masks * priority).argmax(axis=-1)
