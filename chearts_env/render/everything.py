"""What `render_view="all"` and films with open cards draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from chearts_env.cards import faces_of_counts
from chearts_env.game import Game
from chearts_env.observation import Knowledge, decode


def everything_of(game: Game, seat: int) -> tuple[Knowledge, list[npt.NDArray[np.int8]]]:
    """Return what a seat knows with the kitty open, and the hands, (52,) counts each, by relative seat."""
    n = game.num_players
    knowledge = replace(decode(game.observation(seat)), kitty_cards=faces_of_counts(game.kitty))
    return knowledge, [game.hand((seat + place) % n) for place in range(n)]
