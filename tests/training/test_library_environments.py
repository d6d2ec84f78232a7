"""The environments of the library examples: none is forgotten, all versions are pinned, what fails to install fails."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from io import BytesIO
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.libraries import environments
from tests.libraries.environments import ENVIRONMENTS, HERE, ROOT


def test_every_example_is_tested_in_one_environment():
    """The game for OpenSpiel has tests of its own, in the first."""
    files = {path.stem for path in (ROOT / "training" / "libraries").glob("*.py")} - {"__init__", "open_spiel_game"}
    assert Counter(name for each in ENVIRONMENTS for name in each.examples) == Counter(files)


def test_requirements_are_pinned_and_leave_torch_to_constraints():
    """Every line of every file, and every file belongs to an environment."""
    files = set(HERE.glob("requirements*.txt"))
    assert files == {path for each in ENVIRONMENTS for path in (each.requirements, each.alone) if path.exists()}
    lines = [line for path in files for line in path.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+(\[[a-z]+\])?==[0-9.]+", line)] == []
    assert not any(line.startswith(("torch=", "torchvision")) for line in lines)


def run_with(monkeypatch, tmp_path: Path, failing: str, reaches: bool = False) -> tuple[int, list[str]]:
    """Go through all environments in a folder of its own, commands only noted; those with a word in them fail."""
    noted: list[str] = []

    def note(environment, *command, **variables):
        environment.folder.mkdir(exist_ok=True)
        noted.append(f"{environment.name}: {' '.join(command)}")
        return failing not in noted[-1]

    monkeypatch.setattr(environments, "ROOT", tmp_path)
    for name in ("constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)

    def answer(address, timeout):
        assert address.startswith(environments.CPU_BUILDS)
        if not reaches:
            raise URLError("there is no network here")
        return BytesIO()

    monkeypatch.setattr("urllib.request.urlopen", answer)
    monkeypatch.setattr(environments, "run", note)
    return environments.main(["--jobs", "1"]), noted


def test_all_environments_pass_when_their_commands_do(monkeypatch, tmp_path, capsys):
    """Each is installed, with torch before all else, and then tested."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    status, noted = run_with(monkeypatch, tmp_path, failing="nothing")
    assert status == 0
    said = capsys.readouterr().out
    for each in ENVIRONMENTS:
        mine = [line for line in noted if line.startswith(f"{each.name}: ")]
        assert " -m venv " in mine[0]
        assert re.search(r" install .* torch==[0-9.]+$", mine[1])
        assert "pytest tests/libraries" in mine[-1]
        assert f"{each.name}: passed" in said


@pytest.mark.parametrize(("platform", "reaches"), [("linux", True), ("linux", False), ("darwin", True)])
def test_torch_is_a_cpu_build_wherever_there_is_one(monkeypatch, tmp_path, capsys, platform, reaches):
    """On Linux from PyTorch's own index, if it can be reached; if not, that is said. Elsewhere there is no other."""
    monkeypatch.setattr(sys, "platform", platform)
    status, noted = run_with(monkeypatch, tmp_path, "nothing", reaches)
    assert status == 0
    takes = platform == "linux" and reaches
    torch_alone = [line for line in noted if re.search(r" install .* torch==[0-9.]+( --extra|$)", line)]
    assert len(torch_alone) == len({line.split(":")[0] for line in noted})
    assert all(line.endswith(f" --extra-index-url {environments.CPU_BUILDS}") == takes for line in torch_alone)
    assert ("torch comes from pip's own index" in capsys.readouterr().out) == (platform == "linux" and not reaches)


def test_library_that_cannot_be_installed_fails_the_run(monkeypatch, tmp_path, capsys):
    """The others are tested all the same; what is not installed is neither tested nor taken for installed."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    status, noted = run_with(monkeypatch, tmp_path, failing="requirements-agilerl.txt")
    assert status == 1
    assert "agilerl: FAILED to install" in capsys.readouterr().out
    assert sum("pytest tests/libraries" in line for line in noted) == len(ENVIRONMENTS) - 1
    assert not (tmp_path / ".venv-libraries-agilerl" / ".installed").exists()


def test_what_cannot_be_built_here_is_left_out_with_its_reason(monkeypatch, tmp_path, capsys):
    """PufferLib is compiled as it is installed."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    status, noted = run_with(monkeypatch, tmp_path, failing="nothing")
    assert status == 0
    assert "left out: pufferlib: a part of it is compiled" in capsys.readouterr().out
    assert not any(line.startswith("pufferlib:") for line in noted)
