"""The chances that `careful` reckons with: exact for the last seat of a trick, and never certain of what is not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from baselines.careful import Careful
from baselines.careful.weights import flat_weights, tuned_weights, weights_from_flat
from chearts_env import Game, Rules
from chearts_env.arena import Policy
from chearts_env.cards import FACE_SUIT
from chearts_env.observation import field_values
from tests.baselines.positions import action_of, item_of
from tests.sizes import SIZES, fewer, random_rules


class AnyCard:
    """Plays at random, and half the time makes a pair where it can, so that tricks take every shape."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def act(self, observations, action_masks, rng):
        single = field_values(observations, "trick") == 1
        pairing = action_masks[:, :52] * single
        pairs = self._rng.random() < 0.5 and pairing.any()
        return [self._rng.choice(np.flatnonzero((pairing if pairs else action_masks)[0]).tolist())]


def decisions(game: Game, policy: Policy) -> Iterator[Game]:
    """Play a hand out and yield it at every play of a card."""
    while game.mover is not None:
        if game.phase == "play":
            yield game
        game.step(action_of(policy, game))


def end_of_trick(game: Game, face: int, rng: random.Random) -> tuple[bool, bool]:
    """Play a card and then, at random, the rest of its trick; say whether the mover wins it and whether nobody does."""
    after, seat, trick_number = game.copy(), game.mover, game.trick_number
    after.step(face)
    while not after.is_over and after.phase == "play" and after.trick_number == trick_number:
        after.step(rng.choice(after.legal_actions()))
    nobody = after.pile.sum() > game.pile.sum()
    return not nobody and after.leader == seat, nobody


def outcome_by_hand(game: Game, face: int) -> tuple[bool, bool]:
    """The same for the last seat, from the cards on the table alone (R13 to R15)."""
    trick = [*game.trick, (game.mover, face)]
    counts = Counter(card for _, card in trick)
    suit = FACE_SUIT[trick[0][1]]
    live = [(card, seat) for seat, card in trick if counts[card] == 1 and FACE_SUIT[card] == suit]
    pairs = sum(count == 2 for count in counts.values())
    if not live or (game.rules.set_aside == "two_pairs" and pairs >= 2):
        return False, True
    return max(live)[1] == game.mover, False


@pytest.mark.parametrize("player", ["random", "careful"])
@pytest.mark.parametrize("preset", ["card_page", "classic"])
@pytest.mark.parametrize("num_players", SIZES)
def test_last_to_play_knows_what_becomes_of_the_trick(num_players, preset, player):
    """R13 to R15: for every card that it may play, chances of 0 and 1 that are what then happens."""
    rng = random.Random(num_players)
    seen: Counter[tuple[bool, bool]] = Counter()
    for seed in range(fewer(8, 1)):
        policy = Careful() if player == "careful" else AnyCard(seed)
        game = Game(getattr(Rules, preset)(num_players), seed=seed, episode="hand")
        for moment in decisions(game, policy):
            if len(moment.trick) < num_players - 1:
                continue
            for face in moment.legal_actions():
                item = item_of(moment, face)
                happens = end_of_trick(moment, face, rng)
                assert (item.wins, item.set_aside) == happens == outcome_by_hand(moment, face)
                seen[happens] += 1
    met = {(True, False): "won", (False, False): "lost", (False, True): "set aside"}
    wanted = {"won", "lost", "set aside"} if preset == "card_page" else {"won", "lost"}
    assert wanted <= {met[happens] for happens in seen} or fewer(0, 1), seen


@pytest.mark.parametrize("num_players", SIZES)
def test_last_to_play_knows_what_becomes_of_the_trick_under_any_options(num_players):
    """R13 to R15: other kitties, leads and discards change nothing in it."""
    rng = random.Random(50 + num_players)
    for seed in range(fewer(12, 1)):
        game = Game(random_rules(num_players, rng, last_trick_set_aside="nobody"), seed=seed, episode="hand")
        for moment in decisions(game, AnyCard(seed)):
            if len(moment.trick) == num_players - 1:
                for face in moment.legal_actions():
                    item = item_of(moment, face)
                    assert (item.wins, item.set_aside) == outcome_by_hand(moment, face)


@pytest.mark.parametrize("preset", ["card_page", "classic"])
@pytest.mark.parametrize("num_players", SIZES)
def test_chances_are_chances_and_no_card_wins_that_was_said_never_to(num_players, preset):
    """At every seat of a trick they add up to no more than 1, and 0 to win is meant."""
    rng = random.Random(num_players)
    # Constants that say never or always would make chances of 0 out of what may well happen.
    tuned = flat_weights(tuned_weights())
    weights = weights_from_flat(tuned | {name: min(tuned[name], 0.9) for name in ("cancels", "overtakes")})
    num_never = 0
    for seed in range(fewer(5, 1)):
        game = Game(getattr(Rules, preset)(num_players), seed=seed, episode="hand")
        for moment in decisions(game, Careful()):
            if rng.random() > fewer(100, 15) / 100:
                continue
            for face in moment.legal_actions():
                item = item_of(moment, face, weights)
                assert min(item.wins, item.set_aside, item.pot) >= -1e-9
                assert item.wins + item.set_aside <= 1 + 1e-9
                if item.wins == 0:
                    num_never += 1
                    assert not end_of_trick(moment, face, rng)[0]
    assert num_never > fewer(100, 5)
