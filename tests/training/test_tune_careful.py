"""Tuning finds its way back from a bad constant, whatever the number of workers, and keeps what it has found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baselines.careful.weights import flat_weights, tuned_weights, weights_from_flat
from chearts_env.arena import deal_seeds
from training import tune_careful
from training.tune_careful import CHANCES, Judge, Task, candidates, duel, main, sweep

TUNED = flat_weights(tuned_weights())
# Whatever it cannot follow, it throws away as if no card were more dangerous than another.
PLANTED = TUNED | {"shed_discarding": 0.0}


@pytest.fixture
def small(monkeypatch):
    """One size, one preset, and two constants to try."""
    monkeypatch.setattr(tune_careful, "SIZES", (6,))
    monkeypatch.setattr(tune_careful, "PRESETS", ("classic",))
    tried = ("shed_discarding", "leads_again")
    monkeypatch.setattr(tune_careful, "FIXED_WEIGHTS", tuple(name for name in TUNED if name not in tried))


def written(path: Path) -> dict[str, float]:
    """The constants in a file, which `careful` could play by."""
    flat: dict[str, Any] = json.loads(path.read_text("utf-8"))["weights"]
    weights_from_flat(flat)
    return flat


def test_duel_of_equals_saves_nothing_and_of_unequals_what_it_cost():
    """On every deal: the challenger's points in a seat against the field's own there."""
    seeds = deal_seeds(5, 60)
    assert (duel(Task(TUNED, TUNED, "card_page", 8, seeds)) == 0).all()
    saved, lost = (duel(Task(*pair, "classic", 6, seeds)) for pair in ((TUNED, PLANTED), (PLANTED, TUNED)))
    assert saved.shape == (60,)
    assert saved.mean() > 1
    assert lost.mean() < -1


def test_sweep_betters_a_planted_bad_constant(small, capsys):
    """It says what it changed, and the gain holds on deals that took no part."""
    weights = dict(PLANTED)
    judge = Judge(1)
    sweep(weights, judge, 1, 40, 1.3)
    assert weights["shed_discarding"] == pytest.approx(0.1)
    assert {name for name in weights if weights[name] != PLANTED[name]} <= {"shed_discarding", "leads_again"}
    assert "sweep 1: shed_discarding 0.000 -> 0.100, saves" in capsys.readouterr().out
    gain, error = judge.saved(weights, PLANTED, 777, 60)
    assert gain > 2 * error > 0


@pytest.mark.slow
def test_judgement_does_not_depend_on_the_number_of_workers():
    """Bit for bit, over all sizes and presets."""
    workers = Judge(2)
    assert workers.saved(PLANTED, TUNED, 3, 6) == Judge(1).saved(PLANTED, TUNED, 3, 6)
    assert workers._pool is not None
    workers._pool.shutdown()


def test_command_writes_constants_and_what_they_save(small, tmp_path, monkeypatch, capsys):
    """`--sweeps 1`, then a report on other deals."""
    monkeypatch.setattr(tune_careful, "tuned_weights", lambda: weights_from_flat(PLANTED))
    out = tmp_path / "tuned.json"
    assert main(["--sweeps", "1", "--deals", "40", "--report-deals", "60", "--out", str(out)]) == 0
    assert written(out)["shed_discarding"] == pytest.approx(0.1)
    told = json.loads(out.read_text("utf-8"))["measured"]
    assert set(told) == {"saved_among_former", "knowing_set_aside_classic_6"}
    mean, half = told["saved_among_former"]
    assert mean > half > 0
    assert json.dumps(told, indent=2) in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [out]


def test_command_only_reports_without_sweeps(small, tmp_path):
    """The constants stay as they are, to the fourth place."""
    out = tmp_path / "tuned.json"
    assert main(["--sweeps", "0", "--report-deals", "2", "--out", str(out)]) == 0
    assert written(out) == pytest.approx(TUNED, abs=1e-4)


def test_command_keeps_what_it_has_found_when_interrupted(small, tmp_path, monkeypatch, capsys):
    """Ctrl-C in the middle of the first sweep, once the planted constant is better; the report comes all the same."""
    monkeypatch.setattr(tune_careful, "tuned_weights", lambda: weights_from_flat(PLANTED))
    out = tmp_path / "tuned.json"
    judged = Judge.saved

    def saved(self, challenger, field, seed, deals):
        if challenger["leads_again"] != field["leads_again"]:  # the second constant of this sweep
            raise KeyboardInterrupt
        return judged(self, challenger, field, seed, deals)

    monkeypatch.setattr(Judge, "saved", saved)
    assert main(["--sweeps", "2", "--deals", "40", "--report-deals", "10", "--out", str(out)]) == 0
    assert written(out)["shed_discarding"] == pytest.approx(0.1)
    assert "interrupted" in capsys.readouterr().err
    assert "saved_among_former" in json.loads(out.read_text("utf-8"))["measured"]


@pytest.mark.parametrize("value", [0.0, 0.03, 0.2, 0.9, 1.0])
def test_chances_that_are_tried_are_chances(value):
    """0 … 1, small ones included; other constants may cross zero."""
    for name in CHANCES:
        assert name in TUNED
        tried = candidates(name, value, 1.3)
        assert tried
        assert all(0 <= each <= 1 for each in tried)
    assert candidates("smoke_out", 0.02, 1.3) == pytest.approx([0.12, -0.08])
    assert candidates("smoke_out", -0.2, 2.0) == pytest.approx([-0.4, -0.1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--deals", "1"], "--deals and --report-deals must be at least 2"),
        (["--report-deals", "0"], "--deals and --report-deals must be at least 2"),
        (["--step", "1"], "--step above 1"),
        (["--workers", "0"], "--workers at least 1"),
        (["--sweeps", "-1"], "--sweeps and --first must be at least 0"),
        (["--first", "-1"], "--sweeps and --first must be at least 0"),
        (["--deals", "many"], "invalid int value: 'many'"),
        (["--out", "no_such_folder/tuned.json"], "there is no folder no_such_folder"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_played(arguments, message, capsys):
    """In one line."""
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err.splitlines()[-1]
