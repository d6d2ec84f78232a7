"""How plausible worlds are, against counts of what a seat could have laid."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from baselines.careful import Careful
from chearts_env import Game, Rules
from chearts_env.knowledge import redeal_observation
from chearts_env.observation import Observation, decode
from training.config import NetworkConfig
from training.fit import new_network
from training.plausible_worlds import _LEAST, _WEIGHT, plausibilities
from training.policy import ValuePolicy


def policy_that_likes(*faces: int) -> ValuePolicy:
    """A policy to which these cards are worth 30 points more than all others, which are all the same."""
    network = new_network(NetworkConfig(8, 1), 0, 0)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        network.head.bias[list(faces)] = 10.0
    return ValuePolicy(network)


def positions(rules: Rules, wanted: int = 6) -> list[Observation]:
    """What movers see in play with cards on the trick, now and then in one hand."""
    game, rng = Game(rules, seed=8, episode="hand"), np.random.default_rng(0)
    seen: list[Observation] = []
    while len(seen) < wanted and not game.is_over:
        mover = game.mover
        assert mover is not None
        observation = game.observation(mover)
        known = decode(observation)
        if known.phase == "play" and len(known.trick) >= 2 and rng.random() < 0.2:
            seen.append(observation)
        game.step(int(Careful().act(observation[None], game.action_mask()[None], rng)[0]))
    return seen


@pytest.mark.parametrize("rules", [Rules.card_page(7), Rules.classic(11)], ids=str)
def test_indifferent_network_counts_what_each_seat_could_have_laid(rules):
    """One card of n: the chance is 1/n, for a leader's n and a follower's; the worlds stay as they are."""
    for observation in positions(rules):
        known = decode(observation)
        _, worlds = redeal_observation(observation, np.random.default_rng(1), 20)
        before = worlds.copy()
        found = plausibilities(worlds, policy_that_likes())
        assert worlds.tobytes() == before.tobytes()
        led = known.trick[0][1] // 13
        for world, plausibility in zip(worlds, found, strict=True):
            expected = 0.0
            for number, (seat, face) in enumerate(known.trick):
                hand = world.private[seat].hand.copy()
                hand[face] += 1
                could = np.flatnonzero(hand)
                if number and (could // 13 == led).any():
                    could = could[could // 13 == led]
                elif number == 0 and (known.trick_number == 0 and not (could // 13 == 3).all()):
                    could = could[(could // 13 != 3) & (could != 36)]  # R10: no point card opens the hand
                elif number == 0 and not known.hearts_broken and (could // 13 != 3).any():
                    could = could[could // 13 != 3]  # R12
                expected += max(-np.log(len(could)), _LEAST)
            assert plausibility == pytest.approx(_WEIGHT * expected)


def test_world_in_which_a_seat_kept_a_card_it_would_have_laid_is_less_plausible():
    """The network would have laid a card that some worlds give to a seat which laid another one of its suit."""
    tried = 0
    for observation in positions(Rules.classic(8), 12):
        known = decode(observation)
        led = known.trick[0][1] // 13
        seat, face = known.trick[-1]
        if face // 13 != led:
            continue
        for liked in range(13 * led, 13 * led + 13):
            _, worlds = redeal_observation(observation, np.random.default_rng(2), 64)
            held = worlds["private"]["hand"][:, seat, liked] > 0
            others = worlds["private"]["hand"][:, [each for each, _ in known.trick[:-1]], liked].any(axis=1)
            if liked in [laid for _, laid in known.trick] or not 0 < held.sum() < 64 or (~held & ~others).sum() == 0:
                continue
            found = plausibilities(worlds, policy_that_likes(liked))
            assert found[held].max() < found[~held & ~others].max()
            assert found[held].max() <= _WEIGHT * _LEAST
            tried += 1
    assert tried > 10
