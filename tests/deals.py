"""Deals made for a purpose, and manners of play: how the tests bring about what random play rarely does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chearts_env.cards import faces_from_text
from tests.referee import Referee

Options = dict[str, Any]
Chooser = Callable[[Referee, random.Random], int]

MAX_SEARCHED = 2000


class Deal(NamedTuple):
    """A deal in faces: one list per seat, the kitty, and the seat that dealt."""

    hands: list[list[int]]
    kitty: list[int]
    dealer: int


def random_deal(num_players: int, rng: random.Random) -> Deal:
    """Shuffle two packs and deal them out (R2, R5)."""
    cards = [*range(52), *range(52)]
    rng.shuffle(cards)
    size = 104 // num_players
    hands = [sorted(cards[seat * size : (seat + 1) * size]) for seat in range(num_players)]
    return Deal(hands, sorted(cards[num_players * size :]), rng.randrange(num_players))


def fill_deal(num_players: int, held: Mapping[int, str], kitty: str, dealer: int, rng: random.Random) -> Deal:
    """Deal the cards named to their seats (and the kitty) and the rest of the two packs at random."""
    hands = [faces_from_text(held.get(seat, "")) for seat in range(num_players)]
    kitty_faces = faces_from_text(kitty)
    rest = [*range(52), *range(52)]
    for face in [face for cards in (*hands, kitty_faces) for face in cards]:
        rest.remove(face)
    rng.shuffle(rest)
    for hand in hands:
        while len(hand) < 104 // num_players:
            hand.append(rest.pop())
    return Deal([sorted(hand) for hand in hands], sorted(kitty_faces + rest), dealer)


def choose_any(referee: Referee, rng: random.Random) -> int:
    """Choose uniformly among the legal actions."""
    return rng.choice(referee.legal_actions())


def choose_pairs(referee: Referee, rng: random.Random) -> int:
    """Make an identical pair in the trick where that is possible, to have many tricks set aside."""
    legal = referee.legal_actions()
    single = [face for face, count in Counter(face for _, face in referee.trick).items() if count == 1]
    return rng.choice([face for face in legal if face in single] or legal)


def choose_no_pairs(referee: Referee, rng: random.Random) -> int:
    """Avoid identical pairs in the trick where that is possible, to have few tricks set aside."""
    legal = referee.legal_actions()
    played = {face for _, face in referee.trick}
    return rng.choice([face for face in legal if face not in played] or legal)


def any_won(referee: Referee) -> bool:
    """Tell whether any trick of the hand was won."""
    return any(winner is not None for winner in referee.trick_winners)


def search_hand(
    options: Options, happens: Callable[[Referee], bool], choose: Chooser, seed: int
) -> tuple[Deal, list[int]]:
    """Play random hands on the referee alone until something happens in one; give its deal and its actions."""
    rng = random.Random(seed)
    for _ in range(MAX_SEARCHED):
        deal = random_deal(options["num_players"], rng)
        referee = Referee(options)
        referee.begin_hand(*deal, 0)
        actions = []
        while referee.phase in ("pass", "play"):
            actions.append(choose(referee, rng))
            referee.step(actions[-1])
        if happens(referee):
            return deal, actions
    raise AssertionError(f"{MAX_SEARCHED} hands without the event under {options}")
