"""Compiled players of one table: they carry hands on between the decisions that a network makes.

`careful` is the rule player of `baselines`, the same kernel. The two simple ones choose as `baselines.random_legal` and
`baselines.low_card` do, a test says so; they are written again because those act on observations and masks, and writing
both at every step of a playout would cost more than the step.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.playout import ROOM, choose_at
from baselines.careful.weights import WEIGHTS, tuned_weights
from chearts_env.cards import NUM_FACES, NUM_RANKS, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.deal import draw_below
from chearts_env.engine import FACES_OF_CLASSES, allowed_classes, led_suit, step_table
from chearts_env.table import MOON, OVER, PASS, PLAY, SUBTRACT_MOON

RANDOM_LEGAL: Final = 0
LOW_CARD: Final = 1
NETWORK: Final = 2  # decides outside the kernels
CAREFUL: Final = 3

#: What compiled players need: room to work in, and the constants of `careful`.
TOOLS: Final = np.dtype((np.record, [("room", ROOM), ("weights", WEIGHTS)]))


def new_tools() -> npt.NDArray[np.void]:
    """Return what `choose` and `play_on` need, shape (1,) of dtype `TOOLS`; each thread needs its own."""
    tools = np.zeros(1, TOOLS)
    tools["weights"][0] = tuned_weights()
    return tools


@kernel
def num_choices(table: Any) -> int:
    """Return how many actions the mover may take."""
    public = table.public
    if public.phase == MOON:
        return 2
    private = table.private[public.mover]
    allowed = allowed_classes(table.options, public, private)
    first, last = _faces_in_question(public, private)
    count = 0
    for face in range(first, last):
        count += private.hand[face] > 0 and FACES_OF_CLASSES[allowed, face] == 1
    return count


@kernel
def choose(table: Any, player: int, stream: Any, tools: Any) -> int:
    """Return the action of a compiled player for the mover, drawing from `stream` where it is random."""
    if player == CAREFUL:
        return choose_at(table, tools[0].weights, tools[0].room)
    if player == LOW_CARD:
        return _lowest(table)
    return choose_any(table, stream)


@kernel
def choose_any(table: Any, stream: Any) -> int:
    """Return one of the mover's allowed actions, each equally likely."""
    wanted = draw_below(stream, num_choices(table))
    public = table.public
    if public.phase == MOON:
        return SUBTRACT_MOON + wanted
    private = table.private[public.mover]
    allowed = allowed_classes(table.options, public, private)
    first, last = _faces_in_question(public, private)
    for face in range(first, last):
        if private.hand[face] > 0 and FACES_OF_CLASSES[allowed, face] == 1:
            if wanted == 0:
                return face
            wanted -= 1
    return -1  # not reached: a mover always has an action


@kernel
def _faces_in_question(public: Any, private: Any) -> tuple[int, int]:
    # A seat that must follow suit (R11) needs only that suit looked through.
    if public.phase == PLAY and public.trick_size > 0:
        suit = led_suit(public)
        if private.suits[suit] > 0:
            return NUM_RANKS * suit, NUM_RANKS * suit + NUM_RANKS
    return 0, NUM_FACES


@kernel
def _lowest(table: Any) -> int:
    """Choose as `baselines.low_card` does: pass the highest card, play the lowest, subtract the moon."""
    public = table.public
    if public.phase == MOON:
        return SUBTRACT_MOON
    private = table.private[public.mover]
    if public.phase == PASS:
        for place in range(NUM_FACES - 1, -1, -1):
            face = NUM_RANKS * (place % NUM_SUITS) + place // NUM_SUITS
            if private.hand[face] > 0:
                return face
    allowed = allowed_classes(table.options, public, private)
    for rank in range(NUM_RANKS):
        for suit in range(NUM_SUITS):
            face = NUM_RANKS * suit + rank
            if private.hand[face] > 0 and FACES_OF_CLASSES[allowed, face] == 1:
                return face
    return -1  # not reached: a mover always has an action


@kernel
def play_on(table: Any, players: Any, stream: Any, tools: Any) -> bool:
    """Play a hand on, `players[seat]` choosing for each seat, until a network's seat has a choice or the hand is over.

    Returns whether a network has to decide. Forced actions are taken for everyone. The table must hold a single hand.
    """
    while table.public.phase != OVER:
        player = players[table.public.mover]
        if player == NETWORK:
            if num_choices(table) > 1:
                return True
            player = RANDOM_LEGAL
        step_table(table, choose(table, player, stream, tools))
    return False
