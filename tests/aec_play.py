"""What the tests of the PettingZoo environment share: making it, playing it, writing down what it shows."""

from __future__ import annotations

import copy
import random
import warnings
from typing import Any

import numpy as np
from pettingzoo.utils import wrappers

from chearts_env import cancellation_hearts_v0

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the suite imports an environment of its own in a way that it calls deprecated

#: What PettingZoo 1.27.0 says of every environment with dict observations that is not its own.

KINDS = ("raw_env", "env")
REWARDS = ("points", "relative", "win")
SHORT = {"target_score": 100, "max_hands": 2}


def make(kind: str, **arguments: Any) -> Any:
    """Make an environment, raw or wrapped."""
    return getattr(cancellation_hearts_v0, kind)(**arguments)


def with_the_usual_wrappers(**arguments: Any) -> Any:
    """Wrap a raw environment as PettingZoo's classic ones are."""
    env = wrappers.TerminateIllegalWrapper(cancellation_hearts_v0.raw_env(**arguments), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def snapshot(env: Any, observed: bool = True) -> dict[str, Any]:
    """Write down all that an environment shows."""
    shown = {
        "agents": list(env.agents),
        "rewards": dict(env.rewards),
        "cumulative": dict(env._cumulative_rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": copy.deepcopy(env.infos),
        "selection": env.agent_selection,
    }
    if observed:
        for agent in env.possible_agents:
            shown[agent] = {name: array.tobytes() for name, array in env.observe(agent).items()}
    return shown


def legal_action(env: Any, rng: random.Random) -> int | None:
    """Choose any legal action of the agent selected, None if its episode is over."""
    observation, _, terminated, truncated, _ = env.last()
    if terminated or truncated:
        return None
    return int(rng.choice(np.flatnonzero(observation["action_mask"]).tolist()))


def take_steps(env: Any, num_steps: int, seed: int) -> list[dict[str, Any]]:
    """Play at random, and write down what is shown on the way."""
    rng = random.Random(seed)
    shown = []
    for _ in range(num_steps):
        if not env.agents:
            break
        env.step(legal_action(env, rng))
        if env.agents:
            shown.append(snapshot(env, observed=rng.random() < 0.1))
    return shown
