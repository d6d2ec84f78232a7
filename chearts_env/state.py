"""Whole states as bytes: named, versioned, checked against damage. Knows how a state is kept, not what it means.

Layout: a magic word, the length of a JSON header, the header, the arrays one after the other, a CRC-32 of all before
it. Nothing in it is code, so reading a stranger's bytes runs nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.table import STATE_VERSION, TABLE

_MAGIC: Final = b"chearts\0"
_LAYOUT: Final = f"{zlib.crc32(repr(TABLE.descr).encode()):08x}"


class StateError(ValueError):
    """Bytes that are no state, are damaged, or were written by an incompatible version."""


def pack(kind: str, header: dict[str, Any], arrays: list[npt.NDArray[Any]]) -> bytes:
    """Return a state of some kind as bytes; the header must be what JSON can hold."""
    text = json.dumps(
        {"kind": kind, "version": STATE_VERSION, "layout": _LAYOUT, "sizes": [a.nbytes for a in arrays], **header},
        separators=(",", ":"),
    ).encode()
    body = b"".join([_MAGIC, len(text).to_bytes(4, "little"), text, *(array.tobytes() for array in arrays)])
    return body + zlib.crc32(body).to_bytes(4, "little")


def unpack(kind: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the arrays' bytes of a state; raises StateError saying what is wrong with it."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StateError(f"a {kind} is read from bytes, not from {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_MAGIC):
        raise StateError(f"these {len(data)} bytes are not a state of chearts_env")
    if len(data) < len(_MAGIC) + 8 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise StateError(f"these {len(data)} bytes are damaged: their checksum is wrong or they are cut short")
    start = len(_MAGIC) + 4
    place = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    with damage_refused(kind):
        header = json.loads(data[start:place])
        version, layout, sizes = header["version"], header["layout"], list(header["sizes"])
    if (version, layout) != (STATE_VERSION, _LAYOUT):
        raise StateError(
            f"this state has version {version} (layout {layout}), and this chearts_env reads only "
            f"version {STATE_VERSION} (layout {_LAYOUT}): read it with the version that wrote it"
        )
    if header.get("kind") != kind:
        raise StateError(f"these bytes hold a {header.get('kind')}, not a {kind}")
    parts = []
    for size in sizes:
        parts.append(data[place : place + size])
        place += size
    return header, parts


@contextmanager
def damage_refused(kind: str) -> Iterator[None]:
    """Turn what goes wrong when a state is read, other than a StateError, into a StateError."""
    try:
        yield
    except StateError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"these bytes are a damaged {kind}: {type(error).__name__} {error}") from error


def read_array(data: bytes, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return a part of a state as an array of its own."""
    return np.frombuffer(data, dtype).reshape(shape).copy()
