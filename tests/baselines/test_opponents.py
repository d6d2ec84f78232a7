"""What holds for every opponent: legal everywhere, the same for the same seed, without memory, changing nothing.

They are handed observations and masks alone.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from baselines.careful import Careful
from baselines.names import BASELINES, policy_of
from baselines.random_legal import RandomLegal
from chearts_env import Rules, VectorTables
from chearts_env.arena import Policy, RowGenerator
from chearts_env.rules import PRESETS
from tests.baselines.positions import action_of, sight
from tests.sizes import SIZES, fewer, moon_history, random_history, random_rules

FAST = list(BASELINES)
SEARCH = "search:2"
OPPONENTS = [*FAST, SEARCH]
#: Search answers some hundred times slower; without the JIT so does everything.
NUM_ROWS = {name: fewer(60, 12) for name in FAST} | {SEARCH: fewer(18, 2)}


#: Steps into a hand at which an opponent is asked: a hand has 120 or some more of them.
MOMENTS = {name: range(fewer(90, 40)) for name in FAST} | {SEARCH: range(fewer(0, 100), fewer(90, 110))}


def keys(count: int, start: int = 0) -> npt.NDArray[np.uint64]:
    """Keys of streams, one for each row."""
    return np.arange(start, start + count, dtype=np.uint64)


def play_episodes(policy: Policy, rules: Rules, count: int, num_tables: int, **options: Any) -> None:
    """Play until so many hands, or games, have ended; `VectorTables.step` refuses whatever is not legal."""
    tables = VectorTables(rules, num_tables, seed=count, **options)
    num_ended, step = 0, 0
    while num_ended < count:
        actions = policy.act(tables.observations, tables.action_masks, RowGenerator(keys(num_tables, step)))
        tables.step(actions)
        num_ended += int(tables.terminations.sum())
        step += num_tables


def rows_of(name: str) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Observations and masks from all over hands of all sizes under mixed options, played at random."""
    rng = random.Random(4)
    tables = VectorTables([random_rules(size, rng) for _ in range(10) for size in SIZES], NUM_ROWS[name], seed=9)
    steps = rng.choices(MOMENTS[name], k=len(tables))
    observations, masks = tables.observations.copy(), tables.action_masks.copy()
    for step in range(1, max(steps) + 1):
        tables.step(RandomLegal().act(tables.observations, tables.action_masks, np.random.default_rng(step)))
        for row in np.flatnonzero(np.array(steps) == step):
            observations[row], masks[row] = tables.observations[row], tables.action_masks[row]
    return observations, masks


# Legal


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", FAST)
def test_opponent_is_legal_at_every_decision_of_some_hands(name, num_players, preset):
    """Passes, forced decisions, faces held twice: all of them."""
    rules = getattr(Rules, preset)(num_players)
    play_episodes(policy_of(name), rules, fewer(60, 1), num_tables=fewer(60, 1), episode="hand")


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", FAST)
def test_opponent_is_legal_at_every_decision_of_2000_hands(name, num_players, preset):
    """Issue, opponents: 2,000 for each size and preset."""
    play_episodes(policy_of(name), getattr(Rules, preset)(num_players), 2_000, num_tables=500, episode="hand")


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("num_players", SIZES)
def test_search_is_legal_at_every_decision_of_some_hands(num_players, preset, request):
    """Each hand is a thousand played out; `--hands 2000` plays as many as the issue."""
    count = request.config.getoption("--hands")
    rules = getattr(Rules, preset)(num_players)
    play_episodes(policy_of(SEARCH), rules, fewer(count, 1), num_tables=fewer(min(count, 500), 1), episode="hand")


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("num_players", SIZES)
@pytest.mark.parametrize("name", FAST)
def test_opponent_is_legal_at_every_decision_of_whole_games(name, num_players, preset, request):
    """R23: from the first deal to 150 points, with passes to either side; `--games 2000` plays as many as the issue."""
    count = request.config.getoption("--games")
    rules = getattr(Rules, preset)(num_players)
    play_episodes(policy_of(name), rules, count, num_tables=min(count, 500), episode="game")


@pytest.mark.parametrize("name", OPPONENTS)
def test_opponent_is_legal_under_any_options(name):
    """Any option, all sizes at once."""
    rng = random.Random(5)
    tables = VectorTables([random_rules(size, rng) for _ in range(10) for size in SIZES], NUM_ROWS[name], seed=1)
    asked = range(0, 130, 5) if name == SEARCH else range(130)
    if fewer(0, 1):
        asked = range(105, 110)
    for step in range(max(asked) + 1):
        rows = RowGenerator(keys(len(tables), 1000 * step))
        policy = policy_of(name) if step in asked else RandomLegal()
        tables.step(policy.act(tables.observations, tables.action_masks, rows))


@pytest.mark.parametrize("name", OPPONENTS)
@pytest.mark.parametrize("num_players", SIZES)
def test_opponent_settles_a_moon(num_players, name):
    """R21: 52 or 53 and nothing else."""
    game = moon_history(num_players, random.Random(num_players)).replay()
    assert action_of(policy_of(name), game) in (52, 53)
    assert sight(game)[1].sum() == 2


# The same answer


@pytest.mark.parametrize("name", OPPONENTS)
def test_answer_is_the_same_for_the_same_stream_whatever_was_asked_between(name):
    """No memory between calls, none between two of a kind."""
    observations, masks = rows_of(name)
    policy = policy_of(name)
    first = policy.act(observations, masks, RowGenerator(keys(len(masks))))
    policy.act(observations[::-1], masks[::-1], np.random.default_rng(3))
    again = policy.act(observations, masks, RowGenerator(keys(len(masks))))
    another = policy_of(name).act(observations, masks, RowGenerator(keys(len(masks))))
    assert (first == again).all()
    assert (first == another).all()
    plain, plain_again = (policy.act(observations, masks, np.random.default_rng(8)) for _ in range(2))
    assert (plain == plain_again).all()


@pytest.mark.parametrize("name", OPPONENTS)
def test_answer_for_a_row_does_not_depend_on_the_other_rows(name):
    """In another order, or asked in parts, every row gets the same answer."""
    observations, masks = rows_of(name)
    policy, streams = policy_of(name), keys(len(masks))
    whole = policy.act(observations, masks, RowGenerator(streams))
    order = np.random.default_rng(1).permutation(len(masks))
    turned = policy.act(observations[order], masks[order], RowGenerator(streams[order]))
    assert (turned == whole[order]).all()
    parts = [slice(0, 1), slice(1, 2), slice(2, None)]
    answers = [policy.act(observations[part], masks[part], RowGenerator(streams[part])) for part in parts]
    assert (np.concatenate(answers) == whole).all()


@pytest.mark.parametrize("name", OPPONENTS)
def test_arrays_are_left_as_they_are_and_may_lie_in_any_way(name):
    """Read-only ones, parts of wider ones, columns first: the same answers, nothing written."""
    observations, masks = rows_of(name)
    policy, streams = policy_of(name), keys(len(masks))
    before = observations.copy(), masks.copy()
    expected = policy.act(observations, masks, RowGenerator(streams))
    assert (observations == before[0]).all()
    assert (masks == before[1]).all()
    wide = np.zeros((2 * len(masks), 1024 + 54 + 7), np.int8)
    wide[::2, 3:1027], wide[::2, 1027:1081] = observations, masks
    read_only = observations.copy(), masks.copy()
    for array in read_only:
        array.setflags(write=False)
    columns_first = np.asfortranarray(observations), np.asfortranarray(masks)
    for seen, legal in ((wide[::2, 3:1027], wide[::2, 1027:1081]), read_only, columns_first):
        assert (policy.act(seen, legal, RowGenerator(streams)) == expected).all()


@pytest.mark.parametrize("name", OPPONENTS)
def test_answers_are_whole_numbers_one_for_each_row_even_for_none(name):
    """What `play_seated` asks of a policy."""
    observations, masks = rows_of(name)
    for count in (0, 1, 2):
        actions = policy_of(name).act(observations[:count], masks[:count], np.random.default_rng(0))
        assert actions.shape == (count,)
        assert actions.dtype.kind == "i"


@pytest.mark.parametrize("name", OPPONENTS)
def test_answer_depends_on_what_the_seat_knows_alone(name):
    """R7, R18: other hidden cards, the same answer; `tests/test_hidden_cards.py` shows that observations hold none."""
    rng = np.random.default_rng(2)
    for num_players in SIZES:
        history = moon_history(num_players, random.Random(1))
        game = history.begin()
        early, late = 3 * num_players + 10, len(history.actions) - 2 * num_players
        for action in history.actions[: fewer(early, late)]:
            game.step(action)
        assert game.mover is not None
        other = game.redeal(game.mover, rng)
        assert any((game.hand(seat) != other.hand(seat)).any() for seat in range(num_players))
        assert action_of(policy_of(name), game) == action_of(policy_of(name), other)


@pytest.mark.parametrize("name", OPPONENTS)
def test_observations_of_another_dtype_give_the_same_answers(name):
    """The AEC environment shows float32 unless asked for int8."""
    observations, masks = rows_of(name)
    policy, streams = policy_of(name), keys(len(masks))
    expected = policy.act(observations, masks, RowGenerator(streams))
    for dtype in (np.float32, np.int64):
        assert (policy.act(observations.astype(dtype), masks, RowGenerator(streams)) == expected).all()


@pytest.mark.parametrize("name", OPPONENTS)
def test_opponent_asked_once_the_game_is_over_answers_something(name):
    """Every action is allowed then, and none of the cards is held."""
    history = random_history(Rules(8, max_hands=1), random.Random(1))
    game = history.replay()
    assert game.is_over
    observation, mask = game.observation(0), game.action_mask()
    (action,) = policy_of(name).act(observation[None], mask[None], np.random.default_rng(0))
    assert 0 <= action < 54


def test_careful_prices_what_is_not_held_alike_whatever_came_before():
    """Once the game is over every action is allowed: no danger of an earlier decision may still stand there."""
    game = random_history(Rules(8, max_hands=1), random.Random(1)).replay()
    over, every = game.observation(0), game.action_mask()
    observations, masks = rows_of("careful")
    alone = Careful().points(over[None], every[None])
    after = Careful().points(np.vstack([observations, over]), np.vstack([masks, every]))
    np.testing.assert_array_equal(after[-1:], alone)
