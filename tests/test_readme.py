"""README.md says nothing that does not run: every code block in it is executed here or in `tests/training`."""

from __future__ import annotations

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


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in commands() if command.startswith("python -m chearts_env.")])
def test_readme_library_commands_run(command: str) -> None:
    """Each command of the library, with its arguments, in a short form."""
    short = ["--seconds", "0.02", "--repetitions", "1", "--no-starts", "--seats", "6"]
    arguments = shlex.split(command.split("--json")[0])[1:]
    subprocess.run([sys.executable, *arguments, *short], check=True, capture_output=True)


def test_readme_names_the_size_of_an_observation() -> None:
    """The number in the text is the number in the code."""
    assert f"{OBSERVATION_SIZE:,} whole numbers" in README.read_text(encoding="utf-8")
