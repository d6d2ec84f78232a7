"""One seat learns: what cannot be asked of its environments is refused, and the message says what can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from chearts_env import Rules, SingleSeatEnv, SingleSeatVectorEnv
from tests.test_single_seat import Lowest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seat": 6}, r"seat=6 is not allowed: it must be 0 … 5, or None"),
        ({"seat": True}, r"seat=True is not allowed"),
        ({"opponents": []}, r"opponents= is empty"),
        ({"opponents": Lowest}, r"opponents= takes policies"),
        ({"opponents": "math:pi"}, r"policy 'math:pi' cannot be made"),
        ({"opponents": 3}, r"opponents= takes policies, or their names as module:attribute, not 3"),
        ({"opponents": "nowhere:Policy"}, r"policy 'nowhere:Policy' cannot be loaded"),
        ({"episode": "match"}, r"episode='match' is not allowed"),
        ({"reward": "cash"}, r"reward='cash' is not allowed"),
        ({"illegal_action": "ignore"}, r"illegal_action='ignore' is not allowed: it must be 'end' or 'raise'"),
        ({"observation_dtype": "f8"}, r"observation_dtype='f8' is not allowed"),
        ({"num_players": 5}, r"num_players=5"),
        ({"rules": Rules(7), "num_players": 7}, r"rules= and num_players= were both given"),
    ],
)
def test_argument_that_cannot_be_is_refused(options, message):
    """By both, in the same words."""
    with pytest.raises(ValueError, match=message):
        SingleSeatEnv(**options)
    with pytest.raises(ValueError, match=message):
        SingleSeatVectorEnv(2, **options)


def test_vector_arguments_that_cannot_be_are_refused():
    """Numbers, masks and seeds of the wrong shape."""
    wrong: Any
    for wrong in (0, True, 1.5):
        with pytest.raises(ValueError, match="num_envs="):
            SingleSeatVectorEnv(wrong)
    with pytest.raises(ValueError, match="autoreset_mode='never' is not allowed: it must be one of 'NextStep'"):
        SingleSeatVectorEnv(3, autoreset_mode="never")
    env = SingleSeatVectorEnv(3, opponents=Lowest())
    with pytest.raises(ValueError, match="seed=True"):
        env.reset(seed=True)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step([0, 0, 0])
    with pytest.raises(ValueError, match="2 seeds given"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": [True] * 3})
    with pytest.raises(ValueError, match="all of them at the first reset"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    env.reset(seed=1)
    for actions in ([0, 0], [0.0, 1.0, 2.0], 3):
        with pytest.raises(ValueError, match=r"actions have (dtype|shape)"):
            env.step(actions)


def test_episode_that_is_over_cannot_be_stepped():
    """Neither alone nor, with autoreset disabled, in a batch."""
    env = SingleSeatEnv(opponents=Lowest())
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(0)
    env.reset(seed=1)
    env.step(53)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(0)
    batch = SingleSeatVectorEnv(2, opponents=Lowest(), autoreset_mode=AutoresetMode.DISABLED)
    batch.reset(seed=1)
    batch.step([int(batch.action_masks()[0].argmax()), 53])
    with pytest.raises(RuntimeError, match="the episode of slot 1 is over"):
        batch.step([0, 0])
