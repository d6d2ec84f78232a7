"""Threads that each take a share of the tables. They know nothing of the game, and little of each other.

Ordinary Python threads that compute without the GIL: no second OpenMP runtime beside torch's, and a forked child, which
has none of its parent's threads, simply starts its own. While one piece of work follows another they hand it over in
compiled code, in well under a microsecond; a thread that waits longer goes to sleep.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Final

import numba

from chearts_env.tickets import PATIENCE, STOP, all_done, ask, new_tickets, store

#: Does a share once: `work(begin, end)`.
Work = Callable[[int, int], None]
#: Does a share for each new ticket, hands each in, and returns when none has come for a while:
#: `serve(tickets, worker, patience, begin, end)`.
Serve = Callable[[Any, int, int, int, int], None]

_PAUSE: Final = 0.00005  # seconds between two looks at threads that take long, on a machine with too few cores
# Uncompiled threads only get in each other's way.
_PATIENCE: Final = 1 if numba.config.DISABLE_JIT else PATIENCE


class _Worker:
    """What a thread and its caller share beside the tickets."""

    def __init__(self) -> None:
        self.awake = threading.Event()
        self.error: BaseException | None = None


def _run_worker(worker: _Worker, place: int, tickets: Any, serve: Serve, begin: int, end: int) -> None:
    while True:
        try:
            serve(tickets, place, _PATIENCE, begin, end)
        except BaseException as error:  # handed to the caller, who raises it
            worker.error = error
            store(tickets, place, tickets[0, 0])
        if tickets[0, 0] == STOP:
            return
        worker.awake.clear()
        if tickets[0, 0] == tickets[place, 0]:  # looked at once more: who asks looks at `awake` afterwards
            worker.awake.wait()


def _wake(workers: list[_Worker]) -> None:
    for worker in workers:
        if not worker.awake.is_set():
            worker.awake.set()


def _stop(tickets: Any, workers: list[_Worker]) -> None:
    ask(tickets, STOP)
    _wake(workers)


class Shares:
    """Does one kind of work on all of `num_items` things, each thread its share; the caller's thread the first."""

    def __init__(self, num_items: int, num_threads: int, work: Work, serve: Serve) -> None:
        """Split the things evenly; threads start with the first `run`. Neither function may hold the `Shares`."""
        num_shares = min(num_threads, num_items)
        self._bounds = [num_items * share // num_shares for share in range(num_shares + 1)]
        self._work = work
        self._serve = serve
        self._workers: list[_Worker] = []
        self._process = os.getpid()

    def run(self) -> None:
        """Do all shares; raises what the first failing share raised, when no thread is at work any more."""
        if len(self._bounds) == 2:
            return self._work(self._bounds[0], self._bounds[1])
        if not self._workers or self._process != os.getpid():
            self._start_threads()
        try:
            ask(self._tickets, self._tickets[0, 0] + 1)
            _wake(self._workers)
            self._work(self._bounds[0], self._bounds[1])
        finally:
            self._wait()
        for worker in self._workers:
            error, worker.error = worker.error, None
            if error is not None:
                raise error
        return None

    def _wait(self) -> None:
        """Wait for all threads, through Ctrl-C too: none may still write when the caller hears of it."""
        interrupt: BaseException | None = None
        while True:
            try:
                while not all_done(self._tickets, self._tickets[0, 0], _PATIENCE):
                    _wake(self._workers)  # an interrupt may have come before this was done
                    time.sleep(_PAUSE)
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _start_threads(self) -> None:
        self._process = os.getpid()
        self._workers = [_Worker() for _ in self._bounds[2:]]
        self._tickets = new_tickets(len(self._workers))
        for place, worker in enumerate(self._workers, start=1):
            share = self._bounds[place], self._bounds[place + 1]
            arguments = (worker, place, self._tickets, self._serve, *share)
            threading.Thread(target=_run_worker, args=arguments, name="tables", daemon=True).start()
        weakref.finalize(self, _stop, self._tickets, self._workers)
