"""What a seat sees: one list of fields gives the layout, the encoder's offsets, the decoder and the documentation.

The list is the record type `OBSERVATION`, which takes in the records of a table that are shown as they stand; names,
places and sizes are read off it, and `_MEANINGS` adds range and meaning to each (a missing one fails at import). A test
keeps a digest of the whole list beside the version.

An observation is a flat int8 vector of `OBSERVATION_SIZE` entries, the same for every table size and all rule options.
Seats are relative to the viewer: 0 = me, 1 = my left, and so on; rows of absent seats are zero. It begins with eleven
*seat rows* of `SEAT_ENTRIES` entries, row k about relative seat k, and goes on with what concerns the table or the
viewer alone. The encoder is given the options, the public part of a table and one seat's private part, so that it
cannot show what it never saw. The order in which earlier tricks were played is not kept, only what they showed.

`OBSERVATION_VERSION` rises when a size, a place or a meaning changes; speed alone does not raise it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_COPIES, NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.rules import CARDS_PASSED, CHOICES, MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import BOARD, MAX_KITTY, NO_CAP, NOBODY, PHASES, SEAT, SHOWN_RULES

OBSERVATION_VERSION: Final = 1
NUM_PHASES: Final = len(PHASES)
SEAT_ENTRIES: Final = SEAT.itemsize

Observation = npt.NDArray[np.int8]

#: One observation as a record; the encoder writes through it.
OBSERVATION: Final = np.dtype(
    (
        np.record,
        [
            ("seats", SEAT, (MAX_PLAYERS,)),
            ("hand", "i1", (NUM_FACES,)),
            ("given", "i1", (NUM_FACES,)),
            ("received", "i1", (NUM_FACES,)),
            ("kitty_cards", "i1", (MAX_KITTY,)),
            ("board", BOARD),
            ("rules", SHOWN_RULES),
            ("phase", "i1", (NUM_PHASES,)),
            ("mover", "i1", (MAX_PLAYERS,)),
            ("last_winner", "i1", (MAX_PLAYERS,)),
            ("hands_left", "i1"),
        ],
    )
)
OBSERVATION_SIZE: Final = OBSERVATION.itemsize


@dataclass(frozen=True)
class Field:
    """One field of the layout: `size` numbers within `low … high`, the first at `place` (in row 0 if per seat)."""

    name: str
    place: int
    size: int
    low: int
    high: int
    meaning: str
    is_per_seat: bool


_MEANINGS: Final[dict[str, tuple[int, int, str]]] = {
    "played": (0, 2, "copies of each face this seat has played in this hand, the current trick included"),
    "trick_card": (0, 52, "its card in the current trick as 1 + face; 0 = none yet"),
    "void": (0, 1, "1 = has shown to hold no more clubs, diamonds, spades, hearts (R11, R12)"),
    "only_points": (0, 1, "1 = has shown to hold nothing but point cards (R10, R11)"),
    "points_seen": (0, 52, "points it has taken face up in this hand; those of a kitty are not among them (R18)"),
    "cards_left": (0, 20, "cards in its hand"),
    "score_percent": (-127, 127, "its score in percent of the target score, rounded, cut at ±127"),
    "is_leader": (0, 1, "1 = leads the current trick (R14, R17); before the first, will lead it (R10)"),
    "is_dealer": (0, 1, "1 = dealt this hand (R6)"),
    "has_kitty": (0, 1, "1 = took the kitty (R18)"),
    "hand": (0, 2, "my cards: copies of each face"),
    "given": (0, 2, "cards I have chosen to give away in this hand (R7)"),
    "received": (0, 2, "cards I was given in this hand (R7)"),
    "kitty_cards": (0, 52, "the kitty's cards if I have seen them (R18), ascending, each as 1 + face; 0 = none"),
    "trick": (0, 2, "copies of each face on the current trick"),
    "pile": (0, 2, "copies of each face set aside (R15, R16)"),
    "trick_number": (0, 17, "tricks completed in this hand"),
    "hearts_broken": (0, 1, "1 = broken (R12)"),
    "pass_offset": (-5, 5, "seat offset of this hand's pass, 1 = to the left; 0 = none (R8)"),
    "led_suit": (0, 1, "one of: suit led to the current trick: clubs, diamonds, spades, hearts; none yet"),
    "trick_pairs": (0, 5, "identical pairs on the current trick (R13)"),
    "trick_points": (0, 52, "points on the current trick (R4)"),
    "pile_points": (0, 52, "points set aside (R16)"),
    "size": (0, 1, "one of: 6, 7, 8, 9, 10, 11 seats (R1)"),
    "kitty_size": (0, MAX_KITTY, "cards in the kitty (R5)"),
    "moon_points": (1, 127, "points a moon is worth, cut at 127 (R21)"),
    **{
        option: (0, len(allowed) - 1, "rule option: " + ", ".join(f"{i} = {word}" for i, word in enumerate(allowed)))
        for option, allowed in CHOICES.items()
    },
    "phase": (0, 1, "one of: passing, playing, choosing what to do with a moon, over"),
    "mover": (0, 1, "one of: relative seat to act; none when over"),
    "last_winner": (0, 1, "one of: relative seat that won the last trick anyone won in this hand; none yet"),
    "hands_left": (0, 127, "hands until the cap, this one included, cut at 127; 0 = no cap (R25)"),
}


def _fields_of(record: np.dtype[Any], start: int = 0, is_per_seat: bool = False) -> Iterator[Field]:
    for name in record.names or ():
        kind, offset = record.fields[name][:2]  # type: ignore[index]
        inner = kind.subdtype[0] if kind.subdtype else kind
        if inner.names:
            yield from _fields_of(inner, start + offset, is_per_seat=name == "seats")
        else:
            yield Field(name, start + offset, kind.itemsize, *_MEANINGS[name], is_per_seat)


#: The layout, in its order.
FIELDS: Final[tuple[Field, ...]] = tuple(_fields_of(OBSERVATION))


def field_values(observations: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return a view of one field: (..., size), or (..., 11, size) for a field of seat rows.

    `observations` has shape (..., O). Raises KeyError for an unknown field.
    """
    field = next((field for field in FIELDS if field.name == name), None)
    if field is None:
        raise KeyError(f"no field {name!r} in the observation; there are {', '.join(field.name for field in FIELDS)}")
    columns = slice(field.place, field.place + field.size)
    if not field.is_per_seat:
        return observations[..., columns]
    rows = observations[..., : MAX_PLAYERS * SEAT_ENTRIES]
    return rows.reshape(*observations.shape[:-1], MAX_PLAYERS, SEAT_ENTRIES)[..., columns]


def bounds() -> tuple[Observation, Observation]:
    """Return the lowest and the highest value of each entry, two arrays of shape (O,) int8."""
    low, high = np.zeros(OBSERVATION_SIZE, np.int8), np.zeros(OBSERVATION_SIZE, np.int8)
    for field in FIELDS:
        # Absent seats are zero, which lies within every seat field's range.
        field_values(low, field.name)[...] = field.low
        field_values(high, field.name)[...] = field.high
    return low, high


def describe() -> str:
    """Return the layout as a Markdown table: place, name, size, range, meaning."""
    lines = [
        f"Observation version {OBSERVATION_VERSION}: {OBSERVATION_SIZE} entries of int8. Rows of seats: k = 0 … "
        f"{MAX_PLAYERS - 1} is the seat k places to the viewer's left, 0 the viewer.",
        "",
        "| entries | field | size | range | meaning |",
        "|---|---|---|---|---|",
    ]
    for field in FIELDS:
        entries = f"{field.place}" if field.size == 1 else f"{field.place} … {field.place + field.size - 1}"
        if field.is_per_seat:
            entries = f"{SEAT_ENTRIES}k + {entries}"
        lines.append(f"| {entries} | `{field.name}` | {field.size} | {field.low} … {field.high} | {field.meaning} |")
    return "\n".join(lines)


@kernel
def encode(options: Any, public: Any, private: Any, viewer: int, seen: Any) -> None:
    """Write what a seat sees into `seen`, a record of dtype `OBSERVATION`; `private` is that seat's own part."""
    num_players = options.num_players
    for row in range(num_players):
        seat = viewer + row
        seen.seats[row] = public.seats[seat if seat < num_players else seat - num_players]
    for face in range(NUM_FACES):
        seen.hand[face] = min(private.hand[face], np.int8(NUM_COPIES))  # min compiles to SIMD, a plain copy does not
    for face in range(NUM_FACES):
        seen.given[face] = 0
    for face in range(NUM_FACES):
        seen.received[face] = 0
    for place in range(CARDS_PASSED):
        if private.given[place]:
            seen.given[private.given[place] - 1] += 1
        if private.received[place]:
            seen.received[private.received[place] - 1] += 1
    for place in range(MAX_KITTY):
        seen.kitty_cards[place] = private.kitty_cards[place]
    seen.board = public.board
    seen.rules = options.shown
    for row in range(num_players, MAX_PLAYERS):
        seen.seats[row] = public.seats[row]  # rows of absent seats are never written to: zero
    seen.seats[_relative(public.leader, viewer, num_players)].is_leader = 1
    seen.seats[_relative(public.dealer, viewer, num_players)].is_dealer = 1
    if public.kitty_taker != NOBODY:
        seen.seats[_relative(public.kitty_taker, viewer, num_players)].has_kitty = 1
    for phase in range(NUM_PHASES):
        seen.phase[phase] = 0
    seen.phase[public.phase] = 1
    for row in range(MAX_PLAYERS):
        seen.mover[row] = 0
    if public.mover != NOBODY:
        seen.mover[_relative(public.mover, viewer, num_players)] = 1
    for row in range(MAX_PLAYERS):
        seen.last_winner[row] = 0
    if public.last_winner != NOBODY:
        seen.last_winner[_relative(public.last_winner, viewer, num_players)] = 1
    seen.hands_left = _hands_left(options, public)


@kernel
def _relative(seat: int, viewer: int, num_players: int) -> int:
    return seat - viewer if seat >= viewer else seat - viewer + num_players


@kernel
def _hands_left(options: Any, public: Any) -> int:
    if options.single_hand:
        return 1
    if options.max_hands == NO_CAP:
        return 0
    return min(options.max_hands - public.hand_number, 127)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Knowledge:
    """What one seat knows, decoded: seats are relative to it, 0 = itself; n is the number of seats.

    Cards are counts of faces, (52,) int8, points are points. `kitty_taker` and `last_winner` are None for nobody yet,
    `mover` is None when the game is over. `observation` is the vector all this was read from.
    """

    observation: Observation  # (O,) int8
    num_players: int
    phase: Literal["pass", "play", "moon", "over"]
    mover: int | None
    leader: int
    dealer: int
    hand: Observation  # (52,)
    given: Observation  # (52,)
    received: Observation  # (52,)
    trick: list[tuple[int, int]]  # (seat, face) in the order played
    pile: Observation  # (52,)
    trick_points: int
    pile_points: int
    played: Observation  # (n, 52), the current trick included
    void: npt.NDArray[np.bool_]  # (n, 4)
    only_points: npt.NDArray[np.bool_]  # (n,)
    points_seen: Observation  # (n,) without a kitty's
    cards_left: Observation  # (n,)
    score_percent: Observation  # (n,) percent of the target score
    kitty_size: int
    kitty_taker: int | None
    kitty_cards: list[int]  # faces, if seen
    last_winner: int | None
    trick_number: int
    hearts_broken: bool
    pass_offset: int
    hands_left: int | None  # this one included; None = no cap
    moon_points: int
    options: dict[str, str]  # the rule options that are words

    @property
    def located(self) -> Observation:
        """Cards this seat gave that still lie in their receiver's hand, (52,) counts."""
        if self.phase == "pass" or self.pass_offset == 0:
            return np.zeros(52, np.int8)
        receiver = self.pass_offset % self.num_players
        given_on: Observation = np.maximum(self.given - self.played[receiver], np.int8(0))
        return given_on

    @property
    def unseen(self) -> Observation:
        """Cards whose place this seat does not know, (52,): not its own, played, located or in a kitty it saw."""
        own = self.hand + self.given if self.phase == "pass" else self.hand
        known: Observation = own + self.played.sum(axis=0, dtype=np.int8) + self.located
        for face in self.kitty_cards:
            known[face] += 1
        return np.int8(2) - known


def decode(observation: npt.NDArray[Any]) -> Knowledge:
    """Return what the seat that sees an observation, (O,) numbers of any dtype, knows. Raises ValueError otherwise."""
    given = np.asarray(observation)
    if given.shape != (OBSERVATION_SIZE,) or given.dtype.kind not in "iuf":
        raise ValueError(
            f"an observation has shape ({OBSERVATION_SIZE},) and holds numbers, not {given.dtype} of {given.shape}"
        )
    vector = given.astype(np.int8)
    if given.dtype != np.int8 and not np.array_equal(vector, given):
        raise ValueError(
            f"these {given.dtype} numbers are no observation: some are not whole, or not within -128 … 127"
        )
    if not field_values(vector, "size").any():
        raise ValueError("these numbers are no observation: they name no table size")

    def counts(name: str) -> Observation:
        return field_values(vector, name).copy()

    def number(name: str) -> int:
        return int(field_values(vector, name)[..., 0])

    num_players = MIN_PLAYERS + int(field_values(vector, "size").argmax())

    def by_seat(name: str) -> Observation:
        values = field_values(vector, name)[:num_players]
        return values[:, 0].copy() if values.shape[1] == 1 else values.copy()

    def which(name: str) -> int | None:
        flags = field_values(vector, name)
        return int(flags.argmax()) if flags.any() else None

    leader = int(by_seat("is_leader").argmax())
    trick_cards = by_seat("trick_card")
    order = [(leader + place) % num_players for place in range(num_players)]
    return Knowledge(
        observation=vector,
        num_players=num_players,
        phase=PHASES[int(field_values(vector, "phase").argmax())],
        mover=which("mover"),
        leader=leader,
        dealer=int(by_seat("is_dealer").argmax()),
        hand=counts("hand"),
        given=counts("given"),
        received=counts("received"),
        trick=[(seat, int(trick_cards[seat]) - 1) for seat in order if trick_cards[seat]],
        pile=counts("pile"),
        trick_points=number("trick_points"),
        pile_points=number("pile_points"),
        played=by_seat("played"),
        void=by_seat("void").astype(np.bool_),
        only_points=by_seat("only_points").astype(np.bool_),
        points_seen=by_seat("points_seen"),
        cards_left=by_seat("cards_left"),
        score_percent=by_seat("score_percent"),
        kitty_size=number("kitty_size"),
        kitty_taker=which("has_kitty"),
        kitty_cards=[int(card) - 1 for card in field_values(vector, "kitty_cards") if card],
        last_winner=which("last_winner"),
        trick_number=number("trick_number"),
        hearts_broken=bool(number("hearts_broken")),
        pass_offset=number("pass_offset"),
        hands_left=number("hands_left") or None,
        moon_points=number("moon_points"),
        options={option: allowed[number(option)] for option, allowed in CHOICES.items()},
    )
