"""Numbers that threads leave for one another, read and written whole and in order: a handshake without a lock.

A thread that has just worked stays in compiled code for a moment and looks for the next ticket, because waking a
sleeping thread costs more than a share of a small batch. It knows nothing of the game.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from chearts_env.compiled import kernel

STOP: Final = -1
#: Looks at a ticket before giving up, half a millisecond: about what waking a thread costs where it costs much.
PATIENCE: Final = 1_000_000
_LINE: Final = 8  # int64 words of a cache line: each number on its own, or threads slow one another


def new_tickets(num_workers: int) -> npt.NDArray[np.int64]:
    """Return the numbers of a group: row 0 is the ticket asked for, row k the last one that worker k has done."""
    return np.zeros((num_workers + 1, _LINE), np.int64)


def load(tickets: Any, place: int) -> int:
    """Read a number; all that its writer had written before is seen after."""
    return tickets[place, 0]  # type: ignore[no-any-return]


def store(tickets: Any, place: int, number: int) -> None:
    """Write a number; who reads it sees all that was written before."""
    tickets[place, 0] = number


@intrinsic
def _load_word(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_pointer(builder, arguments[0]), "acquire", 8)

    return types.int64(types.uintp), generate


@intrinsic
def _store_word(context: Any, address: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], _pointer(builder, arguments[0]), "release", 8)
        return context.get_dummy_value()

    return types.void(types.uintp, types.int64), generate


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, ir.IntType(64).as_pointer())


@overload(load)
def _load_compiled(tickets: Any, place: Any) -> Any:
    def read(tickets: Any, place: Any) -> Any:
        return _load_word(tickets[place].ctypes.data)

    return read


@overload(store)
def _store_compiled(tickets: Any, place: Any, number: Any) -> Any:
    def write(tickets: Any, place: Any, number: Any) -> None:
        _store_word(tickets[place].ctypes.data, number)

    return write


@kernel
def ask(tickets: Any, ticket: int) -> None:
    """Post a ticket: everything written so far is for it."""
    store(tickets, 0, ticket)


@kernel
def await_other(tickets: Any, place: int, ticket: int, patience: int) -> int:
    """Return the number at a place as soon as it is another than `ticket`, or `ticket` once patience is over."""
    for _ in range(patience):
        found = load(tickets, place)
        if found != ticket:
            return found
    return ticket


@kernel
def all_done(tickets: Any, ticket: int, patience: int) -> bool:
    """Say whether every worker has done a ticket, giving each some time for it."""
    for worker in range(1, tickets.shape[0]):
        for _ in range(patience):
            if load(tickets, worker) == ticket:
                break
        else:
            return False
    return True
