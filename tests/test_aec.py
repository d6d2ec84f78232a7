"""The PettingZoo environment: the suite, and what the suite does not look at, such as leaks and live buffers."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from chearts_env import Game, Rules, cancellation_hearts_v0
from chearts_env.cards import face_to_text
from tests.sizes import SIZES, fewer, moon_history

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the suite imports an environment of its own in a way that it calls deprecated
    from pettingzoo.test import api_test, parallel_api_test, seed_test

#: What PettingZoo 1.27.0 says of every environment with dict observations that is not its own.
from tests.aec_play import KINDS, SHORT, legal_action, make, snapshot, take_steps

UNAVOIDABLE = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)


# PettingZoo's own suite


def complaints(test: Callable[[], Any]) -> set[str]:
    """Run one of PettingZoo's tests and return what it warned of, but for the two messages nobody can avoid."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        test()
    return {str(warning.message) for warning in caught} - set(UNAVOIDABLE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_players", SIZES)
def test_pettingzoo_suite_passes_for_every_size_without_other_warnings(num_players: int, kind: str) -> None:
    """Contract, AEC: warnings are errors but for the two messages every dict-observation environment gets."""
    for episode in ("game", "hand"):
        env = make(kind, num_players=num_players, episode=episode, render_mode="ansi", **SHORT)
        assert complaints(partial(api_test, env, num_cycles=fewer(1000, 30))) == set()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_players", SIZES)
def test_pettingzoo_seed_test_passes_for_every_size(num_players: int, kind: str) -> None:
    """Contract, AEC: two environments with one seed show the same."""
    assert complaints(lambda: seed_test(lambda: make(kind, num_players=num_players), fewer(60, 3))) == set()


@pytest.mark.parametrize("num_players", SIZES)
def test_parallel_conversion_pays_each_seat_what_the_game_says(num_players: int) -> None:
    """Contract, AEC: `turn_based_aec_to_parallel` works, on the environment as `env()` gives it."""
    aec = cancellation_hearts_v0.env(num_players=num_players, episode="hand")
    parallel = turn_based_aec_to_parallel(aec)
    assert complaints(lambda: parallel_api_test(parallel, num_cycles=fewer(40, 5))) == set()
    rng = random.Random(num_players)
    observations, _ = parallel.reset(seed=num_players)
    total = dict.fromkeys(parallel.possible_agents, 0.0)
    while parallel.agents:
        masks = {agent: observations[agent]["action_mask"] for agent in parallel.agents}
        assert sum(mask.any() for mask in masks.values()) == 1
        actions = {agent: int(rng.choice(np.flatnonzero(mask).tolist() or [0])) for agent, mask in masks.items()}
        observations, rewards, terminations, truncations, _ = parallel.step(actions)
        for agent, reward in rewards.items():
            total[agent] += reward
        assert len(set(terminations.values())) == 1
        assert not any(truncations.values())
    assert list(total.values()) == (-aec.unwrapped.game.scores).tolist()


# Dealing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("episode", ["game", "hand"])
def test_reset_with_a_seed_deals_what_a_game_with_that_seed_deals(kind: str, episode: Any) -> None:
    """Contract, public calls: `reset(seed=s)` equals `Game(rules, seed=s)`, whatever was played before."""
    rules = Rules.classic(8)
    env = make(kind, rules=rules, episode=episode)
    for seed in (0, 7, 2**64 - 1, np.int64(3), 7):
        env.reset(seed=seed)
        assert env.unwrapped.game.to_bytes() == Game(rules, seed=int(seed), episode=episode).to_bytes()
        take_steps(env, 30, seed=1)


def test_reset_without_a_seed_goes_on_reproducibly() -> None:
    """Contract, AEC: the generator is kept across unseeded resets: a sequence of games, the same from the same seed."""
    seeds = []
    for _ in range(2):
        env = cancellation_hearts_v0.env(num_players=7)
        env.reset(seed=5)
        dealt = [env.unwrapped.game.seed]
        for number in range(4):
            take_steps(env, 10 * number, seed=number)
            env.reset()
            dealt.append(env.unwrapped.game.seed)
        seeds.append(dealt)
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 5
    first, second = cancellation_hearts_v0.env(), cancellation_hearts_v0.env()
    first.reset()
    second.reset()
    assert first.unwrapped.game.seed != second.unwrapped.game.seed


@pytest.mark.parametrize("kind", KINDS)
def test_reset_accepts_options_it_does_not_know(kind: str) -> None:
    """Contract, AEC: the suite passes `options={"options": 1}`."""
    env = make(kind)
    for options in ({"options": 1}, {}, None):
        env.reset(seed=3, options=options)
        assert env.unwrapped.game.to_bytes() == Game(Rules(), seed=3).to_bytes()


def test_reset_plays_a_copy_of_a_game_when_one_is_given() -> None:
    """`reset(options={"game": game})`: from where it stands; one that does not fit is refused."""
    rules = Rules(7)
    game = moon_history(7, random.Random(1)).replay()
    env = cancellation_hearts_v0.env(rules=game.rules)
    before = game.to_bytes()
    env.reset(options={"game": game})
    assert (env.unwrapped.game.phase, env.agent_selection) == ("moon", "player_1")
    env.step(53)
    assert game.to_bytes() == before
    assert env.rewards == {f"player_{seat}": 0.0 if seat == 1 else -26.0 for seat in range(7)}
    for wrong in (Game(Rules(6), seed=1), Game(rules, seed=1, episode="hand"), "a game"):
        with pytest.raises(ValueError, match=r"options\['game'\] is"):
            env.reset(options={"game": wrong})


# Observing


@pytest.mark.parametrize("kind", KINDS)
def test_observe_works_for_any_possible_agent_at_any_time(kind: str) -> None:
    """Contract, AEC: before, at and after the end, also of agents that have left; then all may do anything."""
    env = make(kind, num_players=6, episode="hand")
    env.reset(seed=1)
    rng = random.Random(1)
    while True:
        over = not env.agents or env.terminations[env.agent_selection]
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            if over:
                assert seen["action_mask"].all()
            else:
                assert seen["action_mask"].any() == (agent == env.agent_selection)
        if not env.agents:
            break
        env.step(legal_action(env, rng))
    with pytest.raises(ValueError, match=r"no agent 'player_6'.*player_0, .*player_5"):
        env.observe("player_6")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_observations_are_the_callers_and_never_change_later(kind: str, dtype: Any) -> None:
    """Contract, AEC: fresh arrays at every call: they alias neither the game, nor a buffer, nor each other."""
    env = make(kind, num_players=6, episode="hand", observation_dtype=dtype)
    env.reset(seed=2)
    rng = random.Random(2)
    kept: list[tuple[np.ndarray, bytes]] = []
    arrays: list[np.ndarray] = []
    for _ in range(60):
        seen = [env.observe(agent) for agent in env.possible_agents] + [env.last()[0], env.last()[0]]
        arrays = [array for each in seen for array in each.values()]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays[:6]) for b in arrays[i + 1 :])
        kept += [(array, array.tobytes()) for array in arrays]
        env.step(legal_action(env, rng))
    assert all(array.tobytes() == content for array, content in kept)
    state = env.unwrapped.game.to_bytes()
    shown = snapshot(env)
    for array in arrays + [array for agent in env.possible_agents for array in env.observe(agent).values()]:
        array[:] = 1  # they may be written to, and nothing comes of it
    assert env.unwrapped.game.to_bytes() == state
    assert snapshot(env) == shown


def test_mask_is_the_movers_whoever_is_selected() -> None:
    """Contract, AEC: the mask comes from the game's player to act, so that wrappers cannot make it stale."""
    env = cancellation_hearts_v0.raw_env(num_players=9)
    env.reset(seed=4)
    mover = env.agent_selection
    for agent in env.possible_agents:
        env.agent_selection = agent
        for other in env.possible_agents:
            assert env.observe(other)["action_mask"].any() == (other == mover)


def test_render_shows_the_table_to_the_seat_to_move_and_never_more() -> None:
    """Contract, AEC: text as the current seat may see it; without a render mode there is a warning and nothing."""
    env = cancellation_hearts_v0.env(num_players=8, render_mode="ansi")
    env.reset(seed=5)
    game = env.unwrapped.game
    for _ in range(60):
        text = env.render()
        assert f"as P{game.mover} sees it" in text
        hand = text[text.index("\nHand ") :].split("\n")[1].removeprefix("Hand").replace("|", " ").split()
        assert hand == [face_to_text(face) for face in range(52) for _ in range(game.hand(game.mover)[face])]
        env.step(game.legal_actions()[0])
    silent = cancellation_hearts_v0.env()
    silent.reset(seed=5)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert silent.render() is None


# Making


@pytest.mark.parametrize("num_players", SIZES)
def test_agents_and_spaces_are_as_the_contract_says(num_players: int) -> None:
    """Contract, agents: names in the order of seats, spaces the same objects at every call and equal for all."""
    env = cancellation_hearts_v0.env(num_players=num_players)
    assert env.possible_agents == [f"player_{seat}" for seat in range(num_players)]
    env.reset(seed=1)
    assert env.agents == env.possible_agents
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observation_space(agent) == env.observation_space("player_0")
        assert env.action_space(agent) == env.action_space("player_0")
        assert env.action_space(agent).n == 54
    assert str(env) == "cancellation_hearts_v0"


def test_environment_is_made_by_name_where_pettingzoo_has_a_registry() -> None:
    """Contract, AEC: registered with PettingZoo's registry; PettingZoo 1.26 has none."""
    if not hasattr(pettingzoo, "make"):
        assert not hasattr(pettingzoo, "register")
        return
    env = pettingzoo.make("aec", "chearts_env/cancellation_hearts-v0", num_players=9, episode="hand")
    env.reset(seed=1)
    assert env.unwrapped.game.to_bytes() == Game(Rules(9), seed=1, episode="hand").to_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_players": 5}, r"num_players=5 is not allowed: it must be a whole number 6 … 11"),
        ({"num_players": 6.0}, r"num_players=6.0 is not allowed"),
        ({"set_aside": "three"}, r"set_aside='three' is not allowed: it must be one of 'two_pairs', 'no_live_card'"),
        ({"first_dealer": 6}, r"first_dealer=6 is not allowed: it must be 'random' or a whole number 0 … 5"),
        ({"num_seats": 6}, r"unknown option num_seats=6; the options of Rules are num_players, .*moon_points"),
        ({"episode": "match"}, r"episode='match' is not allowed: it must be one of 'game', 'hand'"),
        ({"reward": "none"}, r"reward='none' is not allowed: it must be one of 'points', 'relative', 'win'"),
        (
            {"render_mode": "film"},
            r"render_mode='film' is not allowed: .* one of human, rgb_array, ansi",
        ),
        ({"observation_dtype": np.float64}, r"observation_dtype=.*float64.* is not allowed: .*float32 or int8"),
        ({"observation_dtype": "words"}, r"observation_dtype='words' is not allowed: .*float32 or int8"),
        ({"observation_dtype": None}, r"observation_dtype=None is not allowed: .*float32 or int8"),
        ({"rules": 6}, r"rules=6 is not allowed: it must be Rules"),
        ({"rules": Rules(), "num_players": 7}, r"rules= and num_players= were both given"),
    ],
)
def test_wrong_arguments_are_refused_with_option_value_and_what_is_allowed(
    arguments: dict[str, Any], message: str, kind: str
) -> None:
    """Contract: ValueError naming the option, the value and what is allowed."""
    with pytest.raises(ValueError, match=message):
        make(kind, **arguments)
