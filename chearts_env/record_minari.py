"""Records as a Minari dataset, for offline learning: `python -m chearts_env.record_minari FILE NAME`."""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import copy
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from chearts_env.aec import vector_space
from chearts_env.game import Game
from chearts_env.observation import field_values
from chearts_env.record import HandRecord, RecordError, read_records
from chearts_env.record_export import decisions_of
from chearts_env.table import NUM_ACTIONS


def save_minari(path: Path | str, dataset_id: str, **about: Any) -> int:
    """Make a Minari dataset of a file of records, for `minari.load_dataset`, and return the number of its episodes.

    An episode is what one seat met in one hand, as `SingleSeatEnv` would have shown it: observations (T + 1, O) int8,
    actions (T,), rewards (T,) points, all in the last: minus its score change; infos `action_mask` (T + 1, 54) int8,
    `seat` and `hand` (T + 1,), the record's number from 0. If all hands are of the same rules, `recover_environment`
    makes a `SingleSeatEnv` of them (after `import chearts_env`). Hands are read as a stream. `about` goes to Minari:
    author, author_email, code_permalink, algorithm_name.

    Raises RecordError for a file that is damaged or that the rules disagree with, and ValueError for a name that is
    taken or none; no dataset is left behind. Needs the package minari (the extra `minari`).
    """
    try:
        import minari
        from minari.dataset.minari_dataset import parse_dataset_id
    except ImportError as error:
        raise ImportError(f"{dataset_id}: a Minari dataset needs the extra `minari`: {error}") from None
    parse_dataset_id(dataset_id)  # Minari itself makes a folder of any name before it looks at it
    every_rules = {record.rules for record in read_records(path)}
    if not every_rules:
        raise RecordError(f"{path} holds no hands")
    spec = None
    if len(every_rules) == 1:
        spec = copy.deepcopy(gymnasium.spec("chearts_env/CancellationHearts-v0"))  # Gymnasium hands out its own
        spec.kwargs = {"observation_dtype": "int8", **next(iter(every_rules)).to_dict()}
    sizes = sorted({rules.num_players for rules in every_rules})
    told = {"description": f"Cancellation Hearts, {', '.join(map(str, sizes))} seats; one seat of one hand an episode"}
    if dataset_id in minari.list_local_datasets():
        raise ValueError(f"the dataset {dataset_id} exists already: choose another name or version")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*is set to None|env_spec is None")  # what need not be told
            made = minari.create_dataset_from_buffers(
                dataset_id, _episodes(read_records(path), minari.data_collector.EpisodeBuffer), env=spec,
                observation_space=vector_space(np.dtype(np.int8)), action_space=gymnasium.spaces.Discrete(NUM_ACTIONS),
                **{**told, **about},
            )  # fmt: skip
    except BaseException:
        if dataset_id in minari.list_local_datasets():
            minari.delete_dataset(dataset_id)
        raise
    return int(made.total_episodes)


def _episodes(records: Iterable[HandRecord], buffer: Any) -> Iterator[Any]:
    for number, record in enumerate(records):
        decisions = list(decisions_of(record))
        end = _end_of(record)
        for seat in range(record.rules.num_players):
            own = [decision for decision in decisions if decision.seat == seat]
            rewards = np.zeros(len(own), np.float32)
            rewards[-1] = -record.score_changes[seat]
            seen = [decision.observation for decision in own]
            is_last = np.arange(1, len(own) + 1) == len(own)
            yield buffer(
                seed=record.seed,
                observations=np.stack([*seen, _last_observation(end, seat, seen[-1])]),
                actions=np.array([decision.action for decision in own]),
                rewards=rewards,
                terminations=is_last,
                truncations=np.zeros_like(is_last),
                infos={
                    "action_mask": np.stack([*(decision.action_mask for decision in own), end.action_mask()]),
                    "seat": np.full(len(own) + 1, seat),
                    "hand": np.full(len(own) + 1, number),
                },
            )


def _end_of(record: HandRecord) -> Game:
    """Return the table when the hand has been scored, before another is dealt."""
    moves = list(record.alone().replay())  # one game, which has gone on to its end
    return moves[-1][0]


def _last_observation(end: Game, seat: int, before: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return what a seat sees at the end, (O,); `before` is what it saw: of the hands left, a single hand knows 1."""
    last = end.observation(seat)
    field_values(last, "hands_left")[:] = field_values(before, "hands_left")
    return last


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the dataset; return 0, 1 for a file that is damaged, 2 for what cannot be read or made."""
    parser = argparse.ArgumentParser(
        prog="python -m chearts_env.record_minari", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("file", type=Path, help="a record")
    parser.add_argument("name", help="of the dataset, as chearts/careful-v0")
    for option, meaning in (
        ("algorithm_name", "what played"), ("author", "who made it"), ("code_permalink", "where the code is"),
    ):  # fmt: skip
        parser.add_argument("--" + option.replace("_", "-"), metavar="TEXT", help=meaning)
    asked = vars(parser.parse_args(arguments))
    file, name = asked.pop("file"), asked.pop("name")
    try:
        print(f"{name}: {save_minari(file, name, **asked)} episodes")
    except RecordError as error:
        print(f"record_minari: {error}", file=sys.stderr)
        return 1
    except (OSError, ImportError, ValueError) as error:
        print(f"record_minari: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
