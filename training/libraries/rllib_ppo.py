"""RLlib's PPO (new API stack): all seats by one policy with masked actions, `python -m training.libraries.rllib_ppo`.

What works around the library: `ActionMaskingTorchRLModule` wants the keys `action_mask` and `observations`, PettingZoo
says `observation` (`RenamedKey`); environments are checked with random actions that ignore the mask, so that check is
switched off; what a runner has played is dropped in silence after a minute, a busy machine's first batch
(`sample_timeout_s`); the order of agents differs from process to process, so nothing here relies on it.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # or Ray writes a token into the home folder

import gymnasium
import numpy as np
import ray
import torch
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from chearts_env import cancellation_hearts_v0

PLACE = Path("runs/libraries/rllib_ppo")


class RenamedKey(BaseWrapper[str, Any, Any]):
    """Calls the vector `observations`."""

    def observe(self, agent: str) -> Any:
        """Return mask and vector."""
        seen = super().observe(agent)
        return {"action_mask": seen["action_mask"], "observations": seen["observation"]}

    def observation_space(self, agent: str) -> Any:
        """Return the space of both."""
        space = super().observation_space(agent)
        return gymnasium.spaces.Dict({"action_mask": space["action_mask"], "observations": space["observation"]})


def make(settings: dict[str, Any]) -> PettingZooEnv:
    """Return the environment as RLlib steps it."""
    env = cancellation_hearts_v0.env(num_players=settings["seats"], episode="hand", reward="relative")
    return PettingZooEnv(RenamedKey(env))


def node_of(runner: Any) -> str:
    """Return the node of the cluster that a process is on."""
    return str(ray.get_runtime_context().get_node_id())


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._module: Any = RLModule.from_checkpoint(path.resolve())["shared"]

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        mask, seen = torch.from_numpy(action_masks), torch.from_numpy(observations.astype(np.float32))
        with torch.no_grad():
            out = self._module.forward_inference({"obs": {"action_mask": mask.float(), "observations": seen}})
        return out["action_dist_inputs"].masked_fill(mask == 0, float("-inf")).argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "module")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--runners", type=int, default=0, help="processes that play; 0 = this one")
    parser.add_argument("--ray", default="local", metavar="local|auto|HOST:PORT", help="the cluster they play on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)  # small networks lose more to threads than they gain
    own = {"num_cpus": max(1, asked.runners + 1), "include_dashboard": False} if asked.ray == "local" else {}
    ray.init(asked.ray, log_to_driver=False, **own)
    register_env("cancellation_hearts", make)
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [256, 256]})
    config = (
        PPOConfig()
        .environment("cancellation_hearts", env_config={"seats": asked.seats}, disable_env_checking=True)
        .env_runners(num_env_runners=asked.runners, sample_timeout_s=600)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda *args, **kwargs: "shared")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"shared": module}))
        .training(train_batch_size_per_learner=4096, minibatch_size=1024, num_epochs=4, gamma=1.0, entropy_coeff=0.01)
        .debugging(seed=asked.seed)
    )
    algorithm = config.build_algo()
    nodes = algorithm.env_runner_group.foreach_env_runner(node_of, local_env_runner=not asked.runners)
    print(f"{len(nodes)} processes play, on {len(set(nodes))} nodes", flush=True)
    end = time.perf_counter() + asked.seconds
    while time.perf_counter() < end:
        result = algorithm.train()
        print(f"{result['num_env_steps_sampled_lifetime']:,.0f} steps", flush=True)
    out = asked.out / "module"
    out.parent.mkdir(parents=True, exist_ok=True)
    algorithm.learner_group.foreach_learner(lambda learner: learner.module.save_to_path(str(out.resolve())))
    algorithm.stop()
    ray.shutdown()
    print(f"checkpoint: {out}")


if __name__ == "__main__":
    main()
