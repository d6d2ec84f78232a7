"""A person at a table with policies: whose turn it is, what the others do, what may be seen, and the record of it all.

Knows nothing of screens; `play` shows it in a terminal. What is to be shown is a `View`, made of what the person's seat
is told, so that nothing drawn from it can show a hidden card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from chearts_env.cards import POINTS_IN_ALL, cancelled_faces, face_to_text
from chearts_env.compiled import kernel
from chearts_env.engine import step_table
from chearts_env.game import Game, action_to_text
from chearts_env.observation import Knowledge, decode
from chearts_env.play_hints import Adviser, hint_lines
from chearts_env.policy import chosen_actions, next_keys, sub_keys
from chearts_env.record_format import HandRecord
from chearts_env.recording import GameRecorder
from chearts_env.rules import Rules

_PLAYER_STREAM: Final = 23
_HINT_STREAM: Final = 24
_TRIAL_STREAM: Final = 25


@dataclass(frozen=True)
class Trick:
    """A trick that is complete: (seat, face) in the order played, who took it, and the points taken, pile included."""

    cards: list[tuple[int, int]]
    taker: int | None  # None if it was set aside
    points: int


def trick_in_words(trick: Trick) -> str:
    """Return a trick as text, cancelled cards in brackets."""
    struck = cancelled_faces(trick.cards)
    texts = [f"({face_to_text(face)})" if face in struck else face_to_text(face) for _, face in trick.cards]
    cards = [f"P{seat} {text}" for (seat, _), text in zip(trick.cards, texts, strict=True)]
    return f"{'  '.join(cards)}: {outcome_in_words(trick)}"


def outcome_in_words(trick: Trick) -> str:
    """Return who took a trick, and its points."""
    return "set aside" if trick.taker is None else f"P{trick.taker} takes it, {points_in_words(trick.points)}"


def points_in_words(points: int) -> str:
    """Return a number of points with its word."""
    return f"{points} point{'' if points == 1 else 's'}"


@dataclass(frozen=True)
class Result:
    """How a hand was scored."""

    number: int  # from 1
    changes: list[int]  # (n,) points
    scores: list[int]  # (n,) points, with this hand
    moon: tuple[int, int] | None  # seat, and action by which it settled its moon
    kitty: tuple[int, int] | None  # seat that took it, and the points it held
    untaken: int  # points that nobody took
    last_trick: Trick


@dataclass(frozen=True)
class View:
    """What the person may see, seats of `knowledge` relative to it, all others as at the table."""

    knowledge: Knowledge
    seat: int
    names: list[str]
    rules: Rules
    hand_number: int  # from 1
    scores: list[int]  # (n,) points
    sheet: list[list[int]]  # (hands, n) points
    last_trick: Trick | None  # of this hand
    result: Result | None  # of a hand that has just ended
    last_result: Result | None  # of the newest hand that has ended
    winners: list[int]
    legal: list[int]  # actions, if it is the person's turn
    said: list[str]

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.winners)

    def seat_of(self, relative: int) -> int:
        """Return the seat at the table of one relative to the person."""
        return (self.seat + relative) % len(self.names)

    def name_of(self, seat: int) -> str:
        """Return a seat with its name."""
        return f"P{seat} {self.names[seat]}"


@kernel
def _step_and_stay(tables: Any, action: int) -> None:
    """Take a legal action; a hand that it ends stays as it is, instead of being followed by the next."""
    tables[0].options.single_hand = 1
    step_table(tables[0], action)


class PlayTable:
    """A game between a person in `seat` and policies, dealt out to the other seats from its left on.

    `said` holds what has happened, a line each, as far as the person may know it. Once a hand has been scored, `result`
    says how, and `view` shows the hand's end, until `go_on`, or the next action.
    """

    def __init__(
        self,
        game: Game,
        seat: int,
        opponents: Sequence[Adviser],
        *,
        adviser: Adviser | None = None,
        write: Callable[[HandRecord], object] = lambda record: None,
        person: str = "you",
    ) -> None:
        """Take seats at a game; `opponents` are names and policies, `adviser` is who gives hints.

        The policies draw from the game's seed. Raises ValueError for a seat that is not there.
        """
        n = game.num_players
        if not 0 <= seat < n:
            raise ValueError(f"seat={seat!r} is not allowed: it must be 0 … {n - 1}")
        self.game = game
        self.seat = seat
        places = [(other - seat - 1) % n % len(opponents) for other in range(n)]
        self.names = [person if other == seat else opponents[places[other]][0] for other in range(n)]
        self.adviser = adviser
        self._policies = [opponents[place][1] for place in places]
        self._recorder = GameRecorder(write, self.names)
        seed = np.array([game.seed], np.uint64)
        self._keys, self._hint_key, self._trial_keys = (
            sub_keys(seed, np.array(stream)) for stream in (_PLAYER_STREAM, _HINT_STREAM, _TRIAL_STREAM)
        )
        self._num_actions = 0
        self._ended: Game | None = None  # the hand that `result` is of
        self._last_trick: Trick | None = None
        self._last_result: Result | None = None
        self.result: Result | None = None
        self.said: list[str] = []

    @property
    def is_persons_turn(self) -> bool:
        """Whether the person has to choose."""
        return self.game.mover == self.seat

    def view(self) -> View:
        """Return what the person may see."""
        game = self.game
        is_asked = self.is_persons_turn and self.result is None
        return View(
            knowledge=decode((self._ended or game).observation(self.seat)),
            seat=self.seat,
            names=self.names,
            rules=game.rules,
            hand_number=self.result.number if self.result else len(game.score_sheet) + 1,
            scores=game.scores.tolist(),
            sheet=game.score_sheet.tolist(),
            last_trick=self._last_trick,
            result=self.result,
            last_result=self._last_result,
            winners=game.winners,
            legal=game.legal_actions() if is_asked else [],
            said=self.said,
        )

    def try_players(self) -> None:
        """Have every policy choose, and the adviser hint, without consequence: compiles what they need.

        Raises ValueError, naming the policy, for one that cannot.
        """
        seat, game = self.game.mover, self.game
        assert seat is not None, "the game is over"
        seen, mask = game.observation(seat)[None], game.action_mask()[None]
        players = {self.names[each]: policy for each, policy in enumerate(self._policies) if each != self.seat}
        for name, policy in players.items():
            chosen_actions(policy, name, seen.copy(), mask, np.array([seat]), self._trial_keys)
        if self.adviser is not None:
            hint_lines(self.adviser, seen[0], mask[0], _generator(self._trial_keys))
        trial, action = game.copy(), game.legal_actions()[0]
        _step_and_stay(trial.copy()._tables, action)
        trial.step(action)

    def step(self) -> None:
        """Have the next policy act; the game must go on, and it must not be the person's turn."""
        seat = self.game.mover
        assert seat is not None, "the game is over"
        assert seat != self.seat, "the person chooses by `choose`"
        self._keys = next_keys(self._keys)
        seen, mask = self.game.observation(seat)[None], self.game.action_mask()[None]
        chosen = chosen_actions(self._policies[seat], self.names[seat], seen, mask, np.array([seat]), self._keys)
        self.take(int(chosen[0]))

    def choose(self, action: int) -> None:
        """Act for the person; IllegalActionError for an action that is not legal, and nothing has changed."""
        assert self.is_persons_turn, "it is another seat's turn"
        self.take(action)

    def take(self, action: int) -> None:
        """Take an action for the seat to move, whoever it is; IllegalActionError as `choose`."""
        game, before = self.game, self.game.copy()
        seat, phase, trick = game.mover, game.phase, game.trick
        self._recorder.step(game, action)
        assert seat is not None
        self.go_on()
        self._num_actions += 1
        after = before.copy()
        _step_and_stay(after._tables, action)
        is_hidden = phase == "pass" and seat != self.seat
        verb = {"pass": "gives", "play": "plays", "moon": "settles the moon:"}[phase]
        self._say(f"{self._name_of(seat)}: {verb} {'a card' if is_hidden else action_to_text(action)}")
        if after.trick_number > before.trick_number:
            self._note_trick(before, after, [*trick, (seat, action)])
        if len(game.score_sheet) > len(before.score_sheet):
            self._note_result(after, (seat, action) if phase == "moon" else None)
        if game.is_over:
            self._say("The game is over; won by " + " and ".join(map(self._name_of, game.winners)))

    def go_on(self) -> None:
        """Leave the hand that has just been scored."""
        if self.result is not None and not self.game.is_over:
            self.result = self._ended = self._last_trick = None

    def _note_trick(self, before: Game, after: Game, cards: list[tuple[int, int]]) -> None:
        points = int((after.points_seen - before.points_seen).sum())
        # Who wins a trick takes the pile: what lies there now is this trick, set aside.
        is_set_aside = bool(after.pile.any())
        winner = None if is_set_aside else decode(after.observation(self.seat)).last_winner
        taker = None if winner is None else (self.seat + winner) % len(self.names)
        self._last_trick = Trick(cards, taker, points)
        if taker is None:
            self._say("The trick is set aside")
        else:
            self._say(f"{self._name_of(taker)}: takes the trick, {points_in_words(points)}")

    def _note_result(self, ended: Game, moon: tuple[int, int] | None) -> None:
        changes, taken = self.game.score_sheet[-1].tolist(), ended.points_taken  # known to all by now
        taker = ended.kitty_taker
        kitty = None if taker is None else (taker, int(taken[taker] - ended.points_seen[taker]))
        untaken = POINTS_IN_ALL - int(taken.sum())
        assert self._last_trick is not None
        self.result = self._last_result = Result(
            len(self.game.score_sheet), changes, self.game.scores.tolist(), moon, kitty, untaken, self._last_trick
        )
        self._ended = ended
        words = ", ".join(f"P{each} {points:+d}" for each, points in enumerate(changes))
        self._say(f"Hand {self.result.number} is scored: {words}")

    def _say(self, line: str) -> None:
        self.said.append(line)

    def _name_of(self, seat: int) -> str:
        return f"P{seat} {self.names[seat]}"

    def hints(self, given: Sequence[int] = ()) -> list[str]:
        """Return what the adviser thinks of the person's choices, a line each; asked again, it says the same.

        `given` are cards that the person has in mind to give away, one fewer than are needed at most.
        Raises ValueError, naming the adviser, for an answer that is none.
        """
        if self.adviser is None:
            return ["Nobody here can give hints: name a policy that can by --hints."]
        game = self.game.copy()
        for action in given:
            game.step(action)
        keys = sub_keys(self._hint_key, np.array([self._num_actions + len(given)]))
        return hint_lines(self.adviser, game.observation(self.seat), game.action_mask(), _generator(keys))


def _generator(keys: Any) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(int(keys[0])))
