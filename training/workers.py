"""Processes that make labels and play matches, one thread each; or the same work in this process.

Spawned, not forked: torch and threads do not survive a fork. Ctrl-C is for the parent, which stops them in order.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

import torch

from baselines.names import policy_of
from training.evaluate import Row, play_row
from training.labels import Chunk, Labels, make_labels
from training.policy import NetworkPolicy
from training.precision import KINDS

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Player:
    """A checkpoint and the floating type to play it in, as words that travel to another process."""

    checkpoint: Path
    kind: str


@lru_cache(maxsize=2)
def _policy(player: Player) -> NetworkPolicy:
    return NetworkPolicy.load(player.checkpoint, KINDS[player.kind])


@dataclass(frozen=True)
class LabelWork:
    """Make one chunk of labels; `player` is the network of the round before."""

    chunk: Chunk
    player: Player | None

    def __call__(self) -> Labels:
        """Do it."""
        return make_labels(self.chunk, _policy(self.player).choose if self.player else None)


@dataclass(frozen=True)
class MatchWork:
    """Play a network against a field of one of the baselines."""

    player: Player
    name: str
    field: str
    preset: str
    size: int
    num_deals: int
    seed: int

    def __call__(self) -> Row:
        """Do it."""
        names = (self.name, self.field)
        return play_row(
            _policy(self.player), policy_of(self.field), names, self.preset, self.size, self.num_deals, self.seed
        )


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()


def _end_with_parent() -> None:
    # A parent that is killed cannot stop its workers, and they would wait for work for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(work: Callable[[], Result]) -> Result:
    return work()


class Workers:
    """A pool of worker processes; with none, work is done here when its turn comes."""

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self._pool: ProcessPoolExecutor | None = None
        if num_workers:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(num_workers, context, _begin_worker)

    def in_order(self, works: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """Yield results in the order of the work, which may be endless: only a little is begun ahead."""
        if self._pool is None:
            yield from (work() for work in works)
            return
        ahead: deque[Future[Any]] = deque()
        try:
            for work in works:
                ahead.append(self._pool.submit(_do, work))
                if len(ahead) > 2 * self._num_workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the processes; what they have begun is finished first, what waits is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
