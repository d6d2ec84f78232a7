"""Rules of every preset and size, and decisions to value under them."""

from __future__ import annotations

import numpy as np

from chearts_env import Game, Rules

ALL_RULES = [preset(size) for preset in (Rules.card_page, Rules.classic, Rules.bicycle) for size in range(6, 12)]


def name_of(rules: Rules) -> str:
    """A short name for a test."""
    return f"{rules.num_players}-{rules.set_aside}{'' if any(rules.pass_cycle) else '-no-pass'}"


def decision(rules: Rules, seed: int) -> Game:
    """A single hand played at random up to a decision with more than one choice."""
    rng = np.random.default_rng(seed)
    game = Game(rules, seed=seed, episode="hand")
    for _ in range(rng.integers(0, 90)):
        game.step(int(rng.choice(game.legal_actions())))
    while len(game.legal_actions()) == 1:
        game.step(game.legal_actions()[0])
    return game
