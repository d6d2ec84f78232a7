"""What a person at the table is shown: whole or with a sign, and nothing that the seat cannot know."""

from __future__ import annotations

import random

import numpy as np
import pytest

from chearts_env import Game, Rules
from chearts_env.cards import counts_to_text, faces_to_text
from chearts_env.play_choice import Choice
from chearts_env.play_pages import help_lines, pile_lines, result_lines, said_lines, score_lines
from chearts_env.play_screen import Page, screen, text_of
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal
from tests.play_tables import play_on, table_of, to_persons_turn
from tests.sizes import moon_history

pytestmark = pytest.mark.slow


def all_pages(table: PlayTable) -> list[list[str]]:
    """Return everything that can be looked up."""
    view = table.view()
    told = [result_lines(view), score_lines(view), pile_lines(view), said_lines(view)]
    return [*told, help_lines(view.rules, "careful", None)]


def screen_of(table: PlayTable, page: Page | None = None, width: int = 80, height: int = 24) -> str:
    """Return the screen as text; the person has not moved the cursor."""
    view = table.view()
    return text_of(screen(view, Choice(view) if view.legal else None, page, width, height))


@pytest.mark.parametrize("num_players", [6, 11])
@pytest.mark.parametrize("kitty_view", ["nobody", "winner"])
def test_screen_and_pages_show_nothing_that_the_seat_cannot_know(num_players, kitty_view):
    """Dealing anew all that the seat cannot know changes no letter (R7, R18)."""
    rng, stream = random.Random(7), np.random.default_rng(7)
    table = table_of(Rules(num_players, max_hands=2, kitty_view=kitty_view), seat=1)
    num_changed = 0
    while not table.game.is_over:
        if table.result is None:
            shown = screen_of(table), all_pages(table)
            true = table.game
            table.game = true.redeal(1, stream)
            num_changed += any((true.hand(seat) != table.game.hand(seat)).any() for seat in range(num_players))
            assert (screen_of(table), all_pages(table)) == shown
            table.game = true
        play_on(table, rng)
        table.go_on()
    assert num_changed > 50  # worlds that could have been told apart


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
@pytest.mark.parametrize("num_players", [6, 7, 11])
def test_everything_fits_or_ends_in_a_sign(num_players, width, height):
    """The question, the keys, the own cards and the trick are always whole; cut names and piles end in a sign."""
    rng = random.Random(num_players)
    long_name = "a_package.of_policies:WithAVeryLongName"
    table = PlayTable(
        Game(Rules(num_players, max_hands=2, pass_cycle=(-5, 1)), 4), num_players - 1, [(long_name, RandomLegal())]
    )
    num_cut = num_asked = 0
    while not table.game.is_over:
        view = table.view()
        lines = screen_of(table, width=width, height=height).splitlines()
        assert len(lines) == height
        assert max(map(len, lines)) <= width
        assert not any("…" in line.replace("(…)", "") for line in lines[-2:])
        text = "\n".join(lines)
        if view.result is None:
            held = next((line for line in lines if line.startswith("Hand   ")), "").replace("[", " ").replace("]", " ")
            assert held[7:].split() == counts_to_text(view.knowledge.hand).split()
            for seat, face in table.game.trick:
                assert f"P{seat} {faces_to_text([face])}" in text or f"P{seat} ({faces_to_text([face])})" in text
            pile = next(line for line in lines if line.startswith("Pile"))
            is_cut = pile.endswith(" … (p shows all)")
            num_cut += is_cut
            cards = "  ".join(counts_to_text(view.knowledge.pile).split())
            assert is_cut or cards in pile
            if view.knowledge.phase == "pass" and view.legal:
                num_asked, choice = num_asked + 1, Choice(view)
                for _ in range(3):
                    choice.toggle()
                    choice.move(1)
                    question = text_of(screen(view, choice, None, width, height)).splitlines()[-2]
                    assert faces_to_text(choice.given) in question
        for page in (Page(result_lines(view)), Page(score_lines(view)), Page(said_lines(view))):
            shown = ""
            for _ in range(200):
                shown += screen_of(table, page, width, height)
                at, page.offset = page.offset, page.offset + 5
                screen_of(table, page, width, height)
                if page.offset == at:
                    break
            assert all(word in shown for line in page.lines[:40] for word in line.split())
        for _ in range(7):
            if not table.game.is_over and table.result is None:
                play_on(table, rng)
        if table.result is not None and not table.game.is_over:
            assert f"P{num_players - 1} you" in screen_of(table, Page(result_lines(table.view())), width, height)
            table.go_on()
    assert num_asked
    assert num_cut or num_players < 11


def test_small_window_says_so():
    """Nothing is shown in part."""
    table = table_of(Rules(11))
    assert screen_of(table, width=79).startswith("Too small: 80 columns and 24 lines are needed, not 79 and 24.")
    assert "P0" not in screen_of(table, height=23)


def test_received_cards_are_shown_until_the_first_own_card():
    """R7 to R9: what came, and from whom, once everybody has chosen."""
    table = to_persons_turn(table_of(Rules(7)))
    for _ in range(3):
        table.choose(table.game.legal_actions()[-1])
    assert "got" not in screen_of(table) or table.game.phase == "play"
    to_persons_turn(table, "play")
    knows = table.view().knowledge
    line = f"Pass   got {counts_to_text(knows.received)} from P6; gave {counts_to_text(knows.given)} to P1"
    assert line in screen_of(table)
    table.choose(table.game.legal_actions()[0])
    assert "Pass   " not in screen_of(table)


@pytest.mark.parametrize("kitty_view", ["nobody", "everyone"])
def test_kitty_is_shown_to_those_who_see_it(kitty_view):
    """R18, `kitty_view`."""
    table = table_of(Rules(7, kitty_view=kitty_view, pass_cycle=(0,)))
    cards = "  ".join(counts_to_text(table.game.kitty).split())
    assert "Kitty  6 cards face down, not taken yet" in screen_of(table)
    rng = random.Random(3)
    while table.game.kitty_taker is None:
        play_on(table, rng)
    text = screen_of(table)
    assert f"taken by P{table.game.kitty_taker}" in text
    assert (cards in text) == (kitty_view == "everyone")


def test_moon_is_settled_by_choice_and_told():
    """R21: both ways in words, then who did it in the result."""
    history = moon_history(6, random.Random(3))
    table = PlayTable(history.begin(), 1, [("random", RandomLegal())])
    for action in history.actions:
        table.take(action)
    assert "Moon   [subtract 26 from my score] add 26 to every other score" in screen_of(table)
    assert "Your turn: you took all 52 points" in screen_of(table)
    table.choose(53)
    assert "P1 you took all 52 points, shot the moon, and adds to the others 26." in result_lines(table.view())
    assert table.view().result.changes == [26, 0, 26, 26, 26, 26]  # type: ignore[union-attr]
