"""What workers and the learner do in a second: `python -m training.scaling CONFIG --ray auto --workers 1,2`.

The parts from which the speed of a run on more machines can be told: labels and decisions of self-play by so many
workers, and by a second of one's own core; bytes of a label; the weights and how long they take to be shared; and what
the learner, this process, can take.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import torch

from training.command import refuse
from training.config import Config, read_config
from training.critic import OTHER_HANDS, Critic
from training.fit import Fitter, new_network
from training.labels import Chunk, Labels, rules_to_deal
from training.ppo import Learner
from training.precision import chosen_device
from training.ray_cluster import join
from training.ray_workers import RayWorkers
from training.rollout import Rollout, RolloutWork, draw_players, joined
from training.workers import LabelWork, SharedPlayer, Workers, WorkerSet

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """Work, and the seconds that its process computed for it, however busy the machine was with other things."""

    work: Callable[[], Result]

    def __call__(self) -> tuple[Result, float]:
        """Do it."""
        began = time.process_time()
        result = self.work()
        return result, time.process_time() - began


@dataclass(frozen=True)
class Speed(Generic[Result]):
    """What was made, in how many seconds, and by how many of one core each."""

    results: list[Result]
    seconds: float
    core_seconds: float


def measure(workers: WorkerSet, works: Iterator[Callable[[], Result]], num_warm: int, seconds: float) -> Speed[Result]:
    """Have workers do what they can within some seconds, after so many pieces by which they are warm."""
    results, core_seconds, began = [], 0.0, 0.0
    for number, (result, took) in enumerate(workers.in_order(map(Timed, works))):
        if number < num_warm:
            began = time.perf_counter()
            continue
        results.append(result)
        core_seconds += took
        if time.perf_counter() - began > seconds:
            break
    return Speed(results, time.perf_counter() - began, core_seconds)


def label_works(config: Config, player: SharedPlayer | None) -> Iterator[Callable[[], Labels]]:
    """Yield pieces of a first round of labels, or with a player those of a later one, without end."""
    rules = rules_to_deal(config.rules(), config.labels)
    for number in count():
        yield LabelWork(Chunk(config.seed, int(player is not None), number, rules, config.labels), player)


def rollout_works(config: Config, workers: WorkerSet, kind: str) -> Iterator[Callable[[], Rollout]]:
    """Yield pieces of self-play by a fresh network, without end."""
    all_rules, settings = rules_to_deal(config.rules(), config.labels), config.ppo
    num_hands = -(-settings.hands // settings.pieces)
    rules = tuple(all_rules[number % len(all_rules)] for number in range(num_hands))
    network = new_network(config.network, config.seed, 0)
    learner = SharedPlayer(workers.share(network), kind, 1 / settings.logit_scale)
    num_players = np.array([each.num_players for each in rules])
    for number in count():
        players = draw_players(np.random.default_rng([config.seed, number]), num_players, settings, 0)
        yield RolloutWork(rules, players, learner, (), (config.seed, number))


def tell_workers(config: Config, workers: WorkerSet, num_workers: int, seconds: float) -> tuple[Labels, Rollout]:
    """Print what so many workers do; return what they made."""
    network = new_network(config.network, config.seed, 0)
    began = time.perf_counter()
    shared = [workers.share(network) for _ in range(10)]
    took = (time.perf_counter() - began) / len(shared)
    print(f"{num_workers} workers: weights of {len(pickle.dumps(network)) / 1e6:.1f} MB shared in {1000 * took:.0f} ms")
    for what, player in (("labels", None), ("labels of a later round", SharedPlayer(shared[0], "float32"))):
        made = measure(workers, label_works(config, player), 4 * num_workers, seconds)
        if isinstance(workers, RayWorkers) and workers.num_at_work < num_workers:
            print(f"{num_workers} workers: only {workers.num_at_work} have found room", flush=True)
        labels = np.concatenate(made.results)
        print(
            f"{num_workers} workers: {what}: {len(labels) / made.seconds:,.0f} a second, "
            f"{len(labels) / made.core_seconds:,.0f} in a second of a core, {labels.nbytes / len(labels):,.0f} bytes "
            f"each, {len(labels) / len(made.results):,.0f} a piece",
            flush=True,
        )
    played = measure(workers, rollout_works(config, workers, "float32"), 4 * num_workers, seconds)
    rollout = joined(played.results)
    size = sum(part.nbytes for part in vars(rollout).values() if isinstance(part, np.ndarray)) / len(rollout)
    print(
        f"{num_workers} workers: self-play: {rollout.num_steps / played.seconds:,.0f} actions a second, "
        f"{rollout.num_steps / played.core_seconds:,.0f} in a second of a core, "
        f"{len(rollout) / rollout.num_steps:.2f} of them decisions to learn from, {size:,.0f} bytes each",
        flush=True,
    )
    return labels, rollout


def tell_learner(config: Config, labels: Labels, rollout: Rollout) -> None:
    """Print how many labels and decisions this process learns from in a second."""
    device = chosen_device(config.device)
    network = new_network(config.network, config.seed, 0)
    fitter = Fitter(network, config.fit, device)
    fitter.fit(network.to(device), labels, 1, np.random.default_rng(config.seed), float("inf"))
    critic = Critic(
        network.num_features, config.ppo.critic_width, num_hidden=OTHER_HANDS if config.ppo.critic_sees_all else 0
    )
    learner = Learner(network, critic, config.ppo, device, fitter.kind)
    part = rollout.part(0, max(1, len(rollout) // (4 * config.ppo.batch_size)))
    learner.update(part, 0.0, np.random.default_rng(config.seed))
    began = time.perf_counter()
    learner.update(part, 0.0, np.random.default_rng(config.seed))
    rate = len(part) / (time.perf_counter() - began)
    print(
        f"learner on {device.type} ({fitter.kind}): {fitter.labels_per_second:,.0f} labels fitted a second, "
        f"{rate:,.0f} decisions of self-play"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure with each number of workers in turn, then the learner."""
    parser = argparse.ArgumentParser(prog="python -m training.scaling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("config", type=Path, help="a file such as configs/cluster.yaml")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings to change")
    parser.add_argument("--workers", default="1,2", metavar="N,N", help="how many, one number after the other")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each measurement")
    parser.add_argument("--ray", metavar="ADDRESS", help="as in training.train; without it, local processes")
    asked = parser.parse_intermixed_args(arguments)
    torch.set_num_threads(1)
    try:
        config = read_config(asked.config, asked.overrides)
        if not all(word.isdecimal() and int(word) for word in asked.workers.split(",")):
            raise ValueError(f"--workers {asked.workers} is not allowed: it must be numbers above 0, with commas")
        for num_workers in map(int, asked.workers.split(",")):
            if asked.ray is not None:
                join(asked.ray)
            with Workers(num_workers) if asked.ray is None else RayWorkers(num_workers) as workers:
                labels, rollout = tell_workers(config, workers, num_workers, asked.seconds)
    except (ValueError, ConnectionError) as error:
        return refuse("scaling", error)
    tell_learner(config, labels, rollout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
