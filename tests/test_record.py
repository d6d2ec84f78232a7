"""Records: what is written is what was played, whoever played it; what was cut or altered is found, and where."""

from __future__ import annotations

import dataclasses
import json
import random
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from chearts_env import Game, Rules, VectorTables, cancellation_hearts_v0
from chearts_env.arena import play_match
from chearts_env.policy import RandomLegal
from chearts_env.record import HandRecord, RecordError, RecordWriter, main, read_records, schema, verify
from chearts_env.record_export import decisions_of
from chearts_env.record_format import with_check
from chearts_env.recording import GameRecorder, RecordedEnv, TablesRecorder
from tests.sizes import SIZES, fewer, moon_history, random_rules


def played(rules: Rules, seed: int, episode: Any = "hand", **arguments: Any) -> list[HandRecord]:
    """The hands of an episode played at random."""
    records: list[HandRecord] = []
    recorder = GameRecorder(records.append, **arguments)
    game, rng = Game(rules, seed, episode=episode), random.Random(seed)
    while not game.is_over:
        recorder.step(game, rng.choice(game.legal_actions()))
    return records


def written(path: Path, records: list[HandRecord]) -> Path:
    """A file of records."""
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def altered(line: str, **changes: Any) -> str:
    """A line with keys changed and a check sum that agrees: as somebody would write who means it."""
    content = json.loads(line) | changes
    del content["check"]
    return with_check(json.dumps(content, separators=(",", ":")))


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
    for line in path.read_text("utf-8").splitlines()[:-1]:
        validator.validate(json.loads(line))


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


def test_illegal_move_in_the_environment_leaves_the_hand_out():
    """It ends the episode, and no hand is scored."""
    records: list[HandRecord] = []
    env = RecordedEnv(cancellation_hearts_v0.env(), records.append)
    env.reset(seed=1)
    env.step(53)
    while env.agents:
        env.step(None)
    assert not records


# What was cut or altered is found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of a few hands, and its text."""
    path = written(tmp_path_factory.mktemp("records") / "hands.jsonl", played(Rules(6, max_hands=4), 1, "game"))
    return path, path.read_text("utf-8")


def test_file_cut_anywhere_is_told_from_a_whole_one(whole, tmp_path):
    """Between lines, too."""
    path, text = whole
    assert verify(path) == 4
    lines = text.splitlines(keepends=True)
    ends = np.cumsum([len(line) for line in lines])
    rng = random.Random(1)
    for end in {0, 1, *ends[:-1].tolist(), len(text) - 1, *(rng.randrange(len(text)) for _ in range(20))}:
        cut = tmp_path / "cut.jsonl"
        cut.write_text(text[:end], "utf-8")
        line = 1 + int((ends <= end).sum())
        with pytest.raises(RecordError, match=rf"cut\.jsonl, line {line}: .*cut"):
            verify(cut)


def test_altered_character_is_found_in_its_line(whole, tmp_path):
    """Whatever it says; and a hand left out or doubled."""
    _, text = whole
    lines = text.splitlines(keepends=True)
    rng = random.Random(2)
    for _ in range(40):
        number = rng.randrange(len(lines))
        place = rng.randrange(len(lines[number]) - 1)
        letter = rng.choice([letter for letter in "0A," if letter != lines[number][place]])
        spoilt = lines[number][:place] + letter + lines[number][place + 1 :]
        path = tmp_path / "spoilt.jsonl"
        path.write_text("".join([*lines[:number], spoilt, *lines[number + 1 :]]), "utf-8")
        with pytest.raises(RecordError, match=rf"line {number + 1}: "):
            verify(path)
    for wrong in (lines[:1] + lines[2:], lines[:2] + lines[1:], [lines[1], lines[0], *lines[2:]], [*lines, lines[0]]):
        path.write_text("".join(wrong), "utf-8")
        with pytest.raises(RecordError, match=r"line \d: (the last line is of|there is more)"):
            verify(path)


def test_hand_that_the_rules_do_not_allow_is_found_with_its_decision(whole):
    """Check sums that agree do not help it."""
    line = whole[1].splitlines(keepends=True)[0]
    content = json.loads(line)
    leader, cards = content["tricks"][3]
    other = content["tricks"][4][1].split()[0]

    def with_trick(leader: int, cards: str) -> dict[str, Any]:
        return {"tricks": [*content["tricks"][:3], [leader, cards], *content["tricks"][4:]]}

    wrong = {
        "decision 36: .* may not play": with_trick(leader, " ".join([other, *cards.split()[1:]])),
        r"decision 36: seat \d acts, and it is seat \d's turn": with_trick((leader + 1) % 6, cards),
        "scores change by": {"score_changes": [points + 1 for points in content["score_changes"]]},
        r"decision \d+ is missing": {"tricks": content["tricks"][:-1]},
        "seed 2 deals seat 0": {"seed": 2},
        "the deal cannot be": {"hands": ["2C", *content["hands"][1:]]},
        "a key is missing or wrong": {"rules": {"num_players": 99}},
        "version 2; 'chearts-record' version 1 is needed": {"version": 2},
    }  # fmt: skip
    for message, changes in wrong.items():
        with pytest.raises(RecordError, match=message):
            list(HandRecord.from_line(altered(line, **changes)).replay())


def test_more_decisions_than_a_hand_has_are_found():
    """The first too many is named."""
    (record,) = played(Rules(6), 1)
    longer = dataclasses.replace(record, moves=(*record.moves, (0, 0)))
    with pytest.raises(RecordError, match=rf"decision {len(record.moves)}: the hand is over"):
        list(longer.replay())


def test_writer_that_fails_leaves_the_old_file_whole(tmp_path):
    """What there is lies beside it, and reads as cut."""
    path = written(tmp_path / "hands.jsonl.gz", played(Rules(6), 1))
    before = path.read_bytes()

    def fail() -> None:
        with RecordWriter(path) as writer:
            writer.write(played(Rules(6), 2)[0])
            raise KeyError("on the way")

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == before
    with pytest.raises(RecordError, match="the file is cut: no last line follows its 1 hands"):
        verify(tmp_path / "hands.jsonl.gz.unfinished")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files_are_read_directly_and_cut_ones_told(suffix, tmp_path):
    """`.zst` with the package of the extra `record`."""
    if suffix == ".zst":
        pytest.importorskip("zstandard", reason="zstandard, of the extra `record`, is not installed")
    records = [record for seed in range(5) for record in played(Rules(6), seed)]
    path = written(tmp_path / f"hands.jsonl{suffix}", records)
    assert list(read_records(path)) == records
    data = path.read_bytes()
    assert len(data) < sum(len(record.to_line()) for record in records) / 2
    for length in (0, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(RecordError, match="cut"):
            verify(path)


# Commands and data


def test_command_verifies_and_says_what_is_wrong(whole, tmp_path, capsys):
    """Status 0, 1 for a file that disagrees, 2 for none."""
    path, text = whole
    assert main(["verify", str(path)]) == 0
    assert "4 hands, all as the rules have them" in capsys.readouterr().out
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[:-5], "utf-8")
    assert main(["verify", str(cut)]) == 1
    assert "cut.jsonl, line 5: the line is cut" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


def test_numpy_file_holds_every_decision_and_its_return(whole, tmp_path, capsys):
    """Observations of the seat that acts; minus its score change of the hand."""
    path, _ = whole
    out = tmp_path / "hands.npz"
    assert main(["numpy", str(path), "-o", str(out)]) == 0
    records = list(read_records(path))
    decisions = [decision for record in records for decision in decisions_of(record)]
    with np.load(out) as arrays:
        assert f"{len(decisions)} decisions" in capsys.readouterr().out
        assert arrays["observations"].dtype == arrays["action_masks"].dtype == np.int8
        assert (arrays["observations"] == [decision.observation for decision in decisions]).all()
        rows = np.arange(len(decisions))
        assert (arrays["action_masks"][rows, arrays["actions"]] == 1).all()
        for hand, record in enumerate(records):
            mine = arrays["hands"] == hand
            assert (-np.array(record.score_changes)[arrays["seats"][mine]] == arrays["returns"][mine]).all()
            assert np.array(record.moves).T.tolist() == [
                arrays["seats"][mine].tolist(),
                arrays["actions"][mine].tolist(),
            ]


def test_check_sum_is_the_one_documented(whole):
    """CRC-32 of the line without the key, as any language has it."""
    line = whole[1].splitlines()[0]
    body, _, check = line.rpartition(',"check":"')
    assert f"{zlib.crc32((body + '}').encode()):08x}" == check[:8]
