"""Worker processes end with the process they work for, and drop what they do when it is interrupted."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from training.workers import Workers, _InFile

PROGRAM = """
    import os
    import sys
    import time
    from training.workers import Workers

    if __name__ == "__main__":
        with Workers(2) as workers:
            print(*set(workers.in_order([os.getpid] * 20)), flush=True)
            time.sleep(60)
"""


def is_alive(process: int) -> bool:
    """Say whether a process runs; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """A kill at any moment leaves no worker waiting for work that never comes."""
    program = tmp_path / "parent.py"
    program.write_text(textwrap.dedent(PROGRAM))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    parent = subprocess.Popen([sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert workers
    assert all(map(is_alive, workers))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    patience = time.monotonic() + 30
    while any(map(is_alive, workers)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))


@dataclass(frozen=True)
class Slower:
    """The lower the number, the longer it takes."""

    number: int

    def __call__(self) -> int:
        time.sleep(0.02 * (12 - self.number))
        return self.number


def test_results_come_in_the_order_of_the_work() -> None:
    """Whatever is finished first, more of it than is begun ahead."""
    with Workers(2) as workers:
        assert list(workers.in_order(Slower(number) for number in range(12))) == list(range(12))


@dataclass(frozen=True)
class Deadly:
    """Kills its process the first time, or every time; says its number otherwise."""

    number: int
    folder: Path
    is_always: bool = False

    def __call__(self) -> int:
        mark = self.folder / str(self.number)
        if self.number % 5 == 2 and (self.is_always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number


@pytest.mark.slow
def test_work_that_died_with_its_process_is_done_again(tmp_path: Path) -> None:
    """Once in the results, in its place."""
    with Workers(2) as workers:
        assert list(workers.in_order(Deadly(number, tmp_path) for number in range(9))) == list(range(9))
        assert list(workers.in_order([os.getpid]))  # the new processes serve what follows
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "7"]


@pytest.mark.slow
def test_work_that_kills_every_process_ends_the_run_in_a_line(tmp_path: Path) -> None:
    """Not in a traceback of the pool's, and not never."""
    with Workers(1) as workers, pytest.raises(ConnectionError, match="worker processes have died 5 times in a row"):
        list(workers.in_order(Deadly(number, tmp_path, is_always=True) for number in range(4)))


@dataclass(frozen=True)
class Long:
    """Work for a minute, in many small steps as a match is."""

    folder: Path

    def __call__(self) -> None:
        (self.folder / "begun").touch()
        for _ in range(1200):
            time.sleep(0.05)
        (self.folder / "finished").touch()


def test_workers_drop_what_they_do_when_their_parent_is_interrupted(tmp_path: Path) -> None:
    """Nobody waits for a result that nobody wants; what was to be begun is not begun either."""
    works: list = [os.getpid, Long(tmp_path), Long(tmp_path / "never")]

    def interrupt() -> None:
        with Workers(1) as workers:
            for _ in workers.in_order(works):
                patience = time.monotonic() + 30
                while not (tmp_path / "begun").exists() and time.monotonic() < patience:
                    time.sleep(0.02)
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert os.listdir(tmp_path) == ["begun"]


def test_what_is_shared_stays_for_as_long_as_somebody_has_it() -> None:
    """Workers get it whole; its file goes with the last mention of it, and all with the pool."""
    with Workers(2) as workers:
        shared = workers.share({"weights": list(range(1000))})
        assert isinstance(shared, _InFile)
        place = shared.path
        assert list(workers.in_order([shared.get] * 5)) == [{"weights": list(range(1000))}] * 5
        assert place.exists()
        del shared
        gc.collect()
        assert not place.exists()
        kept = workers.share("until the end")
    assert not place.parent.exists()
    with Workers(0) as workers:
        value: list[int] = []
        assert workers.share(value).get() is value
        assert workers.share(1) != workers.share(1) != kept
