"""One seat's view of the replay page, in a real browser: it tells no more than that seat may know."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text, faces_of_counts
from chearts_env.game import action_to_text
from chearts_env.record import HandRecord
from chearts_env.recording import GameRecorder
from chearts_env.replay import page_of
from tests.browser import browse, walk
from tests.sizes import moon_history
from tests.test_replay import recorded

pytestmark = pytest.mark.slow  # of what is drawn and clicked; the engine is tested elsewhere


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
        opened = [walk(2 * number, None, [case[3]], whole=True) for number, case in enumerate(cases)]
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
    walks = [walk(0, 1, [0, 5, end - 1, end]), walk(2, 1, [0, end]), walk(1, 1, [0, end]), walk(2, None, [0])]
    first, second, other, everything = browse(page_of(records, first=51), tmp_path, walks)["walks"]
    assert [[row[0] for row in seen["scores"]] for seen in first] == [[], [], [], ["51"]]
    assert [[row[0] for row in seen["scores"]] for seen in second] == [["51"], ["51", "53"]]
    assert [[row[0] for row in seen["scores"]] for seen in other] == [[], ["52"]]
    assert [row[0] for row in everything[0]["scores"]] == ["51", "52", "53", "54"]
    sums = np.cumsum([game[0].score_changes, game[1].score_changes], axis=0).tolist()
    assert second[1]["scores"][1][1:] == [
        f"{change} ({total})" for change, total in zip(game[1].score_changes, sums[1], strict=True)
    ]
