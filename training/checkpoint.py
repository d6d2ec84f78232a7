"""Checkpoints: a folder with the weights (safetensors) and a JSON that says what they are.

Beside them lies the critic that ended playouts for the network, if one did: search asks it (`training.foresight`). It
knows how the network of the round before plays on.

A checkpoint is written beside its place and then renamed, so that a kill at any moment leaves the earlier ones whole
and no half of a new one under its name. Loading runs no code: safetensors holds numbers only.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import chearts_env
from baselines.careful.weights import flat_weights, weights_from_flat
from chearts_env.observation import OBSERVATION_VERSION
from chearts_env.whole_files import UNFINISHED, place_beside
from training.config import Config
from training.network import Network, refuse_other_observations

WEIGHTS: Final = "weights.safetensors"
DESCRIPTION: Final = "checkpoint.json"
CRITIC: Final = "critic.safetensors"
FOLDER: Final = "checkpoints"
#: What the JSON's "what" says of a network that has learned by self-play: its outputs are no points any more.
SELF_PLAY: Final = "self-play"
_FORMAT: Final = 1


@dataclass(frozen=True)
class Checkpoint:
    """A network and what the JSON beside it says."""

    network: Network
    description: dict[str, Any]


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    packages = {name: version(name) for name in ("torch", "numpy", "numba", "safetensors")}
    return {"chearts_env": chearts_env.__version__, "python": platform.python_version(), **packages}


def save_checkpoint(
    folder: Path, network: Network, config: Config, step: int, critic: Path | None = None, **more: Any
) -> Path:
    """Write `folder/<step>`, `step` being the batches fitted so far, and return it.

    `critic` is the file of a critic's weights; `more` goes into the JSON.
    """
    place = folder / f"{step:08d}"
    beside = place_beside(place)
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    weights = {name: weight.detach().cpu().contiguous() for name, weight in network.state_dict().items()}
    save_file(weights, beside / WEIGHTS)
    description = {
        "format": _FORMAT,
        "observation_version": OBSERVATION_VERSION,
        "step": step,
        "rules": [rules.to_dict() for rules in config.rules()],
        "versions": versions(),
        **more,
        **({} if network.constants is None else {"careful": flat_weights(network.constants[0])}),
        "config": config.to_dict(),
    }
    (beside / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", "utf-8")
    if critic is not None:
        shutil.copyfile(critic, beside / CRITIC)
    for path in (*beside.iterdir(), beside):
        _flush(path)
    if place.exists():
        # Only a resumed run comes by a step twice; the earlier checkpoints stand while this one is replaced.
        shutil.rmtree(place)
    beside.rename(place)
    _flush(folder)
    return place


def latest_checkpoint(run: Path) -> Path:
    """Return the newest whole checkpoint of a run folder. Raises ValueError if there is none."""
    places = sorted(place for place in (run / FOLDER).glob("*") if _is_checkpoint(place))
    if not places:
        raise ValueError(f"there is no checkpoint in {run}")
    return places[-1]


def drop_later_checkpoints(place: Path) -> None:
    """Delete the checkpoints of later steps than this one: a run that was interrupted there has gone on from before.

    Its newest one would otherwise stay the one that was abandoned.
    """
    for other in place.parent.glob("*"):
        if _is_checkpoint(other) and other.name > place.name:
            shutil.rmtree(other)


def checkpoint_place(path: Path) -> Path:
    """Return a checkpoint folder itself, or a run folder's newest one. Raises ValueError if there is none."""
    return path if _is_checkpoint(path) else latest_checkpoint(path)


def load_checkpoint(path: Path) -> Checkpoint:
    """Load a checkpoint folder, or a run folder's newest one.

    Raises ValueError if there is none, if it is damaged, or if it was made for observations of another version.
    """
    place = checkpoint_place(path)
    with damage_refused(place):
        description = json.loads((place / DESCRIPTION).read_text("utf-8"))
        form, observation_version = description["format"], description["observation_version"]
    if form != _FORMAT:
        raise ValueError(f"{place} has format {form}; this version reads {_FORMAT}")
    refuse_other_observations(observation_version)
    with damage_refused(place):
        network = Network(**description["config"]["network"])
        network.load_state_dict(load_file(place / WEIGHTS))
        if network.constants is not None:
            network.constants[0] = weights_from_flat(description["careful"])
    return Checkpoint(network.eval(), description)


@contextmanager
def damage_refused(place: Path) -> Iterator[None]:
    """Raise ValueError naming the place for whatever reading a damaged file raises."""
    try:
        yield
    except (ValueError, LookupError, TypeError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{place} is damaged: {str(error).splitlines()[0]}") from error


def _is_checkpoint(path: Path) -> bool:
    return path.suffix != UNFINISHED and (path / DESCRIPTION).is_file() and (path / WEIGHTS).is_file()


def _flush(path: Path) -> None:
    # A rename that reaches the disk before the content does would leave an empty checkpoint after a power cut.
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
