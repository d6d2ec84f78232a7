"""One seat learns: what it sees and is paid, how episodes end and begin, beside `Game` and Gymnasium's own batching."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from chearts_env import Game, IllegalActionError, Rules, SingleSeatEnv, SingleSeatVectorEnv
from chearts_env.observation import decode, field_values
from chearts_env.policy import RandomLegal
from chearts_env.render.text import table_as_text
from chearts_env.single_seat import illegal_reward
from tests.sizes import SIZES, fewer

NAME = "chearts_env/CancellationHearts-v0"
MODES = list(AutoresetMode)


class Lowest:
    """Takes the lowest action allowed."""

    def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return action_masks.argmax(axis=1)


class Highest:
    """Takes the highest action allowed."""

    def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


class Illegal:
    """Takes an action whatever the mask says."""

    def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return np.full(len(action_masks), 53)


def drawn(masks: npt.NDArray[np.int8], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """One allowed action for each mask."""
    chosen: npt.NDArray[np.int64] = (rng.random(masks.shape) * masks).argmax(axis=1)
    return chosen


def episode_beside_game(env: SingleSeatEnv, others: list[Any], seed: int, episode: Any) -> tuple[float, Game]:
    """Play an episode and the same one by hand; compare what the learner sees; return its pay and the game."""
    observation, info = env.reset(seed=seed)
    game, seat = Game(env.rules, seed=seed, episode=episode), info["seat"]
    n, pay, is_over = env.rules.num_players, 0.0, False
    rng = np.random.default_rng(seed)
    while True:
        while game.mover not in (None, seat):
            mask = game.action_mask()
            policy = others[(game.mover - seat - 1) % n % len(others)]
            game.step(int(policy.act(None, mask[None], None)[0]))
        assert (observation == game.observation(seat)).all()
        assert game.is_over == is_over
        if is_over:
            return pay, game
        assert (info["action_mask"] == game.action_mask()).all()
        action = int(drawn(info["action_mask"][None], rng)[0])
        game.step(action)
        observation, reward, terminated, truncated, info = env.step(action)
        pay += reward
        is_over = terminated or truncated


# What the learner sees and is paid


@pytest.mark.parametrize("episode", ["hand", "game"])
@pytest.mark.parametrize("num_players", SIZES)
def test_episode_is_that_of_a_game_with_the_same_seed(num_players, episode):
    """Every observation, every mask and the score; opponents sit from the learner's left on."""
    env = SingleSeatEnv(num_players=num_players, opponents=[Lowest(), Highest()], episode=episode, target_score=100)
    for seed in range(fewer(4, 1)):
        pay, game = episode_beside_game(env, [Lowest(), Highest()], seed, episode)
        assert pay == -game.scores[env.seat]


@pytest.mark.parametrize("reward", ["relative", "win"])
def test_pay_of_an_episode_is_that_of_its_kind(reward):
    """R24 for wins; relative pay is the mean of the table less one's own."""
    env = SingleSeatEnv(opponents=Lowest(), episode="game", target_score=100, reward=reward)
    for seed in range(fewer(5, 1)):
        pay, game = episode_beside_game(env, [Lowest()], seed, "game")
        won = 1 / len(game.winners) if env.seat in game.winners else 0.0
        relative = game.scores.mean() - game.scores[env.seat]
        assert pay == pytest.approx(won if reward == "win" else relative)


def test_loss_after_the_last_decision_is_paid():
    """The learner leads its last card early in the trick: what it takes then is known only when all have played."""
    env = SingleSeatEnv(opponents=Highest())
    last_pays = []
    for seed in range(fewer(20, 4)):
        env.reset(seed=seed)
        while True:
            _, reward, terminated, _, _ = env.step(int(env.action_masks().argmax()))
            if terminated:
                last_pays.append(reward)
                break
            assert reward == 0
    assert min(last_pays) < 0


def test_episode_at_the_cap_is_truncated():
    """R25: terminated and truncated are never mixed."""
    env = SingleSeatEnv(opponents=Lowest(), episode="game", max_hands=2, target_score=1000)
    env.reset(seed=1)
    terminated = truncated = False
    while not (terminated or truncated):
        _, _, terminated, truncated, info = env.step(int(env.action_masks().argmax()))
    assert (terminated, truncated) == (False, True)
    assert (info["action_mask"] == 1).all()


def test_learner_sits_everywhere_unless_a_seat_is_given():
    """Drawn from the episode's seed: each seat about as often."""
    env = SingleSeatVectorEnv(fewer(1200, 120), num_players=6, opponents=Lowest())
    env.reset(seed=3)
    counts = np.bincount(env.seats, minlength=6)
    assert abs(counts - env.num_envs / 6).max() < 5 * np.sqrt(env.num_envs / 6)
    fixed = SingleSeatVectorEnv(20, num_players=6, opponents=Lowest(), seat=4)
    observations, info = fixed.reset(seed=3)
    assert (info["seat"] == 4).all()
    assert (field_values(observations.astype(np.int8), "mover")[:, 0] == 1).all()


def test_opponents_draw_anew_at_every_step_and_table():
    """And the same again from the same seed, whatever slots are played beside."""

    class Draws(Lowest):
        def __init__(self) -> None:
            self.drawn: list[float] = []

        def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
            self.drawn += rng.random(len(action_masks)).tolist()
            return super().act(observations, action_masks, rng)

    several, again, one = Draws(), Draws(), Draws()
    for draws, count in ((several, 3), (again, 3), (one, 1)):
        env = SingleSeatVectorEnv(count, opponents=draws)
        env.reset(seed=1)
        for _ in range(5):
            env.step(env.action_masks().argmax(axis=1))
    assert len(set(several.drawn)) == len(several.drawn) > 60
    assert several.drawn == again.drawn
    assert set(one.drawn) <= set(several.drawn)


# Beside Gymnasium's own batching


def pair(mode: AutoresetMode, **options: Any) -> tuple[SyncVectorEnv, SingleSeatVectorEnv]:
    """The same slots, batched by Gymnasium and by us."""
    count = fewer(6, 2)
    theirs = SyncVectorEnv([lambda: SingleSeatEnv(**options)] * count, autoreset_mode=mode)
    return theirs, SingleSeatVectorEnv(count, autoreset_mode=mode, **options)


def assert_alike(one: Any, other: Any, path: str = "") -> None:
    """Compare what two environments returned, types and keys included."""
    assert type(one) is type(other), path
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            assert_alike(one[key], other[key], f"{path}/{key}")
    elif isinstance(one, tuple):
        for place, (mine, its) in enumerate(zip(one, other, strict=True)):
            assert_alike(mine, its, f"{path}/{place}")
    elif isinstance(one, np.ndarray) and one.dtype == object:
        for mine, its in zip(one, other, strict=True):
            assert_alike(mine, its, path)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, path
        assert one.shape == other.shape, path
        assert (one == other).all(), path


@pytest.mark.parametrize("illegal", [False, True])
@pytest.mark.parametrize("episode", ["hand", "game"])
@pytest.mark.parametrize("mode", MODES)
def test_batch_returns_what_gymnasiums_own_of_single_ones_does(mode, episode, illegal):
    """Observations, rewards, ends and infos of every step; now and then an illegal action."""
    options: dict[str, Any] = {"num_players": 6, "opponents": RandomLegal(), "episode": episode, "target_score": 100}
    theirs, ours = pair(mode, **options)
    assert theirs.metadata["autoreset_mode"] == ours.metadata["autoreset_mode"]
    assert theirs.single_observation_space == ours.single_observation_space
    assert theirs.observation_space == ours.observation_space
    assert theirs.action_space == ours.action_space
    expected = theirs.reset(seed=5)
    assert_alike(expected, ours.reset(seed=5))
    rng = np.random.default_rng(5)
    masks = expected[1]["action_mask"]
    num_ended = 0
    for _ in range(fewer(150, 30)):
        actions = drawn(masks, rng)
        if illegal and rng.random() < 0.1:
            actions[rng.integers(len(actions))] = 53
        stepped: Any = theirs.step(actions)
        assert_alike(stepped, ours.step(actions))
        masks = stepped[4]["action_mask"]
        ended = stepped[2] | stepped[3]
        num_ended += int(ended.sum())
        if mode == AutoresetMode.DISABLED and ended.any():
            expected = theirs.reset(options={"reset_mask": ended})
            assert_alike(expected, ours.reset(options={"reset_mask": ended}))
            masks[ended] = expected[1]["action_mask"][ended]
    assert num_ended >= (fewer(12, 1) if illegal or episode == "hand" else 0)


def test_seeds_may_be_given_one_by_one():
    """None lets a slot follow its last episode."""
    env = SingleSeatVectorEnv(3, opponents=Lowest())
    alone = SingleSeatEnv(opponents=Lowest())
    env.reset(seed=7)
    observations, _ = env.reset(seed=[4, None, 2**64 - 1])
    assert (observations[0] == alone.reset(seed=4)[0]).all()
    assert (observations[2] == alone.reset(seed=2**64 - 1)[0]).all()
    alone.reset(seed=8)
    assert (observations[1] == alone.reset()[0]).all()


def test_slots_of_a_fresh_batch_without_seeds_draw_different_ones():
    """Nothing has gone before that an episode could follow from."""
    for seeds in (None, [None] * 8, [5] + [None] * 7):
        env = SingleSeatVectorEnv(8, opponents=Lowest())
        observations, _ = env.reset(seed=seeds)
        assert len({row.tobytes() for row in observations}) == 8


def test_slots_may_have_different_rules():
    """In turn, as in `VectorTables`."""
    rules = [Rules.classic(11), Rules(7)]
    env = SingleSeatVectorEnv(4, rules, opponents=RandomLegal(), autoreset_mode=AutoresetMode.SAME_STEP)
    _, info = env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(fewer(60, 15)):
        observations, *_, info = env.step(drawn(info["action_mask"], rng))
    sizes = field_values(observations.astype(np.int8), "size").argmax(axis=1) + 6
    assert sizes.tolist() == [11, 7, 11, 7]


# Illegal actions


@pytest.mark.parametrize(
    ("reward", "episode", "price"),
    [("points", "hand", -52), ("relative", "hand", -52), ("win", "game", -1), ("points", "game", -202)],
)
def test_illegal_action_ends_the_episode_at_a_price(reward, episode, price):
    """Nothing legal costs more: in a game, 52 points on top of a score at the target of 150."""
    env = SingleSeatEnv(opponents=Lowest(), reward=reward, episode=episode)
    env.reset(seed=1)
    observation, paid, terminated, truncated, info = env.step(53)
    assert (paid, terminated, truncated, info["illegal_action"]) == (price, True, False, True)
    assert observation in env.observation_space
    assert info["action_mask"].all()
    assert not env.reset()[1]["illegal_action"]


def test_illegal_action_costs_more_than_the_dearest_moon():
    """R21: moons may be worth anything."""
    assert illegal_reward([Rules(6), Rules(6, moon_points=300)], "hand", "points") == -300


def test_illegal_action_can_be_refused_instead():
    """The error names table, seat and what is legal; nothing has changed, at no table."""
    env = SingleSeatVectorEnv(3, opponents=Lowest(), illegal_action="raise")
    observations, info = env.reset(seed=1)
    actions = info["action_mask"].argmax(axis=1)
    wrong = actions.copy()
    wrong[2] = 52
    with pytest.raises(IllegalActionError, match=r"the learner of table 2 in seat \d chose action 52 .*; legal: "):
        env.step(wrong)
    again = copy.deepcopy(env)
    assert (env._tables.observations == observations).all()
    assert_alike(env.step(actions), again.step(actions))


def test_mask_that_the_caller_writes_into_does_not_count():
    """What an action is checked by is the environment's own."""
    env = SingleSeatEnv(opponents=Lowest(), illegal_action="raise")
    _, info = env.reset(seed=1)
    info["action_mask"][:] = 1
    env.action_masks()[:] = 1
    env._tables.action_masks[:] = 1
    with pytest.raises(IllegalActionError):
        env.step(53)


def test_opponent_that_plays_an_illegal_card_is_named():
    """Not passed off as the learner's; what it left half played is not gone on with."""
    env = SingleSeatEnv(opponents=Illegal(), seat=0, first_dealer=5)
    env.reset(seed=1)
    for _ in range(2):  # the first to give away three cards (R7)
        env.step(int(env.action_masks().argmax()))
    with pytest.raises(IllegalActionError, match=r"Illegal in seat \d chose action 53"):
        env.step(int(env.action_masks().argmax()))
    with pytest.raises(RuntimeError, match="an opponent failed at table 0 and left it half played: call reset"):
        env.step(int(env.action_masks().argmax()))
    env.reset(seed=1)
    env.step(int(env.action_masks().argmax()))


# Manners


def test_gymnasiums_checks_pass_without_a_warning():
    """Also those of 1.4 on returned data that is used again."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without_pictures = find_spec("PIL") is None  # of the extra `render`
        check_env(gymnasium.make(NAME, num_players=7).unwrapped, skip_render_check=without_pictures)
        options: dict[str, Any] = {"episode": "game", "observation_dtype": np.int8, "render_mode": "ansi"}
        env = gymnasium.make(NAME, rules=Rules.classic(11), **options).unwrapped
        check_env(env, skip_render_check=without_pictures)


def test_environments_are_made_by_name():
    """`import chearts_env` registers both."""
    env = gymnasium.make(NAME, num_players=9, opponents=f"{__name__}:Lowest", seat=2)
    assert env.reset(seed=1)[1]["seat"] == 2
    vector = gymnasium.make_vec(NAME, num_envs=5, num_players=9, opponents=f"{__name__}:Lowest", seat=2)
    assert isinstance(vector, SingleSeatVectorEnv)
    assert vector.reset(seed=1)[0].shape[0] == 5


def test_gymnasium_alone_makes_it_by_a_name_with_its_module():
    """In a process that has not imported the package: Gymnasium 1 knows no plugins."""
    program = (
        "import gymnasium, sys; assert 'chearts_env' not in sys.modules; "
        f"env = gymnasium.make('chearts_env:{NAME}', num_players=8); print(env.reset(seed=1)[0].shape)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "(1024,)\n"


def test_what_is_returned_stays_as_it_is_unless_copies_are_declined():
    """`copy=False` hands out the buffer."""
    rng = np.random.default_rng(1)
    for copies in (True, False):
        env = SingleSeatVectorEnv(2, opponents=Lowest(), observation_dtype=np.int8, copy=copies)
        observations, info = env.reset(seed=1)
        kept = observations.copy()
        env.step(drawn(info["action_mask"], rng))
        assert (observations == kept).all() == copies


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copy_goes_on_identically(copied):
    """In the middle of a game."""
    env = SingleSeatEnv(opponents=RandomLegal(), episode="game")
    _, info = env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        *_, info = env.step(int(drawn(info["action_mask"][None], rng)[0]))
    other = copied(env)
    for _ in range(10):
        action = int(drawn(info["action_mask"][None], rng)[0])
        stepped = env.step(action)
        assert_alike(stepped, other.step(action))
        info = stepped[4]


def test_picture_is_what_the_learner_may_see():
    """And never more."""
    env = SingleSeatEnv(opponents=Lowest(), render_mode="ansi", seat=3, episode="game")
    with pytest.raises(RuntimeError, match="call reset"):
        env.render()
    env.reset(seed=1)
    game = Game(Rules(), seed=1)
    while game.mover != 3:
        game.step(game.legal_actions()[0])
    assert env.render() == table_as_text(decode(game.observation(3)), 3)
