"""`python -m chearts_env.bench`: how many decisions a second this machine makes, under random legal play.

Everything compared is measured in short turns, one after the other, again and again, so that a noisy moment hits all
alike; reported are the median, the least and the most of these repetitions. Speeds hold for the machine and versions
printed with them, and for no other. `--peers` adds other environments (`bench_peers`), measured in the same turns, and
`--also module:function` whatever that function yields for a number of seats: name, unit, and work that returns units
done and seconds taken, such as the opponents of `baselines.bench_opponents:works`.

| measured | what one unit of it is |
|---|---|
| engine alone | `step_table` and a uniformly random legal choice: no observation, one table for 64 steps |
| batched step | `VectorTables.step`: legality, step, auto-reset, mask and observation of the next mover |
| batched loop | the same and choosing all actions from the masks, compiled |
| batched step, N threads / N processes | with `num_threads=N`, beside N processes at once that share the tables out |
| Game from Python | `Game.legal_actions` and `Game.step` |
| AEC raw, AEC wrapped | a turn of `raw_env()`, `env()`: `last()`, a legal action from the mask, `step()` |
| redeal, one / many worlds | `Game.redeal` from moments all over a hand; worlds drawn from one view at once |
| import, cold start, warm start | seconds to `import chearts_env`; from process start to the first batched step |
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from chearts_env.bench_peers import PEER_PACKAGES, Work, find_peers
from chearts_env.bench_play import DECISIONS, in_processes, our_works, rate_of
from chearts_env.rules import MAX_PLAYERS, MIN_PLAYERS
from chearts_env.whole_files import write_whole

#: Raise it when a key of the JSON changes its name or meaning.
FORMAT: Final = 1
_SHOWN_VERSIONS: Final = ("numpy", "numba", "gymnasium", "pettingzoo")
_FIRST_STEP: Final = (
    "from chearts_env import VectorTables; tables = VectorTables(num_tables=64); "
    "tables.step(tables.action_masks.argmax(axis=1)); print('stepped', flush=True)"
)
_IMPORT: Final = "from time import perf_counter as t; begin = t(); import chearts_env; print(t() - begin)"


# ----------------------------------------------------------------------------------------------------------- measuring


@dataclass
class Subject:
    """Something measured: `rate(seconds)` does it for about that long and returns units a second."""

    name: str
    seats: int | None
    unit: str
    rate: Callable[[float], float]
    values: list[float] = field(default_factory=list)  # one for each repetition, in order

    def to_dict(self) -> dict[str, Any]:
        """Return what the JSON says of it."""
        return {
            "name": self.name,
            "seats": self.seats,
            "unit": self.unit,
            "median": median(self.values),
            "min": min(self.values),
            "max": max(self.values),
            "values": self.values,
        }


def _repeating(work: Work) -> Callable[[float], float]:
    work()  # compiles, and warms caches
    return lambda seconds: rate_of(work, seconds)


def our_subjects(num_players: int, num_tables: int, num_workers: int, pool: ProcessPoolExecutor) -> list[Subject]:
    """Return all that is measured of this package for one number of seats, warmed up."""
    subjects = [
        Subject(name, num_players, unit, _repeating(work))
        for name, unit, work in our_works(num_players, num_tables, num_workers)
    ]
    in_processes(pool, num_players, num_tables, num_workers, 0.0)
    beside_threads = Subject(
        f"batched step, {num_workers} processes",
        num_players,
        DECISIONS,
        lambda seconds: in_processes(pool, num_players, num_tables, num_workers, seconds),
    )
    return [*subjects, beside_threads]


def measure(subjects: Sequence[Subject], seconds: float, repetitions: int) -> None:
    """Measure everything in turns, so that noise hits all alike."""
    for _ in range(repetitions):
        for subject in subjects:
            subject.values.append(subject.rate(seconds))


def measure_starts(repetitions: int) -> list[Subject]:
    """Return seconds of `import chearts_env`, and from process start to the first batched step, cold once and warm."""
    imports = Subject("import chearts_env", None, "s", float)
    cold = Subject("cold start", None, "s", float)
    warm = Subject("warm start", None, "s", float)
    with tempfile.TemporaryDirectory() as folder:
        cold.values.append(_seconds_to_first_step(folder))
        for _ in range(repetitions):
            warm.values.append(_seconds_to_first_step(folder))
            imported = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
            imports.values.append(float(imported.stdout))
    return [imports, cold, warm]


def _seconds_to_first_step(cache_folder: str) -> float:
    begin = perf_counter()
    command = [sys.executable, "-c", _FIRST_STEP]
    with subprocess.Popen(
        command, env=os.environ | {"NUMBA_CACHE_DIR": cache_folder}, stdout=subprocess.PIPE, text=True
    ) as process:
        said = process.stdout.readline() if process.stdout else ""
        seconds = perf_counter() - begin
    if said != "stepped\n":
        raise RuntimeError(f"a new process failed to step tables: it said {said!r} and ended with {process.returncode}")
    return seconds


# ----------------------------------------------------------------------------------------------------------- reporting


def ratios_of(subjects: Sequence[Subject], beside: dict[str, str]) -> list[dict[str, Any]]:
    """Return ours / theirs for each peer named in `beside` and each number of seats: medians of ratios in one turn."""
    of_name = {subject.name: subject for subject in subjects}
    return [
        {
            "ours": ours.name,
            "seats": ours.seats,
            "theirs": theirs,
            "ratio": median(a / b for a, b in zip(ours.values, of_name[theirs].values, strict=True)),
        }
        for theirs, our_name in beside.items()
        for ours in subjects
        if ours.name == our_name
    ]


def cpu_model() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _versions(packages: Sequence[str]) -> dict[str, str]:
    versions = {"chearts_env": str(sys.modules["chearts_env"].__version__), "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def report_as_text(report: dict[str, Any]) -> str:
    """Return a report, as it is written to JSON, as tables for people."""
    machine, settings = report["machine"], report["settings"]
    seats = settings["seats"]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; {report['date']}",
        ", ".join(f"{name} {version}" for name, version in report["versions"].items()),
        f"{settings['tables']} tables in a batch; "
        f"median (min … max) of {settings['repetitions']} turns of {settings['seconds']} s",
        "",
        _row("", [f"{n} seats" for n in seats]),
    ]
    by_name: dict[tuple[str, str], list[str]] = {}
    for result in report["results"]:
        shown = f"{_number(result['median'])} ({_number(result['min'])} … {_number(result['max'])})"
        by_name.setdefault((result["name"], result["unit"]), []).append(shown)
    lines += [_row(f"{name}, {unit}", shown) for (name, unit), shown in by_name.items()]
    if report["peers"] is not None:
        lines += ["", _row("ours / theirs", [f"{n} seats" for n in seats])]
        by_pair: dict[str, list[str]] = {}
        for each in report["peers"]["ratios"]:
            by_pair.setdefault(f"{each['ours']} / {each['theirs']}", []).append(f"{each['ratio']:.2f}")
        lines += [_row(pair, shown) for pair, shown in by_pair.items()]
        lines += [f"not measured: {name}: {why}" for name, why in report["peers"]["missing"].items()]
    return "\n".join(lines)


def _row(head: str, cells: Sequence[str]) -> str:
    return f"{head:<48}" + "".join(f"{cell:>28}" for cell in cells)


def _number(value: float) -> str:
    for size, letter in ((1e6, " M"), (1e3, " k"), (1.0, "")):
        if value >= size:
            return f"{value / size:.3g}{letter}" if value < 1000 * size - 0.5 * size else f"{value / size:.0f}{letter}"
    return f"{value:.3g}"


def _works_named(name: str) -> Callable[[int], Iterable[tuple[str, str, Work]]]:
    module, _, function = name.partition(":")
    try:
        found: Callable[[int], Iterable[tuple[str, str, Work]]] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise argparse.ArgumentTypeError(f"{name!r} cannot be loaded: it is no function")
    return found


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chearts_env.bench", description="Measure speed on this machine.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--peers", action="store_true", help="also measure other environments that are installed")
    parser.add_argument("--also", type=_works_named, metavar="MODULE:FUNCTION", help="also measure what that yields")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of each turn (default: 0.2)")
    parser.add_argument("--repetitions", type=int, default=7, help="turns for each thing measured (default: 7)")
    parser.add_argument("--seats", type=int, nargs="+", default=[6, 8, 11], choices=range(MIN_PLAYERS, MAX_PLAYERS + 1))
    parser.add_argument("--threads", type=int, default=2, help="threads, and processes beside them (default: 2)")
    parser.add_argument("--tables", type=int, default=4096, help="tables in a batch (default: 4096)")
    parser.add_argument("--no-starts", action="store_true", help="leave out import, cold and warm start")
    arguments = parser.parse_args(given)
    if min(arguments.seconds, arguments.repetitions, arguments.threads, arguments.tables) <= 0:
        parser.error("--seconds, --repetitions, --threads and --tables must be positive")
    return arguments


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print a table and write JSON if asked to."""
    arguments = _arguments(given)
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    starts = [] if arguments.no_starts else measure_starts(min(3, arguments.repetitions))
    beside, missing, subjects = {}, {}, []
    with ProcessPoolExecutor(arguments.threads, multiprocessing.get_context("spawn")) as pool:
        for num_players in dict.fromkeys(arguments.seats):
            subjects += our_subjects(num_players, arguments.tables, arguments.threads, pool)
            more = arguments.also(num_players) if arguments.also else ()
            subjects += [Subject(name, num_players, unit, _repeating(work)) for name, unit, work in more]
        for peer, found in find_peers(arguments.tables) if arguments.peers else ():
            if isinstance(found, str):
                missing[peer.name] = found
            else:
                beside[peer.name] = peer.beside
                subjects.append(Subject(peer.name, None, DECISIONS, _repeating(found)))
        measure(subjects, arguments.seconds, arguments.repetitions)
    packages = _SHOWN_VERSIONS + (PEER_PACKAGES if arguments.peers else ())
    report = {
        "format": FORMAT,
        "date": started,
        "machine": {"cpu": cpu_model(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": _versions(packages),
        "settings": {
            name: getattr(arguments, name) for name in ("seats", "tables", "threads", "seconds", "repetitions")
        },
        "results": [subject.to_dict() for subject in [*subjects, *starts]],
        "peers": {"missing": missing, "ratios": ratios_of(subjects, beside)} if arguments.peers else None,
    }
    print(report_as_text(report))  # noqa: T201 - printing is this command's job
    if arguments.json:
        write_whole(arguments.json, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
