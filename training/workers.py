"""Worker processes, one thread each; or the same work in this process.

Spawned, not forked: torch and threads do not survive a fork. Ctrl-C is for the parent: it has the workers drop what
they do, and ends them in order.
"""

from __future__ import annotations

import _thread
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self, TypeVar

import torch

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
def network_policy(player: Player) -> NetworkPolicy:
    """Return a player's policy, loaded once in each process."""
    return NetworkPolicy.load(player.checkpoint, KINDS[player.kind])


@dataclass(frozen=True)
class LabelWork:
    """Make one chunk of labels; `player` is the network of the round before."""

    chunk: Chunk
    player: Player | None

    def __call__(self) -> Labels:
        """Do it."""
        return make_labels(self.chunk, network_policy(self.player).choose if self.player else None)


class _Worker:
    """What a worker process knows of itself."""

    is_working = False
    is_to_stop = False


def _begin_worker(stop: Connection) -> None:
    signal.signal(signal.SIGINT, _on_interrupt)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    torch.set_num_threads(1)
    threading.Thread(target=_obey_parent, args=(stop,), name="obey parent", daemon=True).start()


def _on_interrupt(*details: object) -> None:
    # A terminal sends Ctrl-C to all its processes; a worker heeds only its parent.
    if _Worker.is_to_stop and _Worker.is_working:
        raise KeyboardInterrupt


def _obey_parent(stop: Connection) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "workers are made by `Workers`"
    wait([stop, parent.sentinel])
    _Worker.is_to_stop = True
    _thread.interrupt_main()
    # A parent that is killed cannot end its workers, and they would wait for work for ever.
    parent.join()
    os._exit(1)


def _do(work: Callable[[], Result]) -> Result:
    if _Worker.is_to_stop:
        raise KeyboardInterrupt
    _Worker.is_working = True
    try:
        return work()
    finally:
        _Worker.is_working = False


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Put Ctrl-C off while a process may be started: it would find half of what it needs, and complain."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[Any, ...]] = []
    handler = signal.signal(signal.SIGINT, lambda *details: came.append(details))
    # The new process inherits this, and lifts it once it knows what to make of Ctrl-C (`_begin_worker`).
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if hasattr(signal, "pthread_sigmask") else set()
    try:
        yield
    finally:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if came and callable(handler):
        handler(*came[0])


class Workers:
    """A pool of worker processes; with none, work is done here when its turn comes.

    It ends with its `with` block: what the processes have begun is finished first, what waits is dropped. After Ctrl-C
    what they have begun is dropped, too.
    """

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self._pool: ProcessPoolExecutor | None = None
        if num_workers:
            context = multiprocessing.get_context("spawn")
            stop, self._no_stop = context.Pipe(duplex=False)  # stays silent; its end is the sign to stop
            self._pool = ProcessPoolExecutor(num_workers, context, _begin_worker, (stop,))

    def in_order(self, works: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """Yield results in the order of the work, which may be endless: only a little is begun ahead."""
        if self._pool is None:
            yield from (work() for work in works)
            return
        ahead: deque[Future[Any]] = deque()
        try:
            for work in works:
                with _interrupts_held_back():
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

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        """End the processes."""
        if self._pool is not None:
            if kind is not None and issubclass(kind, KeyboardInterrupt):
                self._no_stop.close()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._no_stop.close()
