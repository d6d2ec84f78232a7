"""Other environments for `python -m chearts_env.bench --peers`, each under random legal play with its observations.

None of them is needed, or installed with this package; what is missing is said aloud. Their games differ from ours and
from one another, so ratios say what an environment costs and not which rules are the longer ones. What is timed alike:

| peer | package | one unit of it | beside ours |
|---|---|---|---|
| OpenSpiel hearts | `open_spiel` | information state tensor, legal actions, step | Game from Python |
| RLCard bridge | `rlcard` | a step: its state holds observation and legal actions | AEC raw |
| PettingZoo connect_four_v3 | `pettingzoo[classic]` | a turn, as our own environment's | AEC raw, wrapped |
| PettingZoo leduc_holdem_v4 | `pettingzoo[classic]` | the same | AEC raw, wrapped |
| Pgx connect_four, sparrow_mahjong | `pgx`, JAX on the CPU | batched: choice, step, auto-reset | batched loop |

This module holds the way any PettingZoo environment is driven, ours included, and nothing of our own game.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

#: A piece of work to be repeated: returns units done and the seconds they took.
Work = Callable[[], tuple[int, float]]

OURS_BATCHED: Final = "batched loop"
OURS_SINGLE: Final = "Game from Python"
OURS_RAW: Final = "AEC raw"
OURS_WRAPPED: Final = "AEC wrapped"

#: Calls before a single game's clock runs: past the end of a hand, so that all there is to compile is compiled.
WARM_UP: Final = 20

_SEED: Final = 7
_DECISIONS: Final = 100  # a call, where one decision is too short for the clock
_PGX_STEPS: Final = 16  # a call


@dataclass(frozen=True)
class Peer:
    """Another environment: its name, what it is measured against, and how its work is made."""

    name: str
    beside: str
    make: Callable[[int], Work]  # is given the number of tables of a batch


def chosen(legal: Sequence[Any] | Any, rng: random.Random) -> Any:
    """Return one of the legal actions, each alike."""
    return legal[int(rng.random() * len(legal))]


def turns_of_aec(env: Any) -> Work:
    """Play a PettingZoo environment with masks in its observations; a unit is a turn in which an action is chosen."""
    rng = random.Random(_SEED)
    env.reset(seed=_SEED)

    def play() -> tuple[int, float]:
        begin = perf_counter()
        turns = 0
        while turns < _DECISIONS:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                if not env.agents:
                    env.reset()
            else:
                env.step(int(chosen(np.flatnonzero(observation["action_mask"]), rng)))
                turns += 1
        return turns, perf_counter() - begin

    for _ in range(WARM_UP):
        play()
    return play


def _connect_four(wrapped: bool) -> Work:
    from pettingzoo.classic import connect_four_v3

    return turns_of_aec(connect_four_v3.env() if wrapped else connect_four_v3.raw_env())


def _leduc_holdem(wrapped: bool) -> Work:
    from pettingzoo.classic import leduc_holdem_v4

    return turns_of_aec(leduc_holdem_v4.env() if wrapped else leduc_holdem_v4.raw_env())


def _openspiel_hearts() -> Work:
    import pyspiel

    rng = random.Random(_SEED)
    game = pyspiel.load_game("hearts")
    state = game.new_initial_state()

    def play() -> tuple[int, float]:
        nonlocal state
        begin = perf_counter()
        decisions = 0
        while decisions < _DECISIONS:
            if state.is_terminal():
                state = game.new_initial_state()
            elif state.is_chance_node():
                state.apply_action(chosen(state.legal_actions(), rng))  # the deal; all outcomes are alike
            else:
                state.information_state_tensor(state.current_player())
                state.apply_action(chosen(state.legal_actions(), rng))
                decisions += 1
        return decisions, perf_counter() - begin

    return play


def _rlcard_bridge() -> Work:
    import rlcard

    rng = random.Random(_SEED)
    env = rlcard.make("bridge", config={"seed": _SEED})
    state, _ = env.reset()

    def play() -> tuple[int, float]:
        nonlocal state
        begin = perf_counter()
        for _ in range(_DECISIONS):
            state, _ = env.step(chosen(list(state["legal_actions"]), rng))
            if env.is_over():
                state, _ = env.reset()
        return _DECISIONS, perf_counter() - begin

    return play


def _pgx(name: str, num_tables: int) -> Work:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def advance(carry: Any, _: Any) -> tuple[Any, None]:
        state, key = carry
        key, choosing, chance = jax.random.split(key, 3)
        weights = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        actions = jax.random.categorical(choosing, weights)
        return (step(state, actions, jax.random.split(chance, num_tables)), key), None

    steps = jax.jit(lambda carry: jax.lax.scan(advance, carry, None, length=_PGX_STEPS)[0], donate_argnums=0)
    key, dealing = jax.random.split(jax.random.PRNGKey(_SEED))
    carry = (jax.jit(jax.vmap(env.init))(jax.random.split(dealing, num_tables)), key)

    def play() -> tuple[int, float]:
        nonlocal carry
        begin = perf_counter()
        carry = jax.block_until_ready(steps(carry))
        return num_tables * _PGX_STEPS, perf_counter() - begin

    return play


PEERS: Final = (
    Peer("OpenSpiel hearts", OURS_SINGLE, lambda _: _openspiel_hearts()),
    Peer("RLCard bridge", OURS_RAW, lambda _: _rlcard_bridge()),
    Peer("PettingZoo connect_four_v3 raw", OURS_RAW, lambda _: _connect_four(wrapped=False)),
    Peer("PettingZoo connect_four_v3 wrapped", OURS_WRAPPED, lambda _: _connect_four(wrapped=True)),
    Peer("PettingZoo leduc_holdem_v4 raw", OURS_RAW, lambda _: _leduc_holdem(wrapped=False)),
    Peer("PettingZoo leduc_holdem_v4 wrapped", OURS_WRAPPED, lambda _: _leduc_holdem(wrapped=True)),
    Peer("Pgx connect_four", OURS_BATCHED, lambda num_tables: _pgx("connect_four", num_tables)),
    Peer("Pgx sparrow_mahjong", OURS_BATCHED, lambda num_tables: _pgx("sparrow_mahjong", num_tables)),
)
#: Distributions whose versions are shown beside the results.
PEER_PACKAGES: Final = ("open_spiel", "rlcard", "pgx", "jax", "pygame")


def find_peers(num_tables: int) -> Iterator[tuple[Peer, Work | str]]:
    """Yield each peer with its work, already run once, or with the reason why it cannot be measured here."""
    for peer in PEERS:
        try:
            work = peer.make(num_tables)
            work()
        except ImportError as error:
            yield peer, f"not installed ({error})"
        except Exception as error:  # a peer that is broken here must not cost the other results
            yield peer, f"fails here ({type(error).__name__}: {error})"
        else:
            yield peer, work
