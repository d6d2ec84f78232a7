"""Settings shared by all tests.

Tests of the library stand directly in `tests/`; they may import numpy, numba, gymnasium, pettingzoo and `chearts_env`.
Those that need `baselines` stand in `tests/baselines/`, those that need torch or `training` in `tests/training/`:
CI leaves these folders out where the checkout or torch is not installed.
"""

from __future__ import annotations

import importlib.metadata
import os
import signal

import pytest

SHOWN = ("numpy", "numba", "gymnasium", "pettingzoo", "torch")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so all that they start would.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--thin`, for runs in which every step is slow, and `--games` and `--hands`, for runs that play many."""
    parser.addoption(
        "--thin", type=int, metavar="N", help="of each test's parameter sets run at most N, spread evenly over them"
    )
    parser.addoption(
        "--games", type=int, default=20, metavar="N", help="whole games of each opponent, size and preset (default: 20)"
    )
    parser.addoption(
        "--hands", type=int, default=8, metavar="N", help="hands of each slow opponent, size and preset (default: 8)"
    )


def pytest_report_header() -> str:
    """Name the versions that decide what is being tested."""
    versions = []
    for name in SHOWN:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    switches = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")]
    return "with: " + ", ".join(versions + switches)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Thin the tests out if asked to, and skip what only compiled code can show when the compiler is off."""
    most = config.getoption("--thin")
    if most:
        kept = set(_spread(items, most))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        for item in items:
            if item.get_closest_marker("jit"):
                item.add_marker(pytest.mark.skip(reason="NUMBA_DISABLE_JIT is set: there is no compiled code to test"))


def _spread(items: list[pytest.Item], most: int) -> list[pytest.Item]:
    """Return at most so many items of each test function, the first and the last among them."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = []
    for group in groups.values():
        count = min(most, len(group))
        kept += [group[number * (len(group) - 1) // max(count - 1, 1)] for number in range(count)]
    return kept
