"""Workers on a Ray cluster: what `training.workers.Workers` does with processes, with actors on any number of machines.

Ray finds the machines, carries work, weights and results, and says when an actor has died. Here stands what a training
run needs beside that: results in the order of the work, and work done again, by another actor, that one took with it.
"""

# ruff: noqa: T201 - it tells the person at the terminal

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import torch

from training.checkpoint import versions
from training.ray_cluster import brief

Result = TypeVar("Result")

#: Pieces that an actor has at a time: one to do and one that waits, so that it does not.
_AT_A_TIME: Final = 2
#: A piece that has cost so many actors is at fault itself; when so many in a row could not start, no more are tried.
_MOST_LOST: Final = 5
#: Seconds until a lack of actors is told.
_TELL_AFTER: Final = 30.0
_ROOT: Final = Path(__file__).resolve().parents[1]


def made_with() -> dict[str, str]:
    """Return what decides a worker's results: versions, and a digest of the sources."""
    digest = hashlib.sha256()
    for package in ("chearts_env", "baselines", "training"):
        for path in sorted((_ROOT / package).rglob("*.py")):
            digest.update(path.relative_to(_ROOT).as_posix().encode() + path.read_bytes())
    return versions() | {"sources": digest.hexdigest()[:12]}


class _Actor:
    """What Ray runs in a process of its own, on one core."""

    def __init__(self) -> None:
        torch.set_num_threads(1)

    def begin(self) -> dict[str, str]:
        return made_with()

    def do(self, work: Callable[[], Result]) -> Result:
        return work()


@dataclass(eq=False)
class _Worker:
    """An actor from here; `load` counts the pieces it has."""

    handle: Any
    load: int = 0
    has_begun: bool = False


@dataclass
class _Piece:
    """One piece of work and its place in the order; `lost` counts the actors that died with it."""

    number: int
    work: Callable[[], Any]
    lost: int = 0


@dataclass(frozen=True)
class _InStore:
    """A value in Ray's object store, to which each machine copies it once."""

    reference: Any

    def get(self) -> Any:
        import ray

        return ray.get(self.reference)


@dataclass
class _Order:
    """How far one call of `in_order` has come."""

    works: Iterator[tuple[int, Callable[[], Any]]]
    begun: dict[Any, _Piece] = field(default_factory=dict)
    again: list[_Piece] = field(default_factory=list)
    done: dict[int, Any] = field(default_factory=dict)
    is_all_begun: bool = False

    def next_piece(self, most: int) -> _Piece | None:
        """Return what to begin next, None if there is nothing or `most` pieces are on their way already."""
        if self.again:
            return self.again.pop(0)
        if self.is_all_begun or len(self.begun) + len(self.done) >= most:
            return None
        piece = next(self.works, None)
        self.is_all_begun = piece is None
        return None if piece is None else _Piece(*piece)


class RayWorkers:
    """Actors of one core each, as many as there is room for and at most `num_workers`; they end with the `with` block.

    `join` comes first. Raises ConnectionError if workers cannot begin, or die again and again.
    """

    def __init__(self, num_workers: int) -> None:
        import ray

        self._num_workers = num_workers
        self._workers: list[_Worker] = []
        self._made_with = made_with()
        self._begins: dict[Any, _Worker] = {}  # by what each is asked first
        self._does: dict[Any, _Worker] = {}  # by what each has to do, of orders past, too
        self._failed_begins = 0
        self._class = ray.remote(num_cpus=1, max_restarts=0)(_Actor)
        for _ in range(num_workers):
            self._hire()

    @property
    def num_at_work(self) -> int:
        """How many have found room and begun."""
        return sum(worker.has_begun for worker in self._workers)

    def share(self, value: Any) -> _InStore:
        """Hand something to all workers at once; it stays while what is returned, or work that has it, does."""
        import ray

        return _InStore(ray.put(value))

    def in_order(self, works: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """Yield results in the order of the work, which may be endless: only a little is begun ahead.

        Work that is lost with its actor is begun again; each piece comes out once. Raises ConnectionError if it is
        lost again and again.
        """
        order = _Order(enumerate(works))
        number = 0
        while True:
            self._hand_out(order)
            if number in order.done:
                yield order.done.pop(number)
                number += 1
            elif order.is_all_begun and not order.begun and not order.again:
                return
            else:
                self._take(order, None)

    def _hand_out(self, order: _Order) -> None:
        most = 2 * _AT_A_TIME * self._num_workers
        while True:
            free = [worker for worker in self._workers if worker.has_begun and worker.load < _AT_A_TIME]
            if not free and self._does:
                return
            if not free:
                self._wait_for_worker()
                continue
            piece = order.next_piece(most)
            if piece is None:
                return
            worker = min(free, key=lambda each: each.load)
            reference = worker.handle.do.remote(piece.work)
            worker.load += 1
            self._does[reference] = worker
            order.begun[reference] = piece

    def _wait_for_worker(self) -> None:
        import ray

        while not self._take(_Order(iter(())), _TELL_AFTER):
            room, free = (each.get("CPU", 0) for each in (ray.cluster_resources(), ray.available_resources()))
            print(
                f"ray: no worker has begun yet; the cluster has {room:.0f} cores, {free:.0f} of them free", flush=True
            )

    def _take(self, order: _Order, seconds: float | None) -> bool:
        """Wait until an actor has begun, has done something or has died, and note it; return whether one has."""
        import ray

        ready, _ = ray.wait([*self._does, *self._begins], num_returns=1, timeout=seconds)
        for reference in ready:
            if reference in self._begins:
                self._note_begun(self._begins.pop(reference), reference)
            else:
                self._note_done(self._does.pop(reference), reference, order)
        return bool(ready)

    def _note_begun(self, worker: _Worker, reference: Any) -> None:
        import ray

        try:
            theirs = ray.get(reference)
        except ray.exceptions.RayError as error:
            self._failed_begins += 1
            if self._failed_begins < _MOST_LOST:
                self._replace(worker)
                return
            self._dismiss(worker)
            if not self._workers:
                raise ConnectionError(f"ray: workers cannot begin: {brief(error)}") from None
            print(f"ray: a worker cannot begin and is done without: {brief(error)}", flush=True)
            return
        wrong = [
            f"{key} {theirs[key]} there, {mine} here" for key, mine in self._made_with.items() if theirs[key] != mine
        ]
        if wrong:
            raise ConnectionError(f"ray: a worker is made of other parts than this process: {'; '.join(wrong)}")
        self._failed_begins = 0
        worker.has_begun = True

    def _note_done(self, worker: _Worker, reference: Any, order: _Order) -> None:
        import ray

        worker.load -= 1
        piece = order.begun.pop(reference, None)  # None where an earlier order was left before its end
        try:
            result = ray.get(reference)
        except ray.exceptions.RayTaskError:
            if piece is not None:
                raise  # the work's own error
        except ray.exceptions.RayError as error:
            if worker in self._workers:
                print(f"ray: a worker has died and is replaced: {brief(error)}", flush=True)
                self._replace(worker)
            if piece is not None:
                piece.lost += 1
                if piece.lost >= _MOST_LOST:
                    raise ConnectionError(
                        f"ray: {_MOST_LOST} workers died with the same work: {brief(error)}"
                    ) from None
                order.again.append(piece)
        else:
            if piece is not None:
                order.done[piece.number] = result

    def _hire(self) -> None:
        worker = _Worker(self._class.remote())
        self._workers.append(worker)
        self._begins[worker.handle.begin.remote()] = worker

    def _dismiss(self, worker: _Worker) -> None:
        import ray

        ray.kill(worker.handle)  # it may only be out of reach
        self._workers.remove(worker)

    def _replace(self, worker: _Worker) -> None:
        self._dismiss(worker)
        self._hire()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        """End the actors, and leave the cluster."""
        import ray

        if ray.is_initialized():
            for worker in self._workers:
                ray.kill(worker.handle)
            ray.shutdown()
