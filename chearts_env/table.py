"""The table: one record of a NumPy structured dtype holds everything; a batch is an array of them, a copy a memcpy.

Letters used for axes everywhere: B tables, S = 11 seats, F = 52 faces, A = 54 actions, O observation entries.

A table has four parts: `options` (the rules as numbers), `public` (what all may know), `private[seat]` (what only that
seat may know) and `hidden` (what nobody may know: the kitty, the stream of random numbers). Encoders are handed
`options`, `public` and one seat's private part, never the rest.

Cards as bytes and not as bit sets: rules read as they are written, and copying a row of counts costs less than
expanding a bit set into one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import NUM_CARDS, NUM_FACES, NUM_SUITS
from chearts_env.rules import CARDS_PASSED, CHOICES, MAX_PASS_CYCLE, MAX_PLAYERS, MIN_PLAYERS, Rules

#: Raise it when the layout below or the meaning of an entry changes: states of another version are refused.
STATE_VERSION: Final = 1

MAX_KITTY: Final = 6
RANDOM_DEALER: Final = -1
NOBODY: Final = -1
NO_CAP: Final = 0

PHASES: Final = ("pass", "play", "moon", "over")
PASS: Final = PHASES.index("pass")
PLAY: Final = PHASES.index("play")
MOON: Final = PHASES.index("moon")
OVER: Final = PHASES.index("over")

NUM_ACTIONS: Final = 54
SUBTRACT_MOON: Final = 52
ADD_MOON: Final = 53


def _record(*fields: tuple[str, object] | tuple[str, object, tuple[int, ...]]) -> np.dtype[np.record]:
    # np.record lets plain Python write `table.public.leader` as compiled kernels do, so kernels also run uncompiled.
    return np.dtype((np.record, list(fields)))  # type: ignore[return-value]


# The next three records stand in observations as they stand in tables, so that showing one is copying it whole.
SEAT: Final = _record(  # what all may know of one seat
    ("played", "i1", (NUM_FACES,)),  # [F] copies of each face it has played in this hand
    ("trick_card", "i1"),  # its card in the current trick: 1 + face, 0 = none yet
    ("void", "i1", (NUM_SUITS,)),  # 1 = has shown to hold no more of the suit
    ("only_points", "i1"),  # 1 = has shown to hold point cards only
    ("points_seen", "i1"),  # points it has taken face up: all but the kitty's
    ("cards_left", "i1"),  # cards in hand
    ("score_percent", "i1"),  # score in percent of the target, within -127 … 127
    ("is_leader", "i1"),  # these three stay 0 in a table, which has `leader` etc.; the encoder fills them
    ("is_dealer", "i1"),
    ("has_kitty", "i1"),
)
BOARD: Final = _record(  # what lies on the table
    ("trick", "i1", (NUM_FACES,)),  # [F] copies of each face on the current trick
    ("pile", "i1", (NUM_FACES,)),  # [F] copies of each face set aside
    ("trick_number", "i1"),  # tricks completed in this hand
    ("hearts_broken", "i1"),
    ("pass_offset", "i1"),
    ("led_suit", "i1", (NUM_SUITS,)),  # one of the suits once a card is led
    ("trick_pairs", "i1"),  # identical pairs on the trick
    ("trick_points", "i1"),
    ("pile_points", "i1"),
)
SHOWN_RULES: Final = _record(  # the options that matter for play
    ("size", "i1", (MAX_PLAYERS - MIN_PLAYERS + 1,)),  # one of 6 … 11 seats
    ("kitty_size", "i1"),
    ("moon_points", "i1"),  # cut at 127
    *((option, "i1") for option in CHOICES),
)

OPTIONS: Final = _record(
    ("shown", SHOWN_RULES),
    ("target_score", "<i8"),
    ("moon_points", "<i8"),
    ("max_hands", "<i8"),  # 0 = no cap
    ("num_players", "i1"),
    ("hand_size", "i1"),
    ("first_dealer", "i1"),  # -1 = random
    ("single_hand", "i1"),  # 1 = the episode is one hand
    ("pass_cycle_length", "i1"),
    ("pass_cycle", "i1", (MAX_PASS_CYCLE,)),
)
PUBLIC: Final = _record(
    ("seats", SEAT, (MAX_PLAYERS,)),  # [S]
    ("board", BOARD),
    ("phase", "i1"),
    ("mover", "i1"),
    ("leader", "i1"),
    ("dealer", "i1"),
    ("trick_size", "i1"),  # cards on the current trick
    ("last_winner", "i1"),  # of a trick in this hand
    ("kitty_taker", "i1"),
    ("is_truncated", "i1"),
    ("hand_number", "<i8"),
    ("scores", "<i8", (MAX_PLAYERS,)),  # [S] after the last scored hand
    ("score_changes", "<i8", (MAX_PLAYERS,)),  # [S] of the last scored hand
)
PRIVATE: Final = _record(  # cards that one seat alone may know
    ("hand", "i1", (NUM_FACES,)),  # [F]
    ("suits", "i1", (NUM_SUITS,)),  # cards in hand of each suit
    ("given", "i1", (CARDS_PASSED,)),  # 1 + face of each card chosen to give away in this hand, 0 = none
    ("received", "i1", (CARDS_PASSED,)),  # likewise
    ("num_given", "i1"),
    ("kitty_cards", "i1", (MAX_KITTY,)),  # 1 + face of each kitty card this seat has seen, ascending, 0 = none
)
HIDDEN: Final = _record(
    ("stream", "<u8", (4,)),  # four 32-bit words of the table's own generator
    ("seed", "<u8"),  # of this episode
    ("kitty", "i1", (NUM_FACES,)),  # [F]
    ("deck", "i1", (NUM_CARDS,)),  # room for shuffling
)
TABLE: Final = _record(
    ("public", PUBLIC),
    ("private", PRIVATE, (MAX_PLAYERS,)),
    ("options", OPTIONS),
    ("hidden", HIDDEN),
    ("padding", "i1", (37,)),  # up to whole cache lines
)

#: A mask of legal actions as a record: a kernel that writes through a field of fixed size is compiled to SIMD.
MASK: Final = _record(("legal", "i1", (NUM_ACTIONS,)))

Tables = npt.NDArray[np.record]


def new_tables(all_rules: list[Rules], single_hand: bool) -> Tables:
    """Return tables with their options written and nothing dealt, shape (B,) of dtype `TABLE`."""
    tables = np.zeros(len(all_rules), TABLE)
    rows: dict[Rules, np.record] = {}
    for table, rules in zip(tables, all_rules, strict=True):
        if rules not in rows:
            rows[rules] = options_of(rules, single_hand)
        table["options"] = rows[rules]
    return tables


def options_of(rules: Rules, single_hand: bool) -> np.record:
    """Return rules as the numbers that kernels read, a record of dtype `OPTIONS`."""
    options = np.zeros(1, OPTIONS)[0]
    shown = options["shown"]
    for option, allowed in CHOICES.items():
        shown[option] = allowed.index(getattr(rules, option))
    shown["size"][rules.num_players - MIN_PLAYERS] = 1
    shown["kitty_size"] = rules.kitty_size
    shown["moon_points"] = min(rules.moon_points, 127)
    for option in ("num_players", "target_score", "moon_points", "hand_size"):
        options[option] = getattr(rules, option)
    options["max_hands"] = NO_CAP if rules.max_hands is None else rules.max_hands
    options["first_dealer"] = RANDOM_DEALER if rules.first_dealer == "random" else rules.first_dealer
    options["single_hand"] = single_hand
    options["pass_cycle_length"] = len(rules.pass_cycle)
    options["pass_cycle"][: len(rules.pass_cycle)] = rules.pass_cycle
    return options  # type: ignore[no-any-return]
