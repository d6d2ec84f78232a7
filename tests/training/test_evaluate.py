"""`python -m training.evaluate`: what it prints and writes, what it refuses, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chearts_env.observation import field_values
from training import evaluate
from training.command import INTERRUPTED

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["--challenger", "low_card", "--field", "random_legal"]


class Cheat:
    """Plays cards that it does not hold."""

    def act(self, observations, action_masks, rng):
        return action_masks.argmin(axis=1)


class Slowing:
    """Plays the first card, quickly at a table of six and slowly at a larger one."""

    def act(self, observations, action_masks, rng):
        if not field_values(observations, "size")[0, 0]:
            time.sleep(0.05)
        return action_masks.argmax(axis=1)


def test_evaluate_prints_a_table_and_writes_one_object_for_each_size(tmp_path, capsys):
    """Sizes in the order given, each once; the bar goes to stderr."""
    file = tmp_path / "result.json"
    arguments = [*NAMES, "--seats", "9,6,9", "--deals", "8", "--rules", "bicycle", "--seed", "5", "--json", str(file)]
    assert evaluate.main(arguments) == 0
    rows = json.loads(file.read_text("utf-8"))
    assert [(row["seats"], row["deals"], row["rules"], row["seed"]) for row in rows] == [
        (9, 8, "bicycle", 5),
        (6, 8, "bicycle", 5),
    ]
    said = capsys.readouterr()
    assert "low_card among random_legal" in said.out
    assert f"{rows[1]['advantage']:+.2f}" in said.out
    assert "16/16" in said.err
    assert os.listdir(tmp_path) == ["result.json"]


def test_swapped_evaluation_says_who_is_alone(tmp_path, capsys):
    """One of the field among challengers; the sign stays the challenger's."""
    file = tmp_path / "result.json"
    assert evaluate.main([*NAMES, "--seats", "6", "--deals", "20", "--swapped", "--json", str(file)]) == 0
    assert "one random_legal among low_card" in capsys.readouterr().out
    (row,) = json.loads(file.read_text("utf-8"))
    assert row["swapped"]
    assert row["advantage"] > 0


def test_evaluation_until_it_is_narrow_enough_ends_early(tmp_path):
    """`--deals` is only the most."""
    file = tmp_path / "result.json"
    arguments = [*NAMES, "--seats", "6", "--deals", "100000", "--until", "0.5", "--json", str(file)]
    assert evaluate.main(arguments) == 0
    (row,) = json.loads(file.read_text("utf-8"))
    assert row["deals"] < 2_000
    assert (row["interval95"][1] - row["interval95"][0]) / 2 <= 0.5


def test_pool_is_handed_over_with_what_was_asked(tmp_path, capsys):
    """`--pool` plays mixed tables; everything else is read as for a match."""
    file = tmp_path / "pool.json"
    arguments = ["--pool", "random_legal", "low_card", "--seats", "6,7", "--deals", "20", "--seed", "3"]
    assert evaluate.main([*arguments, "--json", str(file)]) == 0
    rows = json.loads(file.read_text("utf-8"))
    assert [(row["seats"], row["deals"], row["seed"]) for row in rows] == [(6, 20, 3), (7, 20, 3)]
    assert "low_card" in capsys.readouterr().out


def test_report_is_a_page_of_the_rows_and_plays_the_same_match(tmp_path, capsys):
    """Looking on changes nothing."""
    arguments = [*NAMES, "--seats", "6,8", "--deals", "160", "--seed", "2"]
    files = tmp_path / "with.json", tmp_path / "without.json"
    assert evaluate.main([*arguments, "--json", str(files[0]), "--report", str(tmp_path / "page")]) == 0
    assert f"report: {tmp_path / 'page' / 'report.html'}" in capsys.readouterr().out
    assert evaluate.main([*arguments, "--json", str(files[1])]) == 0
    rows, plain = ([row | {"microseconds_per_decision": 0} for row in json.loads(file.read_text())] for file in files)
    assert rows == plain
    page = (tmp_path / "page" / "report.html").read_text("utf-8")
    assert all(f"{row['advantage']:+.2f}" in page for row in rows)
    assert "--report" in page  # the command is told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--challenger is missing"),
        (["--challenger", "low_card"], "--field is missing"),
        (["--challenger", "nobody", "--field", "low_card"], "unknown policy 'nobody'"),
        ([*NAMES, "--seats", "6,12"], "--seats 6,12 is not allowed"),
        ([*NAMES, "--deals", "1"], "--deals 1 is not allowed"),
        ([*NAMES, "--deals", "many"], "invalid int value: 'many'"),
        ([*NAMES, "--seed", "-1"], "--seed -1 is not allowed"),
        ([*NAMES, "--workers", "0"], "--workers 0 is not allowed"),
        ([*NAMES, "--until", "0"], "--until 0.0 is not allowed"),
        ([*NAMES, "--until", "nan"], "--until nan is not allowed"),
        ([*NAMES, "--rules", "home"], "invalid choice: 'home'"),
        ([*NAMES, "--deal", "5"], "unrecognized arguments: --deal 5"),
        ([*NAMES, "--games", "--until", "1"], "--games does not go with --until"),
        ([*NAMES, "--games", "--report", "here"], "--games does not go with --report"),
        ([*NAMES, "--pool", "low_card", "random_legal"], "--pool does not go with --challenger"),
        (["--pool", "low_card", "random_legal", "--swapped"], "--pool does not go with --swapped"),
        (["--pool", "low_card", "low_card"], "a pool needs at least two different policies"),
        (["--pool"], "argument --pool: expected at least one argument"),
        ([*NAMES, "--report", os.devnull], "no report can be written to"),
        ([*NAMES, "--json", "no/such/folder/result.json"], "cannot be written: No such file or directory"),
        ([*NAMES, "--json", "."], "it is a folder"),
        (
            ["--challenger", f"{__name__}:Cheat", "--field", "low_card", "--seats", "6", "--deals", "2"],
            "challenger Cheat in seat 5 chose action 0 (2C), which its mask excludes",
        ),
    ],
)
def test_evaluate_refuses_in_one_line_and_writes_nothing(arguments, message, tmp_path, monkeypatch, capsys):
    """Exit status 2, no traceback, no usage page, and no file."""
    monkeypatch.chdir(tmp_path)
    if "--json" not in arguments:
        arguments = [*arguments, "--json", str(tmp_path / "result.json")]
    assert evaluate.main(arguments) == 2
    said = capsys.readouterr()
    complaint = [line for line in said.err.splitlines() if line and "deal/s" not in line]
    assert len(complaint) == 1
    assert complaint[0].startswith("evaluate: ")
    assert message in complaint[0]
    assert not said.out
    assert not os.listdir(tmp_path)


def test_evaluate_leaves_an_earlier_result_alone_when_it_refuses(tmp_path):
    """Written whole or not at all."""
    file = tmp_path / "result.json"
    file.write_text("earlier")
    assert evaluate.main([*NAMES, "--deals", "1", "--json", str(file)]) == 2
    assert file.read_text() == "earlier"


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2])
def test_interrupted_evaluation_prints_and_writes_what_is_finished(tmp_path, num_workers):
    """Ctrl-C while the second size is played, sent to all its processes as a terminal does: no noise, nothing lost."""
    file = tmp_path / "result.json"
    arguments = ["--challenger", f"{__name__}:Slowing", "--field", "low_card", "--seats", "6,7", "--deals", "300"]
    command = [
        sys.executable,
        "-m",
        "training.evaluate",
        *arguments,
        "--workers",
        str(num_workers),
        "--json",
        str(file),
    ]
    with (tmp_path / "stderr").open("w+") as stderr:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
        )
        patience = time.monotonic() + 120
        while "7 seats" not in (tmp_path / "stderr").read_text() and time.monotonic() < patience:
            assert process.poll() is None, (tmp_path / "stderr").read_text()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    complaints = (tmp_path / "stderr").read_text()
    assert process.returncode == INTERRUPTED
    assert "interrupted: this is what is finished" in complaints
    assert "Traceback" not in complaints
    finished, begun = json.loads(file.read_text("utf-8"))
    assert (finished["seats"], finished["deals"]) == (6, 300)
    assert begun["seats"] == 7
    assert begun["deals"] in (128, 256)
    assert f"7 seats: stopped after {begun['deals']} of 300 deals" in said


def commands_of(session: int) -> list[str]:
    """The command lines of a session's processes."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[3]) == session:
                commands.append((folder / "cmdline").read_text())
        except (OSError, IndexError):
            pass  # it has ended meanwhile
    return commands


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_evaluation_interrupted_before_anything_is_finished_writes_nothing(tmp_path):
    """An earlier result stays, and workers that are still starting do not complain."""
    file, log = tmp_path / "result.json", tmp_path / "stderr"
    file.write_text("earlier")
    arguments = [*NAMES, "--deals", "100000", "--workers", "2", "--json", str(file)]
    command = [sys.executable, "-m", "training.evaluate", *arguments]
    with log.open("w+") as stderr:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
        )
        patience = time.monotonic() + 120
        while sum("spawn_main" in command for command in commands_of(process.pid)) < 2:
            assert process.poll() is None
            assert time.monotonic() < patience
        time.sleep(0.3)  # into their imports
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "nothing is finished" in log.read_text()
    assert "Traceback" not in log.read_text()
    assert not said
    assert file.read_text() == "earlier"
