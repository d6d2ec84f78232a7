"""`VectorTables`: what goes in is checked before anything changes, buffers may be the caller's, states can be kept."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chearts_env
from chearts_env import Game, IllegalActionError, Rules, VectorTables
from chearts_env.cards import face_to_text
from chearts_env.observation import OBSERVATION_SIZE
from tests.tables import everything, mixed_rules, played_tables, step_all

PACKAGE = Path(chearts_env.__file__).resolve().parent
NUM_ACTIONS = 54


# Actions


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("place", [0, 3, 5])
@pytest.mark.parametrize(
    ("dtype", "action"),
    [
        (np.int64, 54),
        (np.int64, -1),
        (np.int64, 2**63 - 1),
        (np.int64, -(2**63)),
        (np.int8, -128),
        (np.uint8, 255),
        (np.int32, 2**31 - 1),
        (np.uint64, 2**64 - 1),
        (np.uint64, 2**63),
        (np.int16, 52),
        (np.int64, 53),
    ],
)
def test_action_out_of_range_is_refused_before_anything_changes(
    dtype: Any, action: int, place: int, num_threads: int
) -> None:
    """Contract, kernels: the message names table and seat, and not one table has moved."""
    tables = played_tables(num_threads=num_threads)
    actions = tables.action_masks.argmax(axis=1).astype(dtype)
    actions[place] = action
    before = everything(tables)
    with pytest.raises(IllegalActionError, match=rf"^table {place}: .*seat {tables.movers[place]}.*legal: "):
        tables.step(actions)
    assert everything(tables) == before


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8])
def test_illegal_card_is_refused_with_its_table_seat_and_card_before_anything_changes(dtype: Any) -> None:
    """Contract, `tables.step`: checks all before it changes any; the first table with an illegal action is named."""
    tables = played_tables()
    for place in range(len(tables)):
        actions = tables.action_masks.argmax(axis=1).astype(dtype)
        not_held = int(np.flatnonzero(tables.hidden_hands()[place, 0] == 0)[0])
        for other in range(place, len(tables)):
            actions[other] = not_held
        before = everything(tables)
        card = face_to_text(not_held)
        with pytest.raises(
            IllegalActionError,
            match=rf"^table {place}: seat {tables.movers[place]} may not \w+ {card}, which it does not hold; legal: ",
        ):
            tables.step(actions)
        assert everything(tables) == before


def test_what_the_caller_writes_into_the_masks_permits_nothing() -> None:
    """Contract, `step`: the masks tell what is legal, they do not decide it, though they are the caller's to write."""
    tables = played_tables()
    illegal = np.flatnonzero(tables.action_masks[5] == 0)[0]
    actions = tables.action_masks.argmax(axis=1)
    actions[5] = illegal
    tables.action_masks[:] = 1
    before = tables.to_bytes()
    with pytest.raises(IllegalActionError, match="table 5"):
        tables.step(actions)
    assert tables.to_bytes() == before
    tables.action_masks[:] = 0
    actions[5] = tables.game(5).legal_actions()[0]
    tables.step(actions)


def test_first_table_is_named_when_several_actions_are_too_large_for_a_signed_integer() -> None:
    """`VectorTables.step`: the message names the first table, whatever the dtype and however wrong the others."""
    tables = played_tables()
    actions = tables.action_masks.argmax(axis=1).astype(np.uint64)
    actions[[1, 4]] = 54, 2**63
    with pytest.raises(IllegalActionError, match=r"^table 1: "):
        tables.step(actions)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda legal: legal.astype(np.float64),
        lambda legal: legal.astype(np.float32),
        lambda legal: np.where(np.arange(6) == 2, np.nan, legal),
        lambda legal: legal.astype(np.bool_),
        lambda legal: legal.astype(np.complex128),
        lambda legal: legal.astype(object),
        lambda legal: legal.astype(str),
        lambda legal: legal.astype("m8[s]"),
        lambda legal: [None, *legal[1:]],
        lambda legal: None,
        lambda legal: [2**70, *legal[1:].tolist()],
        lambda legal: [True] * 6,
    ],
)
def test_actions_of_a_wrong_dtype_are_refused_before_anything_changes(wrong: Callable[[Any], Any]) -> None:
    """Contract, kernels: floats, bools, NaN, None, texts and whatever else is not a whole number."""
    tables = played_tables()
    actions = wrong(tables.action_masks.argmax(axis=1))
    before = everything(tables)
    with pytest.raises(ValueError, match=r"actions have (dtype|shape)"):
        tables.step(actions)
    assert everything(tables) == before


@pytest.mark.parametrize(
    "wrong",
    [
        lambda legal: legal[:-1],
        lambda legal: np.append(legal, 0),
        lambda legal: legal[:, None],
        lambda legal: legal[None],
        lambda legal: int(legal[0]),
        lambda legal: legal[:0],
        lambda legal: [],
    ],
)
def test_actions_of_a_wrong_length_are_refused_before_anything_changes(wrong: Callable[[Any], Any]) -> None:
    """Contract, kernels: one action for each table, and the message says how many those are."""
    tables = played_tables()
    actions = wrong(tables.action_masks.argmax(axis=1))
    before = everything(tables)
    with pytest.raises(ValueError, match=r"actions have shape .*shape \(6,\)"):
        tables.step(actions)
    assert everything(tables) == before


@pytest.mark.parametrize(
    "likewise",
    [
        lambda legal: legal.tolist(),
        lambda legal: tuple(legal.tolist()),
        lambda legal: legal.astype(np.int8),
        lambda legal: legal.astype(np.uint64),
        lambda legal: legal.astype(">i4"),
        lambda legal: np.repeat(legal, 2)[::2],
    ],
)
def test_whole_numbers_of_any_kind_are_accepted(likewise: Callable[[Any], Any]) -> None:
    """Contract, `tables.step(actions)`: (B,) integers."""
    tables, other = played_tables(), played_tables()
    for _ in range(3):
        legal = tables.action_masks.argmax(axis=1)
        tables.step(legal)
        other.step(likewise(legal))
    assert everything(tables) == everything(other)


# Buffers


def test_buffers_of_the_caller_are_written_in_place_when_they_are_shared_memory() -> None:
    """Contract, public calls: the caller's arrays are written, and hold what one's own would."""
    blocks = [shared_memory.SharedMemory(create=True, size=6 * width) for width in (OBSERVATION_SIZE, NUM_ACTIONS)]
    try:
        seen = np.ndarray((6, OBSERVATION_SIZE), np.int8, blocks[0].buf)
        masks = np.ndarray((6, NUM_ACTIONS), np.int8, blocks[1].buf)
        tables, other = played_tables(observations=seen, action_masks=masks), played_tables()
        assert tables.observations is seen
        assert tables.action_masks is masks
        for seed in (4, 5):
            assert np.array_equal(seen, other.observations)
            assert np.array_equal(masks, other.action_masks)
            for each in (tables, other):
                step_all(each, 50, seed)
        assert everything(tables) == everything(other)
        for each in (tables, other):
            each.reset()
        assert np.array_equal(seen, other.observations)
        del tables, seen, masks
    finally:
        for block in blocks:
            block.close()
            block.unlink()


def test_buffers_may_be_parts_of_a_larger_array_when_their_rows_lie_together() -> None:
    """Contract, public calls: a slot of a rollout buffer, at any address, will do; nothing beside it is written."""
    rollout = np.full((3, 6, OBSERVATION_SIZE), 77, np.int8)
    bytes_at_odd_address = np.full(6 * NUM_ACTIONS + 1, 77, np.int8)
    masks = bytes_at_odd_address[1:].reshape(6, NUM_ACTIONS)
    tables, other = played_tables(observations=rollout[1], action_masks=masks), played_tables()
    assert np.array_equal(rollout[1], other.observations)
    assert np.array_equal(masks, other.action_masks)
    assert tables.to_bytes() == other.to_bytes()
    assert (rollout[[0, 2]] == 77).all()
    assert bytes_at_odd_address[0] == 77


def test_the_same_arrays_are_written_at_every_step() -> None:
    """Contract, public calls: the buffers are allocated once."""
    tables = played_tables()
    names = ("observations", "action_masks", "movers", "rewards", "terminations", "truncations", "final_scores")
    before = [(getattr(tables, name), getattr(tables, name).ctypes.data) for name in names]
    step_all(tables, 30, seed=6)
    tables.reset()
    for name, (array, address) in zip(names, before, strict=True):
        assert getattr(tables, name) is array
        assert array.ctypes.data == address


@pytest.mark.parametrize(
    ("name", "width"),
    [("observations", OBSERVATION_SIZE), ("action_masks", NUM_ACTIONS)],
)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda good: good.astype(np.uint8),
        lambda good: good.astype(np.float32),
        lambda good: good[:-1],
        lambda good: good[:, :-1].copy(),
        lambda good: good.ravel(),
        lambda good: np.asfortranarray(good),
        lambda good: np.repeat(good, 2, axis=1)[:, ::2],
        lambda good: np.repeat(good, 2, axis=0)[::2],
        lambda good: np.frombuffer(good.tobytes(), np.int8).reshape(good.shape),
        lambda good: good.tolist(),
        lambda good: bytearray(good.tobytes()),
    ],
)
def test_wrong_buffers_are_refused_by_name(wrong: Callable[[Any], Any], name: str, width: int) -> None:
    """Contract, public calls: another dtype, shape or layout, read-only, or no array: refused with what is allowed."""
    given: dict[str, Any] = {name: wrong(np.zeros((6, width), np.int8))}
    with pytest.raises(ValueError, match=f"{name}= takes a"):
        VectorTables(mixed_rules(1), 6, **given)
    with pytest.raises(ValueError, match=f"{name}= takes a"):
        VectorTables.from_games([Game(seed=place) for place in range(6)], **given)


@pytest.mark.jit
@pytest.mark.parametrize("num_threads", [1, 2])
def test_step_allocates_nothing_that_grows_with_the_batch(num_threads: int) -> None:
    """Contract, VectorTables: nothing is allocated per step.

    NumPy reports its arrays to tracemalloc, so the peak above the level before a step counts every array, and stays far
    below one byte a table: what is left are the frames and closures of a Python call.
    """
    num_tables = 8192
    tables = VectorTables(Rules(), num_tables, seed=1, num_threads=num_threads)
    actions = np.empty(num_tables, np.int64)
    num_steps = 150  # longer than an episode, so that resets are counted
    levels, peaks = np.zeros(num_steps, np.int64), np.zeros(num_steps, np.int64)
    tracemalloc.start()
    for number in range(num_steps):
        np.argmax(tables.action_masks, axis=1, out=actions)
        tracemalloc.reset_peak()
        levels[number] = tracemalloc.get_traced_memory()[0]
        tables.step(actions)
        peaks[number] = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.median(peaks - levels) < num_tables / 2
    assert (peaks - levels)[10:].max() < num_tables  # the first steps start threads and load kernels
    assert levels[-1] - levels[10] < num_tables / 2


@pytest.mark.jit
def test_step_allocates_nothing_inside_the_kernels() -> None:
    """Contract, VectorTables: nothing is allocated per step, by Numba's own count.

    Handing an array to a kernel counts as one; that number is the same at each step, for 3 tables as for 3,000.
    """
    program = """
        import numpy as np
        from numba.core.runtime import rtsys
        from chearts_env import Rules, VectorTables

        for num_tables in (3, 3000):
            tables = VectorTables([Rules(6), Rules(8), Rules(11)], num_tables, seed=1)
            counts = []
            for _ in range(300):
                tables.step(tables.action_masks.argmax(axis=1))
                counts.append(rtsys.get_allocation_stats().alloc)
            print(*set(np.diff(counts)))
    """
    few, many = run_python(program, NUMBA_NRT_STATS="1").splitlines()
    assert few == many
    assert int(few) < 20


def run_python(program: str, **environment: str) -> str:
    """Run a program in a Python of its own and return what it prints."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


# Hidden hands


def test_hidden_hands_stand_relative_to_the_mover() -> None:
    """Contract, `hidden_hands`: row k is the seat k places to the mover's left; absent seats hold nothing."""
    tables = played_tables(num_tables=12)
    for seed in range(3):
        step_all(tables, 30, seed)
        hands = tables.hidden_hands()
        assert hands.shape == (12, 11, 52)
        assert hands.dtype == np.int8
        for place in range(12):
            game = tables.game(place)
            mover = int(tables.movers[place])
            for row in range(11):
                if row < game.num_players:
                    seat = (mover + row) % game.num_players
                    assert np.array_equal(hands[place, row], game.hand(seat))
                else:
                    assert not hands[place, row].any()


def test_hidden_hands_are_a_copy_that_never_changes() -> None:
    """Contract, `hidden_hands`: for critics that keep it; writing into it changes no table."""
    tables = played_tables()
    hands = tables.hidden_hands()
    kept, before = hands.copy(), tables.to_bytes()
    hands[:] = 1
    assert tables.to_bytes() == before
    hands[:] = kept
    step_all(tables, 5)
    assert np.array_equal(hands, kept)


def test_mover_holds_what_its_observation_and_row_0_say() -> None:
    """Contract, `tables.observations`: what lies in the buffers is the mover's own view."""
    tables = played_tables()
    for place in range(len(tables)):
        game, mover = tables.game(place), int(tables.movers[place])
        assert game.mover == mover
        assert game.num_players == tables.num_players[place]
        assert tables.observations[place].tobytes() == game.observation(mover).tobytes()
        assert tables.action_masks[place].tobytes() == game.action_mask().tobytes()


@pytest.mark.parametrize("place", [-7, -2, -1, 6, 100])
def test_game_of_a_table_that_is_not_there_is_refused(place: int) -> None:
    """`VectorTables.game`: a table out of range is an IndexError, counted from the end or not."""
    with pytest.raises(IndexError, match=rf"table {place} is out of range 0 … 5"):
        played_tables().game(place)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": []}, "rules= takes Rules"),
        ({"rules": 6}, "rules= takes Rules"),
        ({"rules": [Rules(), 7]}, "rules= takes Rules"),
        ({"num_tables": 0}, "num_tables=0 is not allowed"),
        ({"num_tables": 2.0}, r"num_tables=2.0 is not allowed"),
        ({"num_tables": True}, "num_tables=True is not allowed"),
        ({"num_threads": -1}, "num_threads=-1 is not allowed"),
        ({"num_threads": 1.5}, "num_threads=1.5 is not allowed"),
        ({"episode": "match"}, "episode='match' is not allowed: it must be one of 'game', 'hand'"),
        ({"reward": "none"}, "reward='none' is not allowed: it must be one of 'points', 'relative', 'win'"),
        ({"seed": -1}, "seed=-1 is not allowed"),
    ],
)
def test_wrong_arguments_are_refused_with_name_value_and_what_is_allowed(arguments: Any, message: str) -> None:
    """Contract: ValueError naming the option, the value and what is allowed."""
    with pytest.raises(ValueError, match=message):
        VectorTables(**({"rules": Rules(), "num_tables": 2} | arguments))
