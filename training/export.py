"""A checkpoint as an ONNX file: `python -m training.export RUN -o policy.onnx`, and that file as a policy."""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from baselines.careful.judgements import judgements
from baselines.careful.weights import flat_weights, weights_from_flat
from chearts_env.whole_files import write_whole
from training.checkpoint import load_checkpoint
from training.command import refuse
from training.network import Network, refuse_other_observations, rows_to_try
from training.policy import num_allowed

#: Names of the inputs, in order; a network that takes no judgements of `careful` has the first two.
INPUTS: Final = ("observations", "action_masks", "judgements")
OUTPUT: Final = "worths"
_CONSTANTS: Final = "careful"
_VERSION: Final = "observation_version"


def export_onnx(network: Network, path: Path, observation_version: int) -> None:
    """Write a network as an ONNX file, float32, for any number of rows.

    Inputs are `observations` (N, O) int8, `action_masks` (N, 54) int8 and, if the network takes them, `judgements`
    (N, 52, 8) float32 (`baselines.careful.judgements`, by the constants in the file's metadata); the output `worths`
    (N, 54) is minus infinity where an action is not allowed.
    """
    import onnx

    rows = network.inputs(*rows_to_try(3))
    any_number = {0: torch.export.Dim("rows")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own insides
        exported = torch.onnx.export(
            network.eval(), rows, dynamo=True, input_names=list(INPUTS[: len(rows)]), output_names=[OUTPUT],
            verbose=False, dynamic_shapes=(any_number,) * len(rows),
        )  # fmt: skip
    assert exported is not None
    model = exported.model_proto
    told = {_VERSION: str(observation_version)}
    if network.constants is not None:
        told[_CONSTANTS] = json.dumps(flat_weights(network.constants[0]))
    onnx.helper.set_model_props(model, told)
    onnx.checker.check_model(model)
    write_whole(path, model.SerializeToString())


class OnnxPolicy:
    """Takes the action that an exported network holds to be worth most, computed by ONNX Runtime."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """Load a file that `export_onnx` wrote. Raises ValueError if its observations are of another version."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        told = self._session.get_modelmeta().custom_metadata_map
        refuse_other_observations(int(told[_VERSION]))
        self._constants: npt.NDArray[np.void] | None = None
        if _CONSTANTS in told:
            self._constants = np.array([weights_from_flat(json.loads(told[_CONSTANTS]))])

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,). Raises ValueError if a row allows none."""
        num_allowed(action_masks)
        rows: list[npt.NDArray[Any]] = [np.ascontiguousarray(observations), np.ascontiguousarray(action_masks)]
        if self._constants is not None:
            rows.append(judgements(observations, action_masks, self._constants))
        (worths,) = self._session.run([OUTPUT], dict(zip(INPUTS, rows, strict=False)))
        chosen: npt.NDArray[np.int64] = worths.argmax(axis=1)
        return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a checkpoint."""
    parser = argparse.ArgumentParser(prog="python -m training.export", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoint", type=Path, help="a checkpoint folder or a run folder, for its newest one")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the ONNX file to write")
    asked = parser.parse_args(arguments)
    try:
        loaded = load_checkpoint(asked.checkpoint)
    except ValueError as error:
        return refuse("export", error)
    export_onnx(loaded.network, asked.output, loaded.description[_VERSION])
    print(f"{asked.output}: {asked.output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
