"""Tables for the tests of playing: one person among players that choose at random."""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from chearts_env import Game, Rules
from chearts_env.play_table import PlayTable
from chearts_env.policy import RandomLegal


class Explaining(RandomLegal):
    """Plays at random, and says why."""

    def explain(self, observation: Any, action_mask: Any) -> list[Any]:
        legal = [int(each) for each in np.flatnonzero(action_mask)]
        return [SimpleNamespace(action=each, cost=float(each), words="because") for each in legal]


class Slow(RandomLegal):
    """Takes longer to be prepared than anybody waits."""

    def act(self, *arguments: Any) -> Any:
        time.sleep(60)


def table_of(rules: Rules, seat: int = 0, seed: int = 5, **options: Any) -> PlayTable:
    """Return a table with players that choose at random."""
    return PlayTable(
        Game(rules, seed, episode=options.pop("episode", "game")), seat, [("random", RandomLegal())], **options
    )


def play_on(table: PlayTable, rng: random.Random) -> None:
    """Take the next action, the person's at random."""
    if table.is_persons_turn:
        table.choose(rng.choice(table.game.legal_actions()))
    else:
        table.step()


def to_persons_turn(table: PlayTable, phase: str = "pass") -> PlayTable:
    """Play on until the person has to choose in a phase."""
    rng = random.Random(1)
    while not (table.is_persons_turn and table.game.phase == phase):
        play_on(table, rng)
    return table
