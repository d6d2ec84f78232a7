"""MaskablePPO of sb3-contrib: one seat learns among `careful`, `python -m training.libraries.sb3_maskable_ppo`.

Stable-Baselines3 steps environments in its own kind of batch; `Tables` is that over `SingleSeatVectorEnv`, so that all
tables are stepped together and the opponents play in compiled code. What works around the library: it wants the last
observation of an episode in `infos[i]["terminal_observation"]`, and asks for masks by `env_method("action_masks")`.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from chearts_env import SingleSeatVectorEnv

PLACE = Path("runs/libraries/sb3_maskable_ppo")


class Tables(VecEnv):
    """`SingleSeatVectorEnv` as Stable-Baselines3 steps it."""

    def __init__(self, num_envs: int, **arguments: Any) -> None:
        self.tables = SingleSeatVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **arguments)
        super().__init__(num_envs, self.tables.single_observation_space, self.tables.single_action_space)

    def reset(self) -> Any:
        """Deal every table anew."""
        seed = self._seeds[0]
        self._reset_seeds()
        return self.tables.reset(seed=seed)[0]

    def step_async(self, actions: Any) -> None:
        """Note the actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take them."""
        observations, rewards, terminations, truncations, infos = self.tables.step(self._actions)
        dones = terminations | truncations
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(dones):
            told[row] = {"terminal_observation": infos["final_obs"][row], "TimeLimit.truncated": bool(truncations[row])}
        return observations, rewards.astype(np.float32), dones, told

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Return the masks, which is all that is ever asked."""
        return list(getattr(self.tables, method_name)(*args, **kwargs))

    def has_attr(self, attr_name: str) -> bool:
        """Say whether the tables have it."""
        return hasattr(self.tables, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> Any:
        """Return it, the same for all."""
        return [getattr(self.tables, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: the tables are not changed from outside."""
        raise NotImplementedError(attr_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> Any:
        """Say that none is."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Release nothing."""


class Stop(BaseCallback):
    """Ends training after some seconds, with an update: what is played after the last one is never learned from."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.perf_counter() + seconds
        self._is_over = False

    def _on_rollout_start(self) -> None:
        self._is_over = self.num_timesteps > 0 and time.perf_counter() >= self._end

    def _on_step(self) -> bool:
        return not self._is_over


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._model = MaskablePPO.load(path, device="cpu")

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return one action for each row, (N,)."""
        seen = observations.astype(np.float32)
        return self._model.predict(seen, action_masks=action_masks, deterministic=True)[0]


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "agent.zip")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--opponents", default="baselines.careful:Careful")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)  # small networks lose more to threads than they gain
    env = VecMonitor(Tables(64, num_players=asked.seats, opponents=asked.opponents, reward="relative"))
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=128, batch_size=2048, n_epochs=2, gamma=1.0, ent_coef=0.01, device="cpu",
        seed=asked.seed, verbose=1,
    )  # fmt: skip
    model.learn(10**9, callback=Stop(asked.seconds))
    asked.out.mkdir(parents=True, exist_ok=True)
    model.save(asked.out / "agent.zip")
    print(f"checkpoint: {asked.out / 'agent.zip'}")


if __name__ == "__main__":
    main()
