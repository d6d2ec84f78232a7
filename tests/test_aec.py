"""The PettingZoo environment: the suite, and what the suite does not look at, such as leaks and live buffers."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.env_logger import EnvLogger

from chearts_env import Game, IllegalActionError, Rules, cancellation_hearts_v0
from chearts_env.cards import face_to_text
from tests.sizes import SIZES, fewer, moon_history, random_rules

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the suite imports an environment of its own in a way that it calls deprecated
    from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test

#: What PettingZoo 1.27.0 says of every environment with dict observations that is not its own.
UNAVOIDABLE = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)
KINDS = ("raw_env", "env")
REWARDS = ("points", "relative", "win")
SHORT = {"target_score": 100, "max_hands": 2}


def make(kind: str, **arguments: Any) -> Any:
    """Make an environment, raw or wrapped."""
    return getattr(cancellation_hearts_v0, kind)(**arguments)


def with_the_usual_wrappers(**arguments: Any) -> Any:
    """Wrap a raw environment as PettingZoo's classic ones are."""
    env = wrappers.TerminateIllegalWrapper(cancellation_hearts_v0.raw_env(**arguments), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def snapshot(env: Any, observed: bool = True) -> dict[str, Any]:
    """Write down all that an environment shows."""
    shown = {
        "agents": list(env.agents),
        "rewards": dict(env.rewards),
        "cumulative": dict(env._cumulative_rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": copy.deepcopy(env.infos),
        "selection": env.agent_selection,
    }
    if observed:
        for agent in env.possible_agents:
            shown[agent] = {name: array.tobytes() for name, array in env.observe(agent).items()}
    return shown


def legal_action(env: Any, rng: random.Random) -> int | None:
    """Choose any legal action of the agent selected, None if its episode is over."""
    observation, _, terminated, truncated, _ = env.last()
    if terminated or truncated:
        return None
    return int(rng.choice(np.flatnonzero(observation["action_mask"]).tolist()))


def take_steps(env: Any, num_steps: int, seed: int) -> list[dict[str, Any]]:
    """Play at random, and write down what is shown on the way."""
    rng = random.Random(seed)
    shown = []
    for _ in range(num_steps):
        if not env.agents:
            break
        env.step(legal_action(env, rng))
        if env.agents:
            shown.append(snapshot(env, observed=rng.random() < 0.1))
    return shown


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


@pytest.mark.parametrize("kind", KINDS)
def test_pettingzoo_render_test_passes_where_it_applies(kind: str) -> None:
    """Contract, AEC: `render_test` asks for the mode "human" first, whatever there is; that is refused.

    With that call answered by "ansi", the rest of the test holds: every mode in the metadata returns what it must.
    """
    with pytest.raises(ValueError, match="render_mode='human' is not allowed: it must be None or one of ansi"):
        render_test(lambda render_mode: make(kind, render_mode=render_mode))
    modes = {"human": "ansi"}
    render_test(lambda render_mode: make(kind, render_mode=modes.get(render_mode, render_mode)))
    assert make(kind).metadata["render_modes"] == ["ansi"]


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


# Rewards and ends


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_players", SIZES)
def test_rewards_cumulative_rewards_and_last_add_up_exactly_over_full_games(
    num_players: int, kind: str, reward: Any
) -> None:
    """Contract, AEC: what `last()` pays over a game is, exactly, what `rewards` paid, and the score's."""
    rng = random.Random(num_players)
    rules = random_rules(num_players, rng, target_score=100, max_hands=fewer(4, 2))
    env = make(kind, rules=rules, reward=reward)
    env.reset(seed=num_players)
    game = env.unwrapped.game
    paid = dict.fromkeys(env.possible_agents, 0.0)  # by `rewards`
    got = dict.fromkeys(env.possible_agents, 0.0)  # by `last()`
    since = dict.fromkeys(env.possible_agents, 0.0)  # own last step
    for agent in env.agent_iter():
        assert list(env.rewards) == list(env.infos) == list(env.terminations) == list(env.truncations) == env.agents
        assert env._cumulative_rewards == {each: since[each] for each in env.agents}
        observation, received, terminated, truncated, info = env.last()
        assert received == since[agent]
        assert type(received) is type(env.rewards[agent]) is float
        assert type(terminated) is type(truncated) is bool
        assert info == {} == env.infos[agent]
        got[agent] += received
        since[agent] = 0.0
        if terminated or truncated:
            assert set(env.terminations.values()) == {not game.is_truncated}  # all in the same step, and alike
            assert set(env.truncations.values()) == {game.is_truncated}
            env.step(None)
            continue
        assert not any([*env.terminations.values(), *env.truncations.values()])
        num_hands = len(game.score_sheet)
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]).tolist())))
        if len(game.score_sheet) == num_hands:
            assert env.rewards == dict.fromkeys(env.possible_agents, 0.0)  # R18: paid when a hand is scored
        for each, amount in env.rewards.items():
            paid[each] += amount
            since[each] += amount
    assert got == paid
    scores = game.scores
    expected = {
        "points": (-scores).tolist(),
        "relative": (scores.mean() - scores).tolist(),
        "win": [1 / len(game.winners) if seat in game.winners else 0 for seat in range(num_players)],
    }[reward]
    assert list(got.values()) == (expected if reward != "relative" else pytest.approx(expected, abs=1e-9))


@pytest.mark.parametrize("kind", KINDS)
def test_all_agents_are_truncated_and_none_terminated_when_max_hands_is_reached(kind: str) -> None:
    """R25: a game cut at `max_hands` is truncated; one single hand, or one that reaches the target, is terminated."""
    for arguments, is_truncated in (
        ({"max_hands": 1, "target_score": 1000}, True),
        ({"max_hands": 1, "episode": "hand"}, False),
        ({"episode": "hand"}, False),
    ):
        env = make(kind, num_players=8, **arguments)
        env.reset(seed=1)
        rng = random.Random(1)
        while not env.unwrapped.game.is_over:
            env.step(legal_action(env, rng))
        assert env.agents == env.possible_agents
        assert env.terminations == dict.fromkeys(env.agents, not is_truncated)
        assert env.truncations == dict.fromkeys(env.agents, is_truncated)
        left = []
        while env.agents:
            left.append(env.agent_selection)
            env.step(None)
        assert sorted(left) == sorted(env.possible_agents)


def test_earlier_results_do_not_change_when_the_game_goes_on() -> None:
    """Contract, AEC: a reset rebuilds every dict, and changes none that a caller kept."""
    env = cancellation_hearts_v0.env(num_players=6, episode="hand")
    env.reset(seed=1)
    agents = env.agents
    rng = random.Random(1)
    while not env.unwrapped.game.is_over:
        env.step(legal_action(env, rng))
    rewards = dict(env.rewards)
    assert agents == env.possible_agents
    env.reset(seed=2)
    assert env.agents == env.possible_agents
    assert env.agents is not env.possible_agents
    assert not any(env.rewards.values())
    assert any(rewards.values())
    assert env.terminations == dict.fromkeys(env.agents, False)


# Actions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "convert", [int, np.int8, np.int32, np.int64, np.uint8, np.array, lambda a: np.array(a, np.int32)]
)
def test_actions_of_any_integer_type_are_accepted(kind: str, convert: Callable[[int], Any]) -> None:
    """Contract, AEC: whatever the action space contains is an action, 0-d arrays included."""
    env, other = make(kind, num_players=6), make("raw_env", num_players=6)
    for each in (env, other):
        each.reset(seed=8)
    for _ in range(20):
        action = other.game.legal_actions()[-1]
        assert env.action_space(env.agent_selection).contains(convert(action))
        env.step(convert(action))
        other.step(action)
    assert env.unwrapped.game.to_bytes() == other.game.to_bytes()


@pytest.mark.parametrize("action", [54, -1, 52, 53, 2**80, 1.0, "2C", None, np.nan, "not held"])
def test_raw_environment_refuses_an_illegal_action_and_is_unchanged(action: Any) -> None:
    """Contract: `raw_env` may raise: IllegalActionError, a ValueError that says why, and all is as it was."""
    env = cancellation_hearts_v0.raw_env(num_players=7)
    env.reset(seed=9)
    take_steps(env, 25, seed=9)
    if action == "not held":
        action = int(np.flatnonzero(env.game.hand(env.game.mover or 0) == 0)[0])
    before = snapshot(env), env.game.to_bytes()
    with pytest.raises(IllegalActionError, match=rf"seat {env.game.mover}"):
        env.step(action)
    assert (snapshot(env), env.game.to_bytes()) == before
    env.step(env.game.legal_actions()[0])


def drive(env: Any, moves: list[Any]) -> list[Any]:
    """Do a list of things to an environment; write down what each brought about, errors and warnings included."""
    log: list[Any] = []
    for move in moves:
        EnvLogger.flush()
        try:
            result = move(env)
        except Exception as error:
            log.append((type(error), str(error).split(":")[0]))
        else:
            log.append(result)
        log.append(list(EnvLogger.mqueue))
        if env.unwrapped._game is not None:
            log.append(snapshot(env, observed=bool(env.unwrapped.agents)))
            log.append(env.unwrapped.game.to_bytes())
    EnvLogger.flush()
    return log


def last_of(env: Any) -> Any:
    """Write down what `last()` returns."""
    observation, *rest = env.last()
    return [observation["observation"].tobytes(), observation["action_mask"].tobytes(), *rest]


def legal_move(env: Any) -> None:
    """Take the first legal action, or leave."""
    over = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
    env.step(None if over else env.unwrapped.game.legal_actions()[0])


def illegal_move(env: Any) -> None:
    """Play a card that is not held."""
    env.step(int(np.flatnonzero(env.unwrapped.game.action_mask() == 0)[0]))


STORIES: dict[str, list[Callable[[Any], Any]]] = {
    "before reset": [
        lambda env: env.step(0),
        lambda env: env.observe("player_0"),
        lambda env: env.last(),
        lambda env: env.agents,
        lambda env: env.num_agents,
        lambda env: env.rewards,
        lambda env: env.terminations,
        lambda env: env.truncations,
        lambda env: env.infos,
        lambda env: env.agent_selection,
        lambda env: list(env.agent_iter()),
        lambda env: env.render(),
        lambda env: env.state(),
        lambda env: env.possible_agents,
        lambda env: env.max_num_agents,
        lambda env: str(env),
        lambda env: env._game,
    ],
    "illegal at once": [
        lambda env: env.reset(seed=1),
        illegal_move,
        last_of,
        *[legal_move] * 6,
        lambda env: env.step(0),
    ],
    "illegal later": [
        lambda env: env.reset(seed=2),
        *[legal_move] * 40,
        last_of,
        illegal_move,
        *[last_of, legal_move] * 6,
        lambda env: env.step(None),
        lambda env: list(env.agent_iter()),
        lambda env: env.reset(seed=3),
        legal_move,
        last_of,
        illegal_move,
    ],
    "action for a dead agent": [
        lambda env: env.reset(seed=4),
        illegal_move,
        lambda env: env.step(3),
        lambda env: env.step(77),
        lambda env: env.step(None),
        last_of,
    ],
    "not an action": [
        lambda env: env.reset(seed=5),
        *[
            lambda env, action=action: env.step(action)
            for action in (54, -1, None, 1.0, "2C", 2**70, np.nan, np.float32(1), np.bool_(True), [1], np.array([1, 2]))
        ],
        lambda env: env.step(np.array(54)),
        legal_move,
        last_of,
    ],
    "end of an episode": [
        lambda env: env.reset(seed=6),
        *[legal_move] * 121,
        last_of,
        lambda env: env.step(5),
        *[legal_move, last_of] * 5,
        legal_move,
        lambda env: env.step(None),
        lambda env: env.step(0),
        lambda env: env.last(),
    ],
    "iterating": [
        lambda env: env.reset(seed=7),
        lambda env: [agent for agent in env.agent_iter(3) if env.step(env.unwrapped.game.legal_actions()[0]) is None],
        lambda env: list(env.agent_iter(3)),
        lambda env: env.observe("nobody"),
        lambda env: env.state(),
        lambda env: env.observation_space("player_0") == env.observation_space("player_5"),
        lambda env: env._private,
    ],
}


@pytest.mark.parametrize("story", STORIES)
def test_wrapped_environment_does_what_the_usual_three_wrappers_do(story: str) -> None:
    """Contract, known traps: `env()` may build the wrappers in, if nobody can tell by results, order or errors."""
    logs = []
    for build in (with_the_usual_wrappers, cancellation_hearts_v0.env):
        logs.append(drive(build(num_players=6, episode="hand"), STORIES[story]))
    expected, built_in = logs
    for number, (one, other) in enumerate(zip(expected, built_in, strict=True)):
        assert one == other, f"entry {number}"


@pytest.mark.parametrize("seed", range(fewer(20, 2)))
def test_wrapped_environment_ends_as_the_usual_wrappers_do_when_a_random_move_is_illegal(seed: int) -> None:
    """Contract, known traps: unmasked random play, step for step beside the usual three wrappers."""
    rng = random.Random(seed)
    options: dict[str, Any] = {"num_players": 6 + seed % 6, "reward": REWARDS[seed % 3], **SHORT}
    usual, built_in = with_the_usual_wrappers(**options), cancellation_hearts_v0.env(**options)
    for env in (usual, built_in):
        env.reset(seed=seed)
    num_players: int = options["num_players"]
    first_hand = 3 * num_players + 104 // num_players * num_players
    # Every other time just after a hand was paid for, when the mover has not collected its reward yet.
    is_illegal_at = first_hand + 3 * rng.randrange(num_players) if seed % 2 else rng.randrange(1, 150)
    for number in range(400):
        assert snapshot(usual, number % 10 == 0) == snapshot(built_in, number % 10 == 0)
        assert last_of(usual) == last_of(built_in)
        action = legal_action(usual, rng)
        if number == is_illegal_at and action is not None:
            action = int(np.flatnonzero(usual.unwrapped.game.action_mask() == 0)[0])
        for env in (usual, built_in):
            env.step(action)
        if not usual.agents:
            break
    assert built_in.agents == usual.agents == []


# Keeping


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda env: pickle.loads(pickle.dumps(env)),
        lambda env: cloudpickle.loads(cloudpickle.dumps(env)),
    ],
    ids=["copy", "deepcopy", "pickle", "cloudpickle"],
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_steps", [0, 20, 150, 213])
def test_copies_go_on_identically_and_alone_in_mid_game(again: Callable[[Any], Any], kind: str, num_steps: int) -> None:
    """Contract, AEC: a copy carries the whole state, rewards not yet collected included, and shares none."""
    env = make(kind, num_players=7, reward="relative", render_mode="ansi")
    env.reset(seed=11)
    take_steps(env, num_steps, seed=12)
    other = again(env)
    before = snapshot(env), env.unwrapped.game.to_bytes(), env.render()
    assert (snapshot(other), other.unwrapped.game.to_bytes(), other.render()) == before
    shown = take_steps(other, 70, seed=13)
    assert (snapshot(env), env.unwrapped.game.to_bytes(), env.render()) == before
    assert take_steps(env, 70, seed=13) == shown
    assert env.unwrapped.game.score_sheet.tolist() == other.unwrapped.game.score_sheet.tolist()
    for each in (env, other):
        each.reset()  # the sequence of games goes on alike, too
    assert env.unwrapped.game.to_bytes() == other.unwrapped.game.to_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_copies_go_on_identically_when_an_episode_is_ending(kind: str) -> None:
    """Contract, AEC: also between the steps in which the agents leave."""
    env = make(kind, num_players=6, episode="hand")
    env.reset(seed=14)
    rng = random.Random(14)
    while not env.unwrapped.game.is_over:
        env.step(legal_action(env, rng))
    env.step(None)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert snapshot(other) == snapshot(env)
        while other.agents:
            other.step(None)
    assert len(env.agents) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_an_environment_never_reset_are_like_it(kind: str) -> None:
    """Contract, AEC: copying before the first reset works, and the copy is reset on its own."""
    env = make(kind, num_players=8)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), cloudpickle.loads(cloudpickle.dumps(env))):
        other.reset(seed=1)
        assert other.unwrapped.game.to_bytes() == Game(Rules(8), seed=1).to_bytes()
    with pytest.raises(AttributeError):
        env.unwrapped.game  # noqa: B018 - it is reading it that raises


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
        ({"render_mode": "human"}, r"render_mode='human' is not allowed: it must be None or one of ansi"),
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
