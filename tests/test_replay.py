"""The replay page: what it holds is what the engine says, and in a real browser every control does what it says."""

from __future__ import annotations

import html
import json
import random
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text
from chearts_env.record import HandRecord, RecordWriter
from chearts_env.recording import GameRecorder
from chearts_env.replay import main, page_of
from tests.sizes import SIZES, moon_history

pytestmark = pytest.mark.slow  # of what is drawn and clicked; the engine is tested elsewhere
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--virtual-time-budget=20000", "--dump-dom",
]  # fmt: skip


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


# In a real browser


#: Uses every control as a person would and notes what the page then shows.
DRIVER = (Path(__file__).parent / "data" / "replay_driver.html").read_text("utf-8")


@pytest.fixture(scope="module")
def browsed(tmp_path_factory):
    """What the driver noted, at a desk's and at a phone's width, and the records shown."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the page's controls cannot be tried")
    records = [
        record for size, seed in ((11, 1), (11, 2), (6, 3)) for record in recorded(Rules(size), seed, with_values=True)
    ]
    folder = tmp_path_factory.mktemp("page")
    path = folder / "page.html"
    path.write_text(page_of(records).replace('<script id="data"', DRIVER + '<script id="data"'), "utf-8")
    results = []
    for width in (1280, 390):
        command = [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={folder / str(width)}",
            f"--window-size={width},900",
            path.as_uri(),
        ]
        page = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        found = re.search(r'<pre id="result">(.*?)</pre>', page, re.DOTALL)
        assert found, page[-2000:]
        results.append(json.loads(html.unescape(found[1])))
    return results, records


def test_every_control_does_what_it_says_in_a_browser(browsed):
    """Buttons, keys, slider, rows; no error on the console."""
    (result, _), records = browsed
    assert result["errors"] == []
    places = dict(result["steps"])
    end = len(records[0].moves)
    first_trick = 33 + 11  # after the passes
    assert [places[name] for name in ("begin", "next", "right", "left", "previous")] == [0, 1, 2, 1, 0]
    assert [places[name] for name in ("pagedown", "next-trick", "pageup", "previous-trick")] == [44, 55, 44, 0]
    assert (places["slider"], places["row"]) == (40, first_trick + 22)
    assert (places["home"], places["end"], places["first"], places["last"]) == (0, end, 0, end)
    assert places["second hand"] == 0
    assert result["views"] == [12, 7]
    assert places["doubt"] == data_of(page_of(records))["hands"][1]["doubts"][0]["place"]
    assert 0 < places["played"] <= 4
    assert places["stopped"] == places["played"]


def test_last_position_in_the_browser_is_the_engines(browsed):
    """Points and scores."""
    (result, _), records = browsed
    game = None
    for game, _, action in records[0].replay():  # noqa: B007 - the last one is wanted
        pass
    assert game is not None
    assert result["last"]["points"] == game.points_seen.tolist()
    assert result["last"]["hands"] == [""] * 11
    for change in records[0].score_changes:
        assert str(change) in result["scores"]


def test_one_seats_view_hides_the_others_cards_in_the_browser(browsed):
    """All open, or one seat's."""
    (result, _), _ = browsed
    assert result["all"] == 0
    assert result["own"] > 0
    assert result["othersOpen"] == 0
    assert result["backs"] > 0
    assert "<b>0</b> <!--<script> & co" in result["names"]
    assert result["othersDoubts"] == 0
    assert result["tricksToCome"] == 0


def test_page_is_readable_at_phone_width_and_every_control_has_a_name(browsed):
    """No sideways scrolling; a name for a screen reader."""
    results, _ = browsed
    assert [result["wide"] for result in results] == [True, True]
    assert [result["unnamed"] for result in results] == [0, 0]
    assert results[1]["errors"] == []
