"""The folder of one run: settings, state, labels, metrics, checkpoints, tables. Every file is whole at any moment."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from chearts_env.whole_files import write_whole, written_beside
from training.checkpoint import FOLDER, versions
from training.config import Config, read_config
from training.labels import LABEL, Labels

METRICS: Final = (
    "seconds", "round", "stage", "labels", "labels_per_second", "batches", "loss", "learning_rate", "seats", "rules",
    "advantage", "low", "high", "decisions", "decisions_per_second", "share_playing", "share_choosing", "foreseen",
    "critic_loss", "ratio", "clipped", "entropy", "divergence",
)  # fmt: skip
METRICS_FILE: Final = "metrics.csv"
#: Seconds are written with one decimal.
_ROUNDED: Final = 0.05
_CONFIG: Final = "config.yaml"
_STATE: Final = "state.json"


@dataclass
class State:
    """How far a run has come."""

    chunks: list[int] = field(default_factory=list)  # number of them, of each round whose labels are complete
    checkpoints: list[str] = field(default_factory=list)  # of each round that is over
    kinds: list[str] = field(default_factory=list)  # floating types to play and to fit in, once chosen
    threads: int | None = None  # to fit with, once chosen
    early_rounds: int = 0  # rounds whose early matches have been played
    step: int = 0  # batches fitted
    seconds: float = 0.0  # of training
    is_finished: bool = False


class RunFolder:
    """One run on disk; `state` is read when it is opened and written by `save_state`."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises ValueError, naming it, for a folder that is damaged or of another version."""
        self.path = path
        try:
            self.config = read_config(path / _CONFIG)
            self.state = State(**json.loads((path / _STATE).read_text("utf-8")))
        except (ValueError, TypeError, OSError) as error:
            raise ValueError(f"{path} is damaged, or a run of another version: {error}") from None
        self.checkpoints = path / FOLDER
        self.self_play = path / "self_play.pt"
        self._labels = path / "labels"
        self._critics = path / "critics"

    @property
    def has_begun(self) -> bool:
        """Whether a checkpoint has been saved."""
        return any((self.checkpoints / name).exists() for name in ("00000000", *self.state.checkpoints))

    @classmethod
    def create(cls, runs: Path, config: Config) -> Self:
        """Make `runs/<time>-<name>` with the resolved settings and what the result depends on."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path = next(each for each in _candidates(runs / f"{stamp}-{config.name}") if not each.exists())
        path.mkdir(parents=True)
        config.save(path / _CONFIG)
        made_with = {"git_commit": _git_commit(), "versions": versions(), "seed": config.seed, "cores": os.cpu_count()}
        write_whole(path / "made_with.json", json.dumps(made_with, indent=2) + "\n")
        write_whole(path / _STATE, json.dumps(asdict(State())))
        return cls(path)

    @classmethod
    def newest_unfinished(cls, runs: Path, name: str | None) -> Self:
        """Open the newest run that is not finished, of that name if one is given; ValueError if none is."""
        for folder in cls.readable(runs):
            if not folder.state.is_finished and name in (None, folder.config.name):
                return folder
        of_name = f" named {name}" if name else ""
        raise ValueError(f"there is no unfinished run{of_name} in {runs} to go on with")

    @classmethod
    def readable(cls, runs: Path) -> Iterator[Self]:
        """Yield the run folders of a place, newest first, without those that are damaged or of another version."""
        for path in sorted(runs.glob("*"), reverse=True):
            if (path / _STATE).is_file():
                with suppress(ValueError):
                    yield cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run folder. Raises ValueError if it is none."""
        if not (path / _STATE).is_file():
            raise ValueError(f"{path} is no run folder: it holds no {_STATE}")
        return cls(path)

    def save_state(self) -> None:
        """Write the state."""
        write_whole(self.path / _STATE, json.dumps(asdict(self.state)))

    def critic_file(self, round_number: int) -> Path:
        """Return where the critic of a round is kept."""
        return self._critics / f"{round_number}.safetensors"

    def save_chunk(self, round_number: int, number: int, labels: Labels) -> None:
        """Keep a chunk of labels."""
        self._labels.mkdir(exist_ok=True)
        with written_beside(self._chunk(round_number, number)) as beside, beside.open("wb") as file:
            np.save(file, labels)

    def num_labels(self, round_number: int, number: int) -> int | None:
        """Return how many labels a chunk made earlier holds, None if there is none."""
        path = self._chunk(round_number, number)
        return _num_rows(path) if path.is_file() else None

    def has_chunks(self, round_number: int, count: int) -> bool:
        """Return whether the first chunks of a round are all there."""
        return all(self._chunk(round_number, number).is_file() for number in range(count))

    def count_labels(self, chunks: Sequence[int]) -> int:
        """Return how many labels the first rounds have, `chunks` of each."""
        return sum(map(_num_rows, self._paths(chunks)))

    def load_labels(self, chunks: Sequence[int], first: int = 0, step: int = 1) -> Labels:
        """Return the labels of the first rounds, `chunks` of each, in their order: all, or every so many-th of them."""
        paths = self._paths(chunks)
        begins = np.cumsum([0, *map(_num_rows, paths)])
        labels = np.empty(len(range(first, begins[-1], step)), LABEL)
        end = 0
        for path, before in zip(paths, begins, strict=False):
            part = np.load(path)[(first - before) % step :: step]
            labels[end : end + len(part)] = part
            end += len(part)
        return labels

    def _paths(self, chunks: Sequence[int]) -> list[Path]:
        return [self._chunk(number, chunk) for number, count in enumerate(chunks) for chunk in range(count)]

    def _chunk(self, round_number: int, number: int) -> Path:
        return self._labels / f"{round_number}-{number:06d}.npy"

    def drop_labels(self) -> None:
        """Delete the labels, and the critics; they are made again from the seed if ever needed."""
        for place in (self._labels, self._critics):
            for path in place.glob("*"):
                path.unlink()
            if place.exists():
                place.rmdir()

    def write_table(self, text: str, rows: list[dict[str, Any]]) -> None:
        """Write the reported matches as text and JSON."""
        write_whole(self.path / "table.txt", text + "\n")
        write_whole(self.path / "table.json", json.dumps(rows, indent=2) + "\n")


class Metrics:
    """Numbers over time, the same ones as CSV and as TensorBoard events."""

    def __init__(self, folder: Path, seconds: float = 0.0) -> None:
        """Begin, or go on after so many seconds of training: what was noted later happens again, and is dropped."""
        # Imported late: it takes a second, and workers import this module's neighbours.
        from torch.utils.tensorboard import SummaryWriter

        path = folder / METRICS_FILE
        kept = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                kept = [row for row in csv.DictReader(file) if float(row["seconds"]) <= seconds + _ROUNDED]
        with written_beside(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, METRICS)
            writer.writeheader()
            writer.writerows(kept)
        self._file = path.open("a", encoding="utf-8", newline="")
        self._csv = csv.DictWriter(self._file, METRICS)
        self._events = SummaryWriter(str(folder), purge_step=_step_of(seconds) + 1 if kept else None)

    def write(self, seconds: float, round_number: int, stage: str, **numbers: Any) -> None:
        """Add one row; `numbers` are among `METRICS`."""
        self._csv.writerow({"seconds": round(seconds, 1), "round": round_number, "stage": stage, **numbers})
        self._file.flush()
        where = "-".join(str(numbers[key]) for key in ("rules", "seats") if key in numbers)
        for name, value in numbers.items():
            if isinstance(value, int | float) and name != "seats":
                tag = "/".join(part for part in (stage, where, name) if part)
                self._events.add_scalar(tag, value, _step_of(seconds))

    def close(self) -> None:
        """Write what is left."""
        self._file.close()
        self._events.close()


def _step_of(seconds: float) -> int:
    """Return the step at which TensorBoard shows what was noted after some seconds."""
    return int(10 * seconds)


def _num_rows(path: Path) -> int:
    return len(np.load(path, mmap_mode="r"))


def _candidates(path: Path) -> Iterator[Path]:
    yield path
    for number in range(2, 1000):
        yield path.with_name(f"{path.name}-{number}")


def _git_commit() -> str | None:
    """Return the commit of the checkout this file stands in, marked where files differ from it; None outside of git."""
    try:
        said = [
            subprocess.run(
                ["git", *command], cwd=Path(__file__).parent, capture_output=True, check=True, text=True
            ).stdout
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return None
    return said[0].strip() + (" with changes" if said[1].strip() else "")
