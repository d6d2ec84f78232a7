"""Worker processes end with the process they work for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

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
