"""Random legal play of this package's own tables, in the ways `python -m chearts_env.bench` measures it.

Each piece of *work* is a call that returns the units it did and the seconds they took; it is repeated for as long as
wanted. Random choices are drawn from streams that start alike, so every run plays the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from time import perf_counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env import cancellation_hearts_v0
from chearts_env.bench_peers import (
    OURS_BATCHED,
    OURS_RAW,
    OURS_SINGLE,
    OURS_WRAPPED,
    WARM_UP,
    Work,
    chosen,
    turns_of_aec,
)
from chearts_env.compiled import kernel
from chearts_env.deal import begin_episode, draw_below, next_word, seed_stream
from chearts_env.engine import HAND_SCORED, step_table, write_mask
from chearts_env.game import Game
from chearts_env.knowledge import redeal
from chearts_env.rules import Rules
from chearts_env.table import MASK, NUM_ACTIONS
from chearts_env.vector import VectorTables

DECISIONS: Final = "decisions/s"
_MANY_WORLDS: Final = 256
_SEED: Final = 7
_MOMENTS: Final = 16
_STEPS_ALONE: Final = 64
_DECISIONS_A_CALL: Final = 100

#: Where the one bit of a power of two below 2**54 stands: 2 is a primitive root modulo 67.
_PLACE_OF_BIT: Final = np.zeros(67, np.int64)
_PLACE_OF_BIT[[pow(2, place, 67) for place in range(NUM_ACTIONS)]] = np.arange(NUM_ACTIONS)
_PLACE_OF_BIT.setflags(write=False)


# ------------------------------------------------------------------------------------------------ random legal play


@kernel
def _choose(mask: Any, stream: Any) -> int:
    """Return one of the legal actions of a record of dtype `MASK`, each alike."""
    bits = 0
    count = 0
    for action in range(NUM_ACTIONS):
        bits |= int(mask.legal[action]) << action
        count += mask.legal[action]
    for _ in range(draw_below(stream, count)):
        bits &= bits - 1
    return _PLACE_OF_BIT[(bits & -bits) % 67]  # type: ignore[no-any-return]


@kernel
def choose_all(masks: Any, stream: Any, actions: Any) -> None:
    """Write a uniformly random legal action for each mask, (B,) records of dtype `MASK`, into `actions`, (B,) int64."""
    for b in range(masks.shape[0]):
        actions[b] = _choose(masks[b], stream)


@kernel
def play_unseen(tables: Any, scratch: Any, stream: Any, num_steps: int) -> None:
    """Play every table `num_steps` decisions on at random; an episode that ends is followed by another.

    `scratch`, (1,) of dtype `MASK`, is the only thing written besides the tables.
    """
    for b in range(tables.shape[0]):
        table = tables[b]
        for _ in range(num_steps):
            write_mask(table.options, table.public, table.private[table.public.mover], scratch[0])
            if step_table(table, _choose(scratch[0], stream)) > HAND_SCORED:
                begin_episode(table, next_word(stream))


@kernel
def _start(stream: Any, seed: np.uint64) -> None:
    seed_stream(stream, seed)


def _new_stream() -> npt.NDArray[np.uint64]:
    stream = np.zeros(4, np.uint64)
    _start(stream, np.uint64(_SEED))
    return stream


# -------------------------------------------------------------------------------------------------- what is measured


class BatchedPlay:
    """Tables that play on, one batched step a call."""

    def __init__(self, num_players: int, num_tables: int, num_threads: int = 1) -> None:
        self.tables = VectorTables(Rules(num_players), num_tables, seed=_SEED, num_threads=num_threads)
        self._masks = self.tables.action_masks.view(MASK)[:, 0]
        self._actions = np.zeros(num_tables, np.int64)
        self._stream = _new_stream()

    def loop(self) -> tuple[int, float]:
        """Choose and step; return decisions and seconds."""
        begin = perf_counter()
        self._choose()
        self.tables.step(self._actions)
        return len(self._actions), perf_counter() - begin

    def step(self) -> tuple[int, float]:
        """Choose, then step; return decisions and the seconds of the step alone."""
        self._choose()
        begin = perf_counter()
        self.tables.step(self._actions)
        return len(self._actions), perf_counter() - begin

    def _choose(self) -> None:
        choose_all(self._masks, self._stream, self._actions)


def _engine_alone(num_players: int, num_tables: int) -> Work:
    tables = VectorTables(Rules(num_players), num_tables, seed=_SEED)._tables
    stream, scratch = _new_stream(), np.zeros(1, MASK)

    def play() -> tuple[int, float]:
        begin = perf_counter()
        play_unseen(tables, scratch, stream, _STEPS_ALONE)
        return num_tables * _STEPS_ALONE, perf_counter() - begin

    return play


def _game_from_python(num_players: int) -> Work:
    rng = random.Random(_SEED)
    game = Game(Rules(num_players), seed=_SEED)

    def play() -> tuple[int, float]:
        nonlocal game
        begin = perf_counter()
        for _ in range(_DECISIONS_A_CALL):
            game.step(chosen(game.legal_actions(), rng))
            if game.is_over:
                game = Game(Rules(num_players), seed=rng.getrandbits(64))
        return _DECISIONS_A_CALL, perf_counter() - begin

    for _ in range(WARM_UP):
        play()
    return play


def _moments(num_players: int) -> list[Game]:
    # Moments spread evenly over a hand, the pass included.
    rng = random.Random(_SEED)
    game = Game(Rules(num_players), seed=_SEED, episode="hand")
    length = 3 * num_players + num_players * game.rules.hand_size
    moments = []
    for decision in range(length):
        if decision * _MOMENTS % length < _MOMENTS:
            moments.append(game.copy())
        game.step(chosen(game.legal_actions(), rng))
    return moments


def _redeal_one(num_players: int) -> Work:
    moments = _moments(num_players)
    rng = np.random.default_rng(_SEED)

    def draw() -> tuple[int, float]:
        begin = perf_counter()
        for game in moments:
            game.redeal(game.mover or 0, rng)
        return len(moments), perf_counter() - begin

    return draw


def _redeal_many(num_players: int) -> Work:
    moments = _moments(num_players)
    rng = np.random.default_rng(_SEED)

    def draw() -> tuple[int, float]:
        begin = perf_counter()
        for game in moments:
            redeal(game._tables, game.mover or 0, rng, num_worlds=_MANY_WORLDS)
        return len(moments) * _MANY_WORLDS, perf_counter() - begin

    return draw


def our_works(num_players: int, num_tables: int, num_threads: int) -> Iterator[tuple[str, str, Work]]:
    """Yield what is measured in this process for one number of seats: name, unit, work."""
    rules = Rules(num_players)
    alone = BatchedPlay(num_players, num_tables)
    yield "engine alone", DECISIONS, _engine_alone(num_players, num_tables)
    yield "batched step", DECISIONS, alone.step
    yield OURS_BATCHED, DECISIONS, alone.loop
    yield OURS_SINGLE, DECISIONS, _game_from_python(num_players)
    yield OURS_RAW, "turns/s", turns_of_aec(cancellation_hearts_v0.raw_env(rules=rules))
    yield OURS_WRAPPED, "turns/s", turns_of_aec(cancellation_hearts_v0.env(rules=rules))
    yield "redeal, one world", "worlds/s", _redeal_one(num_players)
    yield f"redeal, {_MANY_WORLDS} worlds of one view", "worlds/s", _redeal_many(num_players)
    yield f"batched step, {num_threads} threads", DECISIONS, BatchedPlay(num_players, num_tables, num_threads).step


@cache
def _play_of_this_process(num_players: int, num_tables: int) -> BatchedPlay:
    return BatchedPlay(num_players, num_tables)


def _step_in_this_process(num_players: int, num_tables: int, seconds: float) -> float:
    return rate_of(_play_of_this_process(num_players, num_tables).step, seconds)


def rate_of(work: Work, seconds: float) -> float:
    """Repeat a piece of work until its clock shows `seconds`; return units a second."""
    units, clock = work()
    while clock < seconds:
        more, took = work()
        units += more
        clock += took
    return units / clock


def in_processes(
    pool: ProcessPoolExecutor, num_players: int, num_tables: int, num_processes: int, seconds: float
) -> float:
    """Step tables in several processes at once, each its share; return the decisions a second of all together."""
    share = max(1, num_tables // num_processes)
    each = [pool.submit(_step_in_this_process, num_players, share, seconds) for _ in range(num_processes)]
    return sum(future.result() for future in each)
