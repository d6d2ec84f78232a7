"""Learning curves: read from the metrics of runs, drawn as a picture that opens."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from training.plot import draw, main, read_curve
from training.run_folder import METRICS_FILE, Metrics


def run_with_early_matches(path):
    """Two rounds of labels and some self-play, two early matches after each."""
    path.mkdir()
    metrics = Metrics(path)
    for number, (labels, first) in enumerate([(1000, -2.0), (500, -1.0)], 1):
        metrics.write(60.0 * number - 10, number, "labels", labels=labels, labels_per_second=10)
        metrics.write(60.0 * number - 5, number, "fit", labels=2 * labels, batches=3, loss=0.9, learning_rate=0.0)
        for place in (0, 1):
            low, high = first + place - 0.3, first + place + 0.3
            metrics.write(
                60.0 * number, number, "early", seats=6 + place, rules="careful-card_page", advantage=first + place,
                low=low, high=high,
            )  # fmt: skip
    for decisions in (700, 1400):
        metrics.write(125.0, 2, "self-play", decisions=decisions, entropy=1.0)
    metrics.write(130.0, 2, "early", seats=6, rules="careful-card_page", advantage=1.0, low=0.5, high=1.5)
    metrics.close()
    return path


def test_curve_is_the_mean_of_early_matches_against_time_and_decisions(tmp_path):
    """Half widths of different sizes add as squares; labels of all rounds and self-play's decisions count."""
    curve = read_curve(run_with_early_matches(tmp_path / "run"))
    assert (curve.name, curve.field) == ("run", "careful")
    assert [point.seconds for point in curve.points] == [60, 120, 130]
    assert [point.decisions for point in curve.points] == [1000, 1500, 2900]
    assert [point.advantage for point in curve.points] == pytest.approx([-1.5, -0.5, 1.0])
    assert [point.half for point in curve.points] == pytest.approx([0.3 / 2**0.5, 0.3 / 2**0.5, 0.5])


def test_command_draws_all_runs_into_one_picture(tmp_path, capsys):
    """And says where each run ended."""
    runs = [run_with_early_matches(tmp_path / name) for name in ("first", "second")]
    assert main([*map(str, runs), "-o", str(tmp_path / "curves.png")]) == 0
    said = capsys.readouterr().out
    assert "first: +1.00 ± 0.50 among careful after 2.2 minutes and 2,900 decisions" in said
    assert "second: " in said
    picture = Image.open(tmp_path / "curves.png")
    assert picture.width > 1000
    one = Image.open(io.BytesIO(draw([read_curve(runs[0])])))
    assert one.tobytes() != picture.tobytes()


def test_folder_without_curve_is_named(tmp_path, capsys):
    """No metrics, or no matches yet; nothing is written."""
    (tmp_path / "begun").mkdir()
    Metrics(tmp_path / "begun").close()
    for place, message in ((tmp_path, METRICS_FILE), (tmp_path / "begun", "no early matches")):
        assert main([str(place), "-o", str(tmp_path / "curves.png")]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "curves.png").exists()
