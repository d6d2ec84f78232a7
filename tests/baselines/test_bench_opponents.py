"""The opponents in the benchmark: what is measured, and that each piece of work does what it is named for."""

from __future__ import annotations

import json

import pytest

from baselines.bench_opponents import works
from chearts_env import bench

NUMBERS = {"careful, choosing alone": 1024, "careful tables": 1024, "one seat among careful": 1024, "search:32": 1}
NAMES = list(NUMBERS)


@pytest.mark.jit
@pytest.mark.parametrize("num_players", [6, 11])
def test_works_yields_what_it_measures_with_units_done_and_seconds_taken(num_players):
    """A batch of decisions of `careful` or of a learner, one of `search:32`; no speed is asserted."""
    found = {name: (unit, work) for name, unit, work in works(num_players)}
    assert list(found) == NAMES
    for name, (unit, work) in found.items():
        assert unit == "decisions/s"
        for _ in range(3):
            done, seconds = work()
            assert done == NUMBERS[name]
            assert seconds > 0


@pytest.mark.jit
def test_bench_measures_the_opponents_beside_the_rest(tmp_path, monkeypatch, capsys):
    """`--also baselines.bench_opponents:works`: a row for each in print and in JSON, for each number of seats."""
    monkeypatch.setattr(bench, "our_subjects", lambda *arguments: [])
    file = tmp_path / "speed.json"
    shrunken = ["--seconds", "0.005", "--repetitions", "2", "--tables", "8", "--seats", "6", "11", "--no-starts"]
    bench.main([*shrunken, "--also", "baselines.bench_opponents:works", "--json", str(file)])
    results = json.loads(file.read_text("utf-8"))["results"]
    assert [(each["name"], each["seats"]) for each in results] == [(name, seats) for seats in (6, 11) for name in NAMES]
    assert all(0 < each["min"] <= each["median"] <= each["max"] for each in results)
    printed = capsys.readouterr().out
    assert all(f"{name}, decisions/s" in printed for name in NAMES)
