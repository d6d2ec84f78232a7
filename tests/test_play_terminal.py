"""Playing in a real terminal: keys are sent, the screen is read, and the record says what was played."""

from __future__ import annotations

import os
import re
import signal
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text, face_from_text
from chearts_env.record import RecordError, read_records, verify
from chearts_env.replay import main as replay

pytest.importorskip("pyte", reason="pyte, of the extra `test`, is not installed")
if os.name != "posix":
    pytest.skip("a pseudo-terminal needs a POSIX system", allow_module_level=True)
from tests.terminal import CONTROL_C, DOWN, ENTER, ESCAPE, LEFT, RIGHT, Terminal, playing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("textual") is None, reason="textual, of the extra `play`, is not installed"),
]
#: Numbers of 256 colours that are none: black, white and what lies between.
GREYS = {0, 7, 8, 15, 16, 59, 102, 145, 188, 231, *range(232, 256)}
QUICK = ("--seed", "4", "--delay", "0")


def turn_in(text: str) -> bool:
    """Say whether the person is asked for a card, on a screen that is drawn to its end."""
    keys = re.fullmatch(r"left/right move  .*  h hints  s scores  \? help  q quit", text.splitlines()[-1])
    return keys is not None and "Your turn: " in text and "[" in text


def wait_for_turn(terminal: Terminal) -> None:
    """Wait until the person is asked for a card."""
    terminal.wait_until(turn_in, "the person's turn")


def place_of(hand: list[str]) -> int:
    """Return the place of the cursor, -1 as long as the hand is half drawn."""
    places = [place for place, card in enumerate(hand) if "[" in card]
    return places[0] if len(places) == 1 else -1


def catch_up(terminal: Terminal) -> str:
    """Return the screen of a turn once all keys so far have done their work: what answers one more is drawn last."""
    terminal.send(b"?")
    terminal.wait_for("KEYS")
    terminal.send(ESCAPE)
    return terminal.wait_until(
        lambda text: "KEYS" not in text and turn_in(text) and place_of(terminal.hand) >= 0, "the turn again"
    )


def step_to(terminal: Terminal, key: bytes, times: int) -> str:
    """Move the cursor; return the card it stands on then."""
    wait_for_turn(terminal)
    terminal.send(key * times)
    catch_up(terminal)
    return terminal.here


def pass_three(terminal: Terminal, rng: np.random.Generator) -> list[str]:
    """Mark cards, take one back, mark another, and give them; return their names in the order they were marked."""
    wait_for_turn(terminal)
    num_cards = len(terminal.hand)
    marked: list[str] = []
    for _ in range(2):
        marked.append(step_to(terminal, RIGHT, int(rng.integers(1, 3))))
        terminal.send(b" ")
        terminal.wait_for(f"marked: {' '.join(marked)}")
    terminal.send(b" ")  # taken back
    terminal.wait_for(f"marked: {marked[0]}\n")
    marked.pop()
    for _ in range(2):
        marked.append(step_to(terminal, RIGHT, 1))
        terminal.send(b" ")
        terminal.wait_for(" ".join(marked))
    terminal.wait_for(f"give {' '.join(marked)} to P")
    terminal.send(ENTER)
    terminal.wait_until(lambda text: len(terminal.hand) != num_cards or "trick 1" in text, "the cards to be given")
    return marked


def play_card(terminal: Terminal, rng: np.random.Generator) -> str:
    """Choose one of the allowed cards and play it; return its name."""
    card = step_to(terminal, (LEFT, RIGHT)[int(rng.integers(2))], int(rng.integers(0, 3)))
    num_cards = len(terminal.hand)
    terminal.send(ENTER)
    terminal.wait_until(
        lambda text: len(terminal.hand) == num_cards - 1 or (not terminal.hand and "is over" in text), "the card to go"
    )
    return card


def play_hand(terminal: Terminal, num_cards: int) -> list[str]:
    """Play a hand by keys, and return the cards that were chosen, in order."""
    rng = np.random.default_rng(1)
    chosen = pass_three(terminal, rng)
    for _ in range(num_cards):
        chosen.append(play_card(terminal, rng))
    terminal.wait_for("Hand 1: over")
    return chosen


def own_moves(path: Path, seat: int = 0) -> list[int]:
    """Return the actions of a seat in a record of one hand."""
    (kept,) = read_records(path)
    return [action for mover, action in kept.moves if mover == seat]


@pytest.mark.parametrize(
    ("columns", "lines", "seats", "no_colour"), [(80, 24, 11, False), (80, 24, 6, True), (120, 40, 7, False)]
)
def test_record_holds_the_cards_that_were_chosen_by_keys(columns, lines, seats, no_colour, tmp_path: Path):
    """Passing with one card taken back, playing, the end, the record."""
    record = tmp_path / "mine.jsonl"
    environment = {"NO_COLOR": "1"} if no_colour else {}
    words = ("--seats", str(seats), "--hand", "--record", str(record), *QUICK)
    with playing(columns, lines, *words, **environment) as terminal:
        wait_for_turn(terminal)
        assert all(f"P{seat} " in terminal.text for seat in range(seats))
        chosen = play_hand(terminal, Rules(seats).hand_size)
        terminal.wait_for("THE GAME IS OVER", "won by P", "q leave")
        assert not record.exists()
        terminal.send(b"q")
        assert terminal.end() == 0
        assert f"record: {record}, 1 hand" in terminal.raw.decode().replace("\r\n", "\n")
    assert verify(record) == 1
    assert [face_from_text(card) for card in chosen] == own_moves(record)
    assert len(chosen) == 3 + Rules(seats).hand_size
    assert sorted(tmp_path.iterdir()) == [record]
    (kept,) = read_records(record)
    assert kept.seed == 4
    assert kept.hands[0] == counts_to_text(Game(Rules(seats), 4, episode="hand").hand(0))


def test_moon_is_settled_by_keys(tmp_path: Path):
    """R21: the second way, by one step to the right."""
    record = tmp_path / "moon.jsonl"
    with playing(80, 24, str(record), module="tests.play_at_moon") as terminal:
        terminal.wait_for("[subtract 26 from my score]", "you took all 52 points")
        terminal.send(RIGHT)
        terminal.wait_for("[add 26 to every other score]")
        terminal.send(ENTER)
        terminal.wait_for("shot the moon", "adds to the others 26", "+26", "Hand 1 is over")
        terminal.send(CONTROL_C)
        terminal.end()
    (kept,) = read_records(record)
    assert kept.moves[-1] == (1, 53)
    assert kept.score_changes == (26, 0, 26, 26, 26, 26)


def test_looking_things_up_takes_nothing_back_and_plays_nothing(tmp_path: Path):
    """Hints, scores, log, pile, help; no key but enter moves the game on, and none takes a card back."""
    with playing(80, 24, "--seats", "11", "--hints", "tests.play_tables:Explaining", *QUICK) as terminal:
        pass_three(terminal, np.random.default_rng(0))
        wait_for_turn(terminal)
        play_card(terminal, np.random.default_rng(0))
        terminal.wait_for("trick 2", "Your turn: ")
        seats = catch_up(terminal)
        for key, words in (
            (b"h", ("Explaining, best first:", "points: because")), (b"s", ("score", "The game ends once")),
            (b"l", ("newest first",)), (b"p", ("pile",)), (b"r", ("No hand has ended yet.",)),
            (b"?", ("KEYS", "up and down show the others")),
        ):  # fmt: skip
            terminal.send(key)
            terminal.wait_for(*words)
            terminal.send(ESCAPE)
            terminal.wait_until(lambda text: text == seats, f"the same screen as before {key!r}")
        terminal.send(b"?")
        terminal.wait_for("KEYS")
        for _ in range(20):
            terminal.send(DOWN)
        terminal.wait_for("Nothing is recorded")
        terminal.send(ESCAPE)
        terminal.wait_until(lambda text: text == seats, "the same screen as before")
        for key in (b"u", b"\x7f", b"\x1a", b"z", b"\x1b[3~", b" "):
            terminal.send(key)
        terminal.wait_for("Cards are marked for the pass alone")
        terminal.send(b"x")
        terminal.wait_until(lambda text: text == seats, "the same screen as before")
        terminal.send(b"q")
        terminal.wait_for("q once more leaves")
        terminal.send(b"x")
        terminal.wait_until(lambda text: text == seats, "the game to go on")
        terminal.send(CONTROL_C)
        assert terminal.end() == 128 + signal.SIGINT


def play_first_hand(terminal: Terminal) -> None:
    """Play a hand of a game with the cards that are offered, and go on to the next."""
    wait_for_turn(terminal)
    terminal.send(b" " + RIGHT + b" " + RIGHT + b" ")
    terminal.wait_for("with enter")
    end, is_done = time.monotonic() + 120, False
    while not is_done and time.monotonic() < end:
        # More of it than is needed does no harm: it gives no cards before three are marked.
        if turn_in(terminal.text) or "Enter goes on to the next one" in terminal.text:
            terminal.send(ENTER)
        terminal.read()
        is_done = "Hand 2: passing" in terminal.text
    terminal.wait_until(lambda text: "Hand 2: passing" in text and place_of(terminal.hand) >= 0, "the second hand")
    terminal.send(b"r")
    terminal.wait_for("hand 1", "Last trick: ")


@pytest.mark.parametrize(
    ("way", "status"),
    [
        ("q", 0), ("ctrl+c", 130), ("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("window", 129), ("SIGKILL", -9),
    ],
)  # fmt: skip
def test_game_that_is_broken_off_leaves_its_hands_unfinished(way, status, tmp_path: Path, capsys):
    """Whatever ends it, the hand played to its end is on disk, under a name that says that more was to come."""
    record, beside = tmp_path / "mine.jsonl", tmp_path / "mine.jsonl.unfinished"
    with playing(80, 24, "--record", str(record), *QUICK) as terminal:
        play_first_hand(terminal)
        if way == "q":
            terminal.send(b"q")
            terminal.wait_for("q once more leaves")
        if way == "window":
            assert terminal.hang_up() == status
        else:
            keys = {"q": b"q", "ctrl+c": CONTROL_C}
            if way in keys:
                terminal.send(keys[way])
            else:
                os.kill(terminal.pid, signal.Signals[way])
            assert terminal.end() == status
            if way in keys:
                assert f"record: {beside}, 1 hand of a game that was not finished" in terminal.raw.decode()
    assert sorted(tmp_path.iterdir()) == [beside]
    with pytest.raises(RecordError, match="the file is cut: no last line follows its 1 hands"):
        verify(beside)
    assert len(list(next(read_records(beside)).replay())) == 6 * (3 + 17)
    assert replay([str(beside), "--count", "1", "-o", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()


def test_interrupt_while_players_are_prepared_ends_without_a_trace():
    """Ctrl-C, then, is an ordinary signal."""
    with playing(80, 24, "--against", "tests.play_tables:Slow", *QUICK) as terminal:
        terminal.wait_for("preparing the players")
        os.kill(terminal.pid, signal.SIGINT)
        assert terminal.end() == 130
    assert "Traceback" not in terminal.raw.decode()


def test_game_left_before_its_first_hand_leaves_no_file(tmp_path: Path):
    """Nothing was played to its end."""
    with playing(80, 24, "--record", str(tmp_path / "mine.jsonl.gz"), *QUICK) as terminal:
        wait_for_turn(terminal)
        terminal.send(CONTROL_C)
        terminal.end()
    assert not list(tmp_path.iterdir())


def test_screen_without_colour_has_none():
    """`NO_COLOR`: what is chosen stands in brackets all the same."""
    seen = {}
    for name, environment in (("plain", {"NO_COLOR": "1"}), ("coloured", {})):
        with playing(80, 24, *QUICK, **environment) as terminal:
            wait_for_turn(terminal)
            terminal.send(CONTROL_C)
            terminal.end()
            seen[name] = {int(number) for number in re.findall(rb"38;5;(\d+)", terminal.raw)} - GREYS
    assert not seen["plain"]
    assert len(seen["coloured"]) > 2


def test_small_window_is_told_and_enlarging_it_helps():
    """The size may change while playing."""
    with playing(60, 20, *QUICK) as terminal:
        terminal.wait_for("Too small: 80 columns and 24 lines are needed, not 60 and")
        terminal.resize(90, 30)
        wait_for_turn(terminal)
        terminal.send(CONTROL_C)
        terminal.end()


def test_policy_that_fails_ends_the_game_with_its_name(tmp_path: Path):
    """No traceback over a broken screen; what was played is kept."""
    record = tmp_path / "mine.jsonl"
    words = ("--against", "tests.play_at_moon:FailsInPlay", "--record", str(record), *QUICK)
    with playing(80, 24, *words) as terminal:
        wait_for_turn(terminal)
        terminal.send(b" " + RIGHT + b" " + RIGHT + b" ")
        terminal.wait_for("with enter")
        terminal.send(ENTER)
        assert terminal.end() == 1
    said = terminal.raw.decode()
    assert "play: tests.play_at_moon:FailsInPlay in seat" in said
    assert "Traceback" not in said
