"""The replay page in a real browser: it shows what the engine says, and one seat no more than that seat may know."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text, face_to_text, faces_of_counts
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


def words(face: int) -> str:
    """How a card is read out."""
    return f"{RANKS[face % 13]} of {SUITS[face_to_text(face)[1]][0]}"


def card(face: int, mark: str = "") -> list[str]:
    """What the driver reads of a card: text, name, decoration."""
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
            assert f" {'a card' if is_hidden else f'the {words(action)}'}." in seen["says"]
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
    walks = [
        walk(hand, view, range(len(records[hand].moves) + 1)) for hand, view in ((0, "all"), (0, 2), (2, "all"), (2, 5))
    ]
    page, results = page_of(records, note="Shown: hands 1 to 3"), []
    for width in (1280, 390):
        results.append(browse(page, tmp_path_factory.mktemp(f"page{width}"), walks, width, controls=True))
    return results, records


def test_every_position_in_the_browser_is_the_engines(browsed):
    """Hands of 6 and 11 seats, all cards and one seat's view, at both widths; nothing needs sideways scrolling."""
    results, records = browsed
    for result in results:
        for readings, (hand, view) in zip(result["walks"], ((0, None), (0, 2), (2, None), (2, 5)), strict=True):
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
        assert (result["hands"], result["note"]) == (["1", "2", "3"], "Shown: hands 1 to 3")


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


# What one seat may know


def two_hands(game: Game, rng: random.Random, prefix: list[int], thoughts: list[Any]) -> list[HandRecord]:
    """Play the given actions, then at random: this hand and the next, with values; `thoughts` are the first of them."""
    records: list[HandRecord] = []
    recorder, number = GameRecorder(records.append), 0
    while len(records) < 2:
        legal = game.legal_actions()
        values = {each: rng.random() for each in legal}
        if number < len(thoughts) and thoughts[number]:
            values = thoughts[number]
        recorder.step(game, prefix[number] if number < len(prefix) else rng.choice(legal), values)
        number += 1
    return records


def other_world(record: HandRecord, seat: int, place: int, rng: random.Random) -> list[HandRecord]:
    """A hand, and the next, that the seat cannot tell from this one at any position up to `place`."""
    rules, n = record.rules, record.rules.num_players
    game = Game.from_hands(rules, record.hands, record.kitty, record.dealer)
    for _, action in record.moves[:place]:
        game.step(action)
    world = game.redeal(seat, np.random.default_rng(place))
    offset = world.pass_offset if world.phase != "pass" else 0
    dealt = [world.hand(each) + world.given(each) + world.played(each) for each in range(n)]
    if offset:
        dealt = [cards - world.given((each - offset) % n) for each, cards in enumerate(dealt)]
    given = {each: faces_of_counts(world.given(each)) for each in range(n)}
    prefix, num_passes = [], 3 * n if world.pass_offset else 0
    for number, (mover, action) in enumerate(record.moves[: place + (record.moves[place][0] == seat)]):
        prefix.append(action if number >= num_passes or mover == seat else given[mover].pop())
    assert record.values is not None
    thoughts = [
        values if mover == seat else None
        for (mover, _), values in zip(record.moves[: place + 1], record.values, strict=False)
    ]
    again = Game.from_hands(rules, dealt, world.kitty, record.dealer, seed=place)
    return two_hands(again, rng, prefix, thoughts)


def worlds_of_a_seat() -> list[tuple[list[HandRecord], list[HandRecord], int, int]]:
    """Hands, others that a seat cannot tell from them, the seat, and the position up to which."""
    rng, cases = random.Random(5), []
    for rules, seat, places in (
        (Rules(11, kitty_view="winner"), 4, (20, 70, 130)),
        (Rules(7, kitty_view="everyone", set_aside="no_live_card"), 2, (60,)),
        (Rules(6, pass_cycle=(0, 1), kitty_to="last_winner"), 0, (0, 50, 100)),
    ):
        deal = Game(rules, 3)
        hands = [counts_to_text(deal.hand(each)) for each in range(rules.num_players)]
        one = two_hands(Game.from_hands(rules, hands, deal.kitty, deal.dealer), rng, [], [])
        cases += [(one, other_world(one[0], seat, place, rng), seat, place) for place in places]
    moon = moon_history(6, rng)
    one = two_hands(moon.begin(), rng, [*moon.actions, 53], [])
    assert action_to_text(one[0].moves[-1][1]) == "add"
    other = other_world(one[0], 3, 12, rng)
    assert len(other[0].moves) == len(one[0].moves) - 1
    return [*cases, (one, other, 3, 12)]


def test_one_seats_view_does_not_depend_on_what_the_seat_cannot_know(tmp_path):
    """All that is not hidden, to the last attribute, in worlds that differ in what the seat has not seen."""
    cases = worlds_of_a_seat()
    sides = ([case[0] for case in cases], [case[1] for case in cases])
    pages = [page_of(chain.from_iterable(side)) for side in sides]
    results = []
    for name, page in zip("ab", pages, strict=True):
        folder = tmp_path / name
        folder.mkdir()
        walks = [
            walk(2 * number, seat, sorted({*range(0, place, 7), place}), whole=True)
            for number, (_, _, seat, place) in enumerate(cases)
        ]
        opened = [walk(2 * number, "all", [case[3]], whole=True) for number, case in enumerate(cases)]
        results.append(browse(page, folder, [*walks, *opened])["walks"])
    for one, other in zip(*(result[: len(cases)] for result in results), strict=True):
        assert one == other
    for one, other in zip(*(result[len(cases) :] for result in results), strict=True):
        assert one != other  # the worlds are not the same


def test_one_seat_sees_scores_only_of_hands_that_are_over(tmp_path):
    """Of its own game; all cards open show every hand's."""
    game = recorded(Rules(6), 2, "game")[:3]
    records = [game[0], *recorded(Rules(6), 9), *game[1:]]
    end = len(game[1].moves)
    walks = [walk(0, 1, [0, 5, end - 1, end]), walk(2, 1, [0, end]), walk(1, 1, [0, end]), walk(2, "all", [0])]
    first, second, other, everything = browse(page_of(records, first=51), tmp_path, walks)["walks"]
    assert [[row[0] for row in seen["scores"]] for seen in first] == [[], [], [], ["51"]]
    assert [[row[0] for row in seen["scores"]] for seen in second] == [["51"], ["51", "53"]]
    assert [[row[0] for row in seen["scores"]] for seen in other] == [[], ["52"]]
    assert [row[0] for row in everything[0]["scores"]] == ["51", "52", "53", "54"]
    sums = np.cumsum([game[0].score_changes, game[1].score_changes], axis=0).tolist()
    assert second[1]["scores"][1][1:] == [
        f"{change} ({total})" for change, total in zip(game[1].score_changes, sums[1], strict=True)
    ]


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
    result = browse(page_of(records), tmp_path, [walk(len(records) - 1, view, [0, last]) for view in ("all", 3)])
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
