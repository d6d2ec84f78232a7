"""Copies, pickles and bytes of VectorTables, and tables started from games: they go on identically and alone."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, Rules, VectorTables
from chearts_env.observation import OBSERVATION_SIZE
from tests.sizes import fewer, moon_history, play, preferred, priorities
from tests.tables import everything, mixed_rules, played_tables, step_all

# Keeping


@pytest.mark.parametrize(
    "again",
    [
        lambda tables: tables.copy(),
        copy.copy,
        copy.deepcopy,
        lambda tables: pickle.loads(pickle.dumps(tables)),
        lambda tables: VectorTables.from_bytes(tables.to_bytes()),
        lambda tables: VectorTables.from_bytes(tables.to_bytes(), num_threads=2),
    ],
    ids=["copy", "copy.copy", "deepcopy", "pickle", "bytes", "threads"],
)
@pytest.mark.parametrize("kind", ["hand", "game"])
def test_copies_go_on_identically_and_alone(again: Callable[[VectorTables], VectorTables], kind: Any) -> None:
    """Contract, determinism: copies carry the whole state, last results included, and share nothing."""
    tables = VectorTables(mixed_rules(1), 6, seed=2, episode=kind, reward="relative")
    tables.reset()
    step_all(tables, fewer(333, 125))
    other = again(tables)
    before = everything(tables)
    assert everything(other) == before
    step_all(other, 40, seed=7)
    assert everything(tables) == before  # nothing is shared
    step_all(tables, 40, seed=7)
    assert everything(tables) == everything(other)
    for each in (tables, other):
        each.reset()
    assert everything(tables) == everything(other)
    assert other.reward == "relative"
    assert other.rules == tables.rules


def test_copy_has_buffers_of_its_own_when_those_of_the_caller_were_used() -> None:
    """Contract, public calls: two batches never write into one array."""
    seen = np.zeros((6, OBSERVATION_SIZE), np.int8)
    tables = played_tables(observations=seen)
    other = tables.copy()
    assert not np.shares_memory(other.observations, seen)
    kept = seen.copy()
    step_all(other, 5)
    assert np.array_equal(seen, kept)


@pytest.mark.parametrize("num_steps", [0, 7, 60])
def test_tables_from_games_go_on_as_the_games_do(num_steps: int) -> None:
    """`VectorTables.from_games`: mixed sizes, options and kinds of episode, each from where its game stands."""
    rng = random.Random(num_steps)
    games = []
    for number, rules in enumerate(mixed_rules(9)):
        game = Game(rules, seed=number, episode=("hand", "game")[number % 2])
        for _ in range(num_steps):
            game.step(rng.choice(game.legal_actions()))
        games.append(game)
    games.append(moon_history(8, rng).replay())
    tables = VectorTables.from_games(games, reward="win")
    assert tables.seeds.tolist() == [game.seed for game in games]
    for priority in priorities(25, seed=8):
        actions = preferred(tables.action_masks, priority)
        tables.step(actions)
        for place, game in enumerate(games):
            if game.is_over:
                continue
            game.step(int(actions[place]))
            assert tables.terminations[place] == game.is_over
            if not game.is_over:
                assert tables.movers[place] == game.mover
                assert tables.observations[place].tobytes() == game.observation(int(tables.movers[place])).tobytes()


def test_tables_from_games_share_nothing_with_the_games() -> None:
    """`VectorTables.from_games`: copies of games; the games stay as they are."""
    games = [Game(Rules(size), seed=size) for size in (6, 11)]
    before = [game.to_bytes() for game in games]
    tables = VectorTables.from_games(games)
    step_all(tables, 20)
    assert [game.to_bytes() for game in games] == before
    lent = tables.game(0)
    state = tables.to_bytes()
    lent.step(lent.legal_actions()[0])
    assert tables.to_bytes() == state


def test_tables_from_games_are_refused_when_a_game_is_over_or_there_is_none() -> None:
    """`VectorTables.from_games`: the message says which game."""
    *_, over = play(Game(Rules(6, max_hands=1), seed=1), random.Random(1))
    with pytest.raises(ValueError, match="game 1 is over"):
        VectorTables.from_games([Game(seed=1), over])
    with pytest.raises(ValueError, match="no games given"):
        VectorTables.from_games([])
