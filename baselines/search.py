"""Search by playing out sampled worlds: slow, strong, and as fair as its samples.

From what a seat's observation tells, full tables that it cannot rule out are drawn (`likely_worlds`), every legal
action is taken at each of them, `careful` plays the hand out in all seats, and the action with the best average reward
is chosen. All actions are tried on the same worlds. The pass and the choice of what to do with a moon are decided the
same way. It sees nothing but the observation: the other hands that it plays out are dealt anew.

A few worlds disagree by more than most decisions matter, and the best of many noisy averages is a bad choice. So the
averages are drawn towards what `careful` itself expects, the more the fewer the worlds and the less they agree.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.choose import write_costs
from baselines.careful.facts import FACTS
from baselines.careful.play import ITEM
from baselines.careful.playout import ROOM, play_hand_out
from baselines.careful.weights import new_weights
from baselines.likely_worlds import likely_worlds
from chearts_env.batch import REWARDS, checked_reward, write_rewards
from chearts_env.compiled import kernel
from chearts_env.engine import GOES_ON, HAND_SCORED, step_table
from chearts_env.observation import OBSERVATION, field_values
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import NUM_ACTIONS, PASS, TABLE

#: Rewards that the end of a hand decides.
HAND_REWARDS: Final = ("points", "relative")
#: How far `careful` is believed, for the pass and for play: the factor for differences of its costs, the standard
#: deviation of its errors among actions that matter, points, and the variance of a gain from world to world, points
#: squared. Factors and variances were measured on decisions searched with 96 worlds. So were the deviations: believing
#: worlds more (1.5 and above) or less gained less, or lost, when the chosen actions were played out in the true deals.
PRIOR_OF_PASS: Final = (0.13, 0.5, 85.0)
PRIOR_OF_PLAY: Final = (0.8, 0.5, 42.0)
#: So many worlds an action needs before its own variance counts as much as the usual one. Rare disasters make variances
#: of few worlds far too small just when they matter.
WORLDS_FOR_VARIANCE: Final = 32


class Search:
    """Takes the action that does best on average over worlds drawn from what its seat knows."""

    def __init__(self, num_worlds: int = 32, reward: str = "relative", weights: np.record | None = None) -> None:
        """Draw `num_worlds` worlds a decision and judge by a reward of a hand: `"points"` or `"relative"`.

        `weights` are those by which `careful` plays the hands out. Raises ValueError for anything else.
        """
        if isinstance(num_worlds, bool) or not isinstance(num_worlds, int | np.integer) or num_worlds < 1:
            raise ValueError(f"num_worlds={num_worlds!r} is not allowed: it must be a whole number of at least 1")
        if reward not in HAND_REWARDS:
            allowed = " or ".join(map(repr, HAND_REWARDS))
            others = ", ".join(repr(each) for each in REWARDS if each not in HAND_REWARDS)
            raise ValueError(
                f"reward={reward!r} is not allowed: it must be {allowed}; the end of a hand does not decide {others}"
            )
        self._num_worlds = int(num_worlds)
        self._reward = checked_reward(reward)
        self._weights = new_weights()
        if weights is not None:
            self._weights[0] = weights

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        actions: npt.NDArray[np.int64] = action_masks.argmax(axis=1)
        draws = rng.random(len(action_masks))
        for row in np.flatnonzero(action_masks.sum(axis=1) > 1):
            own = np.random.Generator(np.random.PCG64(int(draws[row] * 2**53)))
            actions[row] = self.values(observations[row], action_masks[row], own).argmax()
        return actions

    def values(
        self, observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        """Return what each legal action is held to be worth above the one `careful` takes, (54,) points.

        Minus infinity for the others. Averages over worlds, drawn towards `careful`'s own judgement as far as the
        worlds disagree.
        """
        mask = np.ascontiguousarray(action_mask)
        legal = np.flatnonzero(mask)
        costs = self._costs(observation, mask)[legal]
        gains = self.outcomes(observation, mask, rng)
        best = int(costs.argmin())
        gains = gains - gains[best]  # paired: the same worlds
        values = np.full(NUM_ACTIONS, -np.inf)
        is_pass = field_values(observation, "phase")[PASS]
        scale, spread, variance = PRIOR_OF_PASS if is_pass else PRIOR_OF_PLAY
        values[legal] = drawn_together(gains, scale * (costs[best] - costs), spread, variance)
        return values

    def outcomes(
        self, observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        """Return the reward of each legal action, in order, in each of K worlds drawn, (legal actions, K) points."""
        worlds = likely_worlds(observation, rng, self._num_worlds, self._weights)
        mask = np.ascontiguousarray(action_mask)
        outcomes = np.zeros((int(mask.sum()), self._num_worlds))
        _play_actions_out(worlds, mask, self._weights, self._reward, np.zeros(1, TABLE), np.zeros(1, ROOM), outcomes)
        return outcomes

    def _costs(self, observation: npt.NDArray[np.int8], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
        seen = np.ascontiguousarray(observation, np.int8).view(OBSERVATION)[0]
        costs = np.zeros(NUM_ACTIONS)
        write_costs(seen, mask, self._weights[0], np.zeros(1, FACTS)[0], np.zeros(1, ITEM)[0], costs)
        return costs


def drawn_together(
    gains: npt.NDArray[np.float64], prior: npt.NDArray[np.float64], spread: float, usual_variance: float
) -> npt.NDArray[np.float64]:
    """Return the best guess of each action's gain, (actions,): what worlds say, (actions, K), and what was held before.

    Both count by how sure they are: the average of K worlds has the variance of a gain between worlds over K, what was
    held before has the variance `spread` squared.
    """
    num_worlds = gains.shape[1]
    squares = ((gains - gains.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    variances = (WORLDS_FOR_VARIANCE * usual_variance + squares) / (WORLDS_FOR_VARIANCE + num_worlds - 1)
    share = 1.0 / (1.0 + variances / num_worlds / spread**2)
    drawn: npt.NDArray[np.float64] = share * gains.mean(axis=1) + (1.0 - share) * prior
    return drawn


@kernel
def _play_actions_out(
    worlds: Any, mask: Any, weights: Any, reward: int, scratch: Any, room: Any, outcomes: Any
) -> None:
    """Write what each legal action brings seat 0, the mover of every world, in each world: (legal actions, K)."""
    players = np.zeros(MAX_PLAYERS, np.int64)
    rewards = np.zeros(MAX_PLAYERS, np.float64)
    table = scratch[0]
    row = 0
    for action in range(NUM_ACTIONS):
        if not mask[action]:
            continue
        for place in range(worlds.shape[0]):
            scratch[0] = worlds[place]
            if step_table(table, action) == GOES_ON:
                play_hand_out(table, weights, players, room[0])
            write_rewards(table.options, table.public, HAND_SCORED, reward, rewards)
            outcomes[row, place] = rewards[0]
        row += 1
