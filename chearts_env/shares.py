"""Threads that each take a share of the tables. They know nothing of the game, and little of each other.

Ordinary Python threads that compute without the GIL: no second OpenMP runtime beside torch's, and a forked child, which
has none of its parent's threads, simply starts its own. A handshake of two locks a thread costs a few microseconds,
where a pool's queue and future cost ten times that.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Final

Work = Callable[[int, int], Any]
_STOP: Final = None
_PATIENCE: Final = 0.001  # seconds between two looks at threads that finish after an interrupt


class _Worker:
    """One thread's mailbox: what to do, on which share, and what came of it."""

    def __init__(self) -> None:
        self.work: Work | None = _STOP
        self.begin = 0
        self.end = 0
        self.result: Any = None
        self.error: BaseException | None = None
        self.start = threading.Lock()
        self.done = threading.Lock()
        self.start.acquire()
        self.done.acquire()


def _serve(worker: _Worker) -> None:
    while True:
        worker.start.acquire()
        if worker.work is _STOP:
            return
        try:
            worker.result = worker.work(worker.begin, worker.end)
        except BaseException as error:  # handed to the caller, who raises it
            worker.error = error
        worker.work = None
        worker.done.release()


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.work = _STOP
        if worker.start.locked():
            worker.start.release()


class Shares:
    """Runs one function on all of `num_items` things, each thread on its share; the caller's thread takes the first."""

    def __init__(self, num_items: int, num_threads: int) -> None:
        """Split the things evenly; threads start with the first `run`."""
        num_shares = min(num_threads, num_items)
        self._bounds = [num_items * share // num_shares for share in range(num_shares + 1)]
        self._workers: list[_Worker] = []
        self._process = os.getpid()

    def run(self, work: Work) -> list[Any]:
        """Return `work(begin, end)` of every share, in order; raises what the first failing share raised."""
        bounds = self._bounds
        if len(bounds) == 2:
            return [work(bounds[0], bounds[1])]
        if not self._workers or self._process != os.getpid():
            self._start_threads()
        try:
            for place, worker in enumerate(self._workers, start=1):
                worker.work, worker.begin, worker.end = work, bounds[place], bounds[place + 1]
                worker.start.release()
            results = [work(bounds[0], bounds[1])]
            for worker in self._workers:
                worker.done.acquire()
        except BaseException:  # Ctrl-C may come anywhere, and no thread may still write when the caller hears of it
            self._let_go()
            raise
        for worker in self._workers:
            error, worker.error = worker.error, None
            if error is not None:
                raise error
            results.append(worker.result)
        return results

    def _let_go(self) -> None:
        """Wait until no thread is at work, through further interrupts, and part with them: locks may be astray."""
        workers, self._workers = self._workers, []
        for worker in workers:  # one may have its work and not yet its start
            if worker.start.locked():
                worker.start.release()
        while any(worker.work is not None for worker in workers):
            try:
                time.sleep(_PATIENCE)
            except KeyboardInterrupt:
                continue
        _stop(workers)

    def _start_threads(self) -> None:
        self._process = os.getpid()
        self._workers = [_Worker() for _ in self._bounds[2:]]
        for worker in self._workers:
            threading.Thread(target=_serve, args=(worker,), name="tables", daemon=True).start()
        weakref.finalize(self, _stop, self._workers)
