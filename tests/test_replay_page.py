"""The replay page in a real browser: it shows what the engine says at every position, and every control works."""

from __future__ import annotations

import random
from typing import Any

import pytest

from chearts_env import Game, Rules
from chearts_env.cards import face_to_text, faces_of_counts
from chearts_env.game import action_to_text
from chearts_env.observation import decode
from chearts_env.record import HandRecord
from chearts_env.recording import GameRecorder
from chearts_env.replay import page_of
from tests.browser import browse, walk
from tests.sizes import moon_history
from tests.test_replay import data_of, recorded

pytestmark = pytest.mark.slow  # of what is drawn and clicked; the engine is tested elsewhere
RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "jack", "queen", "king", "ace"]
SUITS = {"C": ("clubs", "♣"), "D": ("diamonds", "♦"), "S": ("spades", "♠"), "H": ("hearts", "♥")}

#: Hands walked through, and as which seat sees them, None for all cards: of 11 and 6 seats, the last with a moon.
WALKS = [(0, None), (0, 2), (2, None), (2, 5), (3, None), (3, 1), (3, 4)]


def words(action: int) -> str:
    """How a card is read out, or what is done with a moon."""
    return action_to_text(action) if action >= 52 else f"{RANKS[action % 13]} of {SUITS[face_to_text(action)[1]][0]}"


def card(face: int, mark: str = "") -> list[str]:
    """What the driver reads of a card: text, name, decoration."""
    if face >= 52:
        return [words(face), words(face), "none"]
    name = face_to_text(face)
    text = name[0].replace("T", "10") + SUITS[name[1]][1]
    return [text, words(face) + (f", {mark}" if mark else ""), "line-through" if mark == "cancelled" else "none"]


def own_cards(faces: list[int], chosen: int | None) -> list[list[str]]:
    """A hand, the first copy of the card that will be played marked."""
    marked = faces.index(chosen) if chosen in faces else None
    return [card(face, "chosen" if place == marked else "") for place, face in enumerate(faces)]


def assert_position(seen: Any, game: Game, record: HandRecord, place: int, view: int | None, trick_before: Any) -> None:
    """What the page shows, None for all cards, is what the engine says; for one seat what its observation says."""
    n, viewer = game.num_players, view or 0
    knows = decode(game.observation(viewer))
    seat_of = [(viewer + seat) % n for seat in range(n)]  # by relative seat
    mover = None if knows.mover is None else seat_of[knows.mover]
    action = record.moves[place][1] if place < len(record.moves) else None
    assert record.players is not None
    names = [f"P{seat} {name}" for seat, name in enumerate(record.players)]
    assert (seen["place"], seen["fits"]) == (place, True)
    for relative, seat in enumerate(seat_of):
        shown = seen["seats"][seat]
        sees = view is None or seat == view
        hand = faces_of_counts(game.hand(seat) if view is None else knows.hand) if sees else []
        assert shown["cards"] == own_cards(hand, action if seat == mover else None)
        count = int(knows.cards_left[relative])
        assert shown["backs"] == (0 if sees else count)
        assert shown["faceDown"] == ([] if sees else [f"{count} cards face down"])
        holders = {"to move": knows.mover, "dealt": knows.dealer, "leads": knows.leader, "kitty": knows.kitty_taker}
        marks = [word for word, holder in holders.items() if holder == relative]
        score = record.scores[seat] + (record.score_changes[seat] if mover is None else 0)
        assert shown["about"] == ", ".join([*marks, f"{knows.points_seen[relative]} points", f"score {score}"])
        assert shown["name"] == names[seat]
        assert shown["moves"] == (seat == mover)
    is_complete = trick_before is not None and len(trick_before) == n
    trick = trick_before if is_complete else [(seat_of[seat], face) for seat, face in knows.trick]
    faces = [face for _, face in trick]
    assert [[label.split()[0], cards] for label, cards in seen["trick"]] == [
        [f"P{seat}", card(face, "cancelled" if faces.count(face) == 2 else "")] for seat, face in trick
    ]
    taken = "The trick is set aside." if knows.pile.any() else f"P{seat_of[knows.leader]} takes the trick."
    assert seen["outcome"] == (taken if is_complete else "")
    # The list of tricks: those to come only with all cards open; what was taken adds up to the points seen.
    assert len(seen["tricks"]) == (record.rules.hand_size if view is None else knows.trick_number)
    for relative, seat in enumerate(seat_of):
        own = [int(points) for _, _, by, points in seen["tricks"][: knows.trick_number] if by == names[seat]]
        assert sum(own) == knows.points_seen[relative]
    assert seen["pile"] == [card(face) for face in faces_of_counts(knows.pile)]
    kitty = faces_of_counts(game.kitty) if view is None else knows.kitty_cards
    assert seen["kittyCards"] == [card(face) for face in kitty]
    assert kitty or seen["kitty"] == (f"{knows.kitty_size} cards face down" if knows.kitty_size else "none")
    assert_choices(seen, game, record, place, view)


def assert_choices(seen: Any, game: Game, record: HandRecord, place: int, view: int | None) -> None:
    """The legal actions with their values, best first, for whoever may see them."""
    if game.mover is None or view not in (None, game.mover):
        assert seen["choices"] == []
        return
    assert record.values is not None
    values = record.values[place]
    assert values is not None
    legal = sorted(game.legal_actions(), key=values.__getitem__, reverse=True)
    chosen = record.moves[place][1]
    shown = [[item[0].split()[1:], item[1]] for item in seen["choices"]]
    assert shown == [
        [[f"{values[face]:.2f}", *["chosen"] * (face == chosen)], card(face, "chosen" if face == chosen else "")]
        for face in legal
    ]


def assert_walk(readings: Any, record: HandRecord, view: int | None) -> None:
    """Every position of a hand, the last one included."""
    deal = (record.rules, record.hands, record.kitty, record.dealer, record.hand_number)
    game, trick = Game.from_hands(*deal, episode="hand"), None
    assert len(readings) == len(record.moves) + 1
    for place, seen in enumerate(readings):
        assert_position(seen, game, record, place, view, trick)
        if place:
            seat, action = record.moves[place - 1]
            is_hidden = place <= 3 * game.num_players and view not in (None, seat)
            said = "a card" if is_hidden else words(action) if action >= 52 else f"the {words(action)}"
            assert f" {said}." in seen["says"]
            assert seen["says"].endswith("has shot the moon.") == (game.phase == "moon")
        if place < len(record.moves):
            seat, action = record.moves[place]
            trick = [*game.trick, (seat, action)] if game.phase == "play" else None
            game.step(action)
    assert game.is_over


@pytest.fixture(scope="module")
def browsed(tmp_path_factory):
    """What the driver noted, at a desk's and at a phone's width, and the records shown."""
    records = [
        record for size, seed in ((11, 1), (11, 2), (6, 3)) for record in recorded(Rules(size), seed, with_values=True)
    ]
    moon, rng = moon_history(6, random.Random(2)), random.Random(2)
    recorder, game = GameRecorder(records.append, records[2].players), moon.begin()
    for action in [*moon.actions, 53]:
        recorder.step(game, action, {each: rng.random() for each in game.legal_actions()})
    walks = [walk(hand, view, range(len(records[hand].moves) + 1)) for hand, view in WALKS]
    page, results = page_of(records, note="Shown: hands 1 to 4"), []
    for width in (1280, 390):
        results.append(browse(page, tmp_path_factory.mktemp(f"page{width}"), walks, width, controls=True))
    return results, records


def test_every_position_in_the_browser_is_the_engines(browsed):
    """Hands of 6 and 11 seats, all cards and one seat's view, at both widths; nothing is wider than its room."""
    results, records = browsed
    for result in results:
        for readings, (hand, view) in zip(result["walks"], WALKS, strict=True):
            assert_walk(readings, records[hand], view)


def test_every_control_does_what_it_says_in_a_browser(browsed):
    """Buttons, keys, slider, rows; nothing where a key belongs to something else."""
    results, records = browsed
    end = len(records[0].moves)
    first_trick = 33 + 11  # after the passes
    for result in results:
        places = result["steps"]
        for names, expected in (
            (("begin", "before the begin", "next", "right", "left", "previous"), [0, 0, 1, 2, 1, 0]),
            (("pagedown", "next-trick", "pageup", "previous-trick"), [44, 55, 44, 0]),
            (("slider", "in a select", "in the slider", "with alt", "with control"), [40] * 5),
            (("row", "button of a row"), [first_trick + 22, first_trick + 33]),
            (("home", "end", "first", "last", "second hand"), [0, end, 0, end, 0]),
        ):
            assert [places[name] for name in names] == expected
        assert places["doubt"] == data_of(page_of(records))["hands"][1]["doubts"][0]["place"]
        assert 0 < places["played"] <= 4
        assert places["stopped"] == places["played"]
        assert (result["spaceOnButton"], result["focused"]) == ("false", "last")
        assert result["views"] == [12, 7]
        assert (result["hands"], result["note"]) == (["1", "2", "3", "4"], "Shown: hands 1 to 4")


def test_nothing_goes_wrong_and_everything_has_a_name(browsed):
    """No error, warning, rejection or violation; the frame really is as wide as asked; names have roles."""
    results, _ = browsed
    assert [result["width"] for result in results] == [1280, 390]
    for result in results:
        assert (result["problems"], result["console"]) == ([], [])
        assert (result["unnamed"], result["namesWithoutRole"]) == (0, 0)
        assert (result["liveWhilePlaying"], result["live"]) == ("off", "polite")


def test_what_goes_wrong_is_noticed(tmp_path):
    """Planted: an error, a warning, a rejection, and a script that the page's policy does not know."""
    (record,) = recorded(Rules(6), 1)
    page = page_of([record]).replace("</body>", "<script>1</script></body>")
    assert any("securitypolicyviolation: script-src" in line for line in browse(page, tmp_path)["problems"])
    planted = 'console.warn("planted"); console.error("planted"); Promise.reject("planted"); missing();'
    result = browse(f"<!doctype html><head></head><body><script>{planted}</script>", tmp_path)
    noted = {line.split(":")[0] for line in result["problems"]}
    assert noted == {"console.warn", "console.error", "unhandledrejection", "error"}


def test_whole_game_of_eleven_seats_loads_and_ends_as_the_engine_says(tmp_path):
    """With values at every decision."""
    records = recorded(Rules(11), 1, "game", with_values=True)
    assert len(records) > 10
    game = Game(Rules(11), 1)
    for record in records:
        for _, action in record.moves:
            game.step(action)
    assert game.is_over
    last = len(records[-1].moves)
    result = browse(page_of(records), tmp_path, [walk(len(records) - 1, view, [0, last]) for view in (None, 3)])
    points = game.points_seen.tolist()  # those of the last hand: no other was dealt
    for begin, seen in result["walks"]:
        assert begin["place"] == 0
        assert [row[0] for row in seen["scores"]] == [str(number + 1) for number in range(len(records))]
        totals = [int(cell.split("(")[1].rstrip(")")) for cell in seen["scores"][-1][1:]]
        assert totals == game.scores.tolist()
        for seat, score, taken in zip(seen["seats"], totals, points, strict=True):
            assert seat["about"].endswith(f"{taken} points, score {score}")
            assert not seat["cards"]
            assert not seat["backs"]
        assert seen["says"].endswith("The hand is over.")
    assert (result["problems"], result["console"]) == ([], [])
