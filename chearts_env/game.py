"""`Game`: one table for people, tests and search. It holds no rule; the kernels of `engine.py` do.

A game keeps what a table does not: the sheet of all hands scored so far.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from chearts_env import knowledge
from chearts_env.cards import NUM_FACES, counts_of_faces, face_to_text
from chearts_env.compiled import kernel
from chearts_env.deal import begin_episode, checked_seed
from chearts_env.engine import GOES_ON, is_legal, points_taken, step_table, write_mask
from chearts_env.given_deal import set_table
from chearts_env.observation import OBSERVATION, Knowledge, Observation, encode
from chearts_env.rules import Rules
from chearts_env.state import damage_refused, pack, read_array, unpack
from chearts_env.table import ADD_MOON, MASK, NOBODY, NUM_ACTIONS, OVER, PHASES, SUBTRACT_MOON, TABLE, new_tables

Episode = Literal["game", "hand"]
EPISODES: Final = ("game", "hand")
Phase = Literal["pass", "play", "moon", "over"]

_ILLEGAL: Final = -1


class IllegalActionError(ValueError):
    """An action that the seat to move may not take; the game is as it was before."""


def action_to_text(action: int) -> str:
    """Return an action as a card such as `QS`, or `subtract` and `add` for the two ways to settle a moon (R21)."""
    if action == SUBTRACT_MOON:
        return "subtract"
    return "add" if action == ADD_MOON else face_to_text(action)


def checked_episode(episode: str) -> bool:
    """Return whether an episode is a single hand; raises ValueError for an unknown kind."""
    if episode not in EPISODES:
        raise ValueError(f"episode={episode!r} is not allowed: it must be one of {', '.join(map(repr, EPISODES))}")
    return episode == "hand"


def checked_rules(rules: Rules | None) -> Rules:
    """Return rules, the default ones for None; raises ValueError for anything else."""
    if rules is None:
        return Rules()
    if not isinstance(rules, Rules):
        raise ValueError(f"rules={rules!r} is not allowed: it must be Rules")
    return rules


@kernel
def _begin(tables: Any, seed: np.uint64) -> None:
    begin_episode(tables[0], seed)


@kernel
def _try_step(tables: Any, action: int) -> int:
    if not is_legal(tables[0], action):
        return _ILLEGAL
    return step_table(tables[0], action)


@kernel
def _write_mask(tables: Any, masks: Any) -> None:
    public = tables[0].public
    write_mask(tables[0].options, public, tables[0].private[max(public.mover, 0)], masks[0])


@kernel
def _encode(tables: Any, seat: int, seen: Any) -> None:
    encode(tables[0].options, tables[0].public, tables[0].private[seat], seat, seen[0])


@kernel
def _points_taken(tables: Any, seat: int) -> int:
    return points_taken(tables[0], seat)


class Game:
    """One game from the first deal to the target score, or a single hand with `episode="hand"`.

    Same rules, seed and actions give the same game, bit for bit. A seed is a whole number 0 … 2**64 - 1; None draws
    one. Everything returned is a copy: nothing done to it changes the game.
    """

    def __init__(self, rules: Rules | None = None, seed: int | None = None, *, episode: Episode = "game") -> None:
        """Shuffle and deal the first hand."""
        self.rules = checked_rules(rules)
        self._adopt(new_tables([self.rules], checked_episode(episode)), [])
        _begin(self._tables, np.uint64(checked_seed(seed)))

    @classmethod
    def from_hands(
        cls,
        rules: Rules | None = None,
        hands: Sequence[Any] | npt.NDArray[Any] = (),
        kitty: Any = None,
        dealer: int = 0,
        hand_number: int = 0,
        scores: Sequence[int] | None = None,
        seed: int | None = 0,
        *,
        episode: Episode = "game",
    ) -> Self:
        """Begin at a given deal, before the pass.

        `hands` holds one hand a seat, `kitty` the cards left over (None: whatever remains); each as text (`"QS QS 2C"`)
        or as 52 counts. `hand_number` from 0 decides the pass (R8); `scores`, in points, are those before this hand;
        `seed` decides the later deals. Raises ValueError for a deal that cannot be, naming seat and card.
        """
        rules = checked_rules(rules)
        single_hand = checked_episode(episode)
        tables = new_tables([rules], single_hand)
        set_table(tables, rules, hands, kitty, dealer, hand_number, scores, checked_seed(seed))
        return cls._of_tables(rules, tables, [])

    @classmethod
    def from_observation(cls, observation: npt.NDArray[Any] | Knowledge, rng: np.random.Generator) -> Self:
        """Return a full game that the seat which sees this observation cannot rule out; it sits in seat 0.

        `observation` is a vector, (O,) of any dtype, or what `decode` made of one.
        Its target score is 100, so that scores are the percents shown; the score sheet is empty. See `redeal`.
        """
        rules, tables = knowledge.redeal_observation(observation, rng)
        return cls._of_tables(rules, tables, [])

    @classmethod
    def _of_tables(cls, rules: Rules, tables: npt.NDArray[np.record], sheet: list[npt.NDArray[np.int64]]) -> Self:
        game = cls.__new__(cls)
        game.rules = rules
        game._adopt(tables, sheet)
        return game

    def _adopt(self, tables: npt.NDArray[np.record], sheet: list[npt.NDArray[np.int64]]) -> None:
        self._tables = tables
        self._public = tables["public"][0]  # a view, like the next two
        self._board = self._public["board"]
        self._private = tables["private"][0]
        self._sheet = sheet

    # Where the game stands

    @property
    def phase(self) -> Phase:
        """`"pass"`, `"play"`, `"moon"` (a seat settles the moon it shot, R21) or `"over"`."""
        return PHASES[self._public["phase"]]

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, by R23 or by the cap of R25."""
        return bool(self._public["phase"] == OVER)

    @property
    def is_truncated(self) -> bool:
        """Whether it was `max_hands` that ended it (R25)."""
        return bool(self._public["is_truncated"])

    @property
    def mover(self) -> int | None:
        """Seat to act, None when over."""
        mover = int(self._public["mover"])
        return None if mover == NOBODY else mover

    @property
    def num_players(self) -> int:
        """Seats at the table."""
        return self.rules.num_players

    @property
    def episode(self) -> Episode:
        """`"game"` or `"hand"`."""
        return "hand" if self._tables["options"]["single_hand"][0] else "game"

    @property
    def seed(self) -> int:
        """The seed that this game was dealt from."""
        return int(self._tables["hidden"]["seed"][0])

    @property
    def leader(self) -> int:
        """Seat that leads the current trick; before the first trick, the seat that will."""
        return int(self._public["leader"])

    @property
    def dealer(self) -> int:
        """Seat that dealt this hand."""
        return int(self._public["dealer"])

    @property
    def hand_number(self) -> int:
        """Number of this hand, from 0; in a single hand, the place in `pass_cycle` it was given."""
        return int(self._public["hand_number"])

    @property
    def trick_number(self) -> int:
        """Tricks completed in this hand."""
        return int(self._board["trick_number"])

    @property
    def hearts_broken(self) -> bool:
        """Whether hearts are broken (R12)."""
        return bool(self._board["hearts_broken"])

    @property
    def pass_offset(self) -> int:
        """Seat offset of this hand's pass, 0 = no pass (R8)."""
        return int(self._board["pass_offset"])

    @property
    def trick(self) -> list[tuple[int, int]]:
        """The current trick as (seat, face), in the order played."""
        seats, leader = self._public["seats"], self.leader
        order = [(leader + place) % self.num_players for place in range(int(self._public["trick_size"]))]
        return [(seat, int(seats["trick_card"][seat]) - 1) for seat in order]

    @property
    def pile(self) -> npt.NDArray[np.int8]:
        """Cards set aside (R16), (52,) int8 counts."""
        return self._board["pile"].copy()  # type: ignore[no-any-return]

    @property
    def kitty(self) -> npt.NDArray[np.int8]:
        """The kitty (R5), (52,) int8 counts; no seat may know them but by `kitty_view`."""
        return self._tables["hidden"]["kitty"][0].copy()  # type: ignore[no-any-return]

    @property
    def kitty_taker(self) -> int | None:
        """Seat that took the kitty in this hand (R18), None if none has."""
        taker = int(self._public["kitty_taker"])
        return None if taker == NOBODY else taker

    def hand(self, seat: int) -> npt.NDArray[np.int8]:
        """Return the cards in a seat's hand, (52,) int8 counts; cards it has chosen to give have left it."""
        return self._private["hand"][self._checked_seat(seat)].copy()  # type: ignore[no-any-return]

    def played(self, seat: int) -> npt.NDArray[np.int8]:
        """Return the cards a seat has played in this hand, (52,) int8 counts, the current trick included."""
        return self._public["seats"]["played"][self._checked_seat(seat)].copy()  # type: ignore[no-any-return]

    def given(self, seat: int) -> npt.NDArray[np.int8]:
        """Return the cards a seat has chosen to give away in this hand, (52,) int8 counts."""
        cards = self._private["given"][self._checked_seat(seat)]
        return counts_of_faces(int(card) - 1 for card in cards if card)

    # Points

    @property
    def scores(self) -> npt.NDArray[np.int64]:
        """Scores after the last scored hand, (n,) points."""
        return self._public["scores"][: self.num_players].copy()  # type: ignore[no-any-return]

    @property
    def score_sheet(self) -> npt.NDArray[np.int64]:
        """Score changes of each hand scored in this game, (hands, n) points."""
        return np.array(self._sheet, np.int64).reshape(len(self._sheet), self.num_players)

    @property
    def points_seen(self) -> npt.NDArray[np.int8]:
        """Points each seat has taken face up in this hand, (n,); those of a kitty are not among them (R18)."""
        return self._public["seats"]["points_seen"][: self.num_players].copy()  # type: ignore[no-any-return]

    @property
    def points_taken(self) -> npt.NDArray[np.int64]:
        """Points each seat has taken in this hand, (n,), those of a kitty included, which nobody may know yet."""
        return np.array([_points_taken(self._tables, seat) for seat in range(self.num_players)], np.int64)

    @property
    def winners(self) -> list[int]:
        """Seats with the lowest score once the game is over (R24); empty before."""
        if not self.is_over:
            return []
        scores = self.scores
        return [int(seat) for seat in np.flatnonzero(scores == scores.min())]

    # Acting

    def action_mask(self) -> npt.NDArray[np.int8]:
        """Return the mover's legal actions as 0 and 1, (54,) int8; all 1 once the game is over."""
        mask = np.empty(1, MASK)
        _write_mask(self._tables, mask)
        return mask.view(np.int8)

    def legal_actions(self) -> list[int]:
        """Return the mover's legal actions in ascending order; none once the game is over."""
        if self.is_over:
            return []
        return [int(action) for action in np.flatnonzero(self.action_mask())]

    def step(self, action: int) -> None:
        """Give or play one copy of a face (0 … 51), or settle a moon (52 subtract, 53 add).

        After the last card of a hand the hand is scored and, unless the game ends, the next one dealt. Raises
        IllegalActionError for an action that is not legal, and changes nothing.
        """
        self.act(action)

    def act(self, action: int) -> int:
        """Do what `step` does, and return the engine's word on it: GOES_ON, HAND_SCORED, TERMINATED or TRUNCATED."""
        try:
            if isinstance(action, bool | np.bool_):
                raise TypeError
            number = operator.index(action)
        except TypeError:
            raise IllegalActionError(f"action {action!r} of seat {self.mover} is not a whole number") from None
        status = _try_step(self._tables, number) if 0 <= number < NUM_ACTIONS else _ILLEGAL
        if status == _ILLEGAL:
            raise IllegalActionError(self._why_illegal(number))
        if status != GOES_ON:
            self._sheet.append(self._public["score_changes"][: self.num_players].copy())
        return status

    def _why_illegal(self, action: int) -> str:
        if self.is_over:
            return f"action {action}: the game is over"
        if 0 <= action < NUM_ACTIONS:
            verb = {"pass": "give", "play": "play", "moon": "settle its moon with"}[self.phase]
            wrong = f"seat {self.mover} may not {verb} {action_to_text(action)}"
            held = "" if action >= NUM_FACES or self.hand(self._mover())[action] else ", which it does not hold"
            wrong += held if self.phase != "moon" else ""
        else:
            wrong = f"action {action} of seat {self.mover} is out of range 0 … {NUM_ACTIONS - 1}"
        return f"{wrong}; legal: {' '.join(action_to_text(legal) for legal in self.legal_actions())}"

    def _mover(self) -> int:
        return int(self._public["mover"])

    def _checked_seat(self, seat: int) -> int:
        number = operator.index(seat)
        if not 0 <= number < self.num_players:
            raise ValueError(f"seat {seat} is out of range: this table has seats 0 … {self.num_players - 1}")
        return number

    # Seeing

    def observation(self, seat: int) -> Observation:
        """Return what a seat sees, (O,) int8; `chearts_env.observation.describe()` gives the layout."""
        seen = np.empty(1, OBSERVATION)
        _encode(self._tables, self._checked_seat(seat), seen)
        return seen.view(np.int8)

    def redeal(self, seat: int, rng: np.random.Generator) -> Self:
        """Return a new game in which all that a seat cannot know is drawn again.

        Every way in which the unseen physical cards may lie is equally likely; so a world counts double for each face
        whose two unseen copies lie apart. Its past stays as it was seen, its future deals are drawn from `rng` too. See
        `chearts_env.knowledge`.
        """
        tables = knowledge.redeal(self._tables, self._checked_seat(seat), rng)
        return self._of_tables(self.rules, tables, list(self._sheet))

    # Keeping

    def copy(self) -> Self:
        """Return an independent game that goes on identically."""
        return self._of_tables(self.rules, self._tables.copy(), list(self._sheet))

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return an independent game that goes on identically."""
        return self.copy()

    def to_bytes(self) -> bytes:
        """Return the whole state; `Game.from_bytes` goes on from it identically."""
        header = {"rules": self.rules.to_dict(), "hands": len(self._sheet)}
        return pack("Game", header, [self._tables, self.score_sheet])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a state back; raises StateError if it is damaged or of another version."""
        header, parts = unpack("Game", data)
        with damage_refused("Game"):
            table, sheet = parts
            rules = Rules.from_dict(header["rules"])
            changes = read_array(sheet, np.int64, (header["hands"], rules.num_players))
            return cls._of_tables(rules, read_array(table, TABLE, (1,)), list(changes))

    def __getstate__(self) -> bytes:
        """Pickle as `to_bytes`, so that an incompatible version refuses it in the same words."""
        return self.to_bytes()

    def __setstate__(self, state: bytes) -> None:
        """Unpickle."""
        other = self.from_bytes(state)
        self.rules = other.rules
        self._adopt(other._tables, other._sheet)

    def __repr__(self) -> str:
        """Say where the game stands, without a hidden card."""
        where = f"hand {self.hand_number}, trick {self.trick_number}, {self.phase}, mover {self.mover}"
        return f"<Game of {self.num_players}: {where}, scores {self.scores.tolist()}>"
