"""Where points come from: a watcher of hands that notes every taking, and what seats lost by it, added up.

A *taking* is what one seat takes with one trick: the cards of the trick itself, the pile set aside before it (R16) and,
where it is handed over then, the kitty (R18), whose cards only the score reveals to the players. A watcher sits outside
the game and may look at everything. It knows no rule: it copies a table before a step that ends a trick or settles a
moon, lets the engine take that step, and compares.

What seats took, less what moons changed (R21), are exactly the score changes; a test adds it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import Match
from chearts_env.cards import (
    BLACK_MARIA,
    FIRST_HEART,
    NUM_CARDS,
    NUM_FACES,
    NUM_SUITS,
    POINTS_IN_ALL,
    POINTS_PER_BLACK_MARIA,
    POINTS_PER_HEART,
)
from chearts_env.compiled import kernel
from chearts_env.engine import led_suit, step_table
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import MOON, NOBODY, OVER, PLAY
from chearts_env.vector import VectorTables

#: The most tricks of a hand: 17, with 6 seats.
MOST_TRICKS: Final = 17
SOURCES: Final = ("trick", "pile", "kitty")
KINDS: Final = ("hearts", "Black Marias")
MADE: Final = 0
SUFFERED: Final = 1
ATTEMPTED: Final = 0
STOPPED: Final = 1
#: A seat attempts a moon if it alone has all points taken so far, so many at least, with so many tricks to come.
ATTEMPT_POINTS: Final = 20
ATTEMPT_TRICKS: Final = 3
#: The parts that the points of a hand fall into: what was taken, and what moons changed.
SHARES: Final = ("hearts of the trick", "Black Marias of the trick", "from the pile", "from the kitty")
PARTS_OF_MOONS: Final = ("moons made", "moons suffered")

_POINTS_OF_KINDS: Final = np.array([POINTS_PER_HEART, POINTS_PER_BLACK_MARIA])
_TRICK: Final = SOURCES.index("trick")
_PILE: Final = SOURCES.index("pile")
_KITTY: Final = SOURCES.index("kitty")

#: One trick: the seat that took something with it, NOBODY if none did; the suit led; point cards by source and kind.
TAKING: Final = np.dtype((np.record, [("taker", "i1"), ("led", "i1"), ("cards", "i1", (len(SOURCES), len(KINDS)))]))


@dataclass(frozen=True)
class Losses:
    """What some seats lost in `hands` hands, and where; sums of points, which add up over matches.

    `taken.sum() + settled.sum() == score_changes`, to the point.
    """

    hands: int
    taken: npt.NDArray[np.int64]  # (17, 3, 2, 4) points taken, by trick number, source, kind of card and suit led
    settled: npt.NDArray[np.int64]  # (2,) what moons changed in these seats' scores: those MADE, those SUFFERED
    moons: npt.NDArray[np.int64]  # (2,) hands in which the seat MADE a moon, and in which it SUFFERED another's
    attempts: npt.NDArray[np.int64]  # (2,) hands in which it ATTEMPTED a moon, and in which it STOPPED another's
    score_changes: int  # points of the hands, as they were scored
    untaken: npt.NDArray[np.int64]  # (3, 2) points that nobody took at these seats' tables, by source and kind

    def __add__(self, other: Losses) -> Losses:
        """Return both together."""
        return Losses(
            self.hands + other.hands,
            self.taken + other.taken,
            self.settled + other.settled,
            self.moons + other.moons,
            self.attempts + other.attempts,
            self.score_changes + other.score_changes,
            self.untaken + other.untaken,
        )

    def by_trick(self) -> npt.NDArray[np.float64]:
        """Return points taken per hand, by share (`SHARES`) and trick number, (4, 17)."""
        by_source = self.taken.sum(axis=3) / max(self.hands, 1)  # (17, 3, 2)
        trick, pile, kitty = by_source[:, _TRICK], by_source[:, _PILE], by_source[:, _KITTY]
        return np.stack([trick[:, 0], trick[:, 1], pile.sum(axis=1), kitty.sum(axis=1)])

    def parts(self) -> dict[str, float]:
        """Return points per hand by share and by what moons changed; together they are the points per hand."""
        shares = dict(zip(SHARES, self.by_trick().sum(axis=1).tolist(), strict=True))
        settled = (self.settled / max(self.hands, 1)).tolist()
        return shares | dict(zip(PARTS_OF_MOONS, settled, strict=True))


class LossWatch:
    """Watches the T tables of one call of `play_seated`, single hands, from their deal to their end.

    Afterwards `takings` (T, 17) of dtype TAKING, by trick number, tells what every seat took; `untaken` (T, 3, 2) the
    point cards that nobody took, by source and kind; `points` (T, 11) the score changes by seat.
    """

    def __init__(self) -> None:
        self._begin(0)

    def _begin(self, num_tables: int) -> None:
        self.takings = np.zeros((num_tables, MOST_TRICKS), TAKING)
        self.takings["taker"] = NOBODY
        self.untaken = np.zeros((num_tables, len(SOURCES), len(KINDS)), np.int64)
        self.points = np.zeros((num_tables, MAX_PLAYERS), np.int64)

    def before_step(self, tables: VectorTables, actions: npt.NDArray[Any], playing: npt.NDArray[np.bool_]) -> None:
        """Take the steps of the tables that end a trick or settle a moon on a copy, and note what they bring."""
        if not len(self.takings):
            self._begin(len(tables))
        records = tables._tables  # no seat may see these: a watcher is no seat
        _note_steps(records, actions, playing, records[:1].copy(), self.takings, self.untaken, self.points)

    def after_step(self, tables: VectorTables, playing: npt.NDArray[np.bool_]) -> None:
        """Nothing: all is known before."""

    def losses(self, seats: npt.NDArray[np.bool_]) -> Losses:
        """Return what the seats that `seats`, (T, n), picks lost, one hand for each; n is the number of players."""
        rows, tricks = np.nonzero(self.takings["taker"] != NOBODY)
        takings = self.takings[rows, tricks]
        ours = seats[rows, takings["taker"]]
        rows, tricks, takings = rows[ours], tricks[ours], takings[ours]
        cards = np.zeros((MOST_TRICKS, NUM_SUITS, len(SOURCES), len(KINDS)), np.int64)
        np.add.at(cards, (tricks, takings["led"]), takings["cards"])

        points = self.points[:, : seats.shape[1]]
        taken = self.points_taken()[:, : seats.shape[1]]
        is_shooter = taken == POINTS_IN_ALL
        by_seat = np.stack([is_shooter, is_shooter.any(axis=1, keepdims=True) & ~is_shooter]) & seats
        return Losses(
            hands=int(seats.sum()),
            taken=(cards * _POINTS_OF_KINDS).transpose(0, 2, 3, 1),
            settled=(by_seat * (points - taken)).sum(axis=(1, 2)),
            moons=by_seat.sum(axis=(1, 2)),
            attempts=(self._attempts(seats.shape[1]) & seats).sum(axis=(1, 2)),
            score_changes=int(points[seats].sum()),
            untaken=(self.untaken * seats.sum(axis=1)[:, None, None]).sum(axis=0) * _POINTS_OF_KINDS,
        )

    def _attempts(self, num_players: int) -> npt.NDArray[np.bool_]:
        """Return which seats attempted a moon, and which stopped one by taking the first point after, (2, T, n)."""
        rows, tricks = np.nonzero(self.takings["taker"] != NOBODY)
        takings = self.takings[rows, tricks]
        by_trick = np.zeros((len(self.takings), MOST_TRICKS, num_players), np.int64)
        # The kitty's cards are not counted: nobody sees them.
        seen = takings["cards"][:, [_TRICK, _PILE]].sum(axis=1) @ _POINTS_OF_KINDS
        np.add.at(by_trick, (rows, tricks, takings["taker"]), seen)
        so_far = by_trick.cumsum(axis=1)
        last = NUM_CARDS // num_players - ATTEMPT_TRICKS
        alone = (so_far > 0) & (so_far == so_far.sum(axis=2, keepdims=True)) & (so_far >= ATTEMPT_POINTS)
        attempted = alone[:, :last].any(axis=1)
        found = np.zeros((2, *attempted.shape), np.bool_)
        found[ATTEMPTED] = attempted
        for row in np.flatnonzero(attempted.any(axis=1)):
            first = int(alone[row].any(axis=1).argmax())
            others = by_trick[row, first + 1 :].copy()
            others[:, attempted[row].argmax()] = 0
            if others.any():
                trick = int(others.any(axis=1).argmax())
                found[STOPPED, row, others[trick].argmax()] = True
        return found

    def points_taken(self) -> npt.NDArray[np.int64]:
        """Return the points each seat took, (T, 11), moons not settled."""
        taken = np.zeros((len(self.takings), MAX_PLAYERS + 1), np.int64)  # the last column is nobody's
        worths = (self.takings["cards"].sum(axis=2) * _POINTS_OF_KINDS).sum(axis=2)
        np.add.at(taken, (np.arange(len(taken))[:, None], self.takings["taker"]), worths)
        return taken[:, :-1]


def losses_of_match(watch: LossWatch, match: Match) -> tuple[Losses, Losses]:
    """Return what challenger and field lost in the same seats on the same deals, those of `match.saved`.

    `watch` has watched the `play_deals` (`chearts_env.arena`) that brought this match, or part of a match.
    """
    num_players = match.rules.num_players
    is_lone = np.tile(np.eye(num_players + 1, num_players, dtype=np.bool_), (match.num_deals, 1))
    is_alone = np.zeros_like(is_lone)
    is_alone[num_players :: num_players + 1] = True  # the last table of each deal
    lone, alone = watch.losses(is_lone), watch.losses(is_alone)
    return (alone, lone) if match.swapped else (lone, alone)


@kernel
def _note_steps(tables: Any, actions: Any, playing: Any, room: Any, takings: Any, untaken: Any, points: Any) -> None:
    # `room` is one table to look ahead in.
    for row in range(tables.shape[0]):
        public = tables[row].public
        ends_trick = public.phase == PLAY and public.trick_size == tables[row].options.num_players - 1
        if not playing[row] or not (ends_trick or public.phase == MOON):
            continue
        room[0] = tables[row]
        step_table(room[0], actions[row])
        if ends_trick:
            _note_trick(tables[row], room[0], actions[row], takings[row, public.board.trick_number])
        if room[0].public.phase == OVER:
            _note_end(room[0], untaken[row], points[row])


@kernel
def _note_trick(before: Any, after: Any, last_face: int, taking: Any) -> None:
    """Note what the trick that a card completed brought the seat that took it, if one did."""
    takes_kitty = after.public.kitty_taker != before.public.kitty_taker
    is_won = True  # and with the trick all that was set aside (R16)
    for face in range(NUM_FACES):
        is_won = is_won and after.public.board.pile[face] == 0
    if not is_won and not takes_kitty:
        return
    taking.taker = after.public.last_winner
    taking.led = led_suit(before.public)
    for face in range(BLACK_MARIA, NUM_FACES):
        kind = 0 if face >= FIRST_HEART else 1
        if kind == 0 or face == BLACK_MARIA:
            if is_won:
                taking.cards[_TRICK, kind] += before.public.board.trick[face] + (face == last_face)
                taking.cards[_PILE, kind] += before.public.board.pile[face]
            if takes_kitty:  # at the end of a hand perhaps for an earlier trick (`kitty_to`)
                taking.cards[_KITTY, kind] += after.hidden.kitty[face]


@kernel
def _note_end(table: Any, untaken: Any, points: Any) -> None:
    """Note the score changes of a hand that is over, and the point cards that nobody took."""
    for seat in range(table.options.num_players):
        points[seat] = table.public.score_changes[seat]
    for face in range(BLACK_MARIA, NUM_FACES):
        kind = 0 if face >= FIRST_HEART else 1
        if kind == 0 or face == BLACK_MARIA:
            untaken[_PILE, kind] += table.public.board.pile[face]
            if table.public.kitty_taker == NOBODY:
                untaken[_KITTY, kind] += table.hidden.kitty[face]
