"""Workers: what does numbered pieces of work. Here as processes of one thread each, or in this process.

`training.ray_workers` has the same on other machines. A piece says all it needs, so that it does not matter who does
it, nor whether somebody began it before.

Spawned, not forked: torch and threads do not survive a fork. Ctrl-C is for the parent: it has the workers drop what
they do, and ends them in order.
"""

from __future__ import annotations

import _thread
import multiprocessing
import os
import pickle
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol, Self, TypeVar

import torch

from training.foresight import Foresight
from training.labels import Chunk, Labels, make_labels
from training.outcomes import Outcomes, make_outcomes
from training.policy import NetworkPolicy
from training.precision import KINDS

Work = TypeVar("Work")
Result = TypeVar("Result")


_SPAWN: Final = multiprocessing.get_context("spawn")
#: So often in a row may a process die before a result comes.
_MOST_LOST: Final = 5
#: Policies that a process keeps: those at the tables of one iteration of self-play, and all snapshots it may meet.
_MOST_POLICIES: Final = 16
#: Each shared value has its own, whoever shares it: policies are kept by it.
_numbers: Final = count()


class Shared(Protocol):
    """Something that all workers may ask for, handed over once; itself it is only a few words that travel with work."""

    def get(self) -> Any:
        """Return it, here or in another process."""


class WorkerSet(Protocol):
    """Workers of either kind. They end with their `with` block."""

    def share(self, value: Any) -> Shared:
        """Hand something to all workers at once, such as the weights of an update."""

    def in_order(self, works: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """Yield results in the order of the work, which may be endless: only a little is begun ahead.

        Processes that die are replaced, and what they took with them is done again. Raises ConnectionError if that does
        not help.
        """

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        """End them."""


class Player(Protocol):
    """Who plays, as words that travel to another process."""

    def policy(self) -> NetworkPolicy:
        """Return its policy."""

    def __hash__(self) -> int:
        """Tell players apart, here and in every other process."""


@dataclass(frozen=True)
class SavedPlayer:
    """A checkpoint on a disk that the workers see, and the floating type to play it in."""

    checkpoint: Path
    kind: str

    def policy(self) -> NetworkPolicy:
        """Load it."""
        return NetworkPolicy.load(self.checkpoint, KINDS[self.kind])


@dataclass(frozen=True)
class SharedPlayer:
    """A shared network and the floating type to play it in; `temperature` is in units of its output."""

    network: Shared
    kind: str
    temperature: float | None = None

    def policy(self) -> NetworkPolicy:
        """Make it of the network as it was shared."""
        return NetworkPolicy(self.network.get(), KINDS[self.kind], temperature=self.temperature, points_per_unit=1)


@lru_cache(maxsize=_MOST_POLICIES)
def network_policy(player: Player) -> NetworkPolicy:
    """Return a player's policy, made once in each process."""
    return player.policy()


@dataclass(frozen=True)
class SharedForesight:
    """A foresight that has been handed to all workers."""

    foresight: Shared

    def get(self) -> Foresight:
        """Return it, fetched once in each process."""
        return _fetched(self)


@lru_cache(maxsize=1)
def _fetched(shared: SharedForesight) -> Foresight:
    foresight: Foresight = shared.foresight.get()
    return foresight


@dataclass(frozen=True)
class LabelWork:
    """Make one chunk of labels; `player` is the network of the round before, `foresight` ends its playouts early."""

    chunk: Chunk
    player: Player | None
    foresight: SharedForesight | None = None

    def __call__(self) -> Labels:
        """Do it."""
        foresight = self.foresight.get() if self.foresight else None
        return make_labels(self.chunk, network_policy(self.player).choose if self.player else None, foresight)


@dataclass(frozen=True)
class OutcomeWork:
    """Make one chunk of outcomes of the hands that a network plays."""

    chunk: Chunk
    player: Player
    explore: float

    def __call__(self) -> Outcomes:
        """Do it."""
        return make_outcomes(self.chunk, network_policy(self.player).choose, self.explore)


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


@dataclass(frozen=True)
class _Here:
    """A value that stays in this process."""

    number: int
    value: Any = field(compare=False)

    def get(self) -> Any:
        return self.value


@dataclass(frozen=True)
class _InFile:
    """A value in a file, which goes when nobody here knows of it any more."""

    path: Path

    def get(self) -> Any:
        return pickle.loads(self.path.read_bytes())


class Workers:
    """A pool of worker processes; with none, work is done here when its turn comes.

    It ends with its `with` block: what the processes have begun is finished first, what waits is dropped. After Ctrl-C
    what they have begun is dropped, too.
    """

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self._pool: ProcessPoolExecutor | None = None
        if num_workers:
            self._folder = TemporaryDirectory(prefix="chearts-", ignore_cleanup_errors=True)
            self._stop, self._no_stop = _SPAWN.Pipe(duplex=False)  # stays silent; its end is the sign to stop
            self._pool = self._new_pool()

    def share(self, value: Any) -> Shared:
        """Hand something to all workers at once; it stays while what is returned, or work that has it, does."""
        number = next(_numbers)
        if self._pool is None:
            return _Here(number, value)
        shared = _InFile(Path(self._folder.name) / str(number))
        shared.path.write_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        weakref.finalize(shared, shared.path.unlink, missing_ok=True)
        return shared

    def in_order(self, works: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """Yield results in the order of the work, which may be endless: only a little is begun ahead."""
        if self._pool is None:
            yield from (work() for work in works)
            return
        ahead: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        try:
            for work in works:
                ahead.append((work, self._begun(work)))
                if len(ahead) > 2 * self._num_workers:
                    yield self._first_of(ahead)
            while ahead:
                yield self._first_of(ahead)
        finally:
            for _, future in ahead:
                future.cancel()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._num_workers, _SPAWN, _begin_worker, (self._stop,))

    def _begun(self, work: Callable[[], Any]) -> Future[Any]:
        assert self._pool is not None
        try:
            with _interrupts_held_back():
                return self._pool.submit(_do, work)
        except BrokenProcessPool as error:  # to be found by `_first_of`, as that of work begun before
            lost: Future[Any] = Future()
            lost.set_exception(error)
            return lost

    def _first_of(self, ahead: deque[tuple[Callable[[], Any], Future[Any]]]) -> Any:
        """Return the first result and take it off; a pool of which a process has died is of no more use."""
        for _ in range(_MOST_LOST):
            try:
                result = ahead[0][1].result()
            except BrokenProcessPool:
                assert self._pool is not None
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = self._new_pool()
                for place, (work, future) in enumerate(ahead):
                    if future.cancelled() or not future.done() or isinstance(future.exception(), BrokenProcessPool):
                        ahead[place] = (work, self._begun(work))
                continue
            ahead.popleft()
            return result
        raise ConnectionError(f"worker processes have died {_MOST_LOST} times in a row; is there memory enough?")

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
            self._folder.cleanup()
