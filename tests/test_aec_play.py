"""The PettingZoo environment in play: rewards and ends, actions and illegal ones, copies in mid-game."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import pytest
from pettingzoo.utils.env_logger import EnvLogger

from chearts_env import Game, IllegalActionError, Rules, cancellation_hearts_v0
from tests.sizes import SIZES, fewer, random_rules

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the suite imports an environment of its own in a way that it calls deprecated

#: What PettingZoo 1.27.0 says of every environment with dict observations that is not its own.
from tests.aec_play import KINDS, REWARDS, SHORT, legal_action, make, snapshot, take_steps, with_the_usual_wrappers

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
