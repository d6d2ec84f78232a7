"""PufferLib's PPO on a native environment: one seat learns among `careful`.

`python -m training.libraries.pufferlib_ppo`. `Tables` is a native `PufferEnv` over `SingleSeatVectorEnv`, not over
`VectorTables`: its trainer takes each row for the next step of one and the same player. What works around the library:
it has no masks, so vector and mask lie in one flat Box and `Net` masks its logits; it cuts rewards to -1 … 1, so the 52
points of a hand are made 1; it asks for a CUDA kernel wherever there is `nvcc`; its import leaves a link `resources` in
the working folder. How to install it stands in `tests/libraries/environments.py`
(https://github.com/PufferAI/PufferLib/pull/336 is what its release lacks).
"""

# ruff: noqa: T201 - printing is this command's job

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    import pufferlib
    from pufferlib import pufferl

from chearts_env import SingleSeatVectorEnv
from chearts_env.observation import OBSERVATION_SIZE

PLACE = Path("runs/libraries/pufferlib_ppo")


class Tables(pufferlib.PufferEnv):
    """All tables at once; a row is the learner's vector and mask, (O + 54,) int8."""

    def __init__(self, num_tables: int, buf: Any = None, seed: int = 0, **arguments: Any) -> None:
        self.single_observation_space = gymnasium.spaces.Box(-128, 127, (OBSERVATION_SIZE + 54,), np.int8)
        self.single_action_space = gymnasium.spaces.Discrete(54)
        self.num_agents = num_tables
        super().__init__(buf)
        self._tables = SingleSeatVectorEnv(
            num_tables, autoreset_mode=AutoresetMode.SAME_STEP, observation_dtype=np.int8, reward="relative",
            illegal_action="raise", **arguments,
        )  # fmt: skip

    def _show(self, observations: Any) -> None:
        self.observations[:, :OBSERVATION_SIZE] = observations
        self.observations[:, OBSERVATION_SIZE:] = self._tables.action_masks()

    def reset(self, seed: int | None = None) -> tuple[Any, list[Any]]:
        """Deal every table anew."""
        self._show(self._tables.reset(seed=seed)[0])
        return self.observations, []

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Act at every table; hands that end are followed by new ones."""
        observations, rewards, self.terminals[:], self.truncations[:], _ = self._tables.step(actions)
        self.rewards[:] = rewards / 52
        self._show(observations)
        return self.observations, self.rewards, self.terminals, self.truncations, []

    def close(self) -> None:
        """Release nothing."""


class Net(nn.Module):
    """Masked logits and values from rows."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBSERVATION_SIZE, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.actor, self.critic = nn.Linear(256, 54), nn.Linear(256, 1)

    def forward(self, rows: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits, (N, 54), very low where an action is illegal, and values, (N, 1)."""
        features = self.body(rows[:, :OBSERVATION_SIZE].float())
        return self.actor(features).masked_fill(rows[:, OBSERVATION_SIZE:] == 0, -1e9), self.critic(features)

    forward_eval = forward


class Trainer(pufferl.PuffeRL):
    """Its trainer without its dashboard."""

    def print_dashboard(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing."""


class Policy:
    """A checkpoint at the table, greedy."""

    def __init__(self, path: Path) -> None:
        self._net = Net()
        self._net.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return the likeliest action of each row, (N,)."""
        with torch.no_grad():
            logits, _ = self._net(torch.from_numpy(np.hstack([observations, action_masks])))
        return logits.argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "agent.pt")


def settings(out: Path, seed: int) -> dict[str, Any]:
    """Return what its trainer asks for; most are its defaults."""
    return {
        "seed": seed, "torch_deterministic": True, "cpu_offload": False, "device": "cpu", "precision": "float32",
        "compile": False, "optimizer": "adam", "adam_beta1": 0.9, "adam_beta2": 0.999, "adam_eps": 1e-8,
        "learning_rate": 3e-4, "anneal_lr": False, "total_timesteps": 10**12, "batch_size": "auto",
        "bptt_horizon": 64, "minibatch_size": 2048, "max_minibatch_size": 2048, "update_epochs": 2, "gamma": 1.0,
        "gae_lambda": 0.95, "clip_coef": 0.2, "vf_coef": 0.5, "vf_clip_coef": 0.2, "max_grad_norm": 0.5,
        "ent_coef": 0.01, "vtrace_rho_clip": 1.0, "vtrace_c_clip": 1.0, "prio_alpha": 0.0, "prio_beta0": 1.0,
        "use_rnn": False, "checkpoint_interval": 10**9, "data_dir": str(out),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seats", type=int, default=6)
    parser.add_argument("--opponents", default="baselines.careful:Careful")
    parser.add_argument("--tables", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PLACE)
    asked = parser.parse_args(arguments)
    torch.manual_seed(asked.seed)
    torch.set_num_threads(1)
    pufferl.ADVANTAGE_CUDA = False
    tables = Tables(asked.tables, num_players=asked.seats, opponents=asked.opponents)
    net = Net()
    trainer = Trainer(settings(asked.out, asked.seed), tables, net)
    end = time.perf_counter() + asked.seconds
    while time.perf_counter() < end:
        trainer.evaluate()
        trainer.train()
        print(f"{trainer.global_step:,} decisions", flush=True)
    trainer.utilization.stop()  # its `close` would save a checkpoint of its own
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.save(net.state_dict(), asked.out / "agent.pt")
    print(f"checkpoint: {asked.out / 'agent.pt'}")


if __name__ == "__main__":
    main()
