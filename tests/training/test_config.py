"""Settings: typed, overridable, and nothing misspelt slips through."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from itertools import takewhile
from pathlib import Path

import pytest

from chearts_env import Rules
from training.config import Config, read_config

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def written(folder: Path, text: str) -> Path:
    """A configuration file."""
    path = folder / "run.yaml"
    path.write_text(text, "utf-8")
    return path


def test_file_and_command_line_are_merged_and_typed(tmp_path):
    """The command line wins; what neither names keeps its default; words become numbers."""
    path = written(tmp_path, "name: mine\nfit: {epochs: 3, clip: 10}\n")
    config = read_config(path, ["fit.epochs=2", "labels.counts=[10,20]", "sizes=[6,11]"])
    assert config.name == "mine"
    assert (config.fit.epochs, config.fit.clip, config.fit.batch_size) == (2, 10.0, Config().fit.batch_size)
    assert config.labels.counts == [10, 20]
    assert [rules for rules in config.rules() if rules.num_players == 11] == [Rules(11), Rules.classic(11)]


def test_saved_settings_read_back_the_same(tmp_path):
    """The run folder holds the resolved configuration."""
    config = read_config(None, ["seed=7", "labels.playouts=2", "evaluation.opponents=[low_card]"])
    config.save(tmp_path / "saved.yaml")
    assert read_config(tmp_path / "saved.yaml") == config


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("fit.epoch", "fit.epochs"),
        ("fit.learning_rat", "fit.learning_rate"),
        ("epochs", "fit.epochs"),
        ("netwrok.width", "network.width"),
        ("label.counts", "labels.counts"),
        ("size", "sizes"),
    ],
)
def test_unknown_key_is_refused_naming_the_nearest_right_one(tmp_path, key, nearest):
    """On the command line and in a file alike."""
    with pytest.raises(ValueError, match=f"unknown key '{key}' in the command line: did you mean '{nearest}'"):
        read_config(None, [f"{key}=3"])
    outer, _, inner = key.partition(".")
    text = f"{outer}: {{{inner}: 3}}" if inner else f"{outer}: 3"
    with pytest.raises(ValueError, match="unknown key"):
        read_config(written(tmp_path, text))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("fit.epochs=many", "many"),
        ("fit.epochs=0", "fit.epochs=0 is not allowed"),
        ("sizes=[5,6]", "sizes="),
        ("presets=[card]", "card_page, classic, bicycle"),
        ("labels.counts=[]", "labels.counts="),
        ("labels.explore=1.5", "labels.explore=1.5"),
        ("device=tpu", "auto, cpu or cuda"),
        ("precision=half", "float32, bfloat16"),
        ("evaluation.deals=1", r"evaluation.deals=1 .* at least 2"),
        ("evaluation.early_deals=0", r"evaluation.early_deals=0 .* at least 2"),
        ("evaluation.opponents=[]", "evaluation.opponents="),
        ("fit.learning_rate=-1", r"fit.learning_rate=-1.0 .* above 0"),
        ("fit.points_per_unit=0", "fit.points_per_unit=0.0"),
        ("fit.clip=nan", "fit.clip=nan"),
        ("network.width=0", "network.width=0"),
        ("labels.plays=0", "labels.plays=0.0"),
        ("seconds=nan", "seconds=nan"),
        ("seconds=inf", "seconds=inf"),
        ("seed=-1", "seed=-1"),
        ("name=../elsewhere", r"name='\.\./elsewhere'"),
        ("fit", "no override"),
        ("labels.counts=[1,2", r"in the command line, labels.counts=\[1,2: "),
        ("seed=???", "seed="),
        ("critic.decisions=5", r"labels.network_playouts=0.0 .* above 0 for a critic"),
        ("critic.ahead=0", "critic.ahead=0"),
        ("critic.tables=0", "critic.tables=0"),
        ("critic.explore=2", r"critic.explore=2.0 .* within 0 … 1"),
        ("critic.learning_rate=0", "critic.learning_rate=0.0"),
        ("fit.rounds=-1", "fit.rounds=-1"),
        ("evaluation.early_seed=20000", r"evaluation.early_seed=20000 .* another than evaluation.seed"),
    ],
)
def test_wrong_value_is_refused_naming_the_key(override, message):
    """ValueError, for the user."""
    with pytest.raises(ValueError, match=message):
        read_config(None, [override])


@pytest.mark.parametrize("content", [b"name: [x", b"name:\n\t- x", b"5", b"\xff\xfe\x00", b"- 1", b"name: {{"])
def test_file_that_is_no_configuration_is_refused_by_name(content, tmp_path):
    """One line that names the file, whatever its parser makes of it."""
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.yaml") as refused:
        read_config(path)
    assert "\n" not in str(refused.value)


def test_reference_shows_the_settings_of_every_section():
    """What `Config` is made of; `CriticConfig` had been forgotten."""
    told = (CONFIGS.parent / "docs" / "reference" / "training.md").read_text("utf-8")
    shown = set(re.findall(r":pyobject: (\w+)", told))
    sections = {type(value).__name__ for value in vars(Config()).values() if is_dataclass(value)}
    assert len(sections) > 4
    assert sections | {"Config"} <= shown


def test_missing_file_is_refused_by_name(tmp_path):
    """ValueError, for the user."""
    with pytest.raises(ValueError, match=r"there is no configuration .*nothing\.yaml"):
        read_config(tmp_path / "nothing.yaml")


@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_configuration_is_right_and_says_what_it_is_for(path):
    """Its name is its file's; the first comment gives machine, time and result, or says that it has not been run."""
    assert read_config(path).name == path.stem
    lines = path.read_text("utf-8").splitlines()
    comment = " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    assert "cores" in comment
    assert re.search(
        r"\d s of training|minutes|a sixth of the base's labels and time|hours of training|[Nn]ot run", comment
    )
    assert re.search(r"Points saved a hand|Result: the table in|[Nn]ot (yet )?run", comment)


def test_knowledge_free_configuration_has_no_rule_player_anywhere():
    """No `careful` as player, judge or opponent in training; matches of the report may have it."""
    config = read_config(CONFIGS / "from_rules.yaml")
    assert config.labels.player == "random_legal"
    assert not config.network.careful
    assert config.labels.tried == "all"
    assert config.ppo.careful == 0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["labels.counts=[]"], "not empty, or ppo.iterations above 0"),
        (["ppo.careful=0.7", "ppo.snapshots=0.4"], "at most 1: they are shares of the same tables"),
        (["labels.tried=some"], "all or promising"),
        (["labels.mixed=1.5"], "within 0 … 1"),
        (["ppo.clip=0"], "above 0"),
        (["ppo.pieces=0"], "at least 1"),
        (["ppo.pieces=7", "ppo.hands=6"], "at most ppo.hands, 6"),
    ],
)
def test_settings_that_contradict_are_refused(overrides, message):
    """With the key and what is allowed."""
    with pytest.raises(ValueError, match=message):
        read_config(None, overrides)


def test_time_of_a_run_is_that_of_the_stages_it_has():
    """Rounds of labels and self-play have times of their own."""
    assert read_config(None, ["seconds=100", "ppo.seconds=50"]).seconds_in_all == 100
    assert read_config(None, ["seconds=100", "ppo.seconds=50", "ppo.iterations=1"]).seconds_in_all == 150
    only = ["labels.counts=[]", "seconds=100", "ppo.seconds=50", "ppo.iterations=1"]
    assert read_config(None, only).seconds_in_all == 50
