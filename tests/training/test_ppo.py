"""Self-play: advantages by hand, ratios, masks, who sits where, snapshots, and that a run goes on as if not stopped."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch

from baselines.careful import Careful
from baselines.random_legal import RandomLegal
from chearts_env import Rules
from chearts_env.observation import field_values
from chearts_env.table import MOON
from training.config import Config, LabelsConfig, NetworkConfig, PpoConfig
from training.critic import OTHER_HANDS, Critic, points_taken
from training.fit import new_network
from training.ppo import Learner, log_probabilities, mean_divergence, mean_entropy, policy_loss
from training.returns import advantages
from training.rollout import LEARNER, SelfPlayTables, draw_players
from training.self_play import SelfPlay

CPU = torch.device("cpu")
RULES = [preset(size) for preset in (Rules.card_page, Rules.classic) for size in range(6, 12)]


def config(**ppo) -> Config:
    """A few hands of every size and reading, small networks."""
    settings = {"iterations": 4, "hands": 24, "batch_size": 256, "warm_up": 1, **ppo}
    return Config(network=NetworkConfig(16, 1), labels=LabelsConfig(crowded_weight=1), ppo=PpoConfig(**settings))


def stage(kinds: tuple[torch.dtype, torch.dtype] = (torch.float32, torch.float32), **ppo) -> SelfPlay:
    """Self-play from fresh weights."""
    return SelfPlay(config(**ppo), new_network(NetworkConfig(16, 1), 0, 0), CPU, kinds)


def learner(kind: torch.dtype = torch.float32, **ppo) -> Learner:
    """A fresh policy and critic."""
    network = new_network(NetworkConfig(16, 1), 0, 0)
    return Learner(network, Critic(network.num_features, 16), config(**ppo).ppo, CPU, kind)


def rollout_of(policy, seed: int = 0, players: np.ndarray | None = None):
    """One hand of each rules played by a policy in all seats, or in those that `players` gives it."""
    tables = SelfPlayTables(RULES)
    players = np.zeros((len(RULES), 11), np.int64) if players is None else players
    return tables.play(policy, [Careful()], players, seed, np.random.default_rng(seed))


def weights_of(network: torch.nn.Module) -> torch.Tensor:
    """All weights in one row."""
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


# Advantages


def test_advantages_are_sums_done_by_hand():
    """Two seats at one table, seat 2 decides twice. Deltas of seat 2: 0.5 - 0.2, then -1 - 0.5; lambda one half."""
    rewards = np.zeros((1, 11), np.float32)
    rewards[0, [2, 5]] = -1.0, 3.0
    values = np.array([0.2, 1.0, 0.5], np.float32)
    gained, returns = advantages(values, np.zeros(3, np.int64), np.array([2, 5, 2]), rewards, 0.5)
    np.testing.assert_allclose(gained, [0.3 + 0.5 * -1.5, 3.0 - 1.0, -1.5], rtol=1e-6)
    np.testing.assert_allclose(returns, [0.2 - 0.45, 3.0, -1.0], rtol=1e-6)


def test_returns_are_rewards_where_lambda_is_one():
    """The whole hand counts, whatever the critic says in between."""
    rollout = rollout_of(RandomLegal())
    values = np.random.default_rng(0).normal(size=len(rollout)).astype(np.float32)
    _, returns = advantages(values, rollout.places, rollout.seats, rollout.rewards, 1.0)
    np.testing.assert_allclose(returns, rollout.rewards[rollout.places, rollout.seats], atol=1e-4)


def test_order_of_other_seats_does_not_matter_to_an_advantage():
    """Decisions of different seats and tables may come in any order, those of one seat in that of time."""
    rollout = rollout_of(RandomLegal())
    rng = np.random.default_rng(0)
    values = rng.normal(size=len(rollout)).astype(np.float32)
    gained, _ = advantages(values, rollout.places, rollout.seats, rollout.rewards, 0.9)
    order = np.lexsort((np.arange(len(rollout)), rng.permutation(11)[rollout.seats], rollout.places))
    other, _ = advantages(values[order], rollout.places[order], rollout.seats[order], rollout.rewards, 0.9)
    np.testing.assert_array_equal(other, gained[order])


# Losses


def test_illegal_actions_have_no_chance_under_extreme_outputs():
    """And those of the others add up to 1; a row that allows none is refused, not answered."""
    worths = torch.tensor([[1e6, -torch.inf, 1e6, -1e6] + [-torch.inf] * 50])
    chances = log_probabilities(worths, 4.0).exp()
    assert chances[0].tolist() == [0.5, 0.0, 0.5] + [0.0] * 51
    entropy = mean_entropy(log_probabilities(worths, 4.0))
    assert float(entropy) == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="row 1 allows no action"):
        log_probabilities(torch.cat([worths, torch.full((1, 54), -torch.inf)]), 4.0)


def test_clipped_objective_is_the_one_worked_out_by_hand():
    """A ratio of 1.5 at a gain of 2 counts as 1.2; at a gain of -2 it counts in full; 0.5 at -1 counts as 0.8."""
    ratios, gains = torch.tensor([1.5, 1.5, 0.5]), torch.tensor([2.0, -2.0, -1.0])
    assert float(policy_loss(ratios, gains, 0.2)) == pytest.approx(-(2.4 - 3.0 - 0.8) / 3)


def test_divergence_is_that_of_two_coins():
    """KL of (3/4, 1/4) from (1/2, 1/2), with an action that neither takes."""
    coins = torch.tensor([[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]).log()
    assert float(mean_divergence(coins[:1], coins[1:])) == pytest.approx(
        0.75 * np.log(0.75 / 0.5) + 0.25 * np.log(0.25 / 0.5)
    )


def first_ratios(made: Learner, monkeypatch, **forgets) -> torch.Tensor:
    """The ratios of the first batch of an update; with `forgets`, some masks are lost on the way to it."""
    caught = []

    def caught_loss(ratios, gains, clip):
        caught.append(ratios.detach().clone())
        return policy_loss(ratios, gains, clip)

    monkeypatch.setattr("training.ppo.policy_loss", caught_loss)
    if forgets:
        learns = Learner._learn_policy

        def forgetful(self, seen, *rest):
            return learns(self, seen._replace(masks=torch.ones_like(seen.masks)), *rest)

        monkeypatch.setattr(Learner, "_learn_policy", forgetful)
    made.update(rollout_of(RandomLegal()), 0.0, np.random.default_rng(0))
    return caught[0]


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_ratios_of_the_first_batch_are_exactly_one(kind, monkeypatch):
    """Nothing has been learned yet, so new and old probabilities are the same numbers."""
    assert (first_ratios(learner(kind), monkeypatch) == 1).all()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_ratios_of_the_first_batch_are_exactly_one_at_full_size(kind, monkeypatch):
    """Sums of a row do not depend on how many rows are computed together, in a network as large as `pretrained`."""
    network = new_network(NetworkConfig(256, 3, careful=True), 0, 0)
    made = Learner(network, Critic(network.num_features, 128), config(batch_size=300).ppo, CPU, kind)
    assert (first_ratios(made, monkeypatch) == 1).all()


def test_forgotten_mask_shows_in_the_first_ratios(monkeypatch):
    """The test above is no formality: with masks forgotten in the update it fails."""
    assert (first_ratios(learner(), monkeypatch, masks=True) != 1).any()


# Hands


def test_rewards_of_a_hand_sum_to_zero_and_every_choice_of_the_learner_is_noted():
    """No forced moves; who was dealt what is shown to the critic, relative to the seat that decides."""
    rollout = rollout_of(RandomLegal())
    np.testing.assert_allclose(rollout.rewards.sum(axis=1), 0, atol=1e-4)
    assert (rollout.masks.sum(axis=1) > 1).all()
    assert (rollout.masks[np.arange(len(rollout)), rollout.actions] == 1).all()
    np.testing.assert_array_equal(rollout.hands[:, 0], field_values(rollout.observations, "hand"))
    assert set(rollout.places) == set(range(len(RULES)))
    assert rollout.num_steps == sum(rules.num_players * (3 + rules.hand_size) for rules in RULES)


def test_points_taken_are_those_seen_relative_to_the_table():
    """In units of ten points."""
    observations = rollout_of(RandomLegal()).observations
    points = field_values(observations, "points_seen").reshape(-1, 11).astype(float)
    sizes = field_values(observations, "size") @ np.arange(6, 12)
    np.testing.assert_allclose(points_taken(observations), (points.sum(1) / sizes - points[:, 0]) / 10, atol=1e-6)
    assert points.max() > 10


def test_one_policy_plays_a_seat_for_a_whole_hand():
    """Choices of the learner come from its seats alone, and there are as many as its seats have."""
    players = np.random.default_rng(1).integers(0, 2, (len(RULES), 11))
    rollout = rollout_of(RandomLegal(), players=players)
    assert (players[rollout.places, rollout.seats] == LEARNER).all()
    mine = {(place, seat) for place, seat in zip(rollout.places, rollout.seats, strict=True)}
    assert mine == {
        (place, seat)
        for place, rules in enumerate(RULES)
        for seat in range(rules.num_players)
        if players[place, seat] == LEARNER
    }


def test_seats_are_drawn_by_the_shares_and_one_at_least_learns():
    """Thousands of tables: shares within a few hundredths, snapshots alike, no empty table."""
    sizes = np.tile(np.arange(6, 12), 1000)
    settings = PpoConfig(careful=0.3, snapshots=0.2)
    players = draw_players(np.random.default_rng(0), sizes, settings, 3)
    sits = np.arange(11) < sizes[:, None]
    assert ((players == LEARNER) & sits).any(axis=1).all()
    assert ((players == 1) & sits).any(axis=1).mean() == pytest.approx(0.3, abs=0.02)
    assert ((players >= 2) & sits).any(axis=1).mean() == pytest.approx(0.2, abs=0.02)
    counts = np.bincount(players[sits])
    assert len(counts) == 5
    assert counts[2:].min() > 0.85 * counts[2:].max()
    assert set(draw_players(np.random.default_rng(0), sizes, settings, 0)[sits]) == {LEARNER, 1}


# Learning


def test_critic_with_open_hands_foresees_more():
    """After the same updates on the same hands; shown its own seat's view alone, it knows less."""
    losses = {}
    for sees_all in (True, False):
        network = new_network(NetworkConfig(16, 1), 0, 0)
        torch.manual_seed(0)
        critic = Critic(network.num_features, 64, num_hidden=OTHER_HANDS if sees_all else 0)
        made = Learner(network, critic, config().ppo, CPU, torch.float32)
        rollout = rollout_of(RandomLegal())
        for number in range(25):
            told = made.update(rollout, 0.0, np.random.default_rng(number), learns=False)
        losses[sees_all] = told["critic_loss"]
    assert losses[True] < losses[False]


def test_policy_learns_what_pays():
    """Rewards that favour one suit of discards: after some updates it is chosen more often."""
    made = learner(learning_rate=3e-3, last_learning_rate=3e-3, anchor=0.0)
    rollout = rollout_of(RandomLegal())
    rewards = np.zeros_like(rollout.rewards)
    liked = rollout.actions >= 39
    # Each decision stands for itself, so that an action has its own reward.
    places, seats = np.arange(len(rollout)) // 11, np.arange(len(rollout)) % 11
    rewards = np.zeros((len(rollout) // 11 + 1, 11), np.float32)
    rewards[places, seats] = 20.0 * liked
    alone = copy.copy(rollout.__dict__) | {"places": places, "seats": seats, "rewards": rewards}
    rollout = type(rollout)(**alone)

    def share() -> float:
        inputs = made.policy.inputs(rollout.observations, rollout.masks)
        chances = log_probabilities(made.policy(*inputs), 4.0).exp().detach().numpy()
        return float(chances[:, 39:52][rollout.masks[:, 39:52].any(axis=1)].sum(axis=1).mean())

    before = share()
    for number in range(10):
        made.update(rollout, 0.0, np.random.default_rng(number))
    assert share() > before + 0.1


def test_warm_up_leaves_the_policy_as_it_is():
    """The critic learns alone."""
    made = learner()
    policy, critic = weights_of(made.policy), weights_of(made.critic)
    made.update(rollout_of(RandomLegal()), 0.0, np.random.default_rng(0), learns=False)
    assert torch.equal(weights_of(made.policy), policy)
    assert not torch.equal(weights_of(made.critic), critic)


@pytest.mark.slow
def test_snapshots_never_change_however_long_training_goes_on():
    """A hundred updates later the first snapshot is what it was."""
    played = stage(iterations=100, hands=12, num_snapshots=30)
    told = played.iterate()
    before = [weights_of(snapshot) for snapshot in played.snapshots]
    while played.share < 1:
        told = played.iterate()
    assert told["decisions"] > 10_000
    assert len(played.snapshots) == 21  # the start, and each twentieth
    for kept, snapshot in zip(before, played.snapshots, strict=False):
        assert torch.equal(kept, weights_of(snapshot))
    assert not torch.equal(before[0], weights_of(played.learner.policy))


def test_self_play_twice_with_one_seed_gives_the_same_weights():
    """And another seed others."""
    final = []
    for seed in (1, 1, 2):
        settings = config()
        settings.seed = seed
        played = SelfPlay(settings, new_network(NetworkConfig(16, 1), 0, 0), CPU, (torch.float32, torch.float32))
        while played.share < 1:
            played.iterate()
        final.append(weights_of(played.policy))
    assert torch.equal(final[0], final[1])
    assert not torch.equal(final[0], final[2])


def test_self_play_that_is_resumed_ends_as_one_that_was_not_interrupted(tmp_path):
    """Weights, optimizers, anchor, snapshots and the count of iterations travel; the seed gives the rest."""
    whole = stage()
    while whole.share < 1:
        whole.iterate()
    first = stage()
    first.iterate()
    first.iterate()
    first.save(tmp_path / "self_play.pt")
    first.iterate()  # lost when the process dies
    second = stage()
    second.load(tmp_path / "self_play.pt")
    assert second.iteration == 2
    while second.share < 1:
        second.iterate()
    assert torch.equal(weights_of(second.policy), weights_of(whole.policy))
    assert torch.equal(weights_of(second.learner.critic), weights_of(whole.learner.critic))
    assert second.decisions == whole.decisions


def test_self_play_prefers_to_subtract_a_moon():
    """R21: both ways are worth the same relative points, so that the seat's own points must decide, as in labels."""
    made = learner(learning_rate=1e-2, last_learning_rate=1e-2, anchor=0.0)
    rollout = rollout_of(RandomLegal())
    observations, masks, actions = rollout.observations[:64].copy(), np.zeros((64, 54), np.int8), np.full(64, 53)
    field_values(observations, "phase")[:] = np.eye(4, dtype=np.int8)[MOON]
    masks[:, 52:] = 1
    actions[::2] = 52
    settled = dataclasses.replace(
        rollout, observations=observations, masks=masks, actions=actions, hands=rollout.hands[:64],
        places=np.arange(64) // 11, seats=np.arange(64) % 11, rewards=np.zeros((6, 11), np.float32),
    )  # fmt: skip
    for number in range(20):
        made.update(settled, 0.0, np.random.default_rng(number))
    worths = made.policy(*made.policy.inputs(observations, masks))
    assert (worths[:, 52] > worths[:, 53]).all()


@pytest.mark.parametrize("count", [1, 3])
def test_batches_of_very_few_decisions_do_not_ruin_the_weights(count):
    """The part compared with the anchor has a row at least."""
    made = learner(batch_size=1)
    rollout = rollout_of(RandomLegal())
    parts = {name: getattr(rollout, name)[:count] for name in ("observations", "masks", "hands", "actions")}
    few = dataclasses.replace(rollout, places=rollout.places[:count], seats=rollout.seats[:count], **parts)
    made.update(few, 0.0, np.random.default_rng(0))
    assert torch.isfinite(weights_of(made.policy)).all()
