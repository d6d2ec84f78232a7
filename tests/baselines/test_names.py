"""Names of opponents become policies, and a name that stands for nothing is refused in words that help."""

from __future__ import annotations

import random

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.low_card import LowCard
from baselines.names import BASELINES, policy_of
from baselines.plain_rules import PlainRules
from baselines.random_legal import RandomLegal
from baselines.search import Search
from chearts_env import Rules, VectorTables
from chearts_env.policy import loaded_policy
from tests.baselines.positions import sight
from tests.sizes import moon_history


def test_every_name_listed_is_a_policy_of_its_own_kind():
    """A new one each time."""
    kinds = {"random_legal": RandomLegal, "low_card": LowCard, "plain_rules": PlainRules, "careful": Careful}
    assert set(BASELINES) == set(kinds)
    for name, kind in kinds.items():
        assert isinstance(policy_of(name), kind)
        assert policy_of(name) is not policy_of(name)


@pytest.mark.parametrize("num_worlds", [1, 8, 32])
def test_search_is_named_with_its_number_of_worlds(num_worlds):
    """`search:K` draws K worlds a decision."""
    policy = policy_of(f"search:{num_worlds}")
    assert isinstance(policy, Search)
    game = moon_history(8, random.Random(1)).replay()
    assert policy.outcomes(*sight(game), np.random.default_rng(0)).shape == (2, num_worlds)


def test_name_of_ones_own_policy_is_a_module_and_an_attribute():
    """A class is made, an object is taken as it is."""
    assert isinstance(policy_of("baselines.low_card:LowCard"), LowCard)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "lowcard",
            "'lowcard': known are random_legal, low_card, plain_rules, careful, search:K and module:attribute",
        ),
        ("baselines.low_card:HighCard", "cannot be loaded"),
        ("no_such_module:Player", "cannot be loaded"),
        ("chearts_env:Rules", "has no method act"),
        ("", "unknown policy ''"),
    ],
)
def test_unknown_name_is_refused_saying_what_is_known(name, message):
    """ValueError, for the user."""
    with pytest.raises(ValueError, match=message):
        policy_of(name)


@pytest.mark.parametrize("name", ["search", "search:", "search:0", "search:-3", "search:x", "search:2.5"])
def test_search_without_a_number_of_worlds_is_refused(name):
    """ValueError that shows what a right name looks like."""
    with pytest.raises(ValueError, match=rf"policy {name!r} is not allowed: search:K .* as search:32"):
        policy_of(name)


@pytest.mark.jit  # a search plays hundreds of hands out
def test_installed_short_name_takes_a_number():
    """`search:4` is the same policy for whoever plays at the terminal or in an environment as it is in matches."""
    policy = loaded_policy("search:4")
    assert isinstance(policy, Search)
    tables = VectorTables(Rules(6), 2, seed=1, episode="hand")
    ours, same = (
        each.act(tables.observations, tables.action_masks, np.random.default_rng(3))
        for each in (policy, policy_of("search:4"))
    )
    assert (ours == same).all()
    with pytest.raises(ValueError, match="'search:0' cannot be made: num_worlds=0 is not allowed"):
        loaded_policy("search:0")
