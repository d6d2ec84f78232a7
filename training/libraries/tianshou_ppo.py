"""Tianshou's PPO with a masked actor: one seat learns among `careful`, `python -m training.libraries.tianshou_ppo`.

What works around the library: only its Q-learning looks at `obs.mask`, an actor of its own has to mask its logits
(https://github.com/thu-ml/tianshou/issues/334). A dictionary of observations reaches the networks as a `Batch`.
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import AbstractDiscreteActor, ModuleWithVectorOutput
from tianshou.utils.torch_utils import policy_within_training_step
from torch import nn
from torch.distributions import Categorical

from chearts_env import SingleSeatEnv
from chearts_env.observation import OBSERVATION_SIZE

PLACE = Path("runs/libraries/tianshou_ppo")


class MaskInObservation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Hands the mask out beside the vector."""

    def __init__(self, env: SingleSeatEnv) -> None:
        super().__init__(env)
        mask = gymnasium.spaces.Box(0, 1, (54,), np.int8)
        self.observation_space = gymnasium.spaces.Dict({"vector": env.observation_space, "mask": mask})

    def observation(self, observation: Any) -> Any:
        """Return both."""
        env = self.env.unwrapped
        assert isinstance(env, SingleSeatEnv)
        return {"vector": observation, "mask": env.action_masks()}


def body() -> nn.Sequential:
    """Return a network from the vector to features."""
    return nn.Sequential(nn.Linear(OBSERVATION_SIZE, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())


class MaskedActor(AbstractDiscreteActor):
    """Logits, very low where an action is illegal."""

    def __init__(self) -> None:
        super().__init__(54)
        self.body, self.head = body(), nn.Linear(256, 54)

    def get_preprocess_net(self) -> ModuleWithVectorOutput:
        """Return the network before the head."""
        return ModuleWithVectorOutput.from_module(self.body, 256)

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        """Return logits, (N, 54), and no state."""
        vector, mask = (torch.as_tensor(part, dtype=torch.float32) for part in (obs.vector, obs.mask))
        return self.head(self.body(vector)).masked_fill(mask == 0, -1e9), state


class Critic(nn.Module):
    """Values."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(*body(), nn.Linear(256, 1))

    def forward(self, obs: Any, **rest: Any) -> torch.Tensor:
        """Return values, (N, 1)."""
        return self.net(torch.as_tensor(obs.vector, dtype=torch.float32))  # type: ignore[no-any-return]


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._actor = MaskedActor()
        self._actor.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        logits = self._actor.head(self._actor.body(torch.from_numpy(observations).float()))
        return logits.masked_fill(torch.from_numpy(action_masks) == 0, -1e9).argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "agent.pt")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--opponents", default="baselines.careful:Careful")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)  # small networks lose more to threads than they gain

    def make() -> MaskInObservation:
        return MaskInObservation(SingleSeatEnv(num_players=asked.seats, opponents=asked.opponents, reward="relative"))

    tables = DummyVectorEnv([make] * 32)
    tables.seed(asked.seed)
    actor = MaskedActor()
    policy = ProbabilisticActorPolicy(
        actor=actor, dist_fn=lambda logits: Categorical(logits=logits), action_space=make().action_space,
        action_scaling=False, action_bound_method=None,
    )  # fmt: skip
    algorithm = PPO(policy=policy, critic=Critic(), optim=AdamOptimizerFactory(lr=3e-4), gamma=1.0, return_scaling=True)
    buffer = VectorReplayBuffer(16_384, len(tables))
    collector = Collector(algorithm, tables, buffer)
    collector.reset()
    end = time.perf_counter() + asked.seconds
    while time.perf_counter() < end:
        # Its trainer stops after epochs, not after seconds; this is what it does in one.
        with policy_within_training_step(policy):
            played = collector.collect(n_step=8192)
            algorithm.update(buffer=buffer, batch_size=1024, repeat=2)
        collector.reset_buffer(keep_statistics=True)
        print(f"{played.n_collected_episodes} hands, return {played.returns.mean():+.2f}", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.save(actor.state_dict(), asked.out / "agent.pt")
    print(f"checkpoint: {asked.out / 'agent.pt'}")


if __name__ == "__main__":
    main()
