"""AgileRL's PPO on `VectorTables`: all seats by one policy, `python -m training.libraries.agilerl_ppo`.

Its PPO and not its IPPO, because PPO masks where it draws and where it learns
(https://github.com/AgileRL/AgileRL/pull/487), and IPPO 2.58 where it draws alone. What works around the library: it has
no turns, so whole hands are played here and handed to `learn`; `peft` has to be installed by hand for it to import.
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
from agilerl.algorithms import PPO
from tensordict import TensorDict

from chearts_env import Rules, VectorTables
from chearts_env.observation import OBSERVATION_SIZE

PLACE = Path("runs/libraries/agilerl_ppo")


def new_agent() -> PPO:
    """Return an untrained agent."""
    layers, head = {"hidden_size": [256]}, {"hidden_size": [256], "output_layernorm": False}
    return PPO(
        gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVATION_SIZE,), np.float32), gymnasium.spaces.Discrete(54),
        net_config={"latent_dim": 128, "encoder_config": layers, "head_config": head}, batch_size=4096, lr=3e-4,
        update_epochs=1, ent_coef=0.01,
    )  # fmt: skip


def play_hands(agent: PPO, tables: VectorTables) -> TensorDict:
    """Play the hands that were just dealt to their end, and return the decisions that were free, with their returns."""
    num_players = int(tables.num_players[0])
    seats, columns = [], []
    while True:
        seen, masks = tables.observations.astype(np.float32) / 2, tables.action_masks.copy()
        actions, log_probs, _, values = agent.get_action(seen, action_mask=masks)
        columns.append((seen, masks, actions, log_probs, values))
        seats.append(tables.movers.astype(np.int64))
        tables.step(actions)
        if tables.terminations.any():
            break  # one size, no moon to settle: all hands end in the same step
    names = ("observations", "action_masks", "actions", "log_probs", "values")
    hands = {name: np.concatenate(parts) for name, parts in zip(names, zip(*columns, strict=True), strict=True)}
    rewards = tables.rewards[:, :num_players] / 10
    hands["returns"] = np.concatenate([np.take_along_axis(rewards, seat[:, None], 1)[:, 0] for seat in seats])
    hands["advantages"] = hands["returns"] - hands["values"]
    hands["actions"] = hands["actions"][:, None]  # its buffer's shape
    free = hands["action_masks"].sum(1) > 1  # forced moves teach nothing
    return TensorDict({name: torch.from_numpy(part[free]) for name, part in hands.items()}, [int(free.sum())])


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._actor = new_agent().actor
        self._actor.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        with torch.no_grad():
            features = self._actor.extract_features(torch.from_numpy(observations).float() / 2)
            self._actor.forward_head(features, action_mask=action_masks, sample=False)
        return self._actor.head_net.dist.logits.argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "actor.pt")


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
    np.random.seed(asked.seed)  # noqa: NPY002 - its minibatches are drawn from the global generator
    torch.set_num_threads(1)
    # "subtract" settles a moon at once, so that hands of one size are all of one length.
    rules = Rules(asked.seats, moon="subtract")
    tables = VectorTables(rules, asked.tables, seed=asked.seed, episode="hand", reward="relative")
    agent = new_agent()
    began, decisions = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < asked.seconds:
        hands = play_hands(agent, tables)
        loss = agent.learn(hands)
        decisions += len(hands)
        print(f"{spent:6.0f} s  {decisions:,} free decisions, loss {loss:.6f}", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.save(agent.actor.state_dict(), asked.out / "actor.pt")
    print(f"checkpoint: {asked.out / 'actor.pt'}")


if __name__ == "__main__":
    main()
