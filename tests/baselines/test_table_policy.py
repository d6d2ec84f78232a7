"""Opponents that play whole stretches in compiled code: the same episodes as by observations and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baselines.careful import Careful
from chearts_env import SingleSeatVectorEnv
from chearts_env.policy import TablePolicy, as_table_policy
from tests.sizes import SIZES, fewer


class ByObservations:
    """`careful`, without its way to play in compiled code."""

    def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return Careful().act(observations, action_masks, rng)


@pytest.mark.parametrize("episode", ["hand", "game"])
@pytest.mark.parametrize("num_players", SIZES)
def test_compiled_opponents_play_as_they_do_by_observations(num_players, episode):
    """What is seen, paid and ended; `careful` draws nothing, so every step must agree."""
    assert isinstance(Careful(), TablePolicy)
    assert not isinstance(ByObservations(), TablePolicy)
    options: dict[str, Any] = {"num_players": num_players, "episode": episode, "reward": "relative"}
    compiled = SingleSeatVectorEnv(fewer(16, 2), opponents=Careful(), **options)
    plain = SingleSeatVectorEnv(fewer(16, 2), opponents=ByObservations(), **options)
    rng = np.random.default_rng(3)
    seen = compiled.reset(seed=3)
    assert (seen[0] == plain.reset(seed=3)[0]).all()
    masks, num_paid = seen[1]["action_mask"], 0
    for _ in range(fewer(60, 20)):
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        one: Any = compiled.step(actions)
        other: Any = plain.step(actions)
        for mine, its in zip(one[:4], other[:4], strict=True):
            assert (mine == its).all()
        masks = one[4]["action_mask"]
        assert (masks == other[4]["action_mask"]).all()
        num_paid += int((one[1] != 0).sum())
    assert num_paid


class Contrary(Careful):
    """Plays the highest card allowed; what it inherits plays otherwise."""

    def act(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


def test_subclass_that_only_changes_act_is_asked_by_observations():
    """The compiled play it inherits is another policy's."""
    assert as_table_policy(Careful()) is not None
    assert as_table_policy(Contrary()) is None
    boards = []
    for opponents in (Contrary(), [Contrary(), Contrary()]):
        env = SingleSeatVectorEnv(4, opponents=opponents, seat=0)
        env.reset(seed=1)
        for _ in range(6):
            env.step(env.action_masks().argmax(axis=1))
        boards.append(env._tables.observations.copy())
    assert (boards[0] == boards[1]).all()
