"""The PettingZoo AEC environment over a `Game`. It holds no rule: it turns seats into agents and scores into rewards.

What a user needs to know of it stands in `cancellation_hearts_v0`, its specification page.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from pettingzoo import AECEnv
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from chearts_env.batch import Reward, checked_reward, write_rewards
from chearts_env.compiled import kernel
from chearts_env.deal import checked_seed
from chearts_env.engine import GOES_ON, HAND_SCORED, write_mask
from chearts_env.game import Episode, Game, IllegalActionError, checked_episode, checked_rules
from chearts_env.observation import OBSERVATION, bounds, decode, encode
from chearts_env.render.everything import everything_of
from chearts_env.render.picture import table_as_picture
from chearts_env.render.text import for_terminal, table_as_text
from chearts_env.render.window import Window
from chearts_env.rules import Rules
from chearts_env.table import MASK, NUM_ACTIONS

#: What an illegal move costs its seat in `env()`, as in PettingZoo's classic environments.
ILLEGAL_MOVE_REWARD: Final = -1.0
RENDER_MODES: Final = ("human", "rgb_array", "ansi")
#: Whose view is drawn: the current seat's, everybody's cards, or one seat's (its number).
_VIEWS: Final = ("mover", "all")


@kernel
def _observe(tables: Any, seat: int, is_over: bool, seen: Any, masks: Any) -> None:
    table = tables[0]
    private = table.private[seat]
    encode(table.options, table.public, private, seat, seen[0])
    if is_over:
        masks[0].legal[:] = 1
    elif table.public.mover == seat:
        write_mask(table.options, table.public, private, masks[0])
    else:
        masks[0].legal[:] = 0


@kernel
def _write_rewards(tables: Any, status: int, reward: int, rewards: Any) -> None:
    write_rewards(tables[0].options, tables[0].public, status, reward, rewards)


class CancellationHeartsEnv(AECEnv[str, dict[str, npt.NDArray[Any]], Any]):
    """The raw environment; an illegal action raises IllegalActionError and changes nothing.

    Copies, deep copies and pickles carry the whole state and go on identically.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's convention
        "name": "cancellation_hearts_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        episode: Episode = "game",
        reward: Reward = "points",
        render_mode: str | None = None,
        render_view: str | int = "mover",
        observation_dtype: npt.DTypeLike = np.float32,
        **options: Any,
    ) -> None:
        """Take `rules`, or options of `Rules` by name (`num_players=8`); see `cancellation_hearts_v0` for the rest."""
        super().__init__()
        self.rules = rules_of(rules, options)
        self._episode: Episode = episode
        checked_episode(episode)
        self._reward = checked_reward(reward)
        self.render_mode = checked_render_mode(render_mode)
        self.render_view = _checked_view(render_view, self.rules.num_players)
        self._window = Window("Cancellation Hearts", self.metadata["render_fps"])
        self._dtype = checked_dtype(observation_dtype)
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.num_players)]
        self.agents: list[str] = []
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        space = _observation_space(self._dtype)
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces: dict[str, gymnasium.spaces.Space[Any]] = {
            agent: gymnasium.spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents
        }
        self._seeds: np.random.Generator | None = None
        self._game: Game | None = None

    @property
    def game(self) -> Game:
        """The game underneath, for inspection; raises AttributeError before the first reset."""
        if self._game is None:
            raise AttributeError("there is no game before reset()")
        return self._game

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the space of an agent's observations, the same for all."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the space of an agent's actions, the same for all."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game: `Game(rules, seed)` with a seed, without one the next that follows from the last seed given.

        `options={"game": game}` plays a copy of a game with the same rules and kind of episode instead; other options
        are ignored.
        """
        given = (options or {}).get("game")
        if given is not None:
            self._game = self._checked_game(given).copy()
        else:
            checked = checked_seed(seed)
            if seed is not None or self._seeds is None:
                self._seeds = np.random.default_rng(checked)
            drawn = int(self._seeds.integers(2**64, dtype=np.uint64)) if seed is None else checked
            self._game = Game(self.rules, drawn, episode=self._episode)
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._is_paid = False
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._select_mover()
        if self._game.is_over:
            self._end()
        if self.render_mode == "human":
            self.render()

    def _checked_game(self, game: object) -> Game:
        if not isinstance(game, Game):
            raise ValueError(f"options['game'] is {game!r}; it must be a Game")
        if game.rules != self.rules or game.episode != self._episode:
            raise ValueError(
                f"options['game'] is a {game.episode} with {game.rules}; "
                f"this environment plays a {self._episode} with {self.rules}"
            )
        return game

    def _select_mover(self) -> None:
        mover = self.game.mover
        self.agent_selection = self.possible_agents[0 if mover is None else mover]

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]]:
        """Return what an agent sees, in arrays of its own: `observation` (O,) and `action_mask` (54,) int8.

        The mask is all 0 for a seat that is not to move, and all 1 once the episode is over.
        """
        seat = self._seat_of.get(agent)
        if seat is None:
            raise ValueError(f"no agent {agent!r}: the agents are {', '.join(self.possible_agents)}")
        game = self.game
        is_over = self.terminations.get(agent, True) or self.truncations[agent]
        seen = np.empty(1, OBSERVATION)
        mask = np.empty(1, MASK)
        _observe(game._tables, seat, is_over, seen, mask)
        vector = seen.view(np.int8)
        return {
            "observation": vector if self._dtype == np.int8 else vector.astype(self._dtype),
            "action_mask": mask.view(np.int8),
        }

    def step(self, action: Any) -> None:
        """Act for `agent_selection`; None for an agent whose episode is over."""
        game = self.game
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        status = game.act(action)
        self._cumulative_rewards[agent] = 0.0
        if self._is_paid:
            self._clear_rewards()
            self._is_paid = False
        if status != GOES_ON:
            self._pay(status)
        if status in (GOES_ON, HAND_SCORED):
            self._select_mover()
        else:
            self._end()
        if self.render_mode == "human":
            self.render()

    def _clear_rewards(self) -> None:
        # PettingZoo's own clears to the integer 0; rewards stay floats here.
        self.rewards = dict.fromkeys(self.rewards, 0.0)

    def _pay(self, status: int) -> None:
        paid = np.zeros(self.rules.num_players)
        _write_rewards(self.game._tables, status, self._reward, paid)
        self.rewards = dict(zip(self.agents, paid.tolist(), strict=True))
        self._accumulate_rewards()
        self._is_paid = True

    def _end(self) -> None:
        # All agents end in the same step, and never some terminated and others truncated.
        is_truncated = self.game.is_truncated
        self.terminations = dict.fromkeys(self.agents, not is_truncated)
        self.truncations = dict.fromkeys(self.agents, is_truncated)
        self.agent_selection = self.agents[0]

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Return the table as text or as a picture, (800, 1200, 3) uint8, or show it in a window, as the mode says.

        What is drawn is what the seat of `render_view` may see, and never more, unless that is `"all"`.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called on an environment made without a render_mode")
            return None
        game, view = self.game, self.render_view
        seat = view if isinstance(view, int) else self._seat_of[self.agent_selection]
        knowledge, hands = everything_of(game, seat) if view == "all" else (decode(game.observation(seat)), None)
        if self.render_mode == "ansi":
            return for_terminal(table_as_text(knowledge, seat, hands))
        picture = table_as_picture(knowledge, seat, hands)
        if self.render_mode == "rgb_array":
            return picture
        self._window.show(picture)
        return None

    def __copy__(self) -> Self:
        """Return an independent environment: sharing a game would let one copy play the other's cards."""
        return copy.deepcopy(self)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._window.close()


class GuardedEnv(OrderEnforcingWrapper[str, dict[str, npt.NDArray[Any]], Any]):
    """What PettingZoo's usual three wrappers give, in one: chained, they take most of a turn's time.

    An illegal move ends the episode with a warning and costs its seat 1, an action outside the space is an
    AssertionError, calls in a wrong order are errors.
    """

    env: CancellationHeartsEnv

    def step(self, action: Any) -> None:
        """Act for `agent_selection`; None for an agent whose episode is over."""
        raw = self.env
        if not self._has_reset or not raw.agents:
            super().step(action)  # which raises, or warns
            return
        self._has_updated = True
        agent = raw.agent_selection
        is_dead = raw.terminations[agent] or raw.truncations[agent]
        is_in_space = (type(action) is int and 0 <= action < NUM_ACTIONS) or (
            not isinstance(action, bool) and raw.action_space(agent).contains(action)
        )
        if not (is_in_space or (action is None and is_dead)):
            raise AssertionError(
                f"action is not in action space: {action!r} of {agent}, which has {raw.action_space(agent)}"
            )
        try:
            raw.step(action)
        except IllegalActionError:
            self._end_by_illegal_move(agent)

    def _end_by_illegal_move(self, agent: str) -> None:
        EnvLogger.warn_on_illegal_move()
        raw = self.env
        raw._cumulative_rewards[agent] = 0.0
        raw.terminations = dict.fromkeys(raw.agents, True)
        raw.truncations = dict.fromkeys(raw.agents, True)
        raw.rewards = dict.fromkeys(raw.agents, 0.0)
        raw.rewards[agent] = ILLEGAL_MOVE_REWARD
        raw._accumulate_rewards()
        raw._deads_step_first()

    def observe(self, agent: str) -> dict[str, npt.NDArray[Any]] | None:
        """Return what an agent sees, in arrays of its own."""
        return self.env.observe(agent) if self._has_reset else super().observe(agent)

    def last(self, observe: bool = True) -> Any:
        """Return observation, reward since its last step, terminated, truncated and info of `agent_selection`."""
        return self.env.last(observe) if self._has_reset else super().last(observe)

    def __copy__(self) -> Self:
        """Return an independent environment."""
        return copy.deepcopy(self)

    def __str__(self) -> str:
        """Return the environment's name."""
        return str(self.env)


def rules_of(rules: Rules | None, options: dict[str, Any]) -> Rules:
    """Return rules, or those made of options by name; raises ValueError if both are given, or something else."""
    if rules is not None and options:
        raise ValueError(f"rules= and {', '.join(options)}= were both given: an option belongs into the Rules")
    return Rules(**options) if rules is None else checked_rules(rules)


def checked_render_mode(render_mode: str | None, modes: Sequence[str] = RENDER_MODES) -> str | None:
    """Return a render mode; raises ValueError for an unknown one."""
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"render_mode={render_mode!r} is not allowed: it must be None or one of {', '.join(modes)}")
    return render_mode


def _checked_view(view: str | int, num_players: int) -> str | int:
    is_seat = isinstance(view, int) and not isinstance(view, bool) and 0 <= view < num_players
    if not is_seat and view not in _VIEWS:
        raise ValueError(
            f"render_view={view!r} is not allowed: it must be 'mover', 'all' or a seat 0 … {num_players - 1}"
        )
    return view


def checked_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return the type of an observation's entries; raises ValueError for one that is not on offer."""
    try:
        checked = np.dtype(dtype)
    except TypeError:
        checked = None
    if dtype is None or checked not in (np.float32, np.int8):
        raise ValueError(f"observation_dtype={dtype!r} is not allowed: it must be float32 or int8")
    return checked


def vector_space(dtype: np.dtype[Any]) -> gymnasium.spaces.Box:
    """Return the space of observation vectors, (O,)."""
    low, high = bounds()
    return gymnasium.spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)


def _observation_space(dtype: np.dtype[Any]) -> gymnasium.spaces.Dict:
    masks = gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
    return gymnasium.spaces.Dict({"observation": vector_space(dtype), "action_mask": masks})
