"""`VectorTables`: many tables stepped at once, their observations and masks written into buffers allocated once.

Holds no rule: the loops are those of `batch.py`, and `shares.py` spreads them over threads. Letters of axes are those
of `table.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from chearts_env.batch import (
    ALL_LEGAL,
    REWARDS,
    Reward,
    begin_all,
    checked_reward,
    first_illegal,
    gather_hands,
    serve_steps,
    show_all,
    step_all,
)
from chearts_env.deal import checked_seed
from chearts_env.game import Episode, Game, IllegalActionError, action_to_text, checked_episode
from chearts_env.observation import OBSERVATION, OBSERVATION_SIZE
from chearts_env.rules import MAX_PLAYERS, Rules
from chearts_env.shares import Shares
from chearts_env.state import damage_refused, pack, read_array, unpack
from chearts_env.table import MASK, NUM_ACTIONS, TABLE, Tables, new_tables

_CACHE_LINE: Final = 64


def _aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    # Rows that begin on cache lines are written noticeably faster.
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + _CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def _checked_buffer(buffer: npt.NDArray[Any] | None, name: str, shape: tuple[int, int]) -> npt.NDArray[np.int8]:
    if buffer is None:
        return _aligned_zeros(shape, np.int8)
    if not isinstance(buffer, np.ndarray):
        raise ValueError(f"{name}= takes a NumPy array, not {type(buffer).__name__}")
    if buffer.shape != shape or buffer.dtype != np.int8 or not buffer.flags.c_contiguous or not buffer.flags.writeable:
        flags = ("" if buffer.flags.c_contiguous else ", not contiguous") + (
            "" if buffer.flags.writeable else ", read-only"
        )
        raise ValueError(
            f"{name}= takes a writable C-contiguous int8 array of shape {shape}, "
            f"not {buffer.dtype} of {buffer.shape}{flags}"
        )
    return buffer


def checked_actions(actions: npt.NDArray[Any] | Sequence[int], count: int) -> npt.NDArray[np.integer[Any]]:
    """Return one action for each of `count` tables, (count,); raises ValueError for another shape or dtype."""
    given = np.asarray(actions)
    if given.shape != (count,):
        raise ValueError(f"actions have shape {given.shape}; one action for each table is needed, shape ({count},)")
    if given.dtype.kind not in "iu":
        raise ValueError(f"actions have dtype {given.dtype}; whole numbers are needed")
    if given.dtype == np.uint64:  # some do not fit int64; any number that is no action stands for them
        given = np.minimum(given, NUM_ACTIONS)
    return given


class VectorTables:
    """B tables, each with a mover whose observation and mask lie in the buffers; `step` acts for all movers at once.

    An episode that ends is followed by a new one in the same step (same-step auto-reset): `rewards`, `terminations`,
    `truncations` and `final_scores` tell of the old one, observations and masks are of the new one. Slot i goes on as a
    lone table with the same seed would, whatever the batch size, the other slots and the number of threads.

    Attributes that `step` writes in place: `observations` (B, O) int8, `action_masks` (B, 54) int8, `movers` (B,) int8,
    `rewards` (B, 11) float32 by seat, `terminations` and `truncations` (B,) bool, `final_scores` (B, 11) int32 points
    by seat, valid where an episode has just ended. `num_players` (B,) int8 and `seeds` (B,) uint64 (each slot's first
    deal) change with `reset` at most. `Game(rules, seed=int(tables.seeds[i]))` deals the cards slot i was dealt first;
    with the same `episode=` it is the same in all.
    """

    def __init__(
        self,
        rules: Rules | Sequence[Rules] = Rules(),  # noqa: B008 - frozen, so sharing one is safe
        num_tables: int | None = None,
        seed: int | None = 0,
        episode: Episode = "hand",
        reward: Reward = "points",
        num_threads: int = 1,
        *,
        observations: npt.NDArray[np.int8] | None = None,
        action_masks: npt.NDArray[np.int8] | None = None,
    ) -> None:
        """Deal every table. `rules` is one for all, or a sequence that is dealt out to the tables in turn.

        `num_tables` defaults to the length of that sequence, or 4096; `num_threads=0` means one for each core.
        """
        all_rules = _rules_of_tables(rules, num_tables)
        self._init(
            new_tables(all_rules, checked_episode(episode)), all_rules, reward, num_threads, observations, action_masks
        )
        self._seed = checked_seed(seed)
        self._num_resets, self._num_deals = 0, 0
        self._begin()

    @classmethod
    def from_games(
        cls,
        games: Sequence[Game],
        reward: Reward = "points",
        num_threads: int = 1,
        *,
        observations: npt.NDArray[np.int8] | None = None,
        action_masks: npt.NDArray[np.int8] | None = None,
    ) -> Self:
        """Start from copies of games, one a slot, none of them over; they go on, and auto-reset, as usual."""
        for place, game in enumerate(games):
            if game.is_over:
                raise ValueError(f"game {place} is over: only games that go on can be put into tables")
        if not games:
            raise ValueError("no games given: at least one is needed")
        tables = cls.__new__(cls)
        records = np.concatenate([game._tables for game in games])
        tables._init(records, [game.rules for game in games], reward, num_threads, observations, action_masks)
        tables._seed, tables._num_resets, tables._num_deals = 0, 0, 0
        tables.seeds[:] = records["hidden"]["seed"]
        tables._show()
        return tables

    def _init(
        self, tables: Tables, rules: list[Rules], reward: str, num_threads: int, observations: Any, action_masks: Any
    ) -> None:
        num_tables = len(tables)
        self._reward = checked_reward(reward)
        self._num_threads = _checked_threads(num_threads)
        self.observations = _checked_buffer(observations, "observations", (num_tables, OBSERVATION_SIZE))
        self.action_masks = _checked_buffer(action_masks, "action_masks", (num_tables, NUM_ACTIONS))
        self._tables = _aligned_zeros((num_tables,), TABLE)
        self._tables[:] = tables
        self.rules = tuple(rules)
        self._masks = self.action_masks.view(MASK)[:, 0]
        # What `step` checks actions by: the caller may write into `action_masks`, and never into these.
        self._legal = _aligned_zeros((num_tables,), MASK)
        self._seen = self.observations.view(OBSERVATION)[:, 0]
        self.movers = np.zeros(num_tables, np.int8)
        self.num_players = np.array([each.num_players for each in rules], np.int8)
        self.rewards = np.zeros((num_tables, MAX_PLAYERS), np.float32)
        self.terminations = np.zeros(num_tables, np.bool_)
        self.truncations = np.zeros(num_tables, np.bool_)
        self.final_scores = np.zeros((num_tables, MAX_PLAYERS), np.int32)
        self.seeds = np.zeros(num_tables, np.uint64)
        self._actions = np.zeros(num_tables, np.int64)
        self._shares = self._new_shares()

    def _new_shares(self) -> Shares:
        buffers = (
            self._tables, self._actions, self._reward, self._seen, self._masks, self._legal, self.movers,
            self.rewards, self.terminations, self.truncations, self.final_scores,
        )  # fmt: skip
        return Shares(len(self), self._num_threads, partial(step_all, *buffers), partial(serve_steps, buffers))

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self._tables)

    @property
    def reward(self) -> str:
        """The kind of reward paid."""
        return REWARDS[self._reward]

    @property
    def episode_seeds(self) -> npt.NDArray[np.uint64]:
        """Seed of each table's current episode, (B,) uint64: `Game(rules, seed, episode=...)` begins the same."""
        return self._tables["hidden"]["seed"].copy()

    def reset(self, seed: int | None = None) -> None:
        """Deal every table anew: as new `VectorTables` with that seed, or with seeds that follow from the last."""
        if seed is None:
            self._num_resets += 1
        else:
            self._seed, self._num_resets = checked_seed(seed), 0
        self._begin()

    def _begin(self) -> None:
        self._num_deals += 1
        # The key keeps what follows from one seed apart from what another seed gives.
        key = (self._num_resets,) if self._num_resets else ()
        self.seeds[:] = np.random.SeedSequence(self._seed, spawn_key=key).generate_state(len(self), np.uint64)
        self.rewards[:] = 0
        self.terminations[:] = False
        self.truncations[:] = False
        self.final_scores[:] = 0
        begin_all(self._tables, self.seeds)
        self._show()

    def _show(self) -> None:
        show_all(self._tables, self._seen, self._masks, self._legal, self.movers)

    def step(self, actions: npt.NDArray[Any] | Sequence[int]) -> None:
        """Act for the mover of every table, (B,) whole numbers.

        Raises ValueError for a wrong shape or dtype and IllegalActionError, naming the first table, for an action that
        is not legal; all are checked before any table changes.
        """
        self._actions[:] = checked_actions(actions, len(self))
        illegal = first_illegal(self._legal, self._actions)
        if illegal != ALL_LEGAL:
            raise IllegalActionError(self._why_illegal(int(illegal), int(np.asarray(actions)[illegal])))
        self._shares.run()

    def _why_illegal(self, place: int, action: int) -> str:
        try:
            self.game(place).step(action)
        except IllegalActionError as error:
            return f"table {place}: {error}; no table was changed"
        raise AssertionError(f"table {place} refused {action_to_text(action)}, and its game does not")

    def hidden_hands(self) -> npt.NDArray[np.int8]:
        """Return all hands, (B, 11, 52) int8, seats relative to the mover: for critics, never for players."""
        hands = np.empty((len(self), MAX_PLAYERS, 52), np.int8)
        gather_hands(self._tables, hands)
        return hands

    def game(self, place: int) -> Game:
        """Return a `Game` that goes on from where a table stands; its score sheet begins here."""
        if not 0 <= place < len(self):
            raise IndexError(f"table {place} is out of range 0 … {len(self) - 1}")
        table = self._tables[place : place + 1]
        return Game._of_tables(self.rules[place], np.array(table, copy=True), [])

    def copy(self) -> Self:
        """Return independent tables, with buffers of their own, that go on identically."""
        return self.from_bytes(self.to_bytes(), num_threads=self._num_threads)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return independent tables that go on identically."""
        return self.copy()

    def to_bytes(self) -> bytes:
        """Return the whole state, last results included; `from_bytes` goes on from it identically."""
        distinct = list(dict.fromkeys(self.rules))
        header = {
            "rules": [rules.to_dict() for rules in distinct],
            "rules_of_tables": [distinct.index(rules) for rules in self.rules],
            "reward": self.reward,
            "seed": self._seed,
            "num_resets": self._num_resets,
        }
        return pack("VectorTables", header, [self._tables, *self._results()])

    def _results(self) -> list[npt.NDArray[Any]]:
        return [self.seeds, self.rewards, self.terminations, self.truncations, self.final_scores]

    @classmethod
    def from_bytes(cls, data: bytes, num_threads: int = 1) -> Self:
        """Read a state back; raises StateError if it is damaged or of another version."""
        header, parts = unpack("VectorTables", data)
        tables = cls.__new__(cls)
        with damage_refused("VectorTables"):
            distinct = [Rules.from_dict(options) for options in header["rules"]]
            rules = [distinct[number] for number in header["rules_of_tables"]]
            records = read_array(parts[0], TABLE, (len(rules),))
            tables._init(records, rules, header["reward"], num_threads, None, None)
            tables._seed, tables._num_resets, tables._num_deals = header["seed"], header["num_resets"], 0
            for result, part in zip(tables._results(), parts[1:], strict=True):
                result[:] = read_array(part, result.dtype, result.shape)
        tables._show()
        return tables

    def __getstate__(self) -> tuple[bytes, int]:
        """Pickle as `to_bytes`; buffers of the caller's are not shared with the copy."""
        return self.to_bytes(), self._num_threads

    def __setstate__(self, state: tuple[bytes, int]) -> None:
        """Unpickle."""
        self.__dict__.update(self.from_bytes(*state).__dict__)


def _rules_of_tables(rules: Rules | Sequence[Rules], num_tables: int | None) -> list[Rules]:
    choices = [rules] if isinstance(rules, Rules) else list(rules) if isinstance(rules, Sequence) else []
    if not choices or not all(isinstance(choice, Rules) for choice in choices):
        raise ValueError(f"rules= takes Rules, or a sequence of at least one of them, not {rules!r}")
    if num_tables is None:
        num_tables = 4096 if isinstance(rules, Rules) else len(choices)
    if isinstance(num_tables, bool) or not isinstance(num_tables, int | np.integer) or num_tables < 1:
        raise ValueError(f"num_tables={num_tables!r} is not allowed: it must be a whole number of at least 1")
    return [choices[place % len(choices)] for place in range(int(num_tables))]


def _checked_threads(num_threads: int) -> int:
    if isinstance(num_threads, bool) or not isinstance(num_threads, int | np.integer) or num_threads < 0:
        raise ValueError(
            f"num_threads={num_threads!r} is not allowed: it must be a whole number, 0 = one for each core"
        )
    return int(num_threads) or os.cpu_count() or 1
