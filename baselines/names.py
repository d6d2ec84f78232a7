"""The one place where the name of an opponent becomes a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from baselines.careful import Careful
from baselines.low_card import LowCard
from baselines.plain_rules import PlainRules
from baselines.random_legal import RandomLegal
from baselines.search import Search
from chearts_env.policy import Policy, loaded_policy

BASELINES: Final[dict[str, Callable[[], Policy]]] = {
    "random_legal": RandomLegal,
    "low_card": LowCard,
    "plain_rules": PlainRules,
    "careful": Careful,
}
#: `search:K` searches K worlds a decision.
_SEARCH: Final = "search"


def policy_of(name: str) -> Policy:
    """Return the policy of a name: a key of `BASELINES`, `search:K`, or `module:attribute` for one of the user's own.

    The attribute is a policy, or something that returns one when called without arguments, such as its class. Raises
    ValueError for a name that stands for nothing, listing those that do.
    """
    if name in BASELINES:
        return BASELINES[name]()
    first, colon, _ = name.partition(":")
    if first == _SEARCH:
        return Search(worlds_of(name))
    if not colon:
        known = ", ".join([*BASELINES, f"{_SEARCH}:K"])
        raise ValueError(f"unknown policy {name!r}: known are {known} and module:attribute")
    return loaded_policy(name)


def is_search(name: str) -> bool:
    """Say whether a name stands for a player that searches, thousands of times slower than the others."""
    return name.partition(":")[0].rpartition("+")[2] == _SEARCH


def worlds_of(name: str) -> int:
    """Return the number of worlds in a name that ends in `search:K`. Raises ValueError if it is none."""
    num_worlds = name.rpartition(":")[2]
    if not (num_worlds.isascii() and num_worlds.isdecimal() and int(num_worlds) > 0):
        raise ValueError(f"policy {name!r} is not allowed: {_SEARCH}:K takes a number of worlds above 0, as search:32")
    return int(num_worlds)
