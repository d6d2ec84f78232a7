"""Whole hands played by `careful` in all seats, compiled: what search, labels and tuning are made of."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from baselines.careful.choose import choose_carefully, forced_action
from baselines.careful.facts import FACTS
from baselines.careful.play import ITEM
from chearts_env.compiled import kernel
from chearts_env.engine import GOES_ON, step_table, write_mask
from chearts_env.observation import OBSERVATION, encode
from chearts_env.table import MASK

#: Room to work in: what the mover sees and may do, and what `careful` makes of it.
ROOM: Final = np.dtype((np.record, [("seen", OBSERVATION), ("mask", MASK), ("facts", FACTS), ("priced", ITEM)]))


@kernel
def choose_at(table: Any, weights: Any, room: Any) -> int:
    """Return what `careful` does for the mover of a table, from what that seat sees alone."""
    mover = table.public.mover
    private = table.private[mover]
    write_mask(table.options, table.public, private, room.mask)
    forced = forced_action(room.mask.legal)
    if forced >= 0:  # one decision in five: it need not be looked at
        return forced
    encode(table.options, table.public, private, mover, room.seen)
    return choose_carefully(room.seen, room.mask.legal, weights, room.facts, room.priced)


@kernel
def play_hand_out(table: Any, weights: Any, players: Any, room: Any) -> int:
    """Play on until the hand is scored and return what `step_table` reported then.

    Seat s plays by the constants `weights[players[s]]`. The score changes of the hand stand in `public.score_changes`,
    the next hand is dealt if there is one.
    """
    status = GOES_ON
    while status == GOES_ON:
        status = step_table(table, choose_at(table, weights[players[table.public.mover]], room))
    return status
