"""The training commands of README.md run, in a short form."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, commands
from tests.training.test_stages import SHRUNKEN
from training import train

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard


def of_module(*names: str) -> list[str]:
    """The commands that call one of these modules of `training`."""
    return [each for each in commands() if each.startswith(tuple(f"python -m training.{name} " for name in names))]


def run(arguments: list[str], folder: Path) -> str:
    """What a command says, run in a folder."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A folder with `runs`, in which one shrunken run is finished."""
    folder = tmp_path_factory.mktemp("readme")
    short = ("labels.counts=[300]", "ppo.iterations=2", "sizes=[6]")
    assert train.main([str(ROOT / "configs/quick.yaml"), *SHRUNKEN, *short, "--runs", str(folder / "runs")]) == 0
    return folder


def test_readme_calls_no_module_that_is_not_run_here():
    """Each kind of command has its test below."""
    called = {each.split()[2] for each in commands() if each.startswith("python -m training.")}
    assert called == {"training.evaluate", "training.train", "training.plot", "training.export"}


@pytest.mark.parametrize("command", of_module("evaluate"))
def test_readme_evaluations_run(command: str, tmp_path: Path) -> None:
    """Each with its own arguments, on two deals, in a folder of its own."""
    arguments = shlex.split(command)[1:]
    arguments[arguments.index("--deals") + 1] = "2"
    assert "95 %" in run(arguments, tmp_path)


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.parametrize("command", of_module("train"))
def test_readme_trainings_run(command: str, tmp_path: Path) -> None:
    """With their overrides, shrunken."""
    arguments = shlex.split(command)[1:]
    short = [*SHRUNKEN, "labels.counts=[300]", "sizes=[6]", "--runs", str(tmp_path / "runs")]
    assert "run folder" in run([*arguments, *short], ROOT)


@pytest.mark.train
@pytest.mark.parametrize("command", of_module("plot", "export"))
def test_readme_plots_and_exports_run(command: str, runs: Path, tmp_path: Path) -> None:
    """On a run that is there; the file is written."""
    arguments = shlex.split(command)[1:]
    file = tmp_path / arguments[arguments.index("-o") + 1]
    arguments[arguments.index("-o") + 1] = str(file)
    (finished,) = (runs / "runs").iterdir()
    arguments = [str(finished) if argument == "runs/*" else argument for argument in arguments]
    run(arguments, ROOT)
    assert file.stat().st_size > 10_000
