"""The training commands of README.md run, in a short form."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import README, commands


@pytest.mark.parametrize("command", [command for command in commands() if command.startswith("python -m training.")])
def test_readme_training_commands_run(command: str, tmp_path: Path) -> None:
    """Each with its own arguments, on two deals, in a folder of its own."""
    arguments = shlex.split(command)[1:]
    arguments[arguments.index("--deals") + 1] = "2"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(README.parent)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "95 %" in done.stdout
