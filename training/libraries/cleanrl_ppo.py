"""Self-play PPO in one file of plain PyTorch, in the manner of CleanRL, on `VectorTables`.

`python -m training.libraries.cleanrl_ppo --seconds 300`. Every table plays one whole hand, one network in all seats; a
seat's return is the hand's relative points for each of its decisions, so there is nothing to bootstrap.
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
from torch import nn

from chearts_env import Rules, VectorTables
from chearts_env.observation import OBSERVATION_SIZE

PLACE = Path("runs/libraries/cleanrl_ppo")


def layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """Return a layer with orthogonal weights."""
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    """Actor and critic."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.body = nn.Sequential(
            layer(OBSERVATION_SIZE, width, 2**0.5), nn.ReLU(), layer(width, width, 2**0.5), nn.ReLU()
        )
        self.actor, self.critic = layer(width, 54, 0.01), layer(width, 1, 1.0)

    def forward(self, observations: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log probabilities of the actions, (N, 54), minus infinity where illegal, and values, (N,)."""
        features = self.body(observations.float() / 2)
        logits = self.actor(features).masked_fill(masks == 0, float("-inf"))
        return torch.log_softmax(logits, dim=1), self.critic(features)[:, 0]


def play_hands(agent: Agent, tables: VectorTables, rng: torch.Generator) -> dict[str, torch.Tensor]:
    """Play the hands that were just dealt to their end, and return every decision with the return of its seat."""
    num_players = int(tables.num_players[0])
    seats, columns = [], []
    while True:
        observations, masks = (torch.from_numpy(part.copy()) for part in (tables.observations, tables.action_masks))
        with torch.no_grad():
            log_probs, values = agent(observations, masks)
        actions = torch.multinomial(log_probs.exp(), 1, generator=rng)[:, 0]
        columns.append((observations, masks, actions, log_probs.gather(1, actions[:, None])[:, 0], values))
        seats.append(torch.from_numpy(tables.movers.astype(np.int64)))
        tables.step(actions.numpy())
        if tables.terminations.any():
            break  # one size, no moon to settle: all hands end in the same step
    names = ("observations", "masks", "actions", "log_probs", "values")
    batch = {name: torch.cat(parts) for name, parts in zip(names, zip(*columns, strict=True), strict=True)}
    rewards = torch.from_numpy(tables.rewards[:, :num_players].copy()) / 10
    batch["returns"] = torch.cat([rewards.gather(1, seat[:, None])[:, 0] for seat in seats])
    return batch


def update(
    agent: Agent, optimizer: torch.optim.Optimizer, batch: dict[str, torch.Tensor], rng: torch.Generator
) -> None:
    """Learn from a batch: clipped policy loss, value loss, a little entropy; forced moves teach nothing."""
    free = torch.nonzero(batch["masks"].sum(1) > 1)[:, 0]
    gains = batch["returns"] - batch["values"]
    gains = (gains - gains[free].mean()) / gains[free].std()
    for rows in torch.split(free[torch.randperm(len(free), generator=rng)], 4096):
        log_probs, values = agent(batch["observations"][rows], batch["masks"][rows])
        ratios = (log_probs.gather(1, batch["actions"][rows][:, None])[:, 0] - batch["log_probs"][rows]).exp()
        policy_loss = -torch.minimum(ratios * gains[rows], ratios.clamp(0.8, 1.2) * gains[rows]).mean()
        value_loss = nn.functional.mse_loss(values, batch["returns"][rows])
        entropy = -(log_probs.exp() * log_probs.nan_to_num(neginf=0.0)).sum(1).mean()
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss - 0.01 * entropy).backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._agent = Agent()
        self._agent.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        with torch.no_grad():
            log_probs, _ = self._agent(torch.from_numpy(observations), torch.from_numpy(action_masks))
        return log_probs.argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "agent.pt")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--tables", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)
    rng = torch.Generator().manual_seed(asked.seed)
    # "subtract" settles a moon at once, so that hands of one size are all of one length.
    rules = Rules(asked.seats, moon="subtract")
    tables = VectorTables(rules, asked.tables, seed=asked.seed, episode="hand", reward="relative")
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
    began, decisions = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < asked.seconds:
        optimizer.param_groups[0]["lr"] = 3e-4 * (1 - spent / asked.seconds)
        batch = play_hands(agent, tables, rng)
        update(agent, optimizer, batch, rng)
        decisions += len(batch["actions"])
        print(f"{spent:6.0f} s  {decisions:,} decisions", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.save(agent.state_dict(), asked.out / "agent.pt")
    print(f"checkpoint: {asked.out / 'agent.pt'}")


if __name__ == "__main__":
    main()
