"""Who holds what: samples count every unseen card once, chance is chance, and a little learning beats it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from baselines import beliefs
from baselines.beliefs import KITTY, NUM_HOLDERS, log_odds
from chearts_env.observation import field_values
from training import fit_beliefs
from training.fit_beliefs import Beliefs, chances, fitted, samples


def test_samples_count_every_card_whose_place_is_not_known_once():
    """Unseen copies by holder: other seats' hands by their numbers, the rest in the kitty; located cards for nobody."""
    for observations, holders in samples(3000, seed=4):
        hand = field_values(observations, "hand")
        played = field_values(observations, "played").reshape(-1, 11, 52).sum(axis=1)
        known = field_values(observations, "given") > 0
        unseen = np.where(known, 0, 2 - played - hand)
        np.testing.assert_array_equal(holders.sum(axis=2), unseen)
        cards_left = field_values(observations, "cards_left").reshape(-1, 11)
        assert (holders[:, :, 1:].sum(axis=1) <= cards_left[:, 1:]).all()
        assert (holders[:, :, KITTY].sum(axis=1) <= field_values(observations, "kitty_size")[:, 0]).all()
        possible = chances(observations) > -10
        assert (possible | (holders == 0)).all()


def test_chance_goes_by_the_cards_that_seats_hold():
    """A void seat and an absent one hold nothing of a suit."""
    ((observations, _), *_) = list(samples(500, seed=5))
    shown = np.exp(chances(observations))
    void = field_values(observations, "void").reshape(-1, 11, 4).repeat(13, axis=2).transpose(0, 2, 1) > 0
    assert shown[:, :, 1:][void[:, :, 1:]].max(initial=0.0) < 1e-6
    cards_left = field_values(observations, "cards_left").reshape(-1, 1, 11)
    full = np.broadcast_to(cards_left, shown.shape)
    np.testing.assert_allclose(
        shown[:, :, 1:][~void[:, :, 1:]], np.maximum(full[:, :, 1:][~void[:, :, 1:]], 1e-9), rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.train
def test_fit_beats_chance_and_the_file_gives_the_same_odds(tmp_path, monkeypatch):
    """On held-out tables, after a few ten thousand decisions; half precision costs a thousandth."""
    monkeypatch.setattr(fit_beliefs, "_HELD_OUT", 3000)
    layers, known, chance = fitted(60_000, seed=3)
    assert known < chance - 0.003
    monkeypatch.setattr(fit_beliefs, "BELIEFS_FILE", tmp_path / "beliefs.npz")
    monkeypatch.setattr(fit_beliefs, "fitted", lambda num_samples, seed: (layers, known, chance))
    assert fit_beliefs.main([]) == 0
    monkeypatch.setattr(beliefs, "BELIEFS_FILE", tmp_path / "beliefs.npz")
    beliefs._layers.cache_clear()
    ((observations, _), *_) = list(samples(100, seed=6))
    try:
        odds = log_odds(observations[0])
    finally:
        beliefs._layers.cache_clear()
    first, first_bias, second, second_bias = (layers[name].astype(np.float64) for name in layers)
    expected = np.maximum(observations[0] @ first + first_bias, 0) @ second + second_bias
    np.testing.assert_allclose(odds, expected.reshape(52, NUM_HOLDERS), atol=1e-3)


def test_what_is_always_alike_in_training_makes_no_difference_later():
    """Scores are 0 in single hands: in whole games they must not be noise. What varied counts as it did."""
    ((observations, _), *_) = list(samples(300, seed=8))
    seen = torch.from_numpy(observations)
    network = Beliefs(torch.full((1024,), 0.5))
    torch.nn.init.normal_(network.second.weight)
    layers = {name: layer.astype(np.float32) for name, layer in network.layers(seen).items()}

    def odds(rows: np.ndarray) -> np.ndarray:
        return np.maximum(rows @ layers["first"] + layers["first_bias"], 0) @ layers["second"] + layers["second_bias"]

    with torch.no_grad():
        np.testing.assert_allclose(odds(observations), network(seen).numpy(), atol=0.1)
    later = observations.copy()
    field_values(later, "score_percent")[:] = 70
    field_values(later, "hands_left")[:] = 0
    np.testing.assert_array_equal(odds(later), odds(observations))


def test_network_that_has_learned_nothing_is_chance():
    """Zero log odds everywhere."""
    ((observations, _), *_) = list(samples(50, seed=7))
    assert not Beliefs(torch.ones(1024))(torch.from_numpy(observations)).any()
