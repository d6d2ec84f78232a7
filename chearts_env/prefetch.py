"""`fetch_soon`: tells the processor which memory a loop will want next. It changes nothing but the time it takes."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

_CACHE_LINE: Final = 64


def fetch_soon(record: Any) -> None:
    """Ask for a record, line by line, to be brought near while something else is computed; nothing when uncompiled."""


@intrinsic
def _prefetch_record(context: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [start.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [start.type], kind)
        for place in range(0, record.size, _CACHE_LINE):
            line = builder.gep(start, [ir.Constant(ir.IntType(64), place)])
            builder.call(prefetch, [line, number(0), number(3), number(1)])  # to read; into all caches; data
        return context.get_dummy_value()

    return types.void(record), generate


@overload(fetch_soon, inline="always")
def _fetch_soon_compiled(record: Any) -> Any:
    def fetch(record: Any) -> None:
        _prefetch_record(record)

    return fetch
