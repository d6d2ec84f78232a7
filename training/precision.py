"""Where and in which floating type to compute: decided by trying, for a CPU without bfloat16 units is slower in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import torch

KINDS: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def chosen_device(name: str) -> torch.device:
    """Return the device that a configuration names; "auto" is the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def name_of(kind: torch.dtype) -> str:
    """Return the name of a floating type of `KINDS`."""
    return next(name for name, each in KINDS.items() if each == kind)


def faster_kind(work: Callable[[torch.dtype], object], seconds: float = 1.0) -> torch.dtype:
    """Return the floating type in which `work` runs more often in half the time each; float32 on a tie."""
    rounds = {}
    for kind in KINDS.values():
        work(kind)  # the first call prepares, and is not counted
        done, end = 0, time.perf_counter() + seconds / 2
        while time.perf_counter() < end:
            work(kind)
            done += 1
        rounds[kind] = done
    return torch.bfloat16 if rounds[torch.bfloat16] > rounds[torch.float32] else torch.float32
