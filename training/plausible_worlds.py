"""How plausible worlds are: in each, would the seats have laid the cards that they did lay on the trick?

A network says how much each seat would have liked each of its cards, given the hand that a world deals it; a card that
is much worse than another one it holds there speaks against the world. Only the cards of the current trick can be
judged: an observation keeps what seats have shown, not the order in which they did.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.cards import FACE_SUIT
from chearts_env.compiled import kernel
from chearts_env.deal import left_of
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import Tables
from training.playouts import seen_by_movers, step_some
from training.policy import ValuePolicy

#: A card worth that many points less than another is laid e times less often.
_TEMPERATURE: Final = 1.0
#: Logarithms of chances count by this much, and none is below the least: a network is surer than it should be.
_WEIGHT: Final = 0.5
_LEAST: Final = np.log(0.03)


def plausibilities(worlds: Tables, policy: ValuePolicy) -> npt.NDArray[np.float64]:
    """Return logarithms, (W,), of how plausible worlds are, up to a constant.

    `worlds` (W,) stand at one decision of play, the same for all but for the hidden cards; they stay as they are.
    """
    cards = np.zeros(MAX_PLAYERS, np.int64)
    room = worlds.copy()
    num_laid = _take_back_trick(room, cards)
    every = np.arange(len(room))
    logarithms = np.zeros(len(room))
    for card in cards[:num_laid]:
        observations, masks = seen_by_movers(room, every)
        points = policy.points(observations, masks).astype(np.float64) / _TEMPERATURE
        points -= points.max(axis=1, keepdims=True)
        chances = points[:, card] - np.log(np.exp(points).sum(axis=1))
        logarithms += np.maximum(chances, _LEAST)
        step_some(room, every, np.full(len(room), card))
    return _WEIGHT * logarithms


@kernel
def _take_back_trick(room: Any, cards: Any) -> int:
    """Take the cards of the trick back into the hands; write them in their order and return how many they are.

    What the seats showed by them stays shown, and hearts stay broken: nobody can tell whether they were before.
    """
    num_laid = 0
    for place in range(room.shape[0]):
        table = room[place]
        public = table.public
        num_laid = public.trick_size
        seat = public.leader
        for number in range(num_laid):
            known, private = public.seats[seat], table.private[seat]
            face = known.trick_card - 1
            cards[number] = face
            private.hand[face] += 1
            private.suits[FACE_SUIT[face]] += 1
            known.cards_left += 1
            known.played[face] -= 1
            known.trick_card = 0
            public.board.trick[face] = 0
            seat = left_of(seat, table.options.num_players)
        public.board.led_suit[:] = 0
        public.board.trick_pairs = 0
        public.board.trick_points = 0
        public.trick_size = 0
        public.mover = public.leader
    return num_laid
