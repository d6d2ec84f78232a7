"""Threads that take shares: every share done once, errors and interrupts handed over, sleepers woken."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from chearts_env.shares import Serve, Shares
from chearts_env.tickets import STOP, await_other, load, store


def served(work: Callable[[int, int], None]) -> Serve:
    """Serve tickets in plain Python as `serve_steps` does compiled."""

    def serve(tickets: Any, worker: int, patience: int, begin: int, end: int) -> None:
        done = load(tickets, worker)
        ticket = await_other(tickets, 0, done, patience)
        while ticket not in (done, STOP):
            work(begin, end)
            done = ticket
            store(tickets, worker, done)
            ticket = await_other(tickets, 0, done, patience)

    return serve


@pytest.mark.parametrize("num_threads", [1, 2, 3, 7, 50])
def test_every_share_is_done_once_in_every_run(num_threads: int) -> None:
    """Contract, `num_threads`: shares cover all things, whether threads are hot or have gone to sleep in between."""
    done: list[int] = []

    def work(begin: int, end: int) -> None:
        done.extend(range(begin, end))

    shares = Shares(10, num_threads, work, served(work))
    for run in range(200):
        shares.run()
        assert sorted(done) == list(range(10)), f"run {run}"
        done.clear()
        if run % 20 == 0:
            time.sleep(0.01)


def test_an_error_in_a_thread_is_raised_by_the_caller_and_the_next_run_is_whole() -> None:
    """Contract, kernels: what fails in a thread, as with bounds checks, is not lost."""
    failing = True
    done: list[tuple[int, int]] = []

    def work(begin: int, end: int) -> None:
        if failing and begin > 0:
            raise IndexError(f"share {begin}")
        done.append((begin, end))

    shares = Shares(4, 2, work, served(work))
    with pytest.raises(IndexError, match="share 2"):
        shares.run()
    failing = False
    done.clear()
    shares.run()
    assert sorted(done) == [(0, 2), (2, 4)]


@pytest.mark.skipif(os.name != "posix", reason="interrupts itself with a signal")
def test_threads_are_waited_for_when_a_run_is_interrupted() -> None:
    """Contract, kernels: after Ctrl-C no thread goes on writing into the tables, and the next step is a whole one."""
    finished: list[int] = []
    is_slow = True

    def work(begin: int, end: int) -> None:
        if is_slow and begin == 0:  # the caller's own share is done first, so that it waits for the other
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        elif is_slow:
            time.sleep(0.5)
        finished.append(begin)

    shares = Shares(2, 2, work, served(work))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            shares.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert finished == [0, 1]
    is_slow = False
    for _ in range(3):
        finished.clear()
        shares.run()
        assert sorted(finished) == [0, 1]


def test_threads_end_with_what_they_serve() -> None:
    """Contract, `VectorTables`: tables that are dropped leave no thread behind, awake or asleep."""
    before = set(threading.enumerate())
    for pause in (0.0, 0.05):
        shares = Shares(3, 3, lambda begin, end: None, served(lambda begin, end: None))
        shares.run()
        time.sleep(pause)
        threads = set(threading.enumerate()) - before
        assert len(threads) == 2
        del shares
        for thread in threads:
            thread.join(timeout=10)
            assert not thread.is_alive()
