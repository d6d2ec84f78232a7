"""Hints for a person at the table: what a policy holds each allowed action to be worth, with reasons if it gives any.

A policy can hint if it has one of three methods: `explain` (costs and words, as `careful` does), `values` (as `search`
does, which draws worlds) or `points` (`chearts_env.policy.ValuingPolicy`, as a network is).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_FACES
from chearts_env.game import action_to_text
from chearts_env.policy import POLICY_GROUP, Policy, ValuingPolicy, loaded_policy
from chearts_env.table import NUM_ACTIONS

#: Who gives hints if nobody is asked for and no opponent can.
_USUAL_ADVISER: Final = "careful"

Adviser = tuple[str, Policy]


class Explanation(Protocol):
    """An allowed action, the points it is expected to cost, and why."""

    action: int
    cost: float
    words: str


@runtime_checkable
class ExplainingPolicy(Policy, Protocol):
    """A policy that says why."""

    def explain(self, observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8]) -> Sequence[Explanation]:
        """Return each allowed action of an observation, (O,), and its mask, (54,), the one it would take first."""
        ...


@runtime_checkable
class SearchingPolicy(Policy, Protocol):
    """A policy that draws worlds to say what it thinks of actions."""

    def values(
        self, observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.floating[Any]]:
        """Return what each action is held to be worth, (54,) points, given an observation, (O,), and its mask, (54,).

        Only differences need to mean something; what is not allowed is not looked at.
        """
        ...


def can_hint(policy: Policy) -> bool:
    """Say whether a policy can give hints."""
    return isinstance(policy, ExplainingPolicy | SearchingPolicy | ValuingPolicy)


def adviser_named(name: str | None, opponents: Sequence[Adviser]) -> Adviser | None:
    """Return who gives hints, with its name; without a name the first opponent that can, else `careful`.

    None if nobody is named and `careful` is not installed. Raises ValueError for a name that stands for no policy, or
    for one that cannot hint, naming the installed ones that can.
    """
    if name is None:
        able = [opponent for opponent in opponents if can_hint(opponent[1])]
        if able:
            return able[0]
        try:
            return _USUAL_ADVISER, loaded_policy(_USUAL_ADVISER)
        except ValueError:
            return None
    policy = next((policy for known, policy in opponents if known == name), None) or loaded_policy(name)
    if not can_hint(policy):
        raise ValueError(
            f"{name!r} can give no hints: that takes a method `explain`, `values` or `points`; "
            f"of the installed policies these can: {', '.join(_installed_advisers()) or 'none'}"
        )
    return name, policy


def _installed_advisers() -> list[str]:
    able = []
    for name in sorted({point.name for point in entry_points(group=POLICY_GROUP)}):
        try:
            policy = loaded_policy(name)
        except ValueError:  # its package is not there
            continue
        if can_hint(policy):
            able.append(name)
    return able


def hint_lines(
    adviser: Adviser,
    observation: npt.NDArray[np.int8],
    action_mask: npt.NDArray[np.int8],
    rng: np.random.Generator,
) -> list[str]:
    """Return a policy's opinion of each allowed action, a line each, the one it would take first.

    `observation`, (O,), and `action_mask`, (54,), are those of the seat to move. Raises ValueError, naming the policy,
    for an answer that is none.
    """
    name, policy = adviser
    legal = [int(action) for action in np.flatnonzero(action_mask)]
    if len(legal) == 1:
        return [f"{action_to_text(legal[0])} is all that is allowed."]
    if isinstance(policy, ExplainingPolicy):
        lines = [_explained(each) for each in policy.explain(observation, action_mask.copy())]
    else:
        lines = _valued(_worths(adviser, observation, action_mask, rng), legal)
    return [f"{name}, best first:", *lines]


def _explained(reason: Explanation) -> str:
    action = int(reason.action)
    if action >= NUM_FACES:  # how to settle a moon is no matter of cost
        return f"{action_to_text(action)}: {reason.words}"
    return f"{action_to_text(action)}  cost {reason.cost:+.1f} points: {reason.words}"


def _worths(
    adviser: Adviser, observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8], rng: np.random.Generator
) -> npt.NDArray[np.floating[Any]]:
    name, policy = adviser
    if isinstance(policy, SearchingPolicy):
        worths = np.asarray(policy.values(observation, action_mask.copy(), rng))
    else:
        assert isinstance(policy, ValuingPolicy)
        worths = np.asarray(policy.points(observation[None], action_mask[None].copy()))
        worths = worths[0] if worths.shape == (1, NUM_ACTIONS) else worths
    if worths.shape != (NUM_ACTIONS,) or not np.isfinite(worths[action_mask == 1]).all():
        raise ValueError(f"{name} gave no number of points for each allowed action")
    return worths


def _valued(worths: npt.NDArray[np.floating[Any]], legal: list[int]) -> list[str]:
    best, *others = sorted(legal, key=lambda action: (-worths[action], action))
    first = f"{action_to_text(best)}  best"
    return [
        first,
        *(
            f"{action_to_text(action)}  {worths[best] - worths[action]:.1f} points worse than {action_to_text(best)}"
            for action in others
        ),
    ]
