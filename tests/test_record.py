"""Records: what is written is what was played, whoever played it; what was cut or altered is found, and where."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from chearts_env import Game, Rules, VectorTables, cancellation_hearts_v0
from chearts_env.arena import play_match
from chearts_env.policy import RandomLegal
from chearts_env.record import HandRecord, RecordError, RecordWriter, read_records, schema, verify
from chearts_env.recording import GameRecorder, RecordedEnv, TablesRecorder
from tests.sizes import SIZES, fewer, moon_history, random_rules


def played(
    rules: Rules, seed: int, episode: Any = "hand", chooser: int | None = None, **arguments: Any
) -> list[HandRecord]:
    """The hands of an episode played at random: `chooser` is the seed of the choices, that of the deals if None."""
    records: list[HandRecord] = []
    recorder = GameRecorder(records.append, **arguments)
    game, rng = Game(rules, seed, episode=episode), random.Random(seed if chooser is None else chooser)
    while not game.is_over:
        recorder.step(game, rng.choice(game.legal_actions()))
    return records


def written(path: Path, records: Iterable[HandRecord]) -> Path:
    """A file of records."""
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


# What is written is what was played


@pytest.mark.parametrize("num_players", SIZES)
def test_record_read_back_is_the_one_written_and_the_engine_agrees(num_players, tmp_path):
    """Every option of the rules, hands of games and single hands, passes and none."""
    rng = random.Random(num_players)
    records: list[HandRecord] = []
    for seed in range(fewer(6, 2)):
        rules = random_rules(num_players, rng, target_score=100, max_hands=3)
        players = [f"p{seat}" for seat in range(num_players)]
        records += played(rules, seed, rng.choice(["game", "hand"]), players=players)
    path = written(tmp_path / "hands.jsonl", records)
    assert list(read_records(path)) == records
    assert verify(path) == len(records) > fewer(6, 2)
    validator = jsonschema.Draft202012Validator(schema())
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        validator.validate(line)
    for line in (lines[0], lines[-1]):
        for key in line:
            assert not validator.is_valid({other: value for other, value in line.items() if other != key})
        assert not validator.is_valid(line | {"more": 1})


def test_hands_of_a_game_carry_its_seed_and_scores():
    """Scores before each hand, and what it changed."""
    records = played(Rules(6), 5, "game")
    game = Game(Rules(6), 5)
    assert {record.seed for record in records} == {5}
    assert records[0].hands[0] == " ".join(records[0].hands[0].split())
    assert [record.hand_number for record in records] == list(range(len(records)))
    scores = np.zeros(6, np.int64)
    for record in records:
        assert list(record.scores) == scores.tolist()
        scores += record.score_changes
    assert (scores >= game.rules.target_score).any()


def test_settled_moon_is_part_of_the_record():
    """R21: who, and how."""
    for choice in (52, 53):
        history = moon_history(8, random.Random(1))
        records: list[HandRecord] = []
        recorder, game = GameRecorder(records.append), history.begin()
        for action in [*history.actions, choice]:
            recorder.step(game, action)
        (record,) = records
        assert record.seed is None  # its cards were given
        assert json.loads(record.to_line())["moon"] == [1, "subtract" if choice == 52 else "add"]
        assert HandRecord.from_line(record.to_line()) == record
        assert len(list(record.replay())) == len(record.moves)


def test_values_of_a_policy_stand_beside_its_decisions():
    """Of some decisions only."""
    records: list[HandRecord] = []
    recorder, game = GameRecorder(records.append), Game(Rules(6), 1, episode="hand")
    while not game.is_over:
        legal = game.legal_actions()
        recorder.step(game, legal[0], {action: action / 8 for action in legal} if game.mover == 2 else None)
    record = HandRecord.from_line(records[0].to_line())
    assert record == records[0]
    assert record.values is not None
    for (seat, action), values in zip(record.moves, record.values, strict=True):
        assert (values is not None) == (seat == 2)
        assert values is None or values[action] == action / 8


def test_environment_tables_and_match_record_what_the_game_does():
    """The same seeds and actions by four ways: the same records."""
    rules = Rules(7, max_hands=2)
    by_game = played(rules, 9, "game")
    by_env: list[HandRecord] = []
    env = RecordedEnv(cancellation_hearts_v0.env(rules), by_env.append)
    by_tables: list[HandRecord] = []
    tables = VectorTables.from_games([Game(rules, 9)])
    recorder = TablesRecorder(by_tables.append)
    env.reset(seed=9)
    for record in by_game:
        for _, action in record.moves:
            env.step(action)
            recorder.before_step(tables, np.array([action]))
            tables.step([action])
            recorder.after_step(tables)
    assert by_env == by_game
    assert by_tables == by_game


@pytest.mark.parametrize("episode", ["hand", "game"])
def test_every_hand_of_many_tables_is_recorded_once(episode, tmp_path):
    """Tables of all sizes that deal anew at different steps."""
    rng = random.Random(2)
    all_rules = [random_rules(size, rng, max_hands=2, target_score=100) for size in SIZES]
    tables = VectorTables(all_rules, 2 * len(all_rules), seed=4, episode=episode)
    records: list[HandRecord] = []
    recorder = TablesRecorder(records.append)
    draw = np.random.default_rng(4)
    num_scored = 0
    for _ in range(fewer(700, 150)):
        actions = RandomLegal().act(tables.observations, tables.action_masks, draw)
        recorder.before_step(tables, actions)
        numbers = tables._tables["public"]["hand_number"].copy()
        tables.step(actions)
        recorder.after_step(tables)
        ended = tables.terminations | tables.truncations
        num_scored += int((ended | (tables._tables["public"]["hand_number"] != numbers)).sum())
    assert len(records) == num_scored > fewer(40, 5)
    assert verify(written(tmp_path / "hands.jsonl.gz", records)) == num_scored
    assert all(record.seed is not None for record in records)


def test_match_is_recorded_by_its_watch():
    """Each deal by the field alone and with the challenger in each seat, nothing of what follows a table's end."""
    records: list[HandRecord] = []
    play_match(RandomLegal(), RandomLegal(), Rules(6), 3, seed=1, watch=TablesRecorder(records.append))
    assert len(records) == 3 * 7
    assert len({record.hands for record in records}) == 3
    for record in records:
        list(record.replay())


def test_hand_begun_before_the_recorder_is_left_out():
    """There is no deal to tell of; the next hand is recorded."""
    game, rng = Game(Rules(6), 3), random.Random(3)
    records: list[HandRecord] = []
    for _ in range(40):
        game.step(rng.choice(game.legal_actions()))
    recorder = GameRecorder(records.append)
    while game.hand_number < 2:
        recorder.step(game, rng.choice(game.legal_actions()))
    (record,) = records
    assert (record.hand_number, record.seed) == (1, None)


def test_refused_step_and_new_deals_leave_no_trace_in_the_records():
    """A step that was not taken is no move; tables that are dealt anew begin new hands."""
    records: list[HandRecord] = []
    tables, recorder, rng = VectorTables(Rules(6), 3, seed=1), TablesRecorder(records.append), np.random.default_rng(1)
    for step in range(260):
        actions = RandomLegal().act(tables.observations, tables.action_masks, rng)
        if step % 50 == 10:
            recorder.before_step(tables, np.full(3, 53))
            with pytest.raises(ValueError, match="no table was changed"):
                tables.step(np.full(3, 53))
        if step == 70:
            tables.reset()
            continue
        recorder.before_step(tables, actions)
        tables.step(actions)
        recorder.after_step(tables)
    assert records
    for record in records:
        list(record.replay())


def test_writer_that_fails_once_does_not_spoil_the_next_hand():
    """A full disk, say."""
    records: list[HandRecord] = []

    def write(record: HandRecord) -> None:
        if not records:
            records.append(record)
            raise OSError("full")
        records.append(record)

    recorder, game, rng = GameRecorder(write), Game(Rules(6), 4), random.Random(4)
    num_failed = 0
    while game.hand_number < 3:
        try:
            recorder.step(game, rng.choice(game.legal_actions()))
        except OSError:
            num_failed += 1
    assert num_failed == 1
    assert [record.hand_number for record in records] == [0, 1, 2]
    for record in records:
        list(record.replay())


def test_value_that_is_no_number_or_of_an_action_that_is_not_allowed_is_refused():
    """JSON has no infinity, and who verifies the record would refuse it; the game is unchanged."""
    game = Game(Rules(6), 4)
    before = game.to_bytes()
    with pytest.raises(ValueError, match="the value of action 3 is -inf: it must be finite"):
        GameRecorder(lambda record: None).step(game, game.legal_actions()[0], {3: -np.inf})
    excluded = next(action for action in range(54) if action not in game.legal_actions())
    with pytest.raises(ValueError, match=f"action {excluded} has a value and is not allowed"):
        GameRecorder(lambda record: None).step(game, game.legal_actions()[0], {excluded: 1.0})
    assert game.to_bytes() == before


def test_dead_agents_and_no_actions_pass_through_the_recorded_environment():
    """As in the environment itself."""
    env = RecordedEnv(cancellation_hearts_v0.env(), print)
    env.reset(seed=1)
    with pytest.raises(AssertionError, match="not in action space"):
        env.step(None)


def test_illegal_move_in_the_environment_leaves_the_hand_out():
    """It ends the episode, and no hand is scored."""
    records: list[HandRecord] = []
    env = RecordedEnv(cancellation_hearts_v0.env(), records.append)
    env.reset(seed=1)
    env.step(53)
    while env.agents:
        env.step(None)
    assert not records


@pytest.mark.parametrize("num_players", [6, 11])
def test_recorder_begun_at_any_step_leaves_the_hand_out(num_players):
    """After the pass as well, when all seats hold as many cards as were dealt."""
    game = Game(Rules(num_players), 5, episode="hand")
    num_passes = 3 * num_players
    for begun in (1, num_passes - 1, num_passes, num_passes + 1):
        records: list[HandRecord] = []
        copy = Game.from_bytes(game.to_bytes())
        for _ in range(begun):
            copy.step(copy.legal_actions()[0])
        recorder = GameRecorder(records.append)
        while not copy.is_over:
            recorder.step(copy, copy.legal_actions()[0])
        assert not records, begun


def test_tables_dealt_anew_from_the_same_seed_are_other_hands():
    """`reset(seed=s)` again and again, as before every evaluation."""
    records: list[HandRecord] = []
    tables = VectorTables(Rules(6), 2, seed=0, episode="hand")
    recorder, rng = TablesRecorder(records.append), np.random.default_rng(1)
    for num_steps in (30, 140):
        tables.reset(seed=0)
        for _ in range(num_steps):
            actions = RandomLegal().act(tables.observations, tables.action_masks, rng)
            recorder.before_step(tables, actions)
            tables.step(actions)
            recorder.after_step(tables)
    assert len(records) == 2
    for record in records:
        assert list(record.replay())


def test_values_are_those_of_their_decision_and_of_allowed_actions():
    """A dictionary that is filled anew for every decision; values of cards that may not be played are found."""
    records: list[HandRecord] = []
    values: dict[int, float] = {}
    game, recorder = Game(Rules(6), 2, episode="hand"), GameRecorder(records.append)
    while not game.is_over:
        values.clear()
        values.update({int(action): float(action) for action in game.legal_actions()})
        recorder.step(game, game.legal_actions()[0], values)
    (record,) = records
    assert record.values is not None
    for game, number, _ in record.replay():
        assert set(record.values[number] or ()) == set(game.legal_actions())
    shifted = replace(record, values=(*record.values[1:], record.values[0]))
    with pytest.raises(RecordError, match=r"decision \d+: .* has a value and is not allowed"):
        list(shifted.replay())
