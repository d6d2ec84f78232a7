"""README.md says nothing that does not run: every code block in it is executed here or in `tests/training`."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.observation import OBSERVATION_SIZE, decode
from chearts_env.render.text import table_as_text
from tests.pages import README, Block, blocks, commands, run_python

OF_THE_CHECKOUT = ("baselines", "training")


def needs_checkout(block: Block) -> bool:
    """Whether it imports what the checkout has and a wheel does not."""
    return any(re.search(rf"(from |import |\"){name}\b", block.text) for name in OF_THE_CHECKOUT)


def test_readme_has_only_blocks_that_some_test_executes() -> None:
    """Text is compared, Python executed, commands run; there is no fourth kind, and no command of an unknown kind."""
    assert {block.language for block in blocks()} == {"text", "python", "sh"}
    known = ("make ", "python -m chearts_env.", "python -m training.")
    assert [command for command in commands() if not command.startswith(known)] == []


def test_readme_python_runs_from_top_to_bottom(tmp_path, monkeypatch) -> None:
    """The Python blocks that need the library alone, one after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)  # where they write
    run_python(block for block in blocks() if not needs_checkout(block))


def test_readme_python_of_the_checkout_runs_with_the_rest(tmp_path, monkeypatch) -> None:
    """All of them, with those that import `baselines` or `training`, which a wheel does not hold."""
    monkeypatch.chdir(tmp_path)
    missing = [name for name in OF_THE_CHECKOUT if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"no {' or '.join(missing)} here: the tests were copied out of the checkout")
    run_python(blocks())


def test_readme_picture_is_what_the_environment_draws() -> None:
    """The text at the top is a rendering, made again here."""
    game = Game(Rules(7), seed=63)
    rng = np.random.default_rng(63)
    while game.phase != "play" or game.trick_number < 5:
        game.step(int(rng.choice(game.legal_actions())))
    for _ in range(5):
        game.step(int(rng.choice(game.legal_actions())))
    assert game.mover is not None
    picture = table_as_text(decode(game.observation(game.mover)), game.mover)
    assert picture == next(block.text for block in blocks() if block.language == "text").rstrip("\n")


@pytest.mark.parametrize("command", [command for command in commands() if command.startswith("make ")])
def test_readme_make_targets_exist(command: str) -> None:
    """`make -n` knows each target; what it would run, other tests and CI run."""
    if shutil.which("make") is None or not README.with_name("Makefile").exists():
        pytest.skip("no make, or no Makefile: the tests were copied out of the checkout")
    subprocess.run(["make", "-n", *shlex.split(command)[1:]], cwd=README.parent, check=True, capture_output=True)


OF_RECORDS = ("record", "replay", "film", "record_minari")


def words_of(module: str) -> list[list[str]]:
    """The words of README's commands of a module of the library."""
    return [shlex.split(each, comments=True)[2:] for each in commands() if each.startswith(f"python -m {module} ")]


@pytest.mark.slow
def test_readme_commands_of_the_bench_run() -> None:
    """Each with its arguments, in a short form."""
    short = ["--seconds", "0.02", "--repetitions", "1", "--no-starts", "--seats", "6"]
    told = words_of("chearts_env.bench")
    assert told
    for _, *words in told:
        arguments = [word for word in words if word not in ("--json", "speed.json")]
        subprocess.run([sys.executable, "-m", "chearts_env.bench", *arguments, *short], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_RECORDS)
def test_readme_commands_of_records_run(name: str, tmp_path, monkeypatch) -> None:
    """On the file that the Python above them has written."""
    needed = {"film": "PIL", "record_minari": "minari"}.get(name)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed}, of an extra, is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    run_python(block for block in blocks() if not needs_checkout(block))
    told = words_of(f"chearts_env.{name}")
    assert told
    for _, *words in told:
        assert importlib.import_module(f"chearts_env.{name}").main(words) == 0


def test_every_command_of_the_library_is_run_here() -> None:
    """No other module of it is called in README."""
    modules = {shlex.split(each)[2] for each in commands() if each.startswith("python -m chearts_env.")}
    assert modules == {f"chearts_env.{name}" for name in ("bench", *OF_RECORDS)}


def test_readme_names_the_size_of_an_observation() -> None:
    """The number in the text is the number in the code."""
    assert f"{OBSERVATION_SIZE:,} whole numbers" in README.read_text(encoding="utf-8")
