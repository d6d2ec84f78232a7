"""Ablations: each leaves one thing out, is trained once, and stands in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from training import ablations
from training.config import read_config

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "ablations"
#: What may differ from the base, by configuration.
LEFT_OUT = {
    "blind_critic": {"ppo.critic_sees_all"},
    "no_card_features": {"network.card_features", "network.careful"},
    "no_iteration": {"labels.counts"},
    "no_mixed_field": {"labels.mixed", "labels.self_play", "ppo.careful", "ppo.snapshots"},
    "no_ppo": {"ppo.iterations"},
    **{f"only_{size}": {"sizes", "labels.counts", "ppo.seconds"} for size in (6, 8, 11)},
}


def settings_of(path: Path) -> dict[str, Any]:
    """Resolved settings of a file by their dotted keys."""
    settings: dict[str, Any] = {}
    for key, value in read_config(path).to_dict().items():
        settings |= {f"{key}.{name}": each for name, each in value.items()} if isinstance(value, dict) else {key: value}
    return settings


def row(challenger: str, field: str, preset: str, size: int, advantage: float) -> dict[str, Any]:
    """A match as far as the table reads it."""
    interval = [advantage - 0.25, advantage + 0.25]
    return {
        "challenger": challenger, "field": field, "rules": preset, "seats": size, "advantage": advantage,
        "interval95": interval,
    }  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_ablation_differs_from_the_base_in_what_it_leaves_out_and_nothing_else(name):
    """A row that changed two things would say nothing of either."""
    base, ablation = settings_of(CONFIGS / "base.yaml"), settings_of(CONFIGS / f"{name}.yaml")
    differing = {key for key in base if base[key] != ablation[key]}
    assert differing == LEFT_OUT[name] | {"name"}
    assert ablation["name"] == name


def test_every_configuration_of_the_folder_is_known():
    """A file that no test looks at could be anything."""
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == {*LEFT_OUT, "base"}


def test_table_has_a_line_for_each_network_and_a_dash_where_nothing_was_played():
    """Base first, among itself nothing."""
    rows = [row("base", "careful", "card_page", 6, 0.5), row("other", "base", "classic", 11, -0.75)]
    lines = ablations.table_of(["base", "other"], rows).splitlines()
    assert lines[0].split(" | ")[1:] == ["careful, card_page", "careful, classic", "base, card_page", "base, classic"]
    assert lines[2] == "`base` | +0.50 ± 0.25 / - / - | - / - / - | - / - / - | - / - / -"
    assert lines[3] == "`other` | - / - / - | - / - / - | - / - / - | - / - / -0.75 ± 0.25"


def test_folder_without_a_base_is_refused(tmp_path, capsys):
    """There would be nothing to compare with."""
    (tmp_path / "other.yaml").write_text("name: other\n", "utf-8")
    assert ablations.main(["--configs", str(tmp_path)]) == 2
    assert f"{tmp_path} is not allowed: it holds no configuration named base" in capsys.readouterr().err


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ablations_are_trained_once_and_played(tmp_path, capsys):
    """Asked again, the command plays what is there."""
    configs, runs = tmp_path / "configs", tmp_path / "runs"
    configs.mkdir()
    for name, counts in (("base", [300]), ("more", [400])):
        settings = {
            "name": name, "sizes": [6], "workers": 0, "precision": "float32",
            "network": {"width": 16, "num_layers": 1}, "labels": {"counts": counts, "tables": 48},
            "evaluation": {"opponents": ["careful"], "deals": 2, "early_deals": 2},
        }  # fmt: skip
        OmegaConf.save(OmegaConf.create(settings), configs / f"{name}.yaml")
    words = ["--configs", str(configs), "--runs", str(runs), "--deals", "2"]
    assert ablations.main(words) == 0
    first = (runs / "table.md").read_text("utf-8")
    assert [line.split(" | ")[0] for line in first.splitlines()[2:]] == ["`base`", "`more`"]
    assert "`more` | " in capsys.readouterr().out
    assert first.count("±") == 2 + 2 + 2
    assert len(list(runs.glob("*/state.json"))) == 2
    assert ablations.main(words) == 0
    assert len(list(runs.glob("*/state.json"))) == 2
    assert (runs / "table.md").read_text("utf-8") == first
