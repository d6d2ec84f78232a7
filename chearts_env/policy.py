"""Policies: what they are handed, the streams they draw from, and how what they choose is checked.

A policy knows observations and masks alone. This module knows no rule of the game, and nothing of tables.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from chearts_env.compiled import kernel
from chearts_env.game import IllegalActionError, action_to_text
from chearts_env.table import NUM_ACTIONS

#: Where packages announce policies under short names.
POLICY_GROUP: Final = "chearts_env.policies"
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)

Actions = npt.NDArray[np.integer[Any]]


class Policy(Protocol):
    """Anything that chooses actions from what seats see and may do."""

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> Actions:
        """Return one allowed action for each row, (N,), given (N, O) observations and (N, 54) masks.

        Chance comes from `rng` only. Rows are seats of different hands: nothing may be remembered from call to call.
        """
        ...


@runtime_checkable
class ValuingPolicy(Policy, Protocol):
    """A policy that can say what it thinks of actions."""

    def points(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.floating[Any]]:
        """Return what each action is held to be worth, (N, 54) points, minus infinity where it is not allowed.

        Only differences within a row need to mean something.
        """
        ...


@runtime_checkable
class TablePolicy(Policy, Protocol):
    """A policy that can also play whole stretches in compiled code, at the tables themselves.

    It is trusted to look at nothing but what the seat to move may see.
    """

    def play_to_seats(self, tables: Any, rows: Any, seats: Any, reward: int, paid: Any, statuses: Any) -> None:
        """Play the tables in `rows`, (R,), on until the seat of `seats`, (B,), moves or the episode is over.

        Every step is taken by `chearts_env.seat_tables.take_step`, which writes `statuses`, (B,), and adds what the
        learning seat is paid to `paid`, (B,).
        """
        ...


def as_table_policy(policy: Policy) -> TablePolicy | None:
    """Return a policy that plays in compiled code as it does by observations, None for any other.

    A subclass that changes `act` alone is another one: its compiled play is that of its parent.
    """
    if not isinstance(policy, TablePolicy):
        return None
    owners = [next(each for each in type(policy).__mro__ if name in vars(each)) for name in ("act", "play_to_seats")]
    return policy if owners[0] is owners[1] else None


class RowGenerator(np.random.Generator):
    """The generator that a policy is handed: row i of what `random` draws comes from row i's own stream.

    So a hand is played alike whatever hands are played beside it. That holds for `random(N)` and `random((N, ...))`
    with N the number of rows; other methods work, from a stream that all rows of the call share.
    """

    def __init__(self, keys: npt.NDArray[np.uint64]) -> None:
        """Start one stream for each key, (N,) uint64."""
        super().__init__(np.random.PCG64(int(keys[0]) if len(keys) else 0))
        self._keys = keys
        self._num_drawn = 0

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return uniform numbers in [0, 1), as `numpy.random.Generator.random` does."""
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        if not shape or shape[0] != len(self._keys) or out is not None:
            return super().random(size, dtype, out)
        width = int(np.prod(shape[1:]))
        places = np.arange(self._num_drawn, self._num_drawn + width, dtype=np.uint64)
        self._num_drawn += width
        words = mixed(self._keys[:, None] + (places + np.uint64(1)) * _GOLDEN)
        if np.dtype(dtype) == np.float32:  # 53 bits could be rounded up to 1
            return ((words >> np.uint64(40)) * 2.0**-24).astype(np.float32).reshape(shape)
        return ((words >> np.uint64(11)) * 2.0**-53).reshape(shape)


def mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64-bit words scrambled one by one (the finaliser of SplitMix64): neighbours give unrelated words."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def sub_keys(keys: npt.NDArray[np.uint64], numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return new keys made of keys and whole numbers, shapes broadcast: other numbers give unrelated keys."""
    return mixed(keys + numbers.astype(np.uint64) * _GOLDEN)


class RandomLegal:
    """Chooses uniformly among the allowed actions; a face held twice counts once."""

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        actions = np.empty(len(action_masks), np.int64)
        _choose_by_draws(np.ascontiguousarray(action_masks), rng.random(len(action_masks)), actions)
        return actions


@kernel
def _choose_by_draws(masks: Any, draws: Any, actions: Any) -> None:
    for row in range(masks.shape[0]):
        num_allowed = 0
        for action in range(masks.shape[1]):
            num_allowed += masks[row, action]
        wanted = int(draws[row] * num_allowed)
        for action in range(masks.shape[1]):
            wanted -= masks[row, action]
            if wanted < 0:
                actions[row] = action
                break


def loaded_policy(name: str) -> Policy:
    """Return the policy that `module:attribute`, or an installed short name, stands for; ValueError if there is none.

    The attribute is a policy, or something that returns one when called without arguments, such as its class. Short
    names are entry points of the group `chearts_env.policies`, which any package may add; `search:32` calls what
    `search` stands for with that number.
    """
    short = {point.name: point.value for point in entry_points(group=POLICY_GROUP)}
    module_name, colon, attribute = name.partition(":")
    numbers = [int(attribute)] if module_name in short and attribute.isdecimal() else []
    if not colon or numbers:
        if module_name not in short:
            known = ", ".join(sorted(short)) or "none"
            raise ValueError(f"unknown policy {name!r}: installed names are {known}; or give module:attribute")
        module_name, _, attribute = short[module_name].partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"policy {name!r} cannot be loaded: {error}") from error
    try:
        policy = found(*numbers) if numbers or isinstance(found, type) or not hasattr(found, "act") else found
    except (ImportError, TypeError, ValueError) as error:
        raise ValueError(f"policy {name!r} cannot be made: {error}") from error
    if not callable(getattr(policy, "act", None)):
        raise ValueError(f"policy {name!r} has no method act(observations, action_masks, rng)")
    return policy  # type: ignore[no-any-return]


def next_keys(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the keys of the next step of tables that had these, same shape."""
    return mixed(keys + _GOLDEN)


def chosen_actions(
    policy: Policy,
    name: str,
    observations: npt.NDArray[np.int8],
    masks: npt.NDArray[np.int8],
    seats: npt.NDArray[Any],
    keys: npt.NDArray[np.uint64],
) -> Actions:
    """Return a policy's choices, (N,), checked; `keys`, (N,), start the streams it draws from.

    `name` and `seats`, (N,), are for messages. Raises ValueError for what is no row of actions and IllegalActionError,
    naming policy, seat and action, for an action that a mask excludes.
    """
    # The policy may write into what it is handed; what it answers is looked up in the masks as they were.
    chosen = np.asarray(policy.act(observations, masks.copy(), RowGenerator(keys)))
    if chosen.shape != seats.shape or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"{name} returned {chosen.dtype} of shape {chosen.shape}; whole numbers of shape {seats.shape} needed"
        )
    refuse_excluded(name, chosen, masks, seats)
    return chosen


def refuse_excluded(name: str, chosen: Actions, masks: npt.NDArray[np.int8], seats: npt.NDArray[Any]) -> None:
    """Raise IllegalActionError, naming who, seat and action, for the first action that its mask excludes."""
    allowed = allowed_rows(chosen, masks)
    if not allowed.all():
        wrong = int(np.argmin(allowed))
        raise IllegalActionError(_why_refused(name, int(seats[wrong]), int(chosen[wrong]), masks[wrong]))


def allowed_rows(chosen: Actions, masks: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Say of which rows the actions, (N,) any whole numbers, are allowed by the masks, (N, 54)."""
    is_action = (chosen >= 0) & (chosen < NUM_ACTIONS)
    allowed: npt.NDArray[np.bool_] = masks[np.arange(len(chosen)), np.where(is_action, chosen, 0)] == 1
    return is_action & allowed


def _why_refused(name: str, seat: int, action: int, mask: npt.NDArray[np.int8]) -> str:
    what = f"{action} ({action_to_text(action)})" if 0 <= action < NUM_ACTIONS else f"{action}"
    legal = " ".join(action_to_text(int(each)) for each in np.flatnonzero(mask))
    return f"{name} in seat {seat} chose action {what}, which its mask excludes; legal: {legal}"
