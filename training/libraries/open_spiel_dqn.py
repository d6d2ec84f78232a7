"""OpenSpiel's DQN: one seat learns among given opponents, `python -m training.libraries.open_spiel_dqn`.

What works around the library: `rl_environment` writes the view of every player at every step as a Python list, which
takes most of the time, so that opponents are asked with what it wrote; DQN learns from a buffer that its second step
makes, so `learn_every` must be more; its networks have no file format of their own.
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
from open_spiel.python import rl_environment
from open_spiel.python.pytorch import dqn

from chearts_env.observation import OBSERVATION_SIZE
from chearts_env.policy import loaded_policy
from chearts_env.table import NUM_ACTIONS
from training.libraries import open_spiel_game

PLACE = Path("runs/libraries/open_spiel_dqn")
_LAYERS = [256, 256]
_SEAT = 0  # the observation is relative: it learns for any


class Policy:
    """A checkpoint at the table: the legal action of the highest value."""

    def __init__(self, path: Path) -> None:
        self._network: Any = dqn.MLP(OBSERVATION_SIZE, _LAYERS, NUM_ACTIONS)
        self._network.load_state_dict(torch.load(path, weights_only=True))

    def act(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        """Return an action for each row, (N,)."""
        with torch.no_grad():
            values = self._network(torch.from_numpy(observations.astype(np.float32)))
        return values.masked_fill(torch.from_numpy(action_masks) == 0, float("-inf")).argmax(1).numpy()


def latest() -> Policy:
    """Return the policy of the last training."""
    return Policy(PLACE / "weights.pt")


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
    rng, others = np.random.default_rng(asked.seed), loaded_policy(asked.opponents)
    env = rl_environment.Environment(
        open_spiel_game.NAME, players=asked.seats, observation_type=rl_environment.ObservationType.OBSERVATION
    )
    env.seed(asked.seed)
    learner: Any = dqn.DQN(
        _SEAT, OBSERVATION_SIZE, NUM_ACTIONS, _LAYERS, replay_buffer_capacity=50_000, learning_rate=1e-3, learn_every=4,
        epsilon_end=0.05, epsilon_decay_duration=5_000, optimizer_str="adam", loss_str="huber", seed=asked.seed,
    )  # fmt: skip
    num_hands, decisions, end = 0, 0, time.perf_counter() + asked.seconds
    while time.perf_counter() < end:
        step = env.reset()
        while not step.last():
            seat = step.observations["current_player"]
            if seat == _SEAT:
                action = learner.step(step).action
                decisions += 1
            else:
                seen, mask = (
                    np.array([step.observations["info_state"][seat]], np.int8),
                    np.zeros((1, NUM_ACTIONS), np.int8),
                )
                mask[0, step.observations["legal_actions"][seat]] = 1
                action = int(others.act(seen, mask, rng)[0])
            step = env.step([action])
        learner.step(step)
        num_hands += 1
        if num_hands % 100 == 0:
            print(f"{num_hands} hands, {decisions} decisions, loss {learner.loss}", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    torch.save(learner._q_network.state_dict(), asked.out / "weights.pt")
    print(f"checkpoint: {asked.out / 'weights.pt'}, {num_hands} hands, {decisions} decisions")


if __name__ == "__main__":
    main()
