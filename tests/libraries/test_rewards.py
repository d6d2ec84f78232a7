"""What each library is paid for a seat is what the engine's scores of the hand say, and adds up to nothing."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

from chearts_env import Rules, SingleSeatEnv, VectorTables

SIZES = (6, 8, 11)
pytestmark = [pytest.mark.train, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def example(name: str) -> Any:
    """Return a module of `training.libraries`."""
    return importlib.import_module(f"training.libraries.{name}")


def relative(points: Any) -> Any:
    """Return points below the table's mean."""
    return np.asarray(points).mean() - np.asarray(points)


def drawn(masks: Any, rng: np.random.Generator) -> Any:
    """Return one legal action for each row of masks."""
    return (rng.random(masks.shape) * (masks > 0)).argmax(1)


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", ["cleanrl_ppo", "agilerl_ppo"])
def test_return_of_each_decision_is_what_its_seat_was_paid(name, num_players):
    """Whole hands on tables of all seats: every decision has its seat's relative points, in tens."""
    module, movers, masks = example(name), [], []

    class Watched(VectorTables):
        def step(self, actions: Any) -> None:
            movers.append(self.movers.copy())
            masks.append(self.action_masks.copy())
            super().step(actions)

    tables = Watched(Rules(num_players, moon="subtract"), 8, seed=1, episode="hand", reward="relative")
    if name == "cleanrl_ppo":
        torch = importlib.import_module("torch")
        returns = module.play_hands(module.Agent(), tables, torch.Generator().manual_seed(1))["returns"]
    else:
        returns = module.play_hands(module.new_agent(), tables)["returns"]
    points = tables.final_scores[:, :num_players]
    expected = (points.mean(1, keepdims=True) - points) / 10
    of_rows = np.concatenate([expected[np.arange(8), mover] for mover in movers])
    if name == "agilerl_ppo":  # learns from free decisions alone
        of_rows = of_rows[np.concatenate(masks).sum(1) > 1]
    np.testing.assert_allclose(returns.numpy(), of_rows, atol=1e-5)
    np.testing.assert_allclose(expected.sum(1), 0, atol=1e-9)


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", ["torchrl_ppo", "benchmarl_ippo"])
def test_rollout_pays_each_seat_its_score(name, num_players):
    """A hand as TorchRL hands it on: what the rows pay adds up to the scores."""
    module = example(name)
    if name == "torchrl_ppo":
        env = module.new_env(num_players, seed=1)
    else:
        env = module.Hearts("CANCELLATION_HEARTS", {"seats": num_players}).get_env_fun(1, False, 1, "cpu")()
    hand = env.rollout(max_steps=10_000)
    paid = hand["next", "agents", "reward"][..., 0].sum(0).numpy()
    np.testing.assert_allclose(paid, relative(env._env.unwrapped.game.scores), atol=1e-4)


@pytest.mark.parametrize("name", ["benchmarl_ippo"])
def test_seats_that_wait_have_one_action_and_environments_differ(name, tmp_path):
    """So its loss learns nothing from them; and no two of its environments deal the same."""
    module = example(name)
    experiment = module.new_experiment(6, 0, 1, str(tmp_path))
    batch = next(iter(experiment.collector))
    waits = ~batch["agents", "mask"]
    masks = batch["agents", "action_mask"]
    assert (masks[waits].sum(-1) == 1).all()
    assert (batch["agents", "log_prob"][waits] == 0).all()
    assert (masks[~waits].sum(-1) > 1).any()
    first = batch["agents", "observation", "observation"][:, 0].flatten(1)
    assert len(first.unique(dim=0)) == len(first)
    experiment.close()


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", ["rllib_ppo"])
def test_rllib_pays_each_seat_its_score(name, num_players):
    """Turn by turn, as its runners step."""
    env = example(name).make({"seats": num_players})
    rng, totals = np.random.default_rng(1), dict.fromkeys(env.env.possible_agents, 0.0)
    seen, _ = env.reset(seed=1)
    ended = {"__all__": False}
    while not ended["__all__"]:
        (agent,) = seen
        seen, rewards, ended, _, _ = env.step({agent: int(drawn(seen[agent]["action_mask"][None], rng)[0])})
        for paid, reward in rewards.items():
            totals[paid] += reward
    scores = env.env.unwrapped.game.scores
    np.testing.assert_allclose([totals[f"player_{seat}"] for seat in range(num_players)], relative(scores), atol=1e-9)


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", ["open_spiel_dqn"])
def test_open_spiel_pays_each_seat_its_score(name, num_players):
    """Points below the table's mean, all at the end of the hand, so that they sum to zero."""
    env = example(name).rl_environment.Environment("python_cancellation_hearts", players=num_players)
    rng, step = np.random.default_rng(1), env.reset()
    while not step.last():
        assert not step.rewards or not any(step.rewards)
        step = env.step([rng.choice(step.observations["legal_actions"][step.observations["current_player"]])])
    scores = env.get_state.game.scores
    assert scores.any()
    np.testing.assert_allclose(step.rewards, relative(scores), atol=1e-9)


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", ["sb3_maskable_ppo", "pufferlib_ppo"])
def test_tables_pay_the_learner_its_score(name, num_players, engine):
    """Episode by episode at eight tables that go on to new hands, as the library's own kind of batch hands it on."""
    module, rng = example(name), np.random.default_rng(1)
    tables = module.Tables(8, num_players=num_players, **({"reward": "relative"} if name == "sb3_maskable_ppo" else {}))
    tables.reset()
    running = np.zeros(8)
    ended: list[float] = []
    while len(ended) < 40:
        if name == "sb3_maskable_ppo":
            actions = drawn(np.stack(tables.env_method("action_masks")), rng)
            _, rewards, dones, _ = tables.step(actions)
        else:
            actions = drawn(tables.observations[:, -54:], rng)
            _, rewards, dones, _, _ = tables.step(actions)
            rewards = rewards * 52.0
        running += rewards
        ended += running[dones].tolist()
        running[dones] = 0
    np.testing.assert_allclose(ended, engine.learner_pay, atol=1e-4)


@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", ["tianshou_ppo"])
def test_tianshou_pays_the_learner_its_score(name, num_players, engine):
    """Hand by hand through its wrapper."""
    env, rng = (
        example(name).MaskInObservation(SingleSeatEnv(num_players=num_players, reward="relative")),
        np.random.default_rng(1),
    )
    paid = []
    for seed in range(5):
        seen, total, is_over = env.reset(seed=seed)[0], 0.0, False
        while not is_over:
            seen, reward, is_over, _, _ = env.step(int(drawn(seen["mask"][None], rng)[0]))
            total += float(reward)
        paid.append(total)
    np.testing.assert_allclose(paid, engine.learner_pay, atol=1e-9)


@pytest.mark.parametrize("name", ["sb3_maskable_ppo"])
def test_sb3s_own_check_passes_without_a_warning(name):
    """Warnings are errors here."""
    checker = importlib.import_module("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(SingleSeatEnv(num_players=7))
