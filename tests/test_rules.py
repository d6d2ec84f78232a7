"""`Rules`: every option, its values, its errors, the presets."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chearts_env.rules
from chearts_env import Rules, cancellation_hearts_v0
from chearts_env.rules import CHOICES

RULES_PAGE = Path(chearts_env.rules.__file__).with_name("RULES.md")


@pytest.mark.parametrize(
    ("num_players", "hand_size", "kitty_size"),
    [(6, 17, 2), (7, 14, 6), (8, 13, 0), (9, 11, 5), (10, 10, 4), (11, 9, 5)],
)
def test_rules_deal_the_cards_of_the_table(num_players: int, hand_size: int, kitty_size: int) -> None:
    """R5: every seat gets 104 // n cards, the rest is the kitty."""
    rules = Rules(num_players)
    assert (rules.hand_size, rules.kitty_size) == (hand_size, kitty_size)


def test_presets_are_what_the_rules_page_says() -> None:
    """The three presets of RULES.md."""
    assert Rules.card_page(7) == Rules(7)
    assert Rules.classic(8) == Rules(8, set_aside="no_live_card")
    bicycle = Rules(9, set_aside="no_live_card", pass_cycle=(0,), first_trick_discard="no_points")
    assert Rules.bicycle(9) == bicycle
    assert Rules.classic(8, moon="add") == Rules(8, set_aside="no_live_card", moon="add")


def test_options_and_defaults_are_those_of_the_rules_page() -> None:
    """The table of options in RULES.md names every option of Rules, and its first value is the default."""
    rows = re.findall(r"^\| R\d+ \| `(\w+)` \| (.*) \|$", RULES_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    options = dict(rows)
    fields = {field.name: field.default for field in dataclasses.fields(Rules)}
    assert set(options) == set(fields)
    for option, allowed in CHOICES.items():
        assert re.findall(r'`"(\w+)"`', options[option]) == list(allowed)
        assert fields[option] == allowed[0]
    assert fields["target_score"] == 150
    assert fields["pass_cycle"] == (1, -1)


@pytest.mark.parametrize("option", CHOICES)
@pytest.mark.parametrize("value", ["sometimes", "", None, 0, True, ["any"]])
def test_rules_refuse_a_word_that_is_not_allowed(option: str, value: Any) -> None:
    """ValueError names the option, the value and what is allowed."""
    with pytest.raises(ValueError) as error:
        Rules(**{option: value})
    for part in (option, repr(value), *CHOICES[option]):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_players": 5}, ["num_players=5", "6 … 11"]),
        ({"num_players": 12}, ["num_players=12", "6 … 11"]),
        ({"num_players": 6.0}, ["num_players=6.0", "6 … 11"]),
        ({"num_players": True}, ["num_players=True"]),
        ({"target_score": 0}, ["target_score=0", "1 …"]),
        ({"target_score": "150"}, ["target_score='150'"]),
        ({"max_hands": 0}, ["max_hands=0", "None or"]),
        ({"moon_points": -26}, ["moon_points=-26", "1 …"]),
        ({"first_dealer": 6}, ["first_dealer=6", "'random'", "0 … 5"]),
        ({"first_dealer": "left"}, ["first_dealer='left'", "'random'", "0 … 5"]),
        ({"num_players": 11, "first_dealer": 11}, ["first_dealer=11", "0 … 10"]),
        ({"pass_cycle": ()}, ["pass_cycle=()", "-5 … 5"]),
        ({"pass_cycle": (1, 6)}, ["pass_cycle[1]=6", "-5 … 5"]),
        ({"pass_cycle": "left"}, ["pass_cycle='left'"]),
        ({"pass_cycle": 1}, ["pass_cycle=1"]),
        ({"pass_cycle": {1, 0}}, ["pass_cycle={", "a tuple"]),
        ({"pass_cycle": (1, 0.5)}, ["pass_cycle[1]=0.5"]),
        ({"pass_cycle": (1,) * 65}, ["pass_cycle=", "1 … 64"]),
    ],
)
def test_rules_refuse_a_number_that_is_not_allowed(options: dict[str, Any], words: list[str]) -> None:
    """ValueError names the option, the value and what is allowed; contradictory options too."""
    with pytest.raises(ValueError) as error:
        Rules(**options)
    for word in words:
        assert word in str(error.value)


def test_rules_warn_of_a_target_below_the_sensible_minimum() -> None:
    """R23: 100 is a sensible minimum."""
    with pytest.warns(UserWarning, match=r"target_score=99 .* 100") as warned:
        Rules(target_score=99)
    assert warned[0].filename == __file__
    Rules(target_score=100)


def test_rules_settle_numbers_into_plain_ones() -> None:
    """NumPy numbers and lists are taken, and are the same rules afterwards."""
    rules = Rules(np.int64(8), pass_cycle=[np.int8(1), 0], first_dealer=np.int32(7))  # type: ignore[arg-type]
    assert rules == Rules(8, pass_cycle=(1, 0), first_dealer=7)
    assert type(rules.num_players) is int
    assert hash(rules) == hash(Rules(8, pass_cycle=(1, 0), first_dealer=7))


def test_rules_come_back_from_json_and_pickle() -> None:
    """What `to_dict` writes, JSON holds and `from_dict` reads; without a second warning."""
    with pytest.warns(UserWarning, match="below 100"):
        rules = Rules(9, target_score=50, max_hands=3, pass_cycle=(1, -1, 0), kitty_view="winner")
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules


@pytest.mark.parametrize(("hand_number", "offset"), [(0, 1), (1, -1), (2, 0), (3, 1), (64, -1)])
def test_pass_goes_round_its_cycle(hand_number: int, offset: int) -> None:
    """R8: first hand to the left, second to the right, and so on in turn."""
    assert Rules(pass_cycle=(1, -1, 0)).pass_offset(hand_number) == offset


@pytest.mark.parametrize("make", [Rules, Rules.card_page, Rules.classic, Rules.bicycle])
def test_rules_refuse_an_option_they_do_not_know(make: Any) -> None:
    """ValueError names the option, the value and the options there are, whichever way rules are made."""
    with pytest.raises(ValueError, match=r"unknown option tricks=3; .*num_players, .*moon_points"):
        make(6, tricks=3)
    with pytest.raises(ValueError, match="unknown option _=1"):
        make(6, _=1)


@pytest.mark.parametrize("make", [Rules, Rules.card_page, Rules.classic, Rules.bicycle, cancellation_hearts_v0.raw_env])
def test_warning_points_at_the_line_that_asked_for_it(make: Any) -> None:
    """R23: the warning of a low target names the caller's file, not one of ours."""
    with pytest.warns(UserWarning, match="target_score=50") as warned:
        make(target_score=50)
    assert [warning.filename for warning in warned] == [__file__]
