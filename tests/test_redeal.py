"""`redeal`: worlds a seat cannot rule out, each way the unseen cards may lie alike.

The enumeration below is written from RULES.md alone: it reads the plays of a hand, not what the package noted of them.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text, face_from_text, faces_from_text, faces_to_text
from chearts_env.knowledge import redeal, redeal_observation
from chearts_env.observation import decode
from chearts_env.table import TABLE
from tests.deals import fill_deal

Box = tuple[int, frozenset[int]]  # how many unseen cards it holds, and which faces it may hold
World = tuple[tuple[int, ...], ...]  # the faces in each box, ascending

ALL_FACES = frozenset(range(52))
POINT_FACES = frozenset({36, *range(39, 52)})
SIZES = (6, 7, 8, 9, 10, 11)


def suit_of(face: int) -> frozenset[int]:
    """Return all faces of a face's suit."""
    return frozenset(range(13 * (face // 13), 13 * (face // 13) + 13))


class Watcher:
    """Follows a hand and writes down, for every seat, which faces its cards may still be (R10 to R12)."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.may_hold = [ALL_FACES] * game.num_players

    def step(self, action: int) -> None:
        game = self.game
        seat, trick = game.mover, game.trick
        if game.phase == "play" and seat is not None:
            if trick and action not in suit_of(trick[0][1]):
                self.may_hold[seat] -= suit_of(trick[0][1])
                if game.trick_number == 0 and game.rules.first_trick_discard == "no_points" and action in POINT_FACES:
                    self.may_hold[seat] &= POINT_FACES
            if (
                not trick
                and game.trick_number == 0
                and game.rules.opening_lead == "no_points"
                and action in POINT_FACES
            ):
                self.may_hold[seat] &= POINT_FACES
            unbroken = not game.hearts_broken and game.rules.hearts_break != "always"
            if not trick and game.trick_number > 0 and action >= 39 and unbroken:
                self.may_hold[seat] &= suit_of(39)
        game.step(action)

    def unseen_boxes(self, viewer: int) -> tuple[Counter[int], list[Box]]:
        """Return the unseen cards and the boxes they lie in: each other seat's hand in order, then the kitty."""
        game, num_players = self.game, self.game.num_players
        unseen = Counter(dict.fromkeys(range(52), 2))
        unseen.subtract({face: int(count) for face, count in enumerate(game.hand(viewer))})
        for seat in range(num_players):
            unseen.subtract({face: int(count) for face, count in enumerate(game.played(seat))})
        receiver = (viewer + game.pass_offset) % num_players
        located: Counter[int] = Counter()
        if game.pass_offset:
            played = Counter({face: int(count) for face, count in enumerate(game.played(receiver))})
            located = Counter({face: int(count) for face, count in enumerate(game.given(viewer))}) - played
        unseen -= located
        boxes = []
        for seat in range(num_players):
            if seat != viewer:
                room = int(game.hand(seat).sum()) - (located.total() if seat == receiver else 0)
                boxes.append((room, self.may_hold[seat]))
        if self.sees_kitty():
            unseen.subtract({face: int(count) for face, count in enumerate(game.kitty)})
        boxes.append((0 if self.sees_kitty() else game.rules.kitty_size, ALL_FACES))
        return +unseen, boxes

    def world(self, viewer: int, other: Game) -> World:
        """Return where a redealt game has put the unseen cards."""
        seats = [seat for seat in range(other.num_players) if seat != viewer]
        held = [sorted(faces_from_text(counts_to_text(other.hand(seat)))) for seat in seats]
        receiver = (viewer + other.pass_offset) % other.num_players
        if other.pass_offset and receiver != viewer:
            given = Counter({face: int(count) for face, count in enumerate(other.given(viewer))})
            played = Counter({face: int(count) for face, count in enumerate(other.played(receiver))})
            for face in (given - played).elements():
                held[seats.index(receiver)].remove(face)
        kitty = () if self.sees_kitty() else tuple(faces_from_text(counts_to_text(other.kitty)))
        return (*(tuple(faces) for faces in held), kitty)

    def sees_kitty(self) -> bool:
        """Say whether everybody has seen the kitty."""
        return self.game.rules.kitty_view == "everyone" and self.game.kitty_taker is not None


def enumerate_worlds(unseen: Counter[int], boxes: list[Box]) -> dict[World, int]:
    """Return every world with the number of ways in which the physical cards can make it."""
    if not boxes:
        return {(): 1} if not +unseen else {}
    (room, may_hold), *others = boxes
    cards = sorted(face for face in unseen.elements() if face in may_hold)
    worlds: dict[World, int] = {}
    for chosen in sorted(set(combinations(cards, room))):
        taken = Counter(chosen)
        ways = prod(comb(unseen[face], count) for face, count in taken.items())
        for rest, more in enumerate_worlds(unseen - taken, others).items():
            worlds[(chosen, *rest)] = ways * more
    return worlds


def find_end_game(seed: int, num_players: int, cards_left: int, num_more: int, **options: Any) -> Watcher:
    """Play random hands until a leader has few cards left and some seats have shown a lack, and a few cards on."""
    rng = np.random.default_rng(seed)
    while True:
        watcher = Watcher(Game(Rules(num_players, **options), seed=int(rng.integers(2**32)), episode="hand"))
        game = watcher.game
        while game.mover is not None and int(game.hand(game.mover).sum()) > cards_left:
            watcher.step(int(rng.choice(game.legal_actions())))
        for _ in range(num_more):
            watcher.step(int(rng.choice(game.legal_actions())))
        unseen, boxes = watcher.unseen_boxes(game.mover or 0)
        is_bound = sum(may_hold != ALL_FACES for _, may_hold in boxes) >= 3
        if game.phase == "play" and is_bound and 12 <= len(enumerate_worlds(unseen, boxes)) <= 600:
            return watcher


def chi_square_excess(counts: dict[World, int], weights: dict[World, int]) -> float:
    """Return how many standard deviations Pearson's statistic lies above its mean."""
    draws, total = sum(counts.values()), sum(weights.values())
    expected = {world: draws * weight / total for world, weight in weights.items()}
    statistic = sum((counts.get(world, 0) - mean) ** 2 / mean for world, mean in expected.items())
    freedom = len(weights) - 1
    return float((statistic - freedom) / np.sqrt(2 * freedom))


@pytest.mark.parametrize(
    ("num_players", "cards_left", "num_more", "options", "seed"),
    [
        (6, 1, 0, {}, 1),
        (7, 1, 0, {"kitty_view": "everyone"}, 2),
        (8, 1, 1, {"pass_cycle": (2,)}, 3),
        (8, 2, 6, {"pass_cycle": (-1,)}, 4),
        (9, 1, 2, {"kitty_view": "everyone", "pass_cycle": (0,)}, 5),
        (11, 1, 4, {"kitty_view": "everyone"}, 6),
    ],
)
def test_redeal_draws_every_world_of_an_end_game_as_often_as_it_should(
    num_players: int, cards_left: int, num_more: int, options: dict[str, Any], seed: int
) -> None:
    """Uniform over the ways the physical cards can lie, against full enumeration; from a table, from an observation."""
    watcher = find_end_game(seed, num_players, cards_left, num_more, **options)
    game = watcher.game
    viewer = game.mover
    assert viewer is not None
    weights = enumerate_worlds(*watcher.unseen_boxes(viewer))
    assert watcher.world(viewer, game) in weights
    rng = np.random.default_rng(seed)
    draws = 40 * len(weights)
    tables = redeal(np.frombuffer(game._tables.tobytes(), TABLE), viewer, rng, draws)
    counts = Counter(watcher.world(viewer, Game._of_tables(game.rules, tables[i : i + 1], [])) for i in range(draws))
    assert set(counts) <= set(weights)
    assert chi_square_excess(counts, weights) < 4
    rules, seen = redeal_observation(game.observation(viewer), rng, draws)
    turned = Counter(
        world_from_seat_0(watcher, viewer, Game._of_tables(rules, seen[i : i + 1], [])) for i in range(draws)
    )
    assert set(turned) <= set(weights)
    assert chi_square_excess(turned, weights) < 4


def world_from_seat_0(watcher: Watcher, viewer: int, other: Game) -> World:
    """Return the world of a game seen by seat 0 as that of the seat the observation came from."""
    *held, kitty = watcher.world(0, other)
    seats = [(viewer + seat) % other.num_players for seat in range(1, other.num_players)]
    return (*(faces for _, faces in sorted(zip(seats, held, strict=True))), kitty)


@pytest.mark.parametrize("num_players", SIZES)
def test_redeal_keeps_all_that_the_seat_knows_in_every_phase(num_players: int) -> None:
    """Observation, mask, sizes and everything public are the same in each world; no seat holds what it cannot."""
    options: dict[str, Any] = {"kitty_view": "winner", "first_trick_discard": "no_points", "target_score": 100}
    rng = np.random.default_rng(num_players)
    game = Game(Rules(num_players, **options), seed=num_players)
    watcher = Watcher(game)
    hand_number = game.hand_number
    while not game.is_over and game.hand_number < 3:
        if game.hand_number != hand_number:
            watcher, hand_number = Watcher(game), game.hand_number
        if rng.random() < 0.15:
            viewer = int(rng.integers(num_players))
            before = game.to_bytes()
            world = game.redeal(viewer, rng)
            assert game.to_bytes() == before
            assert np.array_equal(world.observation(viewer), game.observation(viewer))
            assert (world.phase, world.mover, world.trick) == (game.phase, game.mover, game.trick)
            assert np.array_equal(world.score_sheet, game.score_sheet)
            if game.mover == viewer:
                assert np.array_equal(world.action_mask(), game.action_mask())
            in_all = world.kitty + sum(world.hand(seat) + world.played(seat) for seat in range(num_players))
            if game.phase == "pass":
                in_all = in_all + sum(world.given(seat) for seat in range(num_players))
            assert in_all.tolist() == [2] * 52
            for seat in range(num_players):
                assert world.hand(seat).sum() == game.hand(seat).sum()
                assert world.given(seat).sum() == game.given(seat).sum()
                if seat != viewer:
                    assert set(np.flatnonzero(world.hand(seat))) <= watcher.may_hold[seat]
        watcher.step(int(rng.choice(game.legal_actions())))


@pytest.mark.parametrize("num_players", SIZES)
def test_redealt_game_can_be_played_to_its_end(num_players: int) -> None:
    """A redealt game is a game like any other, and its later deals are its own."""
    rng = np.random.default_rng(num_players)
    game = Game(Rules(num_players, max_hands=2), seed=1)
    for _ in range(40):
        game.step(int(rng.choice(game.legal_actions())))
    worlds = [game.redeal(0, rng) for _ in range(3)]
    futures = set()
    for world in worlds:
        while world.hand_number == 0:
            world.step(int(rng.choice(world.legal_actions())))
        futures.add(counts_to_text(world.hand(0)))
        while not world.is_over:
            world.step(int(rng.choice(world.legal_actions())))
        assert len(world.score_sheet) == 2
    assert len(futures) == 3


def test_redeal_leaves_cards_given_with_their_receiver_until_they_are_played() -> None:
    """R7: the giver knows where they are, and how many copies when the receiver plays one."""
    hands = [f"{'AC AC KC' if seat == 1 else ''}" for seat in range(6)]
    rest = [face for face in range(52) for _ in range(2)]
    for face in faces_from_text("AC AC KC"):
        rest.remove(face)
    np.random.default_rng(5).shuffle(rest)
    texts = []
    for seat in range(6):
        held = faces_from_text(hands[seat])
        while len(held) < 17:
            held.append(rest.pop())
        texts.append(np.bincount(held, minlength=52).astype(np.int8))
    game = Game.from_hands(Rules(6, pass_cycle=(1,), opening_lead="any"), texts, dealer=0)
    rng = np.random.default_rng(6)
    for action in faces_from_text("AC AC KC"):
        game.step(action)
    while game.phase == "pass":
        game.step(int(rng.choice(game.legal_actions())))
    while game.played(2)[face_from_text("AC")] == 0 and game.hand_number == 0:
        for _ in range(3):
            world = game.redeal(1, rng)
            assert world.hand(2)[face_from_text("AC")] == 2
            assert world.hand(2)[face_from_text("KC")] + world.played(2)[face_from_text("KC")] >= 1
        legal = game.legal_actions()
        ace = face_from_text("AC")
        game.step(ace if game.mover == 2 and ace in legal else int(rng.choice(legal)))
    assert {game.redeal(1, rng).hand(2)[face_from_text("AC")] for _ in range(20)} == {1}


def test_redeal_is_reproducible_and_leaves_other_randomness_alone() -> None:
    """The same generator state gives the same world; the game's own stream is not touched."""
    game = Game(Rules(8), seed=3)
    first = game.redeal(2, np.random.default_rng(9)).to_bytes()
    assert first == game.redeal(2, np.random.default_rng(9)).to_bytes()
    assert first != game.redeal(2, np.random.default_rng(10)).to_bytes()


def test_redeal_from_an_observation_refuses_what_is_none() -> None:
    """Bad input is named with what is allowed."""
    with pytest.raises(ValueError, match="shape"):
        redeal_observation(np.zeros(7, np.int8), np.random.default_rng(0))
    with pytest.raises(ValueError, match="name no table size"):
        redeal_observation(np.zeros(1024, np.float32), np.random.default_rng(0))
    with pytest.raises(ValueError, match="not whole"):
        redeal_observation(np.full(1024, 0.5), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"rng=5 .*Generator"):
        Game(Rules(6), seed=0).redeal(0, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seat 6 is out of range"):
        Game(Rules(6), seed=0).redeal(6, np.random.default_rng(0))


def test_unseen_cards_are_what_the_worlds_deal_again() -> None:
    """Knowledge.unseen: own + seen + located + unseen = 2 of each face; worlds only move those."""
    rng = np.random.default_rng(8)
    game = Game(Rules(7), seed=8)
    for _ in range(60):
        game.step(int(rng.choice(game.legal_actions())))
    knowledge = decode(game.observation(3))
    world = game.redeal(3, rng)
    others = [seat for seat in range(7) if seat != 3]
    hidden = world.kitty + sum(world.hand(seat) for seat in others)
    assert (hidden == knowledge.unseen + knowledge.located).all()


def test_game_from_an_observation_shows_that_observation_and_goes_on() -> None:
    """A decoded observation alone is enough for `redeal`: policies receive nothing else."""
    rng = np.random.default_rng(11)
    for num_players in SIZES:
        game = Game(
            Rules(num_players, target_score=100, max_hands=3, hearts_break="heart", moon="add"), seed=num_players
        )
        for _ in range(3 * num_players + 25):
            game.step(int(rng.choice(game.legal_actions())))
        assert game.mover is not None
        seen = game.observation(game.mover)
        forms = (seen, seen.astype(np.float32), decode(seen))
        world, *others = (Game.from_observation(form, np.random.default_rng(1)) for form in forms)
        assert [other.to_bytes() for other in others] == [world.to_bytes()] * 2
        assert np.array_equal(world.observation(0), seen)
        assert np.array_equal(world.action_mask(), game.action_mask())
        assert world.rules.hearts_break == "heart"
        while not world.is_over:
            world.step(int(rng.choice(world.legal_actions())))
        assert len(world.score_sheet) <= 3


@pytest.mark.parametrize(
    ("held", "options", "cards", "seat", "may_hold"),
    [
        ({1: "QS QS 2H 2H 3H 4H 5H 6H 7H"}, {}, "2H", 1, POINT_FACES),
        (
            {1: "AC", 2: "QS 2H 2H 4H 5H 9H TH KH AH"},
            {"first_trick_discard": "no_points"},
            "AC 4H",
            2,
            POINT_FACES,
        ),
        (
            {1: "AC 2H 2H 5H 9H TH KH KH AH"}
            | dict(zip([0, *range(2, 11)], ["2C", "2C", "3C", "3C", "4C", "4C", "6C", "6C", "7C", "7C"], strict=True)),
            {"set_aside": "no_live_card"},
            "AC 2C 3C 3C 4C 4C 6C 6C 7C 7C 2C 5H",
            1,
            suit_of(39),
        ),
    ],
    ids=["opening lead (R10)", "first discard (R11)", "hearts led unbroken (R12)"],
)
def test_redeal_believes_what_a_forced_card_shows(
    held: dict[int, str], options: dict[str, Any], cards: str, seat: int, may_hold: frozenset[int]
) -> None:
    """R10 to R12: a card that only a seat without others may play tells all what that seat still holds."""
    deal = fill_deal(11, held, "", 0, random.Random(3))
    hands = [faces_to_text(hand) for hand in deal.hands]
    game = Game.from_hands(Rules(11, pass_cycle=(0,), **options), hands, faces_to_text(deal.kitty), dealer=0)
    for face in faces_from_text(cards):
        game.step(face)
    rng = np.random.default_rng(2)
    for viewer in (0, 5, 10):
        for world in (game.redeal(viewer, rng), turned(Game.from_observation(game.observation(viewer), rng), viewer)):
            assert set(np.flatnonzero(world.hand(seat))) <= may_hold
            assert world.hand(seat).sum() == game.hand(seat).sum()


def turned(world: Game, viewer: int) -> Any:
    """Return a world seen by seat 0 with its seats numbered as the table numbers them."""

    class Turned:
        def hand(self, seat: int) -> Any:
            return world.hand((seat - viewer) % world.num_players)

    return Turned()
