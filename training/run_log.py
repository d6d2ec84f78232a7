"""What a run tells: its clock, its progress bars, and its metrics."""

from __future__ import annotations

import sys
import time
from typing import Any

from tqdm import tqdm

from training.matches import Row
from training.run_folder import Metrics, RunFolder


class RunLog:
    """Tells the person at the terminal, and the folder, how far one run has come."""

    def __init__(self, folder: RunFolder) -> None:
        """Go on with the clock where the folder's state has it; metrics begin with `begin`."""
        self._folder = folder
        self._began = time.perf_counter() - folder.state.seconds
        self._metrics: Metrics | None = None
        self.result = "none yet"

    def begin(self) -> None:
        """Set the clock to where the state has it, and go on with the metrics from there."""
        self._began = time.perf_counter() - self._folder.state.seconds
        self._metrics = Metrics(self._folder.path, self._folder.state.seconds)

    def close(self) -> None:
        """Write what is left."""
        if self._metrics is not None:
            self._metrics.close()

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return time.perf_counter() - self._began

    def note_time(self) -> None:
        """Keep the clock, and all else of the state."""
        self._folder.state.seconds = self.seconds
        self._folder.save_state()

    def write(self, round_number: int, stage: str, **numbers: Any) -> None:
        """Add one row of metrics, now."""
        assert self._metrics is not None, "`begin` comes first"
        self._metrics.write(self.seconds, round_number, stage, **numbers)

    def write_match(self, round_number: int, stage: str, row: Row) -> None:
        """Add one match to the metrics."""
        low, high = row["interval95"]
        self.write(
            round_number, stage, seats=row["seats"], rules=f"{row['field']}-{row['rules']}",
            advantage=round(row["advantage"], 4), low=round(low, 4), high=round(high, 4),
        )  # fmt: skip

    def bar(self, description: str, total: int, unit: str) -> Any:
        """Return a progress bar."""
        # A log file gets a line every ten seconds, a person at a terminal ten a second.
        every = 0.1 if sys.stdout.isatty() else 10.0
        bar = tqdm(
            desc=description, total=total, unit=" " + unit, unit_scale=True, dynamic_ncols=True, file=sys.stdout,
            mininterval=every, maxinterval=10 * every,
        )  # fmt: skip
        self.tell(bar)
        return bar

    def tell(self, bar: Any, more: str = "") -> None:
        """Have a bar say the latest result and the time that is left at most."""
        left = int(max(0.0, self._folder.config.seconds_in_all - self.seconds))
        told = f"saved a hand: {self.result}, at most {left // 60}:{left % 60:02d} of training left{more}"
        bar.set_postfix_str(told, refresh=False)
