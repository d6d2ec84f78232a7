"""States as bytes: what is damaged, foreign or of another version is refused with a clear message."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules, StateError, VectorTables
from tests.sizes import fewer
from tests.tables import played_tables

# Damaged and foreign bytes


def game_state() -> bytes:
    """Write a game with two scored hands."""
    game = Game(Rules(7), seed=1)
    while game.hand_number < 2:
        game.step(game.legal_actions()[0])
    return game.to_bytes()


STATES = [
    pytest.param(Game.from_bytes, game_state, id="Game"),
    pytest.param(VectorTables.from_bytes, lambda: played_tables().to_bytes(), id="VectorTables"),
]


def with_header(data: bytes, **changes: Any) -> bytes:
    """Write another header into a state, checksum and all; a change to None leaves the entry out."""
    length = int.from_bytes(data[8:12], "little")
    header = json.loads(data[12 : 12 + length]) | changes
    text = json.dumps({name: value for name, value in header.items() if value is not None}).encode()
    body = data[:8] + len(text).to_bytes(4, "little") + text + data[12 + length : -4]
    return body + zlib.crc32(body).to_bytes(4, "little")


@pytest.mark.parametrize(("read", "state"), STATES)
def test_damaged_states_are_refused_wherever_a_byte_is_wrong(
    read: Callable[[bytes], Any], state: Callable[[], bytes]
) -> None:
    """Contract: one byte changed, some cut off or some too many: StateError, and never a wrong state."""
    data = state()
    rng = random.Random(5)
    for place in [*range(20), *rng.sample(range(len(data)), fewer(200, 40)), *range(len(data) - 8, len(data))]:
        damaged = bytearray(data)
        damaged[place] ^= rng.randrange(1, 256)
        with pytest.raises(StateError, match=r"not a state of chearts_env|damaged"):
            read(bytes(damaged))
    for length in [0, 1, 7, 8, 9, 11, 12, 15, 16, 100, len(data) // 2, len(data) - 4, len(data) - 1]:
        with pytest.raises(StateError, match=r"not a state of chearts_env|damaged"):
            read(data[:length])
    for longer in (data + b"\0", data + data, b"\0" + data):
        with pytest.raises(StateError):
            read(longer)


@pytest.mark.parametrize(("read", "state"), STATES)
def test_states_of_another_version_or_layout_are_refused_with_both_versions_named(
    read: Callable[[bytes], Any], state: Callable[[], bytes]
) -> None:
    """Contract: a state written by one version and read by an incompatible one is refused clearly."""
    data = state()
    assert read(with_header(data)) is not None
    with pytest.raises(StateError, match=r"version 99 .*reads only version \d+"):
        read(with_header(data, version=99))
    with pytest.raises(StateError, match=r"layout 00000000.*reads only version \d+ \(layout"):
        read(with_header(data, layout="00000000"))


@pytest.mark.parametrize(("read", "state"), STATES)
def test_states_with_a_broken_header_are_refused(read: Callable[[bytes], Any], state: Callable[[], bytes]) -> None:
    """Contract: a header that lacks or misstates something is a StateError too, not a KeyError or a crash."""
    data = state()
    changes: list[dict[str, Any]] = [{name: None} for name in ("version", "layout", "kind", "sizes", "rules")]
    changes += [{"sizes": [1, 2]}, {"sizes": []}, {"sizes": [10**9] * 6}]
    for change in changes:
        with pytest.raises(StateError):
            read(with_header(data, **change))


@pytest.mark.parametrize(("read", "state"), STATES)
@pytest.mark.parametrize("wrong", [None, 5, "text", [1, 2], np.zeros(3)])
def test_what_is_no_bytes_is_refused(read: Callable[[Any], Any], state: Callable[[], bytes], wrong: Any) -> None:
    """Contract: the message says what was given."""
    with pytest.raises(StateError, match=f"is read from bytes, not from {type(wrong).__name__}"):
        read(wrong)


def test_states_of_another_kind_are_refused() -> None:
    """Contract: a game is not a batch of tables, nor the other way round."""
    with pytest.raises(StateError, match="hold a Game, not a VectorTables"):
        VectorTables.from_bytes(game_state())
    with pytest.raises(StateError, match="hold a VectorTables, not a Game"):
        Game.from_bytes(played_tables().to_bytes())


def test_pickles_of_another_version_are_refused_like_bytes() -> None:
    """Contract: unpickling refuses in the same words."""
    game = Game(seed=1)
    with pytest.raises(StateError, match="version 99"):
        game.__setstate__(with_header(game.to_bytes(), version=99))
