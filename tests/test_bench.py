"""The benchmark runs, names what it measured and what it could not, and draws its random play fairly.

No speed is asserted: that depends on the machine, and on what else it does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chearts_env import VectorTables, bench
from chearts_env.bench import Subject, main, ratios_of
from chearts_env.bench_peers import PEERS
from chearts_env.bench_play import BatchedPlay, choose_all, play_unseen
from chearts_env.engine import is_legal
from chearts_env.rules import Rules
from chearts_env.table import MASK, TABLE

SHRUNKEN = ["--seconds", "0.005", "--repetitions", "2", "--tables", "8", "--seats", "6", "11"]
RESULT_KEYS = {"name", "seats", "unit", "median", "min", "max", "values"}
MEASURED = {
    "engine alone",
    "batched step",
    "batched loop",
    "batched step, 2 threads",
    "batched step, 2 processes",
    "Game from Python",
    "AEC raw",
    "AEC wrapped",
    "redeal, one world",
    "redeal, 256 worlds of one view",
}
STARTS = {"import chearts_env", "cold start", "warm start"}
# What an environment without a single peer looks like, whatever is installed where the tests run.
WITHOUT_PEERS = (
    "import sys\n"
    "for name in ('pyspiel', 'rlcard', 'pgx', 'jax', 'pettingzoo.classic'): sys.modules[name] = None\n"
    "from chearts_env.bench import main\n"
    "main(sys.argv[1:])\n"
)


def _run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _stream() -> np.ndarray:
    return np.array([1, 2, 3, 4], np.uint64)


@pytest.mark.jit
@pytest.mark.slow
def test_bench_writes_what_it_measured_when_run_as_a_command(tmp_path: Path) -> None:
    """Everything the module's docstring lists is there, for each number of seats, in print and in JSON."""
    file = tmp_path / "speed.json"
    printed = _run("-m", "chearts_env.bench", *SHRUNKEN, "--json", str(file))
    report = json.loads(file.read_text("utf-8"))
    assert set(report) == {"format", "date", "machine", "versions", "settings", "results", "peers"}
    assert set(report["machine"]) == {"cpu", "cores", "system"}
    assert {"chearts_env", "python", "numpy", "numba", "gymnasium", "pettingzoo"} <= set(report["versions"])
    settings = {"seats": [6, 11], "tables": 8, "threads": 2, "seconds": 0.005, "repetitions": 2}
    assert report["settings"] == settings
    assert report["peers"] is None
    assert all(set(result) == RESULT_KEYS for result in report["results"])
    assert all(0 < result["min"] <= result["median"] <= result["max"] for result in report["results"])
    wanted = {(name, seats) for name in MEASURED for seats in (6, 11)} | {(name, None) for name in STARTS}
    assert {(result["name"], result["seats"]) for result in report["results"]} == wanted
    assert all(f"{name}, " in printed for name in MEASURED | STARTS)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.jit
def test_bench_names_every_peer_that_is_not_installed(tmp_path: Path) -> None:
    """A ratio that could not be measured is not passed over in silence."""
    file = tmp_path / "speed.json"
    printed = _run("-c", WITHOUT_PEERS, *SHRUNKEN, "--peers", "--no-starts", "--json", str(file))
    peers = json.loads(file.read_text("utf-8"))["peers"]
    assert set(peers["missing"]) == {peer.name for peer in PEERS}
    assert peers["ratios"] == []
    for peer in PEERS:
        assert f"not measured: {peer.name}: not installed" in printed


def test_bench_refuses_a_table_size_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """R1: 6 to 11 seats."""
    with pytest.raises(SystemExit):
        main(["--seats", "5"])
    assert "invalid choice: 5" in capsys.readouterr().err


def test_bench_also_measures_what_a_function_of_the_users_yields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--also module:function`: called for each number of seats; its rows stand among the others."""
    (tmp_path / "own_works.py").write_text(
        "def works(num_players):\n    yield f'own work of {num_players}', 'things/s', lambda: (num_players, 0.5)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(bench, "our_subjects", lambda *arguments: [])
    file = tmp_path / "speed.json"
    main([*SHRUNKEN, "--no-starts", "--also", "own_works:works", "--json", str(file)])
    results = json.loads(file.read_text("utf-8"))["results"]
    shown = [(each["name"], each["seats"], each["unit"], each["median"]) for each in results]
    assert shown == [("own work of 6", 6, "things/s", 12.0), ("own work of 11", 11, "things/s", 22.0)]
    assert "own work of 6, things/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["no_such:works", "chearts_env.bench:no_such", "chearts_env.bench:FORMAT", "chearts_env.bench", ".x", ""]
)
def test_bench_refuses_what_it_cannot_also_measure_in_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is measured; the last line says what is wrong with it."""
    with pytest.raises(SystemExit):
        main(["--also", name])
    assert f"argument --also: {name!r} cannot be loaded: " in capsys.readouterr().err.splitlines()[-1]


def test_ratios_compare_values_of_the_same_turn() -> None:
    """Noise that hits both in one turn leaves their ratio alone, so ratios are taken turn by turn."""
    ours = Subject("AEC raw", 6, "turns/s", float, [30.0, 3.0, 90.0])
    others = Subject("AEC raw", 8, "turns/s", float, [20.0, 2.0, 20.0])
    theirs = Subject("theirs", None, "decisions/s", float, [10.0, 1.0, 10.0])
    ratios = ratios_of([ours, others, theirs], {"theirs": "AEC raw"})
    assert [(each["seats"], each["theirs"], each["ratio"]) for each in ratios] == [(6, "theirs", 3), (8, "theirs", 2)]


def test_choose_all_draws_every_legal_action_alike() -> None:
    """Masks of 1, 3, 10 and 54 actions: only legal ones, each within five standard errors of its share."""
    for legal in ([52], [0, 31, 53], list(range(0, 40, 4)), list(range(54))):
        masks = np.zeros(20 * 54, MASK)
        masks["legal"][:, legal] = 1
        actions = np.zeros(len(masks), np.int64)
        stream = _stream()
        counts = np.zeros(54)
        for _ in range(2):
            choose_all(masks, stream, actions)
            counts += np.bincount(actions, minlength=54)
        share = counts.sum() / len(legal)
        assert counts[legal].sum() == counts.sum()
        assert np.abs(counts[legal] - share).max() <= 5 * np.sqrt(share)


def test_batched_play_goes_on_with_legal_actions_past_the_end_of_episodes() -> None:
    """`VectorTables.step` would raise for an illegal one."""
    play = BatchedPlay(6, 4)
    ended = 0
    for _ in range(300):
        decisions, _ = play.loop()
        assert decisions == 4
        ended += play.tables.terminations.sum()
    assert ended >= 4


def test_play_unseen_deals_anew_when_an_episode_ends() -> None:
    """Two hands and more for each table; a game that is over would have no mover."""
    tables = VectorTables(Rules(6), 4, seed=1)._tables
    seeds = tables["hidden"]["seed"].copy()
    play_unseen(tables, np.zeros(1, MASK), _stream(), 300)
    assert tables.dtype == TABLE
    assert (tables["hidden"]["seed"] != seeds).all()
    for table in tables:
        assert any(is_legal(table, action) for action in range(54))
