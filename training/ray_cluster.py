"""Joining a Ray cluster, and what its errors say in one line."""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import sys
from typing import Any, Final

#: Seconds in which somebody must answer at an address, and prove to be a head.
_PATIENCE: Final = 5.0
_PATIENCE_WITH_HEAD: Final = 20.0
#: How a line begins that names an error.
_NAMED: Final = re.compile(r"[\w.]+(Error|Exception): ")


def join(address: str) -> None:
    """Join a Ray cluster: "auto" is the one that runs on this machine, HOST:PORT is that of a head elsewhere.

    "local" starts one on this machine that ends with this process. Raises ValueError for an address that cannot be one
    and where Ray is not installed, ConnectionError where nobody answers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ValueError(f"--ray {address}: Ray is not installed; pip install 'chearts-env[ray]' brings it") from None
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == "local":
        ray.init("local", include_dashboard=False, **quiet)
        return
    if address != "auto":
        host, _, port = address.rpartition(":")
        if not host or "/" in address or not port.isdecimal():
            raise ValueError(f"--ray {address} is not allowed: it must be auto, local, or HOST:PORT of a head")
        try:
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        except (OSError, OverflowError) as error:
            raise ConnectionError(f"--ray {address}: nobody answers there ({error})") from None
        if not _is_head(address):
            raise ConnectionError(f"--ray {address}: what answers there is no Ray head of version {ray.__version__}")
    try:
        ray.init(address=address, **quiet)
    except Exception as error:  # of many kinds, each a refusal to join
        raise ConnectionError(f"--ray {address}: no Ray cluster could be joined ({brief(error)})") from None


def _is_head(address: str) -> bool:
    """Ask by Ray's own command: `ray.init` itself would try for minutes."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        return subprocess.run(command, capture_output=True, timeout=_PATIENCE_WITH_HEAD, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def brief(error: BaseException) -> str:
    """Return the line that says most: the last that names an error, as tracebacks end, or else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if _NAMED.match(line)]
    return [*named[-1:], *lines[:1], type(error).__name__][0]
