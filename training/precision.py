"""Where and in which floating type to compute: decided by trying, for a CPU without bfloat16 units is slower in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import torch

CPU: Final = torch.device("cpu")
KINDS: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def chosen_device(name: str) -> torch.device:
    """Return the device that a configuration names; "auto" is the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def name_of(kind: torch.dtype) -> str:
    """Return the name of a floating type of `KINDS`."""
    return next(name for name, each in KINDS.items() if each == kind)


def faster_threads(work: Callable[[], object], most: int, seconds: float = 1.0) -> int:
    """Return 1, or `most` if `work` runs more often in half the time each with so many threads."""
    rounds = {}
    for threads in (1, most):
        with num_threads(threads):
            rounds[threads] = _rounds(work, seconds / 2)
    return max(rounds, key=lambda threads: rounds[threads])


@contextmanager
def num_threads(count: int) -> Iterator[None]:
    """Let torch compute with so many threads in here."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def faster_kind(work: Callable[[torch.dtype], object], seconds: float = 1.0) -> torch.dtype:
    """Return the floating type in which `work` runs more often in half the time each; float32 on a tie."""
    rounds = {kind: _rounds(partial(work, kind), seconds / 2) for kind in KINDS.values()}
    return torch.bfloat16 if rounds[torch.bfloat16] > rounds[torch.float32] else torch.float32


def _rounds(work: Callable[[], object], seconds: float) -> int:
    """Return how often `work` can be done in some time."""
    work()  # the first call prepares, and is not counted
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        work()
        done += 1
    return done
