"""The network: what it makes of an observation, against the decoder; masks; versions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from baselines.careful import Careful
from chearts_env import Rules, VectorTables
from chearts_env.observation import decode
from training.network import Network, refuse_other_observations
from training.policy import NetworkPolicy

ALL_RULES = [preset(size) for preset in (Rules.card_page, Rules.classic, Rules.bicycle) for size in range(6, 12)]


def tables_at_step(steps: int, seed: int = 0, count: int = 54) -> VectorTables:
    """Tables of all sizes and presets after some random actions."""
    tables = VectorTables(ALL_RULES, count, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        tables.step((tables.action_masks * (1 + rng.random(tables.action_masks.shape))).argmax(axis=1))
    return tables


def tensors(tables: VectorTables) -> tuple[torch.Tensor, torch.Tensor]:
    """What the movers see and may do, as the network takes it."""
    return torch.from_numpy(tables.observations), torch.from_numpy(tables.action_masks)


@pytest.mark.parametrize("steps", [0, 20, 45, 77, 100, 117])
def test_features_are_what_the_decoder_knows(steps):
    """Hand, unseen, located; of each allowed card: winner now, cancelling, twin out, what is above and below it."""
    tables = tables_at_step(steps)
    expansion = Network(8, 1).expansion
    made = expansion(*tensors(tables))
    features, cards = made.numpy(), expansion.cards_of(made).numpy()
    planes = features[:, : 9 * 52].reshape(-1, 9, 52)
    for row, observation in enumerate(tables.observations):
        known = decode(observation)
        mask = tables.action_masks[row, :52]
        located = known.given if known.phase == "pass" else known.located
        on_trick = np.bincount([face for _, face in known.trick], minlength=52)
        expected = [
            known.hand >= 1,
            known.hand == 2,
            known.unseen >= 1,
            known.unseen == 2,
            on_trick == 1,
            on_trick == 2,
        ]
        np.testing.assert_array_equal(planes[row], np.stack([*expected, located, known.pile, mask]))
        for face in np.flatnonzero(mask):
            suit = slice(13 * (face // 13), 13 * (face // 13) + 13)
            led = known.trick[0][1] // 13 if known.trick else None
            live = [other for _, other in known.trick if other // 13 == led and on_trick[other] == 1]
            np.testing.assert_allclose(
                cards[row, face],
                [
                    led == face // 13 and face > max(live, default=-1) and on_trick[face] == 0,
                    on_trick[face] == 1,
                    known.hand[face] == 1 and known.unseen[face] >= 1,
                    known.unseen[face + 1 : suit.stop].sum() / 8,
                    known.unseen[suit.start : face].sum() / 8,
                ],
            )
        assert not cards[row, mask == 0].any()


def test_features_have_the_size_the_first_layer_was_built_for():
    """One layout for all sizes."""
    expansion = Network(8, 1).expansion
    assert expansion(*tensors(tables_at_step(40))).shape[1] == expansion.size


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_illegal_actions_are_never_chosen_even_under_extreme_weights(scale):
    """Minus infinity where the mask is 0, finite where it is 1; greedy and sampled choices are allowed ones."""
    tables = tables_at_step(60)
    network = Network(16, 2)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(scale)
        worths = network(*tensors(tables)).numpy()
    assert (np.isneginf(worths) == (tables.action_masks == 0)).all()
    for temperature in (None, 1.0):
        policy = NetworkPolicy(network, temperature=temperature)
        tables.step(policy.act(tables.observations, tables.action_masks, np.random.default_rng(0)))


def test_answer_for_a_row_does_not_depend_on_the_other_rows():
    """Batches are filled up; that must not show."""
    tables = tables_at_step(50)
    policy = NetworkPolicy(Network(16, 2))
    whole = policy.worths(tables.observations, tables.action_masks)
    part = policy.worths(tables.observations[7:9], tables.action_masks[7:9])
    np.testing.assert_allclose(part, whole[7:9], rtol=1e-5, atol=1e-6)


def test_sampled_policy_draws_by_worth_and_temperature():
    """Two actions 3 points apart at temperature 3: e times as often. At a low temperature always the better one."""
    network = Network(8, 1)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        network.head.bias[7] = 1.0  # in units of 3 points
    masks = np.zeros((4000, 54), np.int8)
    masks[:, [3, 7]] = 1
    observations = np.zeros((4000, 1024), np.int8)
    drawn = NetworkPolicy(network, temperature=3.0).act(observations, masks, np.random.default_rng(0))
    assert (drawn == 7).sum() / (drawn == 3).sum() == pytest.approx(np.e, rel=0.15)
    cold = NetworkPolicy(network, temperature=0.05).act(observations, masks, np.random.default_rng(0))
    assert (cold == 7).all()


def test_row_that_allows_nothing_is_refused():
    """An empty mask is a mistake of the caller, and no answer to it is right."""
    masks = np.ones((3, 54), np.int8)
    masks[1] = 0
    with pytest.raises(ValueError, match="row 1 allows no action"):
        NetworkPolicy(Network(8, 1)).act(np.zeros((3, 1024), np.int8), masks, np.random.default_rng(0))
    with pytest.raises(ValueError, match="row 1 allows no action"):
        NetworkPolicy(Network(8, 1)).choose(np.zeros((3, 1024), np.int8), masks)


def test_observations_of_another_version_are_refused(monkeypatch):
    """A network is built for one version; a library of another one makes none."""
    with pytest.raises(ValueError, match="version 1, and these are of version 2"):
        refuse_other_observations(2)
    monkeypatch.setattr("training.network.OBSERVATION_VERSION", 2)
    with pytest.raises(ValueError, match="these are of version 2"):
        Network(8, 1)


def test_network_that_takes_judgements_can_play_as_careful_does():
    """With the weight of each card's cost alone, minus one: what `careful` holds to be cheapest is worth most."""
    network = Network(8, 1, careful=True)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        network.card_path.bias[5] = -1.0  # the cost follows the five features of the expansion
    for steps in (0, 30, 70):
        tables = tables_at_step(steps)
        chosen = NetworkPolicy(network).act(tables.observations, tables.action_masks, np.random.default_rng(0))
        assert (chosen == Careful().act(tables.observations, tables.action_masks, np.random.default_rng(0))).all()


def test_features_of_a_card_count_by_the_situation():
    """The weights of the path are an output of the network, one for each feature of a card."""
    network = Network(8, 1)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        network.body[0].bias.fill_(1.0)  # type: ignore[operator]
        network.card_path.weight[4] = 0.5  # 8 times: the lower cards out, in eighths
    tables = tables_at_step(20)
    worths = network(*network.inputs(tables.observations, tables.action_masks)).detach().numpy()
    cards = network.expansion.cards_of(network.expansion(*tensors(tables)))
    allowed = tables.action_masks[:, :52] > 0
    np.testing.assert_allclose(worths[:, :52][allowed], 4 * cards[:, :, 4].numpy()[allowed], rtol=1e-5)


def test_network_without_card_features_is_blind_to_them_alone():
    """The ablation: the five features of each card are 0, all others as they were."""
    tables = tables_at_step(45)
    whole, without = Network(8, 1), Network(8, 1, card_features=False)
    inputs = whole.inputs(tables.observations, tables.action_masks)
    seen, blind = whole.expanded(*inputs), without.expanded(*inputs)
    assert not whole.expansion.cards_of(blind).any()
    assert whole.expansion.cards_of(seen).any()
    assert torch.equal(whole.expansion.cards_of(seen).flatten(1), seen[:, 9 * 52 : 14 * 52])
    assert torch.equal(seen[:, : 9 * 52], blind[:, : 9 * 52])
    assert torch.equal(seen[:, 14 * 52 :], blind[:, 14 * 52 :])
