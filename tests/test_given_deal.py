"""`Game.from_hands`: any legal deal is taken, an impossible one refused with seat and card."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text

RANKS = "23456789TJQKA"


def deal_text(num_players: int) -> tuple[list[str], str]:
    """Deal the packs in order, as text."""
    cards = [rank + suit for suit in "CDSH" for rank in RANKS for _ in range(2)]
    size = 104 // num_players
    hands = [" ".join(cards[seat * size : (seat + 1) * size]) for seat in range(num_players)]
    return hands, " ".join(cards[num_players * size :])


@pytest.mark.parametrize("num_players", [6, 7, 8, 9, 10, 11])
def test_text_and_counts_give_the_same_game(num_players: int) -> None:
    """DESIGN.md: hands as text or as counts (n, 52); a kitty left out is what remains."""
    rules = Rules(num_players)
    hands, kitty = deal_text(num_players)
    as_text = Game.from_hands(rules, hands, kitty, dealer=2, hand_number=3, scores=range(num_players), seed=9)
    counts = np.stack([as_text.hand(seat) for seat in range(num_players)])
    as_counts = Game.from_hands(rules, counts, as_text.kitty, 2, 3, list(range(num_players)), 9)
    without_kitty = Game.from_hands(
        rules, counts.astype(np.int64), dealer=2, hand_number=3, scores=range(num_players), seed=9
    )
    assert as_text.to_bytes() == as_counts.to_bytes() == without_kitty.to_bytes()
    assert [counts_to_text(as_text.hand(seat)) for seat in range(num_players)] == hands
    assert (as_text.dealer, as_text.leader, as_text.mover, as_text.hand_number) == (
        2,
        3 % num_players,
        3 % num_players,
        3,
    )
    assert as_text.scores.tolist() == list(range(num_players))
    assert as_text.pass_offset == -1


def test_text_may_be_written_loosely() -> None:
    """Small letters, commas, any order, 10 for T."""
    hands, kitty = deal_text(6)
    loose = [", ".join(reversed(hand.lower().replace("t", "10").split())) for hand in hands]
    assert Game.from_hands(Rules(), loose, kitty).to_bytes() == Game.from_hands(Rules(), hands, kitty).to_bytes()


def test_later_deals_follow_from_the_seed_alone() -> None:
    """Determinism: same deal, same seed, same next hand; another seed, another."""
    hands, kitty = deal_text(8)
    nexts = []
    for seed in (1, 1, 2):
        game = Game.from_hands(Rules(8), hands, kitty, seed=seed)
        while game.hand_number == 0:
            game.step(game.legal_actions()[0])
        nexts.append(counts_to_text(game.hand(0)))
    assert nexts[0] == nexts[1] != nexts[2]


def broken(change: str) -> dict[str, Any]:
    """Return arguments of `from_hands` with one thing wrong."""
    hands, kitty = deal_text(6)
    wrong: dict[str, Any] = {"hands": hands, "kitty": kitty}
    if change == "third copy":
        wrong["hands"] = [hands[0].replace("3C", "2C", 1), *hands[1:]]
    elif change == "third copy in two places":
        wrong["hands"] = [*hands[:5], hands[5].replace("QH", "2C", 1)]
        wrong["kitty"] = kitty
    elif change == "wrong size":
        wrong["hands"] = [hands[0], hands[1] + " AH", *hands[2:5], hands[5]]
    elif change == "unknown face":
        wrong["hands"] = [*hands[:3], "1C" + hands[3][2:], *hands[4:]]
    elif change == "five hands":
        wrong["hands"] = hands[:5]
    elif change == "one text":
        wrong["hands"] = " ".join(hands)
    elif change == "kitty size":
        wrong["kitty"] = "AH"
    elif change == "float counts":
        wrong["hands"] = np.ones((6, 52))
    elif change == "negative count":
        counts = np.zeros((6, 52), np.int8)
        counts[0, 7] = -1
        wrong["hands"] = counts
    elif change == "dealer":
        wrong["dealer"] = 6
    elif change == "scores":
        wrong["scores"] = [0, 0, 150, 0, 0, 0]
    elif change == "number of scores":
        wrong["scores"] = [0]
    elif change == "hand number":
        wrong["hand_number"] = -1
    elif change == "seed":
        wrong["seed"] = -1
    elif change == "episode":
        wrong["episode"] = "match"
    return wrong


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("third copy", ["seat 0", "3 copies of 2C"]),
        ("third copy in two places", ["3 copies of 2C", "seat 0, seat 0, seat 5"]),
        ("wrong size", ["seat 1", "18 cards", "17"]),
        ("unknown face", ["seat 3", "'1C'"]),
        ("five hands", ["5 hands", "6 seats"]),
        ("one text", ["one text", "6 seats"]),
        ("kitty size", ["kitty has 1", "2"]),
        ("float counts", ["seat 0", "float64"]),
        ("negative count", ["seat 0", "9C"]),
        ("dealer", ["dealer is 6", "0 … 5"]),
        ("scores", ["seat 2", "150", "149"]),
        ("number of scores", ["1 scores", "6 seats"]),
        ("hand number", ["hand_number is -1"]),
        ("seed", ["seed=-1"]),
        ("episode", ["episode='match'", "'game'", "'hand'"]),
    ],
)
def test_impossible_deal_is_refused_with_seat_and_card(change: str, words: list[str]) -> None:
    """R2, R5: a third copy, a wrong hand size, an unknown face and so on."""
    with pytest.raises(ValueError) as error:
        Game.from_hands(Rules(), **broken(change))
    for word in words:
        assert word in str(error.value)


def test_hand_number_at_the_cap_is_refused() -> None:
    """R25: with `max_hands` set there is no hand of that number."""
    hands, kitty = deal_text(6)
    with pytest.raises(ValueError, match=r"hand_number is 2; it must be a whole number 0 … 1"):
        Game.from_hands(Rules(max_hands=2), hands, kitty, hand_number=2)


def test_single_hand_may_have_any_place_of_the_pass_cycle_whatever_the_cap() -> None:
    """R8, R25: in a single hand the number only chooses the pass; a hand that was drawn can be given again."""
    hands, kitty = deal_text(6)
    rules = Rules(max_hands=1)
    assert Game.from_hands(rules, hands, kitty, hand_number=1, episode="hand").pass_offset == -1


def test_bool_is_no_action() -> None:
    """`True` is not 1: Game refuses what VectorTables refuses."""
    game = Game(Rules(), seed=1)
    with pytest.raises(ValueError, match="True"):
        game.step(True)


def test_arguments_of_a_wrong_kind_are_named() -> None:
    """Bad input gets a clear error, not an AttributeError of ours."""
    with pytest.raises(ValueError, match="rules=8 is not allowed"):
        Game.from_hands(8, deal_text(8)[0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="None for 6 seats"):
        Game.from_hands(Rules(), None)  # type: ignore[arg-type]
