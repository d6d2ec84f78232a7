"""The one place where the name of an opponent becomes a policy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from baselines.low_card import LowCard
from baselines.random_legal import RandomLegal
from chearts_env.arena import Policy

BASELINES: Final[dict[str, Callable[[], Policy]]] = {
    "random_legal": RandomLegal,
    "low_card": LowCard,
}


def policy_of(name: str) -> Policy:
    """Return the policy that a name stands for: a key of `BASELINES`, or `module:attribute` for one of the user's own.

    The attribute is a policy, or something that returns one when called without arguments, such as its class. Raises
    ValueError for a name that stands for nothing, listing those that do.
    """
    if name in BASELINES:
        return BASELINES[name]()
    module_name, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"unknown policy {name!r}: known are {', '.join(BASELINES)} and module:attribute")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"policy {name!r} cannot be loaded: {error}") from error
    policy = found() if isinstance(found, type) or not hasattr(found, "act") else found
    if not callable(getattr(policy, "act", None)):
        raise ValueError(f"policy {name!r} has no method act(observations, action_masks, rng)")
    return policy  # type: ignore[no-any-return]
