"""Train a policy and play it: `python -m training.train configs/quick.yaml [key=value ...] [--resume [RUN]]`.

Each round makes labels, fits a network to the labels so far and plays a few early matches. At the end the network plays
the opponents of the configuration on deals that took no part in training.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from baselines.names import policy_of
from training.command import INTERRUPTED, refuse
from training.config import Config, read_config
from training.followers import follow
from training.ranks import Ranks, joined_ranks, leave
from training.ray_cluster import join
from training.ray_workers import RayWorkers
from training.run_folder import RunFolder
from training.trainer import Trainer
from training.workers import Workers, WorkerSet


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a configuration, or go on with a run that was interrupted."""
    parser = argparse.ArgumentParser(prog="python -m training.train", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("config", nargs="?", type=Path, help="a file such as configs/quick.yaml")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings to change, such as fit.epochs=2")
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="go on with a run folder, or with the newest unfinished run",
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where run folders are made")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="work on a Ray cluster: auto (the one that runs here), HOST:PORT (of its head), local (one for this run)",
    )
    asked = parser.parse_intermixed_args(arguments)
    # One thread in each process: two that wait for each other lose more than they gain on a busy machine.
    torch.set_num_threads(1)
    try:
        ranks = joined_ranks()
        if ranks.rank:
            follow(ranks)
            leave()
            return 0
        folder = _folder(asked, ranks)
    except (ValueError, ConnectionError) as error:
        return refuse("train", error)
    print(f"run folder: {folder.path}")
    status = _carry(folder, Workers if asked.ray is None else RayWorkers, ranks)
    if not status:
        ranks.of_first(None)
        leave()
    return status


def _carry(folder: RunFolder, make_workers: Callable[[int], WorkerSet], ranks: Ranks) -> int:
    """Carry a run to its end, or say how to go on with it; return the exit status."""
    trainer = Trainer(folder, make_workers, ranks)
    resume = f"go on with: python -m training.train --resume {folder.path}"
    try:
        trainer.run()
    except KeyboardInterrupt:
        checkpoint = trainer.save_what_there_is()
        print(f"\ninterrupted; the last checkpoint is {checkpoint}")
        print(resume)
        return INTERRUPTED
    except ConnectionError as error:
        print(f"train: {error}; {resume}", file=sys.stderr)
        return 1
    return 0


def _folder(asked: argparse.Namespace, ranks: Ranks) -> RunFolder:
    if asked.resume is None:
        if asked.config is None:
            raise ValueError("a configuration is needed, such as configs/quick.yaml")
        config = read_config(asked.config, asked.overrides)
        for name in (*config.evaluation.opponents, config.evaluation.early_opponent):
            policy_of(name)  # better refused now than when the training is over
        _join_others(asked.ray, ranks, config)
        return RunFolder.create(asked.runs, config)
    if asked.overrides:
        raise ValueError(f"{' '.join(asked.overrides)}: a run goes on with the settings it was begun with")
    if asked.resume:
        folder = RunFolder.open(Path(asked.resume))
    else:
        folder = RunFolder.newest_unfinished(asked.runs, read_config(asked.config).name if asked.config else None)
    _join_others(asked.ray, ranks, folder.config)
    return folder


def _join_others(ray: str | None, ranks: Ranks, config: Config) -> None:
    ranks.device(config.device)  # refused now if there is none for each
    if ray is not None:
        if not config.workers:
            raise ValueError(f"workers=0 is not allowed with --ray {ray}: it must be 1 or more")
        join(ray)


if __name__ == "__main__":
    sys.exit(main())
