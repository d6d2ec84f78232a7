"""Text in colour where the terminal has it, plain everywhere else."""

from __future__ import annotations

import re
import sys

import pytest

from chearts_env import cancellation_hearts_v0
from chearts_env.render.text import coloured
from chearts_env.single_seat import SingleSeatEnv

ESCAPES = re.compile(r"\x1b\[[\d;]*m")


def test_cards_have_the_colour_of_their_suit_and_cancelled_ones_are_struck():
    """Nothing else is touched; what is coloured reads the same."""
    text = "as P4 sees it\nTrick  P6 3H  P0 (KH)   [5 points]\nHand   6C TD | AS"
    shown = coloured(text)
    assert ESCAPES.sub("", shown) == text
    assert "\x1b[91m3H\x1b[0m" in shown
    assert "\x1b[91;2;9m(KH)\x1b[0m" in shown
    assert len(ESCAPES.findall(shown)) == 2 * 5
    assert len(set(ESCAPES.findall(shown))) == 6  # four suits, one of them struck too, and the end


@pytest.mark.parametrize(
    ("is_terminal", "variables", "has_colour"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_environments_colour_for_a_terminal_alone(is_terminal, variables, has_colour, monkeypatch):
    """Unless it is asked not to."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    env = cancellation_hearts_v0.env(num_players=6, render_mode="ansi")
    single = SingleSeatEnv(num_players=6, render_mode="ansi")
    for each in (env, single):
        each.reset(seed=1)
        assert bool(ESCAPES.search(str(each.render()))) == has_colour
