"""What a seat knows, and random full tables that agree with it (`redeal`).

A *view* is a table from which everything one seat cannot know is wiped; it can be made from a table or from an
observation alone, and both give the same. `deal_unseen` fills views: the unseen cards are dealt again so that every way
the physical cards may lie, of those the seat cannot rule out, is equally likely. What binds a world:

- the viewer's own cards, the cards played, the pile, a kitty it has seen, the number of cards everywhere;
- cards the viewer gave lie with their receiver until as many copies have been played by it (R7);
- a seat that did not follow suit holds no more of it (R11); one that led hearts unbroken holds nothing but hearts
  (R12); one that opened with a point card (R10), or discarded one in the first trick under `no_points` (R11), holds
  nothing but point cards.

The two copies of a face are two physical cards. Told apart only by their faces, as players see them, worlds are
therefore not all alike: one counts `2**k` times for the k faces whose two unseen copies lie in different places, as it
does when cards are dealt. How likely the other seats were to play as they did is not weighed. The draw is exact up to
the rounding of doubles: it counts the ways by classes of cards (`worlds.py`) and never rejects. Cards that other seats
passed among themselves are drawn among what their receivers hold or have played, every three alike.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import FACE_SUIT, NUM_COPIES, NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.deal import next_seed, seed_stream
from chearts_env.engine import ALL_CARDS, HEARTS_ONLY, POINT_CARDS, show_kitty
from chearts_env.observation import NUM_PHASES, OBSERVATION, Knowledge, decode
from chearts_env.rules import CARDS_PASSED, MAX_PLAYERS, Rules
from chearts_env.table import MAX_KITTY, NOBODY, PASS, Tables, new_tables
from chearts_env.worlds import count_ways, draw_cards, draw_subset, note_constraints

#: Boxes that unseen cards lie in: the hand of each seat, the cards it has chosen to give, the kitty.
_KITTY_BOX: Final = 2 * MAX_PLAYERS
_NUM_BOXES: Final = _KITTY_BOX + 1


def redeal(tables: Tables, viewer: int, rng: np.random.Generator, num_worlds: int = 1) -> Tables:
    """Return full tables, shape (num_worlds,), that a seat of the one table in `tables` cannot rule out."""
    view = tables[:1].copy()
    _forget(view, viewer)
    worlds = np.repeat(view, num_worlds)
    _deal_all_unseen(worlds, viewer, _stream_from(rng))
    return worlds


def redeal_observation(
    observation: npt.NDArray[Any] | Knowledge, rng: np.random.Generator, num_worlds: int = 1
) -> tuple[Rules, Tables]:
    """Return full tables, shape (num_worlds,), that the seat which sees this observation cannot rule out.

    `observation` is a vector, (O,) of any dtype, or what `decode` made of one. The viewer is seat 0. The rules that
    `rules_shown` gives come first. Raises ValueError for anything else.
    """
    knowledge = observation if isinstance(observation, Knowledge) else decode(observation)
    rules = rules_shown(knowledge)
    view = new_tables([rules], single_hand=False)
    _view_of_observation(knowledge.observation.view(OBSERVATION), view)
    worlds = np.repeat(view, num_worlds)
    _deal_all_unseen(worlds, 0, _stream_from(rng))
    return rules, worlds


def rules_shown(knowledge: Knowledge) -> Rules:
    """Return the rules that a decoded observation shows.

    The target score is 100, so that scores are the percents shown; later hands pass as this one does, the cap counts
    from this hand on.
    """
    return Rules(
        knowledge.num_players,
        target_score=100,
        max_hands=knowledge.hands_left,
        pass_cycle=(knowledge.pass_offset,),
        moon_points=knowledge.moon_points,
        **knowledge.options,  # type: ignore[arg-type]
    )


def _stream_from(rng: np.random.Generator) -> npt.NDArray[np.uint64]:
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng={rng!r} is not allowed: it must be a numpy.random.Generator")
    stream = np.zeros(4, np.uint64)
    _start(stream, np.uint64(rng.integers(2**64, dtype=np.uint64)))
    return stream


@kernel
def _start(stream: Any, seed: np.uint64) -> None:
    seed_stream(stream, seed)


@kernel
def _forget(tables: Any, viewer: int) -> None:
    """Wipe from a table all that a seat cannot know, which leaves its view."""
    table = tables[0]
    hidden = table.hidden
    hidden.kitty[:] = 0
    hidden.deck[:] = 0
    hidden.stream[:] = 0
    hidden.seed = 0
    for seat in range(MAX_PLAYERS):
        if seat == viewer:
            continue
        private = table.private[seat]
        private.hand[:] = 0
        private.suits[:] = 0
        private.given[:] = 0
        private.received[:] = 0
        private.kitty_cards[:] = 0
    kitty_cards = table.private[viewer].kitty_cards
    for place in range(MAX_KITTY):
        if kitty_cards[place] > 0:
            hidden.kitty[kitty_cards[place] - 1] += 1


@kernel
def _view_of_observation(observations: Any, tables: Any) -> None:
    """Write the view that an observation gives into a blank table with the rules it shows, the viewer in seat 0."""
    seen = observations[0]
    table = tables[0]
    options = table.options
    public = table.public
    public.board = seen.board
    public.mover = NOBODY
    public.last_winner = NOBODY
    public.kitty_taker = NOBODY
    for phase in range(NUM_PHASES):
        if seen.phase[phase]:
            public.phase = phase
    for seat in range(options.num_players):
        public.seats[seat] = seen.seats[seat]
        known = public.seats[seat]
        if known.is_leader:
            public.leader = seat
        if known.is_dealer:
            public.dealer = seat
        if known.has_kitty:
            public.kitty_taker = seat
        if seen.mover[seat]:
            public.mover = seat
        if seen.last_winner[seat]:
            public.last_winner = seat
        known.is_leader = 0
        known.is_dealer = 0
        known.has_kitty = 0
        public.scores[seat] = known.score_percent
        public.trick_size += known.trick_card > 0
        num_given = options.hand_size - known.cards_left if public.phase == PASS else CARDS_PASSED
        table.private[seat].num_given = num_given if public.board.pass_offset != 0 else 0
    own = table.private[0]
    own.hand[:] = seen.hand
    own.kitty_cards[:] = seen.kitty_cards
    for face in range(NUM_FACES):
        own.suits[FACE_SUIT[face]] += own.hand[face]
    _list_cards(seen.given, own.given)
    _list_cards(seen.received, own.received)
    for place in range(MAX_KITTY):
        if own.kitty_cards[place] > 0:
            table.hidden.kitty[own.kitty_cards[place] - 1] += 1


@kernel
def _list_cards(counts: Any, cards: Any) -> None:
    """Write the faces that stand in counts, (52,), as a list of 1 + face, ascending, filled up with 0."""
    place = 0
    cards[:] = 0
    for face in range(NUM_FACES):
        for _ in range(counts[face]):
            cards[place] = face + 1
            place += 1


@kernel
def allowed_to_hold(public: Any, seat: int) -> int:
    """Return the classes of card that a seat may still hold, a bit set, by what it has shown (R10 to R12)."""
    known = public.seats[seat]
    allowed = POINT_CARDS if known.only_points else ALL_CARDS
    if known.void[0]:
        allowed &= ~0b00001
    if known.void[1]:
        allowed &= ~0b00010
    if known.void[2]:
        allowed &= ~0b10100
    if known.void[3]:
        allowed &= ~HEARTS_ONLY
    return allowed


@kernel
def _deal_all_unseen(tables: Any, viewer: int, stream: Any) -> None:
    """Fill views of one and the same table with worlds drawn independently."""
    unseen = np.zeros(NUM_FACES, np.int64)
    room = np.zeros(_NUM_BOXES, np.int64)
    allowed = np.zeros(_NUM_BOXES, np.int64)
    located = np.zeros(NUM_FACES, np.int64)
    _note_unseen(tables[0], viewer, unseen, located)
    _note_room(tables[0], viewer, located, room, allowed)
    classes, groups, group_room, group_allows = note_constraints(unseen, room, allowed)
    ways = count_ways(unseen, classes, group_room, group_allows)
    for place in range(tables.shape[0]):
        cards = draw_cards(stream, unseen, classes, groups, room, group_room, group_allows, ways)
        _lay_world(tables[place], viewer, located, room, cards)
        _draw_passes(tables[place], viewer, stream)
        seed = next_seed(stream)
        tables[place].hidden.seed = seed
        seed_stream(tables[place].hidden.stream, seed)


@kernel
def _receiver_of(table: Any, seat: int) -> int:
    return (seat + table.public.board.pass_offset + table.options.num_players) % table.options.num_players  # type: ignore[no-any-return]


@kernel
def _note_unseen(table: Any, viewer: int, unseen: Any, located: Any) -> None:
    """Count the faces whose place the viewer does not know; `located` are those it gave, still at the receiver."""
    own = table.private[viewer]
    public = table.public
    receiver = _receiver_of(table, viewer)
    for place in range(CARDS_PASSED):
        if own.given[place] > 0:
            located[own.given[place] - 1] += 1
    for face in range(NUM_FACES):
        unseen[face] = NUM_COPIES - own.hand[face] - table.hidden.kitty[face]
        if public.phase == PASS:  # chosen, and still its own
            unseen[face] -= located[face]
            located[face] = 0
        else:
            located[face] = max(0, located[face] - public.seats[receiver].played[face])
            unseen[face] -= located[face]
        for seat in range(table.options.num_players):
            unseen[face] -= public.seats[seat].played[face]


@kernel
def _note_room(table: Any, viewer: int, located: Any, room: Any, allowed: Any) -> None:
    """Count the unseen cards that each box takes, and which classes it may take."""
    public = table.public
    receiver = _receiver_of(table, viewer)
    for box in range(_NUM_BOXES):
        allowed[box] = ALL_CARDS
    for seat in range(table.options.num_players):
        if seat == viewer:
            continue
        room[seat] = public.seats[seat].cards_left
        allowed[seat] = allowed_to_hold(public, seat)
        if seat == receiver:
            room[seat] -= located.sum()
        if public.phase == PASS:
            room[MAX_PLAYERS + seat] = table.private[seat].num_given
    room[_KITTY_BOX] = table.options.shown.kitty_size - table.hidden.kitty.sum()


@kernel
def _lay_world(table: Any, viewer: int, located: Any, room: Any, cards: Any) -> None:
    """Put cards, drawn box after box, and those located, where they lie in this world."""
    receiver = _receiver_of(table, viewer)
    for face in range(NUM_FACES):
        table.private[receiver].hand[face] += located[face]
        table.private[receiver].suits[FACE_SUIT[face]] += located[face]
    place = 0
    for box in range(_NUM_BOXES):
        num_laid = 0
        for _ in range(room[box]):
            face = cards[place]
            place += 1
            if box == _KITTY_BOX:
                table.hidden.kitty[face] += 1
            elif box >= MAX_PLAYERS:
                chooser = table.private[box - MAX_PLAYERS]
                chooser.given[num_laid] = face + 1
                num_laid += 1
            else:
                table.private[box].hand[face] += 1
                table.private[box].suits[FACE_SUIT[face]] += 1
    taker = table.public.kitty_taker
    if taker != NOBODY:
        show_kitty(table, taker)


@kernel
def _draw_passes(table: Any, viewer: int, stream: Any) -> None:
    """Say which cards the other seats gave each other, once the pass is over (R7)."""
    public = table.public
    if public.phase == PASS or public.board.pass_offset == 0:
        return
    holding = np.zeros(NUM_FACES, np.int64)
    for giver in range(table.options.num_players):
        receiver = _receiver_of(table, giver)
        given = table.private[giver].given
        received = table.private[receiver].received
        if receiver == viewer:
            given[:] = received
        elif giver == viewer:
            received[:] = given
        else:
            for face in range(NUM_FACES):
                holding[face] = table.private[receiver].hand[face] + public.seats[receiver].played[face]
            draw_subset(stream, holding, given)
            received[:] = given
