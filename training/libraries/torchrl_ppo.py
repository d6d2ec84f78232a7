"""TorchRL's PPO on the PettingZoo environment: all seats by one policy, `python -m training.libraries.torchrl_ppo`.

What works around the library: `PettingZooWrapper(env=..., use_mask=True)` is the way that takes any environment; a row
holds every seat's reward and value, so the advantages of seats that only waited are left out by the group's mask
(https://github.com/pytorch/rl/issues/2990 says why every seat is observed at every step).
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MaskedCategorical

from chearts_env import cancellation_hearts_v0
from chearts_env.observation import OBSERVATION_SIZE

PLACE = Path("runs/libraries/torchrl_ppo")
GROUP = "agents"


class Net(nn.Module):
    """Logits and values from the vector."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBSERVATION_SIZE, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.actor, self.critic = nn.Linear(256, 54), nn.Linear(256, 1)

    def forward(self, vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits, (..., 54), and values, (...)."""
        features = self.body(vectors)
        return self.actor(features), self.critic(features)[..., 0]


class Act(nn.Module):
    """Draws an action for every seat; those that wait have a mask of ones, and their action is ignored."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net

    def forward(self, vectors: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return actions, their log probabilities and values, (..., seats)."""
        logits, values = self.net(vectors)
        drawn = MaskedCategorical(logits=logits, mask=masks)
        actions = drawn.sample()
        return actions, drawn.log_prob(actions), values


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._net = Net()
        self._net.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        with torch.no_grad():
            logits, _ = self._net(torch.from_numpy(observations).float())
        return logits.masked_fill(torch.from_numpy(action_masks) == 0, float("-inf")).argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "agent.pt")


def new_env(seats: int, seed: int) -> PettingZooWrapper:
    """Return the environment as TorchRL steps it, all seats in one group."""
    raw = cancellation_hearts_v0.env(num_players=seats, episode="hand", reward="relative")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*tested using version")
        return PettingZooWrapper(env=raw, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=seed)


def update(net: Net, optimizer: torch.optim.Optimizer, hands: list[Any]) -> None:
    """Learn from whole hands: a seat's return is what it was paid at the end; only rows in which it acted count."""
    vectors = torch.cat([hand[GROUP, "observation", "observation"] for hand in hands])
    masks = torch.cat([hand[GROUP, "action_mask"] for hand in hands])
    acts = torch.cat([hand[GROUP, "mask"] for hand in hands]) & (masks.sum(-1) > 1)
    actions = torch.cat([hand[GROUP, "action"] for hand in hands])
    old = torch.cat([hand[GROUP, "log_prob"] for hand in hands])
    values = torch.cat([hand[GROUP, "value"] for hand in hands])
    paid = [hand["next", GROUP, "reward"][..., 0].sum(0, keepdim=True).expand(len(hand), -1) for hand in hands]
    returns = torch.cat(paid)[acts] / 10
    gains = returns - values[acts]
    gains = (gains - gains.mean()) / gains.std()
    vectors, masks, actions, old = vectors[acts], masks[acts], actions[acts], old[acts]
    for rows in torch.split(torch.randperm(len(gains)), 1024):
        logits, foreseen = net(vectors[rows])
        chances = MaskedCategorical(logits=logits, mask=masks[rows])
        ratios = (chances.log_prob(actions[rows]) - old[rows]).exp()
        policy_loss = -torch.minimum(ratios * gains[rows], ratios.clamp(0.8, 1.2) * gains[rows]).mean()
        loss = policy_loss + 0.5 * nn.functional.mse_loss(foreseen, returns[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)  # small networks lose more to threads than they gain
    env = new_env(asked.seats, asked.seed)
    net = Net()
    keys: Any = [(GROUP, "observation", "observation"), (GROUP, "action_mask")]
    outs: Any = [(GROUP, "action"), (GROUP, "log_prob"), (GROUP, "value")]
    policy = TensorDictModule(Act(net), in_keys=keys, out_keys=outs)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4)
    end, num_hands = time.perf_counter() + asked.seconds, 0
    while time.perf_counter() < end:
        with torch.no_grad():
            hands = [env.rollout(max_steps=10_000, policy=policy) for _ in range(8)]
        update(net, optimizer, hands)
        num_hands += len(hands)
        print(f"{num_hands} hands", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.save(net.state_dict(), asked.out / "agent.pt")
    print(f"checkpoint: {asked.out / 'agent.pt'}")


if __name__ == "__main__":
    main()
