"""The replay page's data and its command; `test_replay_page` and `test_replay_views` open it in a browser."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text
from chearts_env.record import HandRecord, RecordError, RecordWriter
from chearts_env.recording import GameRecorder
from chearts_env.replay import main, page_of
from tests.sizes import SIZES, moon_history

pytestmark = pytest.mark.slow  # of what is drawn and clicked; the engine is tested elsewhere


def recorded(rules: Rules, seed: int, episode: Any = "hand", with_values: bool = False) -> list[HandRecord]:
    """Hands played at random, by players with names that HTML could stumble over."""
    records: list[HandRecord] = []
    players = [f"<b>{seat}</b> <!--<script> & co" for seat in range(rules.num_players)]
    recorder = GameRecorder(records.append, players)
    game, rng = Game(rules, seed, episode=episode), random.Random(seed)
    while not game.is_over:
        legal = game.legal_actions()
        recorder.step(game, rng.choice(legal), {each: rng.random() for each in legal} if with_values else None)
    return records


def data_of(page: str) -> Any:
    """What the page was given to show."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("num_players", SIZES)
def test_every_position_is_the_engines(num_players):
    """Hands, points, mover and what may be done, before every decision and at the end."""
    for rules in (Rules(num_players), Rules.classic(num_players)):
        (record,) = recorded(rules, num_players)
        (hand,) = data_of(page_of([record]))["hands"]
        game = Game(rules, num_players, episode="hand")
        for position, (seat, action) in zip(hand["positions"], record.moves, strict=False):
            assert position["mover"] == seat == game.mover
            assert position["hands"] == [counts_to_text(game.hand(each)) for each in range(num_players)]
            assert position["points"] == game.points_seen.tolist()
            assert len(position["legal"]) == len(game.legal_actions())
            assert position["action"] in position["legal"]
            game.step(action)
        assert len(hand["positions"]) == len(record.moves) + 1
        assert hand["positions"][-1]["mover"] is None
        assert hand["positions"][-1]["points"] == game.points_seen.tolist()
        assert list(hand["score_changes"]) == game.scores.tolist()


@pytest.mark.parametrize("num_players", SIZES)
def test_tricks_go_to_whoever_leads_next_or_are_set_aside(num_players):
    """R14 and R15: a winner leads the next trick; a trick set aside leaves its cards on the pile."""
    (record,) = recorded(Rules(num_players), 2)
    (hand,) = data_of(page_of([record]))["hands"]
    tricks = hand["tricks"]
    assert len(tricks) == Rules(num_players).hand_size
    for trick, following in pairwise(tricks):
        pile = hand["positions"][trick["to"]]["pile"]
        if trick["winner"] is None:
            assert set(trick["cards"]) <= set(pile.split())
        else:
            assert trick["winner"] == following["leader"]
            assert not pile
        assert [card for _, card in hand["positions"][trick["to"]]["trick"]] == trick["cards"]
    taken = sum(trick["points"] for trick in tricks)
    assert taken == sum(hand["positions"][-1]["points"])


def test_settled_moon_has_a_position():
    """R21."""
    history = moon_history(6, random.Random(1))
    records: list[HandRecord] = []
    recorder, game = GameRecorder(records.append), history.begin()
    for action in [*history.actions, 53]:
        recorder.step(game, action)
    (hand,) = data_of(page_of(records))["hands"]
    assert hand["positions"][-2]["phase"] == "moon"
    assert hand["positions"][-2]["action"] == "add"


def test_doubtful_decisions_are_those_with_the_greatest_gaps():
    """Between the best action's value and that of the one taken."""
    (record,) = recorded(Rules(6), 4, with_values=True)
    (hand,) = data_of(page_of([record]))["hands"]
    assert record.values is not None
    gaps = [
        max(values.values()) - values[action]
        for values, (_, action) in zip(record.values, record.moves, strict=True)
        if values
    ]
    assert [doubt["gap"] for doubt in hand["doubts"]] == sorted(gaps, reverse=True)[:10]


def test_command_writes_a_page_that_needs_nothing_else(tmp_path, capsys):
    """No address is loaded; names cannot break out of the data; what cannot be is said."""
    file, out = tmp_path / "hands.jsonl", tmp_path / "page.html"
    with RecordWriter(file) as writer:
        for record in recorded(Rules(6, max_hands=3), 1, "game"):
            writer.write(record)
    assert main([str(file), "-o", str(out), "--first", "2", "--count", "1"]) == 0
    page = out.read_text("utf-8")
    assert [hand["hand_number"] for hand in data_of(page)["hands"]] == [1]
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)
    assert "{{" not in page.replace(page[page.index('id="data"') : page.index("</script>")], "")
    assert main([str(file), "-o", str(out), "--first", "9"]) == 1
    assert "there is no hand to show" in capsys.readouterr().err
    assert main([str(tmp_path / "none.jsonl"), "-o", str(out)]) == 2
    assert out.read_text("utf-8") == page


def test_record_of_a_game_that_was_broken_off_is_shown(tmp_path, capsys):
    """All hands that it has, and that it has no end; where the damage lies among them, nothing is shown."""
    whole, file, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "page.html"
    with RecordWriter(whole) as writer:
        for record in recorded(Rules(6, max_hands=2), 1, "game"):
            writer.write(record)
    file.write_text("".join(whole.read_text("utf-8").splitlines(keepends=True)[:2]), "utf-8")
    assert main([str(file), "-o", str(out), "--count", "2"]) == 0
    note = "Shown: hands 1 to 2 of b.jsonl; what follows cannot be read: "
    assert note in capsys.readouterr().out
    assert note in out.read_text("utf-8")
    assert len(data_of(out.read_text("utf-8"))["hands"]) == 2
    assert main([str(file), "-o", str(out), "--count", "3"]) == 1
    assert "the file is cut" in capsys.readouterr().err


def test_hands_left_out_are_said_and_numbers_are_the_files(tmp_path, capsys):
    """By the command and on the page; 50 hands are shown unless more are asked for."""
    file, out = tmp_path / "hands.jsonl", tmp_path / "page.html"
    (record,) = recorded(Rules(6), 1)
    with RecordWriter(file) as writer:
        for _ in range(53):
            writer.write(record)
    for options, shown, first, count in (
        ([], "hands 1 to 50 of hands.jsonl; more with --first 51", 1, 50),
        (["--first", "51"], "hands 51 to 53 of hands.jsonl, its last", 51, 3),
        (["--count", "53"], "hands 1 to 53 of hands.jsonl, its last", 1, 53),
        (["--first", "7", "--count", "2"], "hands 7 to 8 of hands.jsonl; more with --first 9", 7, 2),
    ):
        assert main([str(file), "-o", str(out), *options]) == 0
        assert capsys.readouterr().out == f"{out}\nShown: {shown}\n"
        page = out.read_text("utf-8")
        assert f'<p id="note">Shown: {shown}</p>' in page
        assert (data_of(page)["first"], len(data_of(page)["hands"])) == (first, count)


@pytest.mark.parametrize("wrong", [{"score_changes": (1, 2)}, {"scores": (0,)}, {"hand_number": "x"}, {"hands": ()}])
def test_content_that_cannot_be_is_a_record_error(wrong):
    """Whatever a file holds whose check sums agree."""
    (record,) = recorded(Rules(6), 1, "game")[:1]
    with pytest.raises(RecordError, match=r"^hand 1: "):
        page_of([replace(record, **wrong)])


def test_hand_that_cannot_be_is_named_by_its_number_in_the_file():
    """A card that its seat does not hold."""
    (record,) = recorded(Rules(6), 1)
    wrong = replace(
        record, moves=((record.moves[0][0], 51), *record.moves[1:]), hands=record.hands[1:] + record.hands[:1]
    )
    with pytest.raises(RecordError, match=r"^hand 8: "):
        page_of([record, wrong], first=7)


def test_hands_of_one_game_are_told_from_others():
    """Games that were played beside each other, their hands mixed, and single hands."""
    games = [recorded(Rules(6, max_hands=3), seed, "game") for seed in (1, 2)]
    single = recorded(Rules(6), 3) + recorded(Rules(6), 3)
    mixed = [games[0][0], games[1][0], single[0], games[0][1], games[1][1], single[1], games[1][2], games[0][2]]
    assert [hand["game"] for hand in data_of(page_of(mixed))["hands"]] == [0, 1, 2, 0, 1, 5, 1, 0]
