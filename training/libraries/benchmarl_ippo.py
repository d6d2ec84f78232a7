"""BenchMARL's IPPO: all seats by one policy, `python -m training.libraries.benchmarl_ippo`.

Its own PettingZoo tasks are parallel only (https://github.com/facebookresearch/BenchMARL/issues/76), so `Hearts` hands
it TorchRL's wrapper of the environment with turns. What works around the library: a row holds every seat, and its loss
leaves none out; `OneActionWhileWaiting` gives those that wait a mask of one action, whose probability is 1 whatever the
weights, so that nothing is learned from it. It ends after iterations: `Stop` interrupts it by the clock.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarl.algorithms import IppoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from torch import nn
from torchrl.envs import EnvBase, MarlGroupMapType, PettingZooWrapper, Transform

from chearts_env import cancellation_hearts_v0
from chearts_env.observation import OBSERVATION_SIZE

PLACE = Path("runs/libraries/benchmarl_ippo")
GROUP = "agents"


class OneActionWhileWaiting(Transform):
    """Masks all but action 0 for the seats that are not to move; theirs is ignored."""

    def _step(self, tensordict: Any, next_tensordict: Any) -> Any:
        return self._reset(tensordict, next_tensordict)

    def _reset(self, tensordict: Any, tensordict_reset: Any) -> Any:
        mask = tensordict_reset[GROUP, "action_mask"].clone()
        waits = ~tensordict_reset[GROUP, "mask"]
        mask[waits] = False
        mask[..., 0] |= waits
        tensordict_reset[GROUP, "action_mask"] = mask
        return tensordict_reset


class Hearts(PettingZooClass):
    """The task; its configuration has `seats`."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], EnvBase]:
        """Return what makes an environment; each has a seed of its own, where it would hand all the same."""
        seeds = itertools.count(1000 * (seed or 0))

        def make() -> EnvBase:
            raw = cancellation_hearts_v0.env(num_players=self.config["seats"], episode="hand", reward="relative")
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*tested using version")
                return PettingZooWrapper(
                    env=raw, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, categorical_actions=True,
                    seed=next(seeds), device=device,
                )  # fmt: skip

        return make

    def get_env_transforms(self, env: EnvBase) -> list[Transform]:
        """Return what changes the masks."""
        return [OneActionWhileWaiting()]

    def supports_continuous_actions(self) -> bool:
        """Say no."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Say yes."""
        return True

    def has_state(self) -> bool:
        """Say that there is no common state."""
        return False

    def has_render(self, env: EnvBase) -> bool:
        """Say that nothing is drawn."""
        return False

    def max_steps(self, env: EnvBase) -> int:
        """Return more steps than a hand has."""
        return 1000


class Stop(Callback):
    """Ends training after some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.perf_counter() + seconds

    def on_train_end(self, training_td: Any, group: str) -> None:
        """Interrupt."""
        print(f"{self.experiment.total_frames:,} moves", flush=True)
        if time.perf_counter() >= self._end:
            raise KeyboardInterrupt


def net() -> nn.Sequential:
    """Return a network from the vector to logits, as its MLP is built."""
    return nn.Sequential(
        nn.Linear(OBSERVATION_SIZE, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 54)
    )


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._net = net()
        self._net.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        with torch.no_grad():
            logits = self._net(torch.from_numpy(observations).float())
        return logits.masked_fill(torch.from_numpy(action_masks) == 0, float("-inf")).argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "actor.pt")


def new_experiment(seats: int, seconds: float, seed: int, folder: str) -> Experiment:
    """Return an experiment that runs for some seconds and logs nothing."""
    config: Any = ExperimentConfig.get_from_yaml()
    settings = {
        "gamma": 1.0, "lr": 3e-4, "max_n_frames": 10**9, "on_policy_collected_frames_per_batch": 2000,
        "on_policy_n_envs_per_worker": 10, "on_policy_n_minibatch_iters": 2, "on_policy_minibatch_size": 500,
        "evaluation": False, "loggers": [], "create_json": False, "save_folder": folder,
    }  # fmt: skip
    for name, value in settings.items():
        setattr(config, name, value)
    algorithm: Any = IppoConfig.get_from_yaml()
    algorithm.lmbda, algorithm.entropy_coef = 1.0, 0.01
    model = MlpConfig(num_cells=[256, 256], layer_class=nn.Linear, activation_class=nn.ReLU)
    task = Hearts("CANCELLATION_HEARTS", {"seats": seats})
    return Experiment(task, algorithm, model, seed, config, callbacks=[Stop(seconds)])


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        experiment = new_experiment(asked.seats, asked.seconds, asked.seed, folder)
        try:
            experiment.run()
        except KeyboardInterrupt:
            print("time is up")
    weights = experiment.group_policies[GROUP].state_dict()
    asked.out.mkdir(parents=True, exist_ok=True)
    plain = {name: weights[f"module.0.mlp.params.{name}"] for name in net().state_dict()}
    torch.save(plain, asked.out / "actor.pt")
    print(f"checkpoint: {asked.out / 'actor.pt'}")


if __name__ == "__main__":
    main()
