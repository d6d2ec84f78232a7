"""Records made while playing: of a `Game`, of the PettingZoo environment, of `VectorTables` and of matches.

Each recorder calls `write` with every hand that is scored; that may be a `RecordWriter`'s, or a list's `append`. A hand
that was begun before the recorder, or never ended, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pettingzoo.utils import BaseWrapper

from chearts_env.cards import counts_to_text
from chearts_env.game import Game
from chearts_env.policy import ValuingPolicy
from chearts_env.record_format import HandRecord
from chearts_env.vector import VectorTables

Write = Callable[[HandRecord], object]
Values = Mapping[int, float]

#: Digits behind the point of the values that a file keeps.
_DIGITS: Final = 3


class GameRecorder:
    """Records the hands of games, one game after the other: use `step` in place of the game's own."""

    def __init__(self, write: Write, players: Sequence[str] | None = None) -> None:
        """`players` are the names by seat."""
        self._write = write
        self._players = tuple(players) if players is not None else None
        self._deal: dict[str, Any] | None = None
        self._num_scored = 0
        self._seed: int | None = None  # of the game, once its first hand was seen dealt
        self._moves: list[tuple[int, int]] = []
        self._values: list[Values | None] = []
        self._before: Game | None = None

    def step(self, game: Game, action: int, values: Values | None = None) -> None:
        """Take an action, as `game.step` does; `values` are what the policy held the actions to be worth, points.

        Raises ValueError for a value that is no finite number or of an action that is not allowed, and nothing has
        changed.
        """
        for each, value in (values or {}).items():
            if not math.isfinite(value):
                raise ValueError(f"the value of action {each} is {value}: it must be finite; leave illegal actions out")
        wrong = set(values or ()) - set(game.legal_actions())
        if wrong:
            raise ValueError(f"action {min(wrong)} has a value and is not allowed")
        self.before(game)
        seat = game.mover
        game.step(action)
        assert seat is not None
        self.after(game, seat, int(action), values)

    def before(self, game: Game) -> None:
        """Look at a game before an action is taken, by whoever takes it."""
        if game is not self._before or not self._moves:
            self._seed = _seed_of(game, self._seed if game is self._before else None)
            self._before = game
            self._moves, self._values = [], []
            self._num_scored = len(game.score_sheet)
            self._deal = _deal_of(game, self._seed) if _is_fresh(game) else None

    def after(self, game: Game, seat: int, action: int, values: Values | None = None) -> None:
        """Note the action that a seat has taken since `before`."""
        self._moves.append((seat, action))
        self._values.append(None if values is None else dict(values))
        sheet = game.score_sheet
        if len(sheet) == self._num_scored:
            return
        deal, moves, thoughts = self._deal, tuple(self._moves), tuple(self._values)
        self._moves, self._values = [], []  # first: a `write` that fails must not spoil the next hand
        if deal is not None:
            has_values = any(each is not None for each in thoughts)
            self._write(
                HandRecord(
                    **deal, moves=moves, score_changes=tuple(sheet[-1].tolist()), players=self._players,
                    values=thoughts if has_values else None,
                )
            )  # fmt: skip


def _is_fresh(game: Game) -> bool:
    """Say whether a hand has just been dealt; after the pass (R8) all seats hold as many cards again."""
    held = sum(int(game.hand(seat).sum()) for seat in range(game.num_players))
    is_before_play = game.phase == "pass" or not game.pass_offset
    return not game.is_over and is_before_play and held == game.num_players * game.rules.hand_size


def _deal_of(game: Game, seed: int | None) -> dict[str, Any]:
    """Return what a record says of a deal."""
    return {
        "rules": game.rules,
        "episode": game.episode,
        "seed": seed,
        "hand_number": game.hand_number,
        "dealer": game.dealer,
        "hands": tuple(counts_to_text(game.hand(seat)) for seat in range(game.num_players)),
        "kitty": counts_to_text(game.kitty),
        "scores": tuple(game.scores.tolist()),
    }


def _seed_of(game: Game, known: int | None) -> int | None:
    """Return the seed of a game, None if its cards are others; `known` is what it was at an earlier hand."""
    if game.episode == "game" and (game.hand_number or not _is_fresh(game)):
        return known
    dealt = Game(game.rules, game.seed, episode=game.episode)
    hands_agree = all((dealt.hand(seat) == game.hand(seat)).all() for seat in range(game.num_players))
    return game.seed if hands_agree and (dealt.dealer, dealt.hand_number) == (game.dealer, game.hand_number) else None


class RecordedEnv(BaseWrapper[str, Any, Any]):
    """The PettingZoo environment, recorded: `RecordedEnv(cancellation_hearts_v0.env(), writer.write)`."""

    def __init__(self, env: Any, write: Write, players: Sequence[str] | None = None) -> None:
        """Wrap an environment; `players` are the names by seat."""
        super().__init__(env)
        self._recorder = GameRecorder(write, players)

    def step(self, action: Any) -> None:
        """Act for `agent_selection`."""
        raw = self.env.unwrapped
        game, agent = raw.game, raw.agent_selection
        takes_part = not (raw.terminations.get(agent, True) or raw.truncations.get(agent, True))
        is_action = isinstance(action, int | np.integer) and not isinstance(action, bool)
        is_legal = takes_part and is_action and int(action) in game.legal_actions()
        if is_legal:
            seat = game.mover
            self._recorder.before(game)
        super().step(action)
        if is_legal:
            self._recorder.after(game, seat, int(action))


@dataclass(frozen=True)
class _Step:
    """What was done at all tables together."""

    movers: npt.NDArray[np.int8]  # (B,)
    actions: npt.NDArray[np.int64]  # (B,)
    values: npt.NDArray[np.float32] | None  # (B, 54) points, minus infinity where there are none


class TablesRecorder:
    """Records the hands of `VectorTables`: call `before_step` and `after_step` around every step.

    It is a `Watch`, so that a match can be recorded: `play_match(..., watch=TablesRecorder(writer.write))`.
    """

    def __init__(
        self,
        write: Write,
        players: Sequence[Sequence[str]] | None = None,
        values_by: ValuingPolicy | None = None,
    ) -> None:
        """`players` are the names by table and seat; what `values_by` holds legal actions to be worth is noted too."""
        self._write = write
        self._players = players
        self._values_by = values_by
        self._tables: VectorTables | None = None
        self._dealt: int | None = None
        self._steps: list[_Step] = []
        self._first = 0  # number of the step that stands first in the list

    def before_step(
        self, tables: VectorTables, actions: npt.NDArray[Any], playing: npt.NDArray[np.bool_] | None = None
    ) -> None:
        """See the tables before `actions`, (B,), are taken; rows that `playing`, (B,), leaves out do not count."""
        if tables is not self._tables or tables._num_deals != self._dealt:  # other tables, or all of them dealt anew
            self._tables, self._dealt = tables, tables._num_deals
            self._steps, self._first = [], 0
            self._deals = [_deal_at(tables, row, None) for row in range(len(tables))]
            self._begun = np.zeros(len(tables), np.int64)
            self._numbers = tables._tables["public"]["hand_number"].copy()
        # Kept aside: the step may be refused.
        self._step = _Step(tables.movers.copy(), np.asarray(actions, np.int64).copy(), self._values(tables, playing))

    def after_step(self, tables: VectorTables, playing: npt.NDArray[np.bool_] | None = None) -> None:
        """See the tables after the same step."""
        self._steps.append(self._step)
        numbers = tables._tables["public"]["hand_number"]
        ended = tables.terminations | tables.truncations
        for row in np.flatnonzero(ended | (numbers != self._numbers)):
            deal = self._deals[row]
            if deal is not None and (playing is None or playing[row]):
                self._write(self._record(tables, int(row), bool(ended[row]), deal))
            self._deals[row] = _deal_at(tables, int(row), deal["seed"] if deal is not None and not ended[row] else None)
            self._begun[row] = self._first + len(self._steps)
            self._numbers[row] = numbers[row]
        done = int(self._begun.min()) - self._first
        if done > 256:
            self._steps, self._first = self._steps[done:], self._first + done

    def _values(self, tables: VectorTables, playing: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.float32] | None:
        """Return what actions are worth where there is a choice, (B, 54) points, minus infinity elsewhere."""
        if self._values_by is None:
            return None
        has_choice = tables.action_masks.sum(axis=1) > 1
        rows = np.flatnonzero(has_choice if playing is None else has_choice & playing)
        values = np.full(tables.action_masks.shape, -np.inf, np.float32)
        if len(rows):
            values[rows] = self._values_by.points(tables.observations[rows], tables.action_masks[rows])
        return values

    def _record(self, tables: VectorTables, row: int, is_over: bool, deal: dict[str, Any]) -> HandRecord:
        n = len(deal["scores"])
        after = tables.final_scores[row] if is_over else tables._tables["public"]["scores"][row]
        steps = self._steps[int(self._begun[row]) - self._first :]

        def step_values(step: _Step) -> Values | None:
            assert step.values is not None
            known = np.flatnonzero(np.isfinite(step.values[row]))
            return {int(each): round(float(step.values[row, each]), _DIGITS) for each in known} if len(known) else None

        return HandRecord(
            **deal,
            moves=tuple((int(step.movers[row]), int(step.actions[row])) for step in steps),
            score_changes=tuple(int(after[seat]) - deal["scores"][seat] for seat in range(n)),
            players=tuple(self._players[row][:n]) if self._players is not None else None,
            values=tuple(map(step_values, steps)) if self._values_by is not None else None,
        )


def _deal_at(tables: VectorTables, row: int, seed: int | None) -> dict[str, Any] | None:
    """Return the deal of a table at which a hand has just been dealt, None at others; `seed` as in `_seed_of`."""
    game = tables.game(row)
    return _deal_of(game, _seed_of(game, seed)) if _is_fresh(game) else None
