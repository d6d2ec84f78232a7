"""Files of records: what was cut or altered is found, and where; what commands say and write."""

from __future__ import annotations

import dataclasses
import json
import random
import zlib
from typing import Any

import numpy as np
import pytest

from chearts_env import Rules
from chearts_env.record import HandRecord, RecordError, main, read_records, schema, verify
from chearts_env.record_export import decisions_of
from chearts_env.record_format import with_check
from chearts_env.replay import main as replay
from tests.test_record import played, written


def altered(line: str, **changes: Any) -> str:
    """A line with keys changed and a check sum that agrees: as somebody would write who means it."""
    content = json.loads(line) | changes
    del content["check"]
    return with_check(json.dumps(content, separators=(",", ":")))


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
        "the deal cannot be: seed=-1": {"seed": -1},
        "players has 2 entries; 6 are needed": {"players": ["a", "b"]},
        "values has 1 entries": {"values": [None]},
        "a key is missing or wrong: KeyError": {"moon": [0, "eat"]},
        "a key is missing or wrong": {"rules": {"num_players": 99}},
        "a key is missing or wrong: AttributeError": {"values": [5]},
        "a key is missing or wrong: .*NoneType": {"passes": [[0, None]]},
        "a key is missing or wrong: .*int": {"tricks": [[0, 5]]},
        "hand_number 2147483646: no game with a seed is followed so far": {
            "hand_number": 2**31 - 2, "rules": content["rules"] | {"max_hands": None},
        },
        "version 2; 'chearts-record' version 1 is needed": {"version": 2},
    }  # fmt: skip
    for message, changes in wrong.items():
        with pytest.raises(RecordError, match=message):
            list(HandRecord.from_line(altered(line, **changes)).replay())
    with pytest.raises(RecordError, match="NaN is no number"):
        HandRecord.from_line(altered(line, values=[float("nan")]))


def test_later_hand_of_a_game_is_the_one_that_its_seed_deals():
    """Cards, dealer and pass follow from the seed for every hand of a game, not for the first alone."""
    records = played(Rules(7, max_hands=6), 3, "game")
    assert [record.hand_number for record in records] == list(range(6))
    for record in records:
        list(record.replay())
    second, third = records[1], records[2]
    number = second.hand_number
    with pytest.raises(RecordError, match=r"hand 1 of seed 3 deals seat \d"):
        next(dataclasses.replace(second, hands=third.hands, kitty=third.kitty).replay())
    with pytest.raises(RecordError, match=f"hand {number} of seed 3 has dealer {second.dealer} and passes to "):
        next(dataclasses.replace(second, dealer=(second.dealer + 1) % 7).replay())
    with pytest.raises(RecordError, match=r"hand 2 of seed 3 deals seat \d"):
        next(dataclasses.replace(second, hand_number=2).replay())


def test_scores_before_a_hand_are_those_that_the_hand_before_it_left(tmp_path):
    """Games mingled, twins of one seed, a choice of hands: all of them pass; a score from nowhere does not."""
    rules = Rules(6, max_hands=4)
    one, twin, other = played(rules, 1, "game"), played(rules, 1, "game", chooser=7), played(rules, 2, "game")
    assert len(one) == len(twin) == len(other) == 4
    assert one[0].score_changes != twin[0].score_changes
    mingled = [hand for hands in zip(one, other, twin, strict=True) for hand in hands]
    assert verify(written(tmp_path / "mingled.jsonl", mingled)) == 12
    assert verify(written(tmp_path / "chosen.jsonl", [one[0], one[2], other[3]])) == 3
    scores = tuple(score + 1 for score in one[1].scores)
    wrong = dataclasses.replace(one[1], scores=scores)
    with pytest.raises(RecordError, match=rf"line 2: scores before it are \[{scores[0]}, .*; the hand before it left"):
        verify(written(tmp_path / "wrong.jsonl", [one[0], wrong]))


def test_more_decisions_than_a_hand_has_are_found():
    """The first too many is named."""
    (record,) = played(Rules(6), 1)
    longer = dataclasses.replace(record, moves=(*record.moves, (0, 0)))
    with pytest.raises(RecordError, match=rf"decision {len(record.moves)}: the hand is over"):
        list(longer.replay())


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
    path.write_bytes(data + data)
    with pytest.raises(RecordError, match="there is more after"):
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
    assert main(["verify", str(tmp_path)]) == 2
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
        assert set(arrays.files) == {"observations", "action_masks", "actions", "seats", "hands", "returns"}
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


def test_output_that_would_destroy_the_record_is_refused(whole, tmp_path, capsys):
    """Itself, and one that lies beside its place until it is whole: written to, it would be gone."""
    text, path, left = whole[1], tmp_path / "hands.jsonl", tmp_path / "hands.jsonl.unfinished"
    path.write_text(text, "utf-8")
    left.write_text(text, "utf-8")
    for source in (path, left):
        assert main(["numpy", str(source), "-o", str(path)]) == 2
        assert f"writing {path} would destroy it: '{source}'" in capsys.readouterr().err
        assert replay([str(source), "-o", str(path)]) == 2
        assert f"writing {path} would destroy it: '{source}'" in capsys.readouterr().err
    assert path.read_text("utf-8") == left.read_text("utf-8") == text


def test_check_sum_is_the_one_documented(whole):
    """CRC-32 of the line without the key, as any language has it."""
    line = whole[1].splitlines()[0]
    body, _, check = line.rpartition(',"check":"')
    assert f"{zlib.crc32((body + '}').encode()):08x}" == check[:8]
