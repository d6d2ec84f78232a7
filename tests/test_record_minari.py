"""Records as a Minari dataset: what `SingleSeatEnv` shows, seat by seat; nothing is left of one that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from chearts_env import Game, Rules, record_minari
from chearts_env.observation import decode
from chearts_env.record import RecordError, RecordWriter
from chearts_env.record_minari import main, save_minari
from chearts_env.recording import GameRecorder
from chearts_env.single_seat import SingleSeatEnv

minari = pytest.importorskip("minari", reason="Minari, of the extra `minari`, is not installed")


class Highest:
    """Plays the highest legal action."""

    def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return 53 - action_masks[:, ::-1].argmax(axis=1)


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def recorded(path: Path, games: list[Game]) -> Path:
    """Play games by `Highest` and write their hands."""
    with RecordWriter(path) as writer:
        for game in games:
            recorder = GameRecorder(writer.write)
            while not game.is_over:
                recorder.step(game, int(game.legal_actions()[-1]))
    return path


def test_episodes_are_what_single_seat_env_shows(tmp_path: Path):
    """Observations, masks, actions, rewards, the end: of every seat of two hands; and the environment comes back."""
    rules = Rules(7, set_aside="no_live_card")
    file = recorded(tmp_path / "a.jsonl", [Game(rules, seed, episode="hand") for seed in (3, 8)])
    assert save_minari(file, "chearts/highest-v0", algorithm_name="highest") == 14
    dataset = minari.load_dataset("chearts/highest-v0")
    assert dataset.total_steps == sum(len(episode) for episode in dataset)
    for number, episode in enumerate(dataset):
        seed, seat = (3, 8)[number // 7], number % 7
        env = SingleSeatEnv(rules, opponents=Highest(), seat=seat, observation_dtype=np.int8)
        observation, info = env.reset(seed=seed)
        for step, action in enumerate(episode.actions):
            assert (episode.observations[step] == observation).all()
            assert (episode.infos["action_mask"][step] == info["action_mask"]).all()
            assert action == 53 - info["action_mask"][::-1].argmax()
            observation, reward, is_over, _, info = env.step(action)
            assert (episode.rewards[step], episode.terminations[step]) == (reward, is_over)
        assert is_over
        assert (episode.observations[-1] == observation).all()
        assert (episode.infos["action_mask"][-1] == info["action_mask"]).all()
        assert set(episode.infos["seat"]) == {seat}
        assert set(episode.infos["hand"]) == {number // 7}
    usual = gymnasium.make("chearts_env/CancellationHearts-v0").unwrapped
    assert isinstance(usual, SingleSeatEnv)
    assert usual.rules == Rules()  # what Gymnasium makes by that name is what it was
    env = dataset.recover_environment().unwrapped
    assert isinstance(env, SingleSeatEnv)
    assert env.rules == rules
    assert env.observation_space == dataset.observation_space


def test_hand_of_a_game_ends_with_that_hand(tmp_path: Path):
    """Not with the next deal; sizes may be mixed, and then there is no one environment."""
    games = [Game(Rules(6, max_hands=2), 1), Game(Rules(8), 1, episode="hand")]
    assert save_minari(recorded(tmp_path / "a.jsonl.gz", games), "mixed-v0") == 20
    dataset = minari.load_dataset("mixed-v0")
    first = dataset[0]
    assert decode(first.observations[-1]).cards_left[0] == 0
    assert [decode(seen).hands_left for seen in first.observations] == [2] * len(first.observations)
    assert {decode(seen).hands_left for seen in dataset[6].observations} == {1}
    assert decode(dataset[6].observations[0]).cards_left[0] == 17
    assert dataset.env_spec is None


def test_what_fails_leaves_no_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A file that was altered, a name that is taken, no hands."""
    file = recorded(tmp_path / "a.jsonl", [Game(Rules(6), seed, episode="hand") for seed in (1, 2)])
    lines = file.read_text("utf-8").splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:2]), "utf-8")
    with pytest.raises(RecordError, match="the file is cut"):
        save_minari(cut, "cut-v0")
    (tmp_path / "none.jsonl").write_text("", "utf-8")
    assert main([str(tmp_path / "none.jsonl"), "none-v0"]) == 1
    assert main([str(file), "no name"]) == 2
    assert not minari.list_local_datasets()
    assert main([str(file), "a-v0"]) == 0
    assert main([str(file), "a-v0"]) == 2
    errors = capsys.readouterr()
    assert "a-v0: 12 episodes" in errors.out
    assert "the dataset a-v0 exists already" in errors.err


def test_hand_that_the_rules_refuse_leaves_no_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It is found while the dataset is being written."""
    good = recorded(tmp_path / "a.jsonl", [Game(Rules(6), 1, episode="hand")])

    def then_fail(record: Any) -> Any:
        raise RecordError("decision 0: no")

    monkeypatch.setattr(record_minari, "decisions_of", then_fail)
    with pytest.raises(RecordError, match="decision 0"):
        save_minari(good, "b-v0")
    assert not minari.list_local_datasets()
