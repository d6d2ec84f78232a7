"""What needs other libraries runs where they are: in the environment of `make test-libraries`."""

from __future__ import annotations

from importlib.util import find_spec

NEEDED = ("ray", "tianshou", "torchrl", "sb3_contrib", "pyspiel")
MISSING = [name for name in NEEDED if find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_report_header() -> str:
    """Say what is left out."""
    return f"tests/libraries left out, for want of {', '.join(MISSING)}: make test-libraries" if MISSING else ""
