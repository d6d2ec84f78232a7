"""Hands of matches in a file: `python -m training.evaluate --record FILE --values NAME`."""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path

import numpy as np
import pytest

from baselines.careful import Careful
from chearts_env.record import RecordError, read_records, verify
from training import evaluate, matches
from training.evaluate import main
from training.matches import WatchedMatch

MATCH = ["--challenger", "low_card", "--field", "careful", "--seats", "6,7", "--deals", "12"]


@pytest.mark.parametrize("swapped", [False, True])
def test_record_holds_every_hand_of_the_match(tmp_path: Path, swapped):
    """Each deal with the lone seat in each place and without it; names by seat; points as the JSON has them."""
    file, rows = tmp_path / "hands.jsonl.gz", tmp_path / "rows.json"
    options = ["--swapped"] if swapped else []
    assert main([*MATCH, *options, "--record", str(file), "--json", str(rows)]) == 0
    assert verify(file) == 12 * (7 + 8)
    lone, others = ("careful", "low_card") if swapped else ("low_card", "careful")
    records = list(read_records(file))
    for row in json.loads(rows.read_text("utf-8")):
        size = row["seats"]
        of_size = [record for record in records if record.rules.num_players == size]
        seats = [[seat for seat, name in enumerate(record.players or ()) if name == lone] for record in of_size]
        assert sorted(seats) == sorted([[seat] for seat in range(size)] * 12 + [[]] * 12)
        points = [record.score_changes[place[0]] for record, place in zip(of_size, seats, strict=True) if place]
        alone = [np.mean(record.score_changes) for record, place in zip(of_size, seats, strict=True) if not place]
        told = (
            (row["points_field"], row["points_challenger"])
            if swapped
            else (row["points_challenger"], row["points_field"])
        )
        assert (np.mean(points), np.mean(alone)) == pytest.approx(told)
        assert set(of_size[0].players or ()) <= {lone, others}
        assert len({record.seed for record in of_size}) == 12


def test_record_is_the_same_for_any_number_of_workers(tmp_path: Path):
    """As results are."""
    files = [tmp_path / f"{workers}.jsonl" for workers in (1, 2)]
    for workers, file in zip((1, 2), files, strict=True):
        assert main([*MATCH, "--workers", str(workers), "--record", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_values_are_what_the_policy_holds_legal_actions_to_be_worth(tmp_path: Path):
    """Wherever there is a choice, whoever has it; in the seats of `careful` the best of them is what was played."""
    file = tmp_path / "hands.jsonl"
    words = ["--challenger", "low_card", "--field", "careful", "--seats", "6", "--deals", "2"]
    assert main([*words, "--record", str(file), "--values", "careful"]) == 0
    disagreements = 0
    for record in read_records(file):
        assert record.values is not None
        assert record.players is not None
        for game, number, action in record.replay():
            values, legal = record.values[number], game.legal_actions()
            if len(legal) == 1:
                assert values is None
                continue
            assert values is not None
            assert set(values) == set(legal)
            seat = record.moves[number][0]
            (points,) = Careful().points(game.observation(seat)[None], game.action_mask()[None])
            assert values == pytest.approx({each: points[each] for each in legal}, abs=1e-3)
            if record.players[seat] == "careful":
                assert values[action] == max(values.values())
            else:
                disagreements += values[action] < max(values.values())
    assert disagreements > 100


def test_hands_are_written_as_they_are_played(tmp_path: Path, monkeypatch):
    """Not held in memory until the end: what is kept of each chunk holds none."""
    kept: list[WatchedMatch] = []
    keep = evaluate._written

    def watched(writer, match):
        left = keep(writer, match)
        assert isinstance(left, WatchedMatch)
        kept.append(left)
        assert writer.num_hands == sum(each.num_hands + each.num_deals for each in kept)
        return kept[-1]

    monkeypatch.setattr(evaluate, "_written", watched)
    monkeypatch.setattr(matches, "TABLES_AT_ONCE", 40)
    assert main([*MATCH, "--record", str(tmp_path / "hands.jsonl")]) == 0
    assert len(kept) == 6
    assert not any(match.hands for match in kept)


def test_full_disk_loses_no_result(tmp_path: Path, capsys, monkeypatch):
    """What is finished is told, then the complaint in a line; the hands written so far can be read."""
    monkeypatch.setattr(matches, "TABLES_AT_ONCE", 40)
    file = tmp_path / "hands.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        assert main([*MATCH, "--record", str(file)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    told = capsys.readouterr()
    assert "one low_card among careful" in told.out
    assert "seats: stopped after" in told.out
    assert re.search(r"^evaluate: .*File too large: '.*hands\.jsonl'$", told.err, re.MULTILINE)
    assert "Traceback" not in told.err
    assert not file.exists()
    hands = read_records(tmp_path / "hands.jsonl.unfinished")
    assert next(hands).rules.num_players == 6


def test_match_stopped_at_once_leaves_the_old_record(tmp_path: Path, monkeypatch):
    """It has no hands to put in its place."""
    file = tmp_path / "hands.jsonl"
    assert main([*MATCH, "--record", str(file)]) == 0
    before = file.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "play_with_bar", interrupted)
    assert main([*MATCH, "--record", str(file)]) == 130
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_match_stopped_on_its_way_leaves_its_hands_unfinished(tmp_path: Path, monkeypatch, capsys):
    """Ctrl-C after the first chunk: the table tells of it, an older record stays, the hands lie beside it."""
    file, left, keep = tmp_path / "hands.jsonl", tmp_path / "hands.jsonl.unfinished", evaluate._written
    assert main([*MATCH, "--record", str(file)]) == 0
    before = file.read_bytes()

    def interrupted(writer, match):
        if writer.num_hands:
            raise KeyboardInterrupt
        return keep(writer, match)

    monkeypatch.setattr(evaluate, "_written", interrupted)
    monkeypatch.setattr(matches, "TABLES_AT_ONCE", 40)
    capsys.readouterr()
    assert main([*MATCH, "--record", str(file)]) == 130
    said = capsys.readouterr().out
    assert "6 seats: stopped after 5 of 12 deals" in said
    assert f"record: {left}, 35 hands of what was not finished" in said
    assert file.read_bytes() == before
    hands = read_records(left)
    assert len([next(hands) for _ in range(35)]) == 35
    with pytest.raises(RecordError, match="cut"):
        next(hands)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--values", "careful"], "--values goes with --record only"),
        (["--record", "x.jsonl", "--values", "random_legal"], "random_legal does not say what it holds"),
        (["--record", "no/such/folder/x.jsonl"], "--record no/such/folder/x.jsonl cannot be written"),
        (["--record", "x.jsonl", "--games"], "--games does not go with --record"),
        (["--record", "x.jsonl", "--json", "x.jsonl"], "writing x.jsonl would destroy it: 'x.jsonl'"),
        (["--record", "x.jsonl", "--json", "x.jsonl.unfinished"], "writing x.jsonl would destroy it"),
    ],
)
def test_what_cannot_be_recorded_is_said_first(options, complaint, tmp_path: Path, monkeypatch, capsys):
    """In a line, before anything is played; nothing is left."""
    monkeypatch.chdir(tmp_path)
    assert main([*MATCH, *options]) == 2
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
