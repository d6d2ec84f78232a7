"""The names under which policies are found: those of `baselines`, and the learned ones."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

import baselines
from baselines.names import is_search, policy_of, worlds_of
from chearts_env.arena import Policy
from training.checkpoint import checkpoint_place
from training.foresight import load_foresight
from training.network_search import NetworkSearch
from training.policy import NetworkPolicy, ValuePolicy

#: The name of the network that comes with the project.
PRETRAINED: Final = "pretrained"
_PRETRAINED_PLACE: Final = Path(baselines.__file__).parent / PRETRAINED
_PLUS: Final = "+"
#: Search asks the critic of a checkpoint at the so many-th next decision of its seat.
_AHEAD: Final = 1


def policy_named(name: str) -> Policy:
    """Return the policy of a name.

    That is `pretrained`, the path of a checkpoint or of a run folder, one of these with `+search:K` behind it, or a
    name that `baselines` knows. A network answers in float32: a trial of speed could end differently in another
    process, and another policy play. Raises ValueError for a name that is none of these.
    """
    network, plus, _ = name.rpartition(_PLUS)
    if plus and is_search(name) and (place := _place_of(network)) is not None:
        place = checkpoint_place(place)  # once: a run that goes on may have another one in a moment
        policy = NetworkPolicy.load(place, torch.float32)
        if not isinstance(policy, ValuePolicy):
            raise ValueError(
                f"{name}: {network} comes from self-play, so that it puts out preferences; search needs points, of a "
                "network fitted to labels"
            )
        return NetworkSearch(policy, worlds_of(name), load_foresight(place, torch.float32, _AHEAD))
    if (place := _place_of(name)) is not None:
        return NetworkPolicy.load(place, torch.float32)
    try:
        return policy_of(name)
    except ValueError as error:
        learned = f"{PRETRAINED}, and the path of a checkpoint or of a run folder, these also with {_PLUS}search:K"
        raise ValueError(f"{error}; {learned}") from None


def pretrained() -> Policy:
    """Return the network that comes with the project."""
    return policy_named(PRETRAINED)


def settled_name(name: str) -> str:
    """Return a name that stands for the same policy from now on: that of a run folder, for its newest checkpoint.

    A run that goes on meanwhile would otherwise give worker processes different networks. Raises ValueError for a
    folder that holds no checkpoint.
    """
    network, plus, search = name.rpartition(_PLUS) if is_search(name) else (name, "", "")
    place = _place_of(network)
    if place is None or network == PRETRAINED:
        return name
    return f"{checkpoint_place(place)}{plus}{search}"


def _place_of(network: str) -> Path | None:
    """Return the folder that a name of a network stands for, None if it is no such name."""
    if network == PRETRAINED:
        return _PRETRAINED_PLACE
    return Path(network) if network and Path(network).is_dir() else None
