"""The list of fields: it covers the vector, its ranges hold, and what is decoded is what the game itself says."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules, VectorTables, cancellation_hearts_v0
from chearts_env.cards import FACE_POINTS, counts_of_faces, faces_of_counts
from chearts_env.observation import (
    FIELDS,
    OBSERVATION_SIZE,
    OBSERVATION_VERSION,
    SEAT_ENTRIES,
    bounds,
    decode,
    describe,
    field_values,
)
from chearts_env.rules import CHOICES
from tests.sizes import SIZES, fewer, moon_history, play, random_history, random_rules

NUM_ROWS = 11
#: Digest of the layout for each version that was ever given out. A changed layout needs a new version, and a line here.
LAYOUTS = {1: "166113ecc4320b71"}


def layout_digest() -> str:
    """Digest what a reader of observations relies on: names, places, sizes, ranges."""
    lines = [
        f"{field.name} {field.place} {field.size} {field.low} {field.high} {field.is_per_seat}" for field in FIELDS
    ]
    lines.append(f"{OBSERVATION_SIZE} {SEAT_ENTRIES}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def games_of_every_option(num_players: int, rng: random.Random) -> list[Game]:
    """Begin games that together switch on every value of every option that is a word, and other caps and targets."""
    games = []
    for option, allowed in CHOICES.items():
        for value in allowed[1:]:
            rules = random_rules(num_players, rng, max_hands=rng.choice((None, 2, 500)), **{option: value})
            games.append(Game(rules, seed=rng.randrange(2**64), episode="hand"))
    rng.shuffle(games)
    games = games[: fewer(len(games), 1)]
    long = Rules(num_players, max_hands=3, moon_points=500)
    return [*games, Game(long, seed=rng.randrange(2**64))]


# The layout


def test_layout_has_the_digest_stored_for_its_version() -> None:
    """Contract, observation: a changed layout needs another `OBSERVATION_VERSION`, or old policies read nonsense."""
    assert LAYOUTS.get(OBSERVATION_VERSION) == layout_digest(), (
        f"the layout is {layout_digest()} now: raise OBSERVATION_VERSION and note it in LAYOUTS"
    )


def test_fields_cover_every_entry_exactly_once() -> None:
    """Contract, observation: one list of fields gives the layout; at most 1,024 entries; no gap and no overlap."""
    times = np.zeros(OBSERVATION_SIZE, np.int64)
    for field in FIELDS:
        for row in range(NUM_ROWS if field.is_per_seat else 1):
            start = field.place + row * SEAT_ENTRIES
            times[start : start + field.size] += 1
    assert (times == 1).all(), np.flatnonzero(times != 1)
    assert OBSERVATION_SIZE <= 1024
    assert len({field.name for field in FIELDS}) == len(FIELDS)


def test_field_values_cover_every_entry_exactly_once_and_are_views() -> None:
    """`field_values`: what is written through it stands in the vector, for one observation and for batches."""
    for shape in ((OBSERVATION_SIZE,), (3, OBSERVATION_SIZE), (2, 3, OBSERVATION_SIZE)):
        vector = np.zeros(shape, np.int8)
        for field in FIELDS:
            values = field_values(vector, field.name)
            rows = (NUM_ROWS,) if field.is_per_seat else ()
            assert values.shape == (*shape[:-1], *rows, field.size)
            values += 1
        assert (vector == 1).all()


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_field_values_read_one_entry_where_the_field_stands(dtype: Any) -> None:
    """`Field.place`: of the first number, in row 0 if per seat; other dtypes are read alike."""
    vector = np.arange(OBSERVATION_SIZE).astype(np.int16).astype(dtype)
    for field in FIELDS:
        values = field_values(vector, field.name)
        first = values[0] if field.is_per_seat else values
        assert first[0] == vector[field.place]
        assert first[-1] == vector[field.place + field.size - 1]
        if field.is_per_seat:
            assert values[10, 0] == vector[10 * SEAT_ENTRIES + field.place]


def test_bounds_are_those_of_the_fields() -> None:
    """Contract, observation: ranges come from the same list, fit into int8, and are equal nowhere."""
    low, high = bounds()
    assert low.dtype == high.dtype == np.int8
    assert low.shape == high.shape == (OBSERVATION_SIZE,)
    assert (low < high).all()
    for field in FIELDS:
        assert -128 <= field.low < field.high <= 127
        assert (field_values(low, field.name) == field.low).all()
        assert (field_values(high, field.name) == field.high).all()


def test_describe_mentions_every_field_with_its_place_size_and_range() -> None:
    """Contract, observation: the documentation comes from the list, and the specification page shows it."""
    text = describe()
    assert f"version {OBSERVATION_VERSION}" in text
    assert f"{OBSERVATION_SIZE} entries" in text
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.count("`") == 2}
    assert sorted(rows) == sorted(field.name for field in FIELDS)
    for field in FIELDS:
        assert f"| {field.size} | {field.low} … {field.high} | {field.meaning} |" in rows[field.name]
        assert str(field.place) in rows[field.name].split("|")[1]
    page = cancellation_hearts_v0.__doc__ or ""
    assert text in page
    assert f"({OBSERVATION_SIZE},)" in page


# Values


@pytest.mark.parametrize("num_players", SIZES)
def test_observations_are_within_bounds_at_every_step_under_every_option(num_players: int) -> None:
    """Contract, observation: no entry leaves its range, and rows of absent seats are zero."""
    rng = random.Random(num_players)
    low, high = bounds()
    for game in games_of_every_option(num_players, rng):
        for moment in play(game, rng):
            vector = moment.observation(rng.randrange(num_players))
            assert vector.dtype == np.int8
            outside = (vector < low) | (vector > high)
            assert not outside.any(), f"entries {np.flatnonzero(outside)} of {moment}"
            for field in FIELDS:
                if field.is_per_seat:
                    assert not field_values(vector, field.name)[num_players:].any()


@pytest.mark.parametrize(
    ("scores", "target", "expected"),
    [
        ([0, 1, -1, 74, 75, 149], 150, [0, 1, -1, 49, 50, 99]),
        ([-190, -191, -1000, -(10**9), 0, 0], 150, [-127, -127, -127, -127, 0, 0]),
        ([5 * 10**8, 0, 25 * 10**7, 0, 0, 0], 10**9, [50, 0, 25, 0, 0, 0]),
    ],
)
def test_scores_are_shown_in_percent_of_the_target_when_near_far_and_negative(
    scores: list[int], target: int, expected: list[int]
) -> None:
    """Contract, observation: scores in percent of the target, rounded and cut at ±127 (R22, R23)."""
    hands = [Game(seed=1).hand(seat) for seat in range(6)]
    game = Game.from_hands(Rules(target_score=target), hands, scores=scores)
    assert decode(game.observation(0)).score_percent.tolist() == expected
    assert np.array_equal(decode(game.observation(2)).score_percent, np.roll(expected, -2))


def assert_decoded_is_the_game(game: Game, viewer: int) -> None:
    """Compare a decoded observation with the game's own state, turned to the viewer, card by card."""
    n = game.num_players
    known = decode(game.observation(viewer))

    def relative(seat: int | None) -> int | None:
        return None if seat is None else (seat - viewer) % n

    seats = [(viewer + row) % n for row in range(n)]
    assert known.num_players == n
    assert (known.phase, known.mover) == (game.phase, relative(game.mover))
    assert (known.leader, known.dealer) == (relative(game.leader), relative(game.dealer))
    assert np.array_equal(known.hand, game.hand(viewer))
    assert np.array_equal(known.given, game.given(viewer))
    giver = (viewer - game.pass_offset) % n
    nothing_yet = game.phase == "pass" or game.pass_offset == 0
    assert np.array_equal(known.received, np.zeros(52) if nothing_yet else game.given(giver))
    assert known.trick == [(relative(seat), face) for seat, face in game.trick]
    assert np.array_equal(known.pile, game.pile)
    assert known.pile_points == game.pile @ FACE_POINTS
    trick = counts_of_faces(face for _, face in game.trick)
    assert np.array_equal(field_values(known.observation, "trick"), trick)
    assert known.trick_points == trick @ FACE_POINTS
    assert field_values(known.observation, "trick_pairs")[0] == (trick == 2).sum()
    led = np.zeros(4)
    if game.trick:
        led[game.trick[0][1] // 13] = 1
    assert np.array_equal(field_values(known.observation, "led_suit"), led)
    assert np.array_equal(known.played, [game.played(seat) for seat in seats])
    assert np.array_equal(known.points_seen, game.points_seen[seats])
    assert known.cards_left.tolist() == [game.hand(seat).sum() for seat in seats]
    assert known.score_percent.tolist() == [
        min(max(int(np.floor(100 * game.scores[seat] / game.rules.target_score + 0.5)), -127), 127) for seat in seats
    ]
    assert known.kitty_size == game.rules.kitty_size == game.kitty.sum()
    assert known.kitty_taker == relative(game.kitty_taker)
    assert known.kitty_cards in ([], faces_of_counts(game.kitty))
    assert known.trick_number == game.trick_number
    assert known.hearts_broken == game.hearts_broken
    assert known.pass_offset == game.pass_offset
    cap = game.rules.max_hands
    left = 1 if game.episode == "hand" else None if cap is None else min(cap - game.hand_number, 127)
    assert known.hands_left == left
    assert known.moon_points == min(game.rules.moon_points, 127)
    assert known.options == {option: getattr(game.rules, option) for option in CHOICES}


@pytest.mark.parametrize("num_players", SIZES)
def test_decoded_observation_is_the_game_seen_from_a_seat_at_every_step(num_players: int) -> None:
    """Contract, observation: `decode` gives back what a seat knows: every field, equal to the game's own state."""
    rng = random.Random(100 + num_players)
    for game in games_of_every_option(num_players, rng):
        for moment in play(game, rng):
            assert_decoded_is_the_game(moment, rng.randrange(num_players))
    game = moon_history(num_players, rng, max_hands=1).replay()
    for _ in range(2):
        for viewer in range(num_players):
            assert_decoded_is_the_game(game, viewer)
        if game.phase == "moon":
            game.step(52)


class Witness:
    """Notes what each seat has shown, from the cards played alone, with the rules told in other words (R10 to R12)."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.void = np.zeros((rules.num_players, 4), np.bool_)
        self.only_points = np.zeros(rules.num_players, np.bool_)
        self.last_winner: int | None = None

    def sees(self, game: Game, face: int) -> None:
        """Note what it shows that the mover plays this card next."""
        seat, suit, is_point = game.mover, face // 13, FACE_POINTS[face] > 0
        assert seat is not None
        if game.trick and suit != game.trick[0][1] // 13:
            self.void[seat, game.trick[0][1] // 13] = True
            if game.trick_number == 0 and is_point and self.rules.first_trick_discard == "no_points":
                self.only_points[seat] = True
        if not game.trick and game.trick_number == 0 and is_point and self.rules.opening_lead == "no_points":
            self.only_points[seat] = True
        unbroken = not game.hearts_broken and self.rules.hearts_break != "always"
        if not game.trick and game.trick_number > 0 and suit == 3 and unbroken:
            self.void[seat, :3] = True
        if self.only_points[seat]:
            self.void[seat, :2] = True


@pytest.mark.parametrize("num_players", SIZES)
def test_what_seats_have_shown_is_noted_and_true_at_every_step(num_players: int) -> None:
    """R10 to R12: suits a seat is out of, and hands of point cards alone, as shown in play; both hold in truth."""
    rng = random.Random(200 + num_players)
    for _ in range(fewer(12, 2)):
        rules = random_rules(num_players, rng, max_hands=1)
        history = random_history(rules, rng)
        game, witness = history.begin(), Witness(rules)
        for action in history.actions:
            if game.phase == "play":
                witness.sees(game, action)
            game.step(action)
            viewer = rng.randrange(num_players)
            known = decode(game.observation(viewer))
            assert np.array_equal(known.void, np.roll(witness.void, -viewer, axis=0))
            assert np.array_equal(known.only_points, np.roll(witness.only_points, -viewer))
            for row in range(num_players):
                hand = game.hand((viewer + row) % num_players)
                assert not (hand.reshape(4, 13).sum(axis=1) * known.void[row]).any()
                assert not known.only_points[row] or not hand[FACE_POINTS == 0].any()


@pytest.mark.parametrize("num_players", SIZES)
def test_last_winner_is_the_seat_whose_points_or_lead_changed(num_players: int) -> None:
    """R14, R17: the last seat to win a trick in this hand leads next; after a set-aside trick it stays as it was."""
    rng = random.Random(300 + num_players)
    rules = Rules(num_players, max_hands=1)
    for _ in range(fewer(6, 1)):
        expected: int | None = None
        before = 0
        for game in play(Game(rules, seed=rng.randrange(2**64)), rng):
            known = decode(game.observation(0))
            if game.trick_number > before and not game.pile.any():
                expected = game.leader  # somebody won: with a trick set aside the pile would hold it
            before = game.trick_number
            assert known.last_winner == expected


@pytest.mark.parametrize("num_players", SIZES)
def test_float_observation_of_the_environment_equals_the_int8_one(num_players: int) -> None:
    """Contract, AEC: float32 unless int8 is asked for, same values; both lie in their spaces."""
    rng = random.Random(400 + num_players)
    envs = [
        cancellation_hearts_v0.raw_env(num_players=num_players, episode="hand", observation_dtype=dtype)
        for dtype in (np.float32, np.int8)
    ]
    for env in envs:
        env.reset(seed=num_players)
    one, other = envs
    while True:
        agent = rng.choice(one.possible_agents)
        floats, ints = one.observe(agent), other.observe(agent)
        assert list(floats) == list(ints) == ["observation", "action_mask"]
        assert [floats["observation"].dtype, ints["observation"].dtype] == [np.dtype(np.float32), np.dtype(np.int8)]
        assert floats["action_mask"].dtype == ints["action_mask"].dtype == np.int8
        assert np.array_equal(floats["observation"], ints["observation"])
        assert ints["observation"].tobytes() == other.game.observation(other.possible_agents.index(agent)).tobytes()
        assert one.observation_space(agent).contains(floats)
        assert other.observation_space(agent).contains(ints)
        assert decode(floats["observation"]).phase == one.game.phase
        if one.game.is_over:
            break
        action = rng.choice(one.game.legal_actions())
        for env in envs:
            env.step(action)


def test_layout_is_the_same_for_all_table_sizes() -> None:
    """Contract, observation: the same length and layout for 6 to 11 seats, so that they share a batch."""
    tables = VectorTables([Rules(size) for size in (6, 7, 8, 9, 10, 11)], 6, seed=1)
    assert tables.observations.shape == (6, OBSERVATION_SIZE)
    sizes = field_values(tables.observations, "size")
    assert np.array_equal(sizes, np.eye(6))
    assert [decode(row).num_players for row in tables.observations] == [6, 7, 8, 9, 10, 11]


# Errors


def test_field_values_are_refused_when_the_field_is_unknown() -> None:
    """`field_values`: the message lists the fields there are."""
    with pytest.raises(KeyError, match=r"no field 'nothing' in the observation; there are played, .*hands_left"):
        field_values(np.zeros(OBSERVATION_SIZE, np.int8), "nothing")


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(OBSERVATION_SIZE - 1, np.int8),
        np.zeros(OBSERVATION_SIZE + 1, np.int8),
        np.zeros((1, OBSERVATION_SIZE), np.int8),
        np.zeros((), np.int8),
        [],
    ],
    ids=lambda wrong: str(np.shape(wrong)),
)
def test_decode_refuses_another_shape(wrong: Any) -> None:
    """`decode`: one observation at a time, and the message says which shape that has."""
    with pytest.raises(ValueError, match=rf"an observation has shape \({OBSERVATION_SIZE},\)"):
        decode(wrong)


def test_decode_refuses_numbers_that_are_no_observation() -> None:
    """`decode`: zeros, such as a masked-out row of a rollout, name no table size."""
    with pytest.raises(ValueError, match="no observation"):
        decode(np.zeros(OBSERVATION_SIZE, np.int8))


def test_decoded_knowledge_shares_nothing_with_the_vector_it_was_read_from() -> None:
    """`decode`: the vector may be a live buffer; what was decoded stays."""
    vector = Game(seed=1).observation(0)
    known = decode(vector)
    hand = known.hand.copy()
    vector[:] = 1
    assert np.array_equal(known.hand, hand)
    assert known.observation.sum() != vector.sum()
