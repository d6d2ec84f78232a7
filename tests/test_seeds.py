"""The seed decides everything: not the batch, nor the slot, the threads or any global random state."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest

from chearts_env import Game, Rules, VectorTables, cancellation_hearts_v0
from tests.sizes import SIZES, Counts, fewer, preferred, priorities, random_rules

ENDLESS = 1_000_000
#: Mean squares stay below this for even draws. Seeds are fixed, so no test is a matter of luck.
UNEVEN = 3.0
WRONG_SEEDS = (-1, 2**64, 1.5, True, "7", [1, 2], float("nan"))


def hands_of(game: Game) -> list[bytes]:
    """Write down a deal: dealer, every hand, kitty."""
    hands = [game.hand(seat).tobytes() for seat in range(game.num_players)]
    return [bytes([game.dealer]), *hands, game.kitty.tobytes()]


def deals_of(seed: int, num_hands: int, num_players: int) -> list[tuple[bytes, ...]]:
    """Play the first legal action throughout, and write down each deal."""
    game = Game(Rules(num_players, target_score=ENDLESS, moon="off"), seed=seed)
    deals = [tuple(hands_of(game))]
    while len(deals) < num_hands:
        number = game.hand_number
        while game.hand_number == number:
            game.step(int(game.action_mask().argmax()))
        deals.append(tuple(hands_of(game)))
    return deals


def mixed_rules(seed: int) -> list[Rules]:
    """Draw rules of all sizes, with short games."""
    rng = random.Random(seed)
    return [random_rules(size, rng, target_score=100, max_hands=3) for size in (6, 7, 8, 9, 10, 11)]


def stir_global_states(seed: int) -> None:
    """Put every global generator into another state."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global state is what this is about
    seed_compiled(seed)
    for _ in range(seed % 7):
        random.random()
        np.random.random()  # noqa: NPY002
        draw_compiled()


@numba.njit
def seed_compiled(seed: int) -> None:
    """Seed the generator that compiled code calls by the name of NumPy's."""
    np.random.seed(seed)  # noqa: NPY002


@numba.njit
def draw_compiled() -> float:
    """Draw from that generator."""
    return np.random.random()  # noqa: NPY002


@contextmanager
def global_states_untouched() -> Iterator[None]:
    """Fail if anything inside draws from, or seeds, a global generator."""
    stir_global_states(5)
    seed_compiled(5)
    expected = draw_compiled()
    seed_compiled(5)
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    assert random.getstate() == python
    after: Any = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(one, other) for one, other in zip(numpy, after, strict=True))
    assert draw_compiled() == expected


def use_everything() -> bytes:
    """Do, with fixed seeds, one of everything that draws; return what came of it."""
    came: list[bytes] = []
    game = Game(Rules(7, max_hands=2), seed=11)
    rng = np.random.default_rng(3)
    while not game.is_over:
        game.step(int(game.action_mask().argmax()))
    came += [game.to_bytes(), Game(Rules(9), seed=4).redeal(2, rng).to_bytes()]
    tables = VectorTables(mixed_rules(1), 12, seed=5, num_threads=2)
    for _ in range(fewer(300, 20)):
        tables.step(tables.action_masks.argmax(axis=1))
    tables.reset()
    came.append(tables.to_bytes())
    env = cancellation_hearts_v0.env(num_players=8, episode="hand")
    for seed in (6, None):
        env.reset(seed=seed)
        for _ in range(30):
            observation, *_ = env.last()
            env.step(int(observation["action_mask"].argmax()))
        came.append(env.unwrapped.game.to_bytes())
    return b"".join(came)


# One seed, one game


def test_deals_of_256_seeds_are_all_distinct_and_reproducible() -> None:
    """Contract, determinism: 256 seeds, three hands each: no deal twice, and every one the same when dealt again."""
    seeds = range(fewer(256, 8))
    deals = [deals_of(seed, 3, 6) for seed in seeds]
    everything = [deal for of_seed in deals for deal in of_seed]
    assert len(set(everything)) == 3 * len(seeds)
    without_dealer = {deal[1:] for deal in everything}
    assert len(without_dealer) == 3 * len(seeds)
    assert [deals_of(seed, 3, 6) for seed in seeds] == deals


@pytest.mark.parametrize("num_players", SIZES)
def test_seeds_at_the_ends_of_their_range_deal_distinct_hands(num_players: int) -> None:
    """Contract, determinism: all 64 bits of a seed count."""
    seeds = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**63, 2**64 - 2, 2**64 - 1]
    assert len({tuple(hands_of(Game(Rules(num_players), seed=seed))) for seed in seeds}) == len(seeds)
    assert hands_of(Game(Rules(), seed=int(np.uint64(2**64 - 1)))) == hands_of(Game(Rules(), seed=2**64 - 1))


def test_one_seed_deals_the_same_cards_in_both_kinds_of_episode() -> None:
    """Contract, `tables.seeds`: a `Game` with that seed deals what the slot was dealt, a hand or a game."""
    for kind in ("game", "hand"):
        tables = VectorTables([Rules(6), Rules(9), Rules(11)], 9, seed=2, episode=kind)
        for place in range(9):
            lone = Game(tables.rules[place], seed=int(tables.seeds[place]))
            assert hands_of(lone) == hands_of(tables.game(place))


@pytest.mark.parametrize("make", [lambda: Game(), lambda: VectorTables(Rules(), 2, seed=None).game(0)])
def test_seed_is_drawn_anew_when_none_is_given(make: Callable[[], Game]) -> None:
    """Contract, public calls: without a seed, two games are not the same."""
    assert hands_of(make()) != hands_of(make())


@pytest.mark.parametrize("seed", WRONG_SEEDS, ids=repr)
def test_seed_is_refused_when_it_is_no_whole_number_of_64_bits(seed: Any) -> None:
    """Contract: a ValueError names the option, the value and what is allowed."""
    tables = VectorTables(Rules(), 2)
    env = cancellation_hearts_v0.raw_env()
    env.reset(seed=1)
    before = tables.to_bytes(), env.game.to_bytes()
    calls: list[Callable[[], Any]] = [
        lambda: Game(Rules(), seed=seed),
        lambda: Game.from_hands(Rules(), [Game(seed=1).hand(seat) for seat in range(6)], seed=seed),
        lambda: VectorTables(Rules(), 2, seed=seed),
        lambda: tables.reset(seed=seed),
        lambda: env.reset(seed=seed),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"seed=.*whole number 0 … 2\*\*64 - 1"):
            call()
    assert (tables.to_bytes(), env.game.to_bytes()) == before
    env.reset()
    again = cancellation_hearts_v0.raw_env()
    again.reset(seed=1)
    again.reset()
    assert hands_of(env.game) == hands_of(again.game)  # a refused seed leaves the sequence of games alone, too


# Nothing else


def test_global_random_states_are_neither_used_nor_touched() -> None:
    """Contract, determinism: global random state neither matters nor is touched: Python's, NumPy's, compiled code's."""
    use_everything()  # compile before the states are watched
    results = []
    for seed in (1, 2):
        stir_global_states(seed)
        results.append(use_everything())
    assert results[0] == results[1]
    with global_states_untouched():
        assert use_everything() == results[0]


def play_slots(tables: VectorTables, num_steps: int) -> list[bytes]:
    """Step every slot by a choice that depends on it alone; return each slot's state and last results."""
    for priority in priorities(num_steps, seed=8):
        tables.step(preferred(tables.action_masks, priority))
    last: list[npt.NDArray[Any]] = [tables.observations, tables.action_masks, tables.rewards, tables.movers]
    last += [tables.terminations, tables.truncations, tables.final_scores, tables.episode_seeds]
    return [
        b"".join([tables.game(place).to_bytes(), *(array[place].tobytes() for array in last)])
        for place in range(len(tables))
    ]


@pytest.mark.parametrize("kind", ["hand", "game"])
def test_slots_are_the_same_whatever_the_batch_and_the_threads(kind: Any) -> None:
    """Contract, determinism: 1, 2 and all threads, any batch size: same bytes after many steps, several episodes."""
    num_steps = fewer(1500, 40)
    rules = mixed_rules(2)
    largest = play_slots(VectorTables(rules, fewer(64, 7), seed=3, episode=kind, num_threads=1), num_steps)
    for num_tables in (1, 2, 7):
        assert play_slots(VectorTables(rules, num_tables, seed=3, episode=kind), num_steps) == largest[:num_tables]
    for num_threads in (2, 3, 0, 200):
        tables = VectorTables(rules, len(largest), seed=3, episode=kind, num_threads=num_threads)
        assert play_slots(tables, num_steps) == largest, f"{num_threads or os.cpu_count()} threads"


@pytest.mark.parametrize("num_threads", [1, 2, 0])
def test_bytes_are_the_same_whatever_the_threads(num_threads: int) -> None:
    """Contract, determinism: the whole state of the batch, as bytes."""
    states = []
    for threads in (1, num_threads):
        tables = VectorTables(mixed_rules(4), fewer(50, 6), seed=9, num_threads=threads)
        for priority in priorities(fewer(500, 60), seed=10):
            tables.step(preferred(tables.action_masks, priority))
        states.append(tables.to_bytes())
    assert states[0] == states[1]


@pytest.mark.parametrize("kind", ["hand", "game"])
def test_slot_equals_the_lone_table_when_sizes_and_options_are_mixed(kind: Any) -> None:
    """Contract, determinism: slot i goes as `Game(rules, seed=tables.seeds[i])` goes, to the end."""
    tables = VectorTables(mixed_rules(3), fewer(24, 6), seed=1, episode=kind)
    games = [Game(rules, seed=int(seed), episode=kind) for rules, seed in zip(tables.rules, tables.seeds, strict=True)]
    going = set(range(len(tables)))
    for priority in priorities(fewer(1200, 130), seed=11):
        actions = preferred(tables.action_masks, priority)
        tables.step(actions)
        for place in sorted(going):
            game = games[place]
            game.step(int(actions[place]))
            ended = bool(tables.terminations[place] or tables.truncations[place])
            assert ended == game.is_over
            if ended:
                going.remove(place)
                continue
            assert tables.movers[place] == game.mover
            assert tables.observations[place].tobytes() == game.observation(int(tables.movers[place])).tobytes()
            assert tables.action_masks[place].tobytes() == game.action_mask().tobytes()
        if not going:
            break
    assert len(going) < len(tables) or kind == "game"


def test_slot_goes_on_as_the_lone_table_when_episodes_follow_one_another() -> None:
    """Contract, determinism: a lone table from the slot's seed is dealt the same new episodes."""
    batch = VectorTables(mixed_rules(5), 6, seed=13)
    lone = [
        VectorTables.from_games([Game(rules, seed=int(seed), episode="hand")])
        for rules, seed in zip(batch.rules, batch.seeds, strict=True)
    ]
    for priority in priorities(fewer(600, 150), seed=12):
        for tables in (batch, *lone):
            tables.step(preferred(tables.action_masks, priority))
    assert (batch.episode_seeds != batch.seeds).all()
    for place, tables in enumerate(lone):
        assert tables.game(0).to_bytes() == batch.game(place).to_bytes()


def test_reset_deals_fresh_hands_that_follow_from_the_seed() -> None:
    """Contract, public calls: `reset(seed=s)` is a new batch with that seed; `reset()` goes on from it."""
    tables, other = VectorTables(mixed_rules(6), 8, seed=21), VectorTables(mixed_rules(6), 8, seed=22)
    first = tables.to_bytes()
    seen = [tables.seeds.tolist()]
    for _ in range(3):
        tables.step(tables.action_masks.argmax(axis=1))
        tables.reset()
        seen.append(tables.seeds.tolist())
    assert len({seed for seeds in seen for seed in seeds}) == 8 * 4
    other.reset(seed=21)
    assert other.to_bytes() == first
    for seeds in seen[1:]:
        other.reset()
        assert other.seeds.tolist() == seeds


def test_reset_deals_other_hands_than_a_new_batch_with_another_seed() -> None:
    """Contract, determinism: the n-th reset of one seed is not the first deal of another, of 64 bits."""
    tables = VectorTables(Rules(), 4, seed=5)
    tables.reset()
    assert not np.array_equal(tables.seeds, VectorTables(Rules(), 4, seed=5 + 2**32).seeds)


# Even draws


def unevenness(counts: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """Return the mean of (seen - expected)² / expected: about 1 for even draws of many kinds."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    return float(((counts - expected) ** 2 / expected).mean())


@pytest.mark.parametrize("num_players", SIZES)
def test_first_dealer_is_drawn_evenly_when_it_is_random(num_players: int) -> None:
    """R6: every seat is as likely to deal first, in both kinds of episode; a seat named is the one that deals."""
    num_tables = fewer(6000, 120)
    for kind in ("game", "hand"):
        tables = VectorTables(Rules(num_players), num_tables, seed=31, episode=kind)
        dealers = (tables.movers - 1) % num_players
        counts = np.bincount(dealers, minlength=num_players)
        assert unevenness(counts, num_tables / num_players) < UNEVEN, counts
    named = VectorTables(Rules(num_players, first_dealer=4), 20, seed=31)
    assert (named.movers == 5).all()


def test_pass_of_a_single_hand_is_drawn_evenly_from_the_cycle() -> None:
    """Contract, episode: a hand's pass is drawn from `pass_cycle`, each place alike; a game begins at the first."""
    cycle = (1, -1, 2, 0)
    num_tables = fewer(6000, 120)
    tables = VectorTables(Rules(7, pass_cycle=cycle), num_tables, seed=32, episode="hand")
    games = [tables.game(place) for place in range(num_tables)]
    counts = np.bincount([game.hand_number for game in games], minlength=4)
    assert unevenness(counts, num_tables / 4) < UNEVEN, counts
    assert all(game.pass_offset == cycle[game.hand_number] for game in games)
    # Dealer and place are drawn independently.
    both = np.bincount([7 * game.hand_number + game.dealer for game in games], minlength=28)
    assert unevenness(both, num_tables / 28) < UNEVEN, both
    assert all(Game(Rules(7, pass_cycle=cycle), seed=seed).pass_offset == 1 for seed in range(20))


def assert_dealt_evenly(hands: Counts, rules: Rules) -> None:
    """Check (deals, seats, 52) counts: each face comes to each place as often, pairs as often as they must."""
    num_deals, size = len(hands), rules.hand_size
    assert (hands.sum(axis=2) == size).all()
    kitty = 2 - hands.sum(axis=1)
    assert (kitty.sum(axis=1) == rules.kitty_size).all()
    expected = num_deals * 2 * size / 104
    by_place = hands.sum(axis=0, dtype=np.int64)
    assert unevenness(by_place, expected) < 1.3
    assert unevenness(by_place, expected) > 0.6  # too even is not random either
    if rules.kitty_size:
        assert unevenness(kitty.sum(axis=0), num_deals * 2 * rules.kitty_size / 104) < 1.7
    pairs = (hands == 2).sum(axis=(0, 1))
    assert unevenness(pairs, num_deals * rules.num_players * size * (size - 1) / (104 * 103)) < 2
    # Neighbouring faces, alike in an unshuffled pack, go together no more often than any two.
    together = (hands[:, :, :-1].astype(int) * hands[:, :, 1:]).sum(axis=(0, 1))
    assert unevenness(together, num_deals * rules.num_players * 4 * size * (size - 1) / (104 * 103)) < 2


@pytest.mark.parametrize("num_players", SIZES)
def test_cards_are_dealt_evenly_to_seats_and_kitty(num_players: int) -> None:
    """R2, R5: every card is as likely to lie anywhere, by seeds in a row and by seeds of a batch."""
    rules = Rules(num_players, first_dealer=num_players - 1)  # seat 0 moves first, so row k is seat k
    num_deals = fewer(4000, 100)
    batch = VectorTables(rules, num_deals, seed=33)
    in_a_row = VectorTables.from_games([Game(rules, seed=seed) for seed in range(num_deals)])
    for tables in (batch, in_a_row):
        assert_dealt_evenly(tables.hidden_hands()[:, :num_players], rules)


def test_later_hands_are_dealt_evenly_in_games_and_by_auto_reset() -> None:
    """R5, R6: the hands that follow the first are shuffled as well as the first, and do not repeat it."""
    rules = Rules(8, pass_cycle=(0,), first_dealer=7, target_score=ENDLESS, moon="off")
    for kind in ("game", "hand"):
        tables = VectorTables(rules, fewer(3000, 40), seed=34, episode=kind)
        first = tables.hidden_hands()[:, :8]
        for _ in range(104):
            tables.step(tables.action_masks.argmax(axis=1))
        shift = 1 if kind == "game" else 0  # the deal has moved on
        second = np.roll(tables.hidden_hands()[:, :8], shift, axis=1)
        assert_dealt_evenly(second, rules)
        # A card's place in the second hand does not hang on its place in the first.
        both = (first.astype(int) * second).sum(axis=0)
        assert unevenness(both, len(tables) * (2 * 13 / 104) ** 2) < 1.7
