"""One seat learns and given policies play the others: Cancellation Hearts for single-agent libraries.

`SingleSeatEnv` is a Gymnasium environment, `SingleSeatVectorEnv` many of them stepped together; the same seeds and
actions give the same episodes in both. A step takes the learner's action and plays on to its next decision; the reward
is everything it was paid since its last one, so that no loss is out of its sight. They hold no rule of the game.

Observation: the vector of `chearts_env.observation`, (O,). Actions: `Discrete(54)`; those allowed are in
`info["action_mask"]`, (54,) int8, and what `action_masks()` returns. An illegal action ends the episode at a price, or
is refused. Infos have the same keys at every step: `action_mask`, `seat` (the learner's) and `illegal_action`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from chearts_env.aec import checked_dtype, checked_render_mode, rules_of, vector_space
from chearts_env.batch import Reward
from chearts_env.cards import POINTS_IN_ALL
from chearts_env.deal import checked_seed
from chearts_env.game import Episode, checked_rules
from chearts_env.observation import decode
from chearts_env.policy import Policy, RandomLegal, loaded_policy
from chearts_env.render.picture import table_as_picture
from chearts_env.render.text import for_terminal, table_as_text
from chearts_env.rules import Rules
from chearts_env.seat_tables import SeatTables
from chearts_env.table import NUM_ACTIONS
from chearts_env.vector import checked_actions

IllegalAction = Literal["end", "raise"]
Opponents = Policy | str | Sequence[Policy | str] | None


def illegal_reward(rules: Sequence[Rules], episode: Episode, reward: Reward) -> float:
    """Return what an illegal action is paid where it ends the episode: less than the worst that legal play can bring.

    All points of a hand (R4) or a moon's (R21), in a game on top of a score at the target (R23); or a lost game, and 1.
    """
    if reward == "win":
        return -1.0
    worst = max(max(POINTS_IN_ALL, each.moon_points) for each in rules)
    return -float(worst + (max(each.target_score for each in rules) if episode == "game" else 0))


def _seat_tables(
    rules: Sequence[Rules],
    opponents: Opponents,
    seat: int | None,
    episode: Episode,
    reward: Reward,
    illegal_action: str,
) -> SeatTables:
    if illegal_action not in ("end", "raise"):
        raise ValueError(f"illegal_action={illegal_action!r} is not allowed: it must be 'end' or 'raise'")
    price = illegal_reward(rules, episode, reward) if illegal_action == "end" else None
    policies = _policies(opponents)
    return SeatTables(rules, policies, seat=seat, episode=episode, reward=reward, illegal_reward=price)


def _policies(opponents: Opponents) -> list[Policy]:
    if opponents is None:
        return [RandomLegal()]
    given = list(opponents) if isinstance(opponents, Sequence) and not isinstance(opponents, str) else [opponents]
    if not given:
        raise ValueError("opponents= is empty: at least one policy is needed, or None for random legal play")
    policies = [loaded_policy(each) if isinstance(each, str) else each for each in given]
    for policy in policies:
        if isinstance(policy, type) or not callable(getattr(policy, "act", None)):
            raise ValueError(f"opponents= takes policies, or their names as module:attribute, not {policy!r}")
    return policies


class SingleSeatEnv(gymnasium.Env[npt.NDArray[Any], Any]):
    """One table as a Gymnasium environment.

    `reset(seed=s)` deals what `Game(rules, seed=s)` deals; `reset()` deals the next episode that follows.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 2}  # noqa: RUF012 - Gymnasium's convention

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        opponents: Opponents = None,
        seat: int | None = None,
        episode: Episode = "hand",
        reward: Reward = "points",
        illegal_action: IllegalAction = "end",
        observation_dtype: npt.DTypeLike = np.float32,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Take `rules`, or options of `Rules` by name (`num_players=8`).

        `opponents`: a policy for all other seats, or several dealt out to them from the learner's left on; a text
        such as `"my_module:MyPolicy"` is loaded; None plays at random. `seat`: the learner's, None draws it anew for
        each episode. `illegal_action`: `"end"` ends the episode at a price (`illegal_reward`), `"raise"` raises
        IllegalActionError and changes nothing. `episode` and `reward` as in `cancellation_hearts_v0`.
        """
        self.rules = rules_of(rules, options)
        self.render_mode = checked_render_mode(render_mode, self.metadata["render_modes"])
        self._dtype = checked_dtype(observation_dtype)
        self.observation_space = vector_space(self._dtype)
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self._tables = _seat_tables([self.rules], opponents, seat, episode, reward, illegal_action)
        self._has_reset = False

    @property
    def seat(self) -> int:
        """Where the learner sits in this episode."""
        return int(self._tables.seats[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Deal an episode and play it to the learner's first decision."""
        super().reset(seed=seed)
        seeds = _seeds_of([seed]) if seed is not None or not self._has_reset else None
        self._tables.begin(self._tables.every, seeds)
        self._has_reset = True
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Act for the learner and play on to its next decision, or to the end of the episode."""
        tables = self._tables
        if not self._has_reset or tables.terminations[0] or tables.truncations[0]:
            raise RuntimeError("step() needs an episode that goes on: call reset() first")
        tables.step(checked_actions(np.asarray(action)[None], 1), tables.every)
        is_over = bool(tables.terminations[0]), bool(tables.truncations[0])
        return self._observation(), float(tables.rewards[0]), *is_over, self._info()

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return what the learner may do, (54,) int8, as sb3-contrib's MaskablePPO asks for it."""
        mask: npt.NDArray[np.int8] = self._tables.action_masks[0].copy()
        return mask

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Return the table as text or as a picture, (800, 1200, 3) uint8, as the learner may see it."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called on an environment made without a render_mode")
            return None
        if not self._has_reset:
            raise RuntimeError("render() needs an episode: call reset() first")
        knowledge = decode(self._tables.observations[0])
        if self.render_mode == "ansi":
            return for_terminal(table_as_text(knowledge, self.seat))
        return table_as_picture(knowledge, self.seat)

    def _observation(self) -> npt.NDArray[Any]:
        observation: npt.NDArray[Any] = self._tables.observations[0].astype(self._dtype)
        return observation

    def _info(self) -> dict[str, Any]:
        return {
            "action_mask": self.action_masks(),
            "seat": self.seat,
            "illegal_action": bool(self._tables.was_illegal[0]),
        }


class SingleSeatVectorEnv(VectorEnv[npt.NDArray[Any], Any, npt.NDArray[Any]]):
    """Many tables as a Gymnasium vector environment; slot i goes on as a `SingleSeatEnv` with the same seed would.

    All arrays have the slots as their first axis. `reset(seed=s)` gives slot i the seed s + i, a list each its own.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | Sequence[Rules] | None = None,
        *,
        opponents: Opponents = None,
        seat: int | None = None,
        episode: Episode = "hand",
        reward: Reward = "points",
        illegal_action: IllegalAction = "end",
        observation_dtype: npt.DTypeLike = np.float32,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **options: Any,
    ) -> None:
        """Take what `SingleSeatEnv` takes; several `rules` are dealt out to the slots in turn.

        `autoreset_mode`: what follows an episode that is over, see Gymnasium's page on it. `copy=False` returns the
        buffer of observations itself, which the next step overwrites, if they are int8; float32 is a copy anyway.
        """
        if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise ValueError(f"num_envs={num_envs!r} is not allowed: it must be a whole number of at least 1")
        several = rules if isinstance(rules, Sequence) and not options else [rules_of(rules, options)]  # type: ignore[arg-type]
        if not several:
            raise ValueError("rules=[] is not allowed: at least one of Rules is needed")
        all_rules = [checked_rules(several[place % len(several)]) for place in range(num_envs)]
        self.num_envs = int(num_envs)
        self.rules = tuple(all_rules)
        self.autoreset_mode = _checked_mode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._copies = copy
        self._dtype = checked_dtype(observation_dtype)
        self.single_observation_space = vector_space(self._dtype)
        self.single_action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._tables = _seat_tables(all_rules, opponents, seat, episode, reward, illegal_action)
        self._has_reset = False

    @property
    def seats(self) -> npt.NDArray[np.int64]:
        """Where the learner sits at each table, (B,)."""
        return self._tables.seats.copy()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Deal episodes; `options={"reset_mask": mask}`, (B,) bool, has only some slots dealt."""
        super().reset(seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None)
        rows = self._rows_to_reset(options)
        if isinstance(seed, int | np.integer):  # `checked_seed` refuses True and False
            seed = [(checked_seed(seed) + place) % 2**64 for place in range(self.num_envs)]
        if seed is not None and len(seed) != self.num_envs:
            raise ValueError(f"{len(seed)} seeds given: one for each of {self.num_envs} slots is needed")
        if seed is not None:
            # Nothing can follow an episode that never was: a fresh slot without a seed draws one.
            given = np.array([each is not None or not self._has_reset for each in seed])
        else:
            given = np.full(self.num_envs, not self._has_reset)
            seed = [None] * self.num_envs
        fresh = rows[given[rows]]
        if len(fresh):
            self._tables.begin(fresh, _seeds_of([seed[row] for row in fresh]))
        if len(fresh) < len(rows):
            self._tables.begin(rows[~given[rows]])
        self._has_reset = True
        has_info = np.zeros(self.num_envs, np.bool_)
        has_info[rows] = True
        return self._observations(), self._infos(has_info)

    def _rows_to_reset(self, options: dict[str, Any] | None) -> npt.NDArray[np.intp]:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return self._tables.every
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(
                f"options['reset_mask'] must be an array of bool of shape ({self.num_envs},), not {mask!r}"
            )
        if not mask.any() or (not self._has_reset and not mask.all()):
            raise ValueError("options['reset_mask'] must choose some slot, and all of them at the first reset")
        return np.flatnonzero(mask)

    def step(
        self, actions: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Act for the learner at every table and play on to its next decision, or to the end of the episode."""
        if not self._has_reset:
            raise RuntimeError("step() needs episodes that go on: call reset() first")
        tables, mode = self._tables, self.autoreset_mode
        given = checked_actions(np.asarray(actions), self.num_envs)
        over = tables.terminations | tables.truncations
        if mode == AutoresetMode.DISABLED and over.any():
            raise RuntimeError(
                f"the episode of slot {int(over.argmax())} is over: with autoreset disabled, reset it by "
                "reset(options={'reset_mask': mask}) before the next step"
            )
        acting = np.flatnonzero(~over)
        tables.step(given[acting], acting)
        if over.any():  # in the mode NEXT_STEP: their action is ignored
            tables.begin(np.flatnonzero(over))
        terminations, truncations = tables.terminations, tables.truncations
        rewards = tables.rewards.copy()
        ended = terminations | truncations
        finals: dict[str, Any] = {}
        if mode == AutoresetMode.SAME_STEP and ended.any():
            finals = self._finals(ended)
            tables.begin(np.flatnonzero(ended))
        every = np.ones(self.num_envs, np.bool_)
        return self._observations(), rewards, terminations, truncations, finals | self._infos(every)

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return what the learner may do at each table, (B, 54) int8."""
        masks: npt.NDArray[np.int8] = self._tables.action_masks.copy()
        return masks

    def _observations(self) -> npt.NDArray[Any]:
        return self._tables.observations.astype(self._dtype, copy=self._copies)

    def _infos(self, has_info: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Return the infos of some slots as Gymnasium lays them out: an array for each key, and who has it."""
        tables = self._tables
        infos: dict[str, npt.NDArray[Any]] = {
            "action_mask": self.action_masks(),
            "seat": tables.seats.copy(),
            "illegal_action": tables.was_illegal.copy(),
        }
        if not has_info.all():
            for values in infos.values():
                values[~has_info] = 0
        return {
            name: each for key, values in infos.items() for name, each in ((key, values), (f"_{key}", has_info.copy()))
        }

    def _finals(self, ended: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Return the last observations and infos of the episodes that have ended, (B,)."""
        observations = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            observations[row] = self._tables.observations[row].astype(self._dtype)
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": self._infos(ended),
            "_final_info": ended.copy(),
        }


def _checked_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        allowed = ", ".join(repr(each.value) for each in AutoresetMode)
        raise ValueError(f"autoreset_mode={mode!r} is not allowed: it must be one of {allowed}") from None


def _seeds_of(seeds: Sequence[int | None]) -> npt.NDArray[np.uint64]:
    return np.array([checked_seed(seed) for seed in seeds], np.uint64)
