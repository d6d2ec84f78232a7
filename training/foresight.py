"""Foresight: a critic that sees all hands, and knows who plays, says what a playout would come to.

Played to its end, one playout differs from another by eight points that have little to do with the action tried: whose
card happens to lie highest six tricks later. A critic asked at one of the seat's next decisions foresees the mean over
all that. Of the differences that it foresees between actions four fifths and more are real, and they vary by two or
three points only, so that each value is worth several playouts, for a fraction of the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file
from torch import nn

from chearts_env.cards import NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.rules import CARDS_PASSED, MAX_PLAYERS
from chearts_env.table import MOON, PASS, Tables
from training.checkpoint import CRITIC, checkpoint_place, damage_refused, load_checkpoint
from training.cpu_network import filled_up
from training.critic import POINTS_PER_UNIT, Critic, points_taken
from training.features import card_judgements, dense_features
from training.players import CAREFUL, LOW_CARD, RANDOM_LEGAL, new_tools
from training.playouts import Chooser, seen_by_movers, step_some, waiting_for_network

#: Players that a critic tells from one another; whoever is none of them is the network.
_PLAYERS_TOLD_APART: Final = (CAREFUL, LOW_CARD, RANDOM_LEGAL)
_FIRST_PLAYER: Final = MAX_PLAYERS * NUM_FACES
#: Entries that a critic is shown beside what a seat sees: all other hands, cards on their way, who plays each seat.
NUM_HIDDEN: Final = _FIRST_PLAYER + MAX_PLAYERS * len(_PLAYERS_TOLD_APART)
#: Rows judged at once.
_ROWS: Final = 4096


@dataclass(frozen=True)
class Foresight:
    """A critic and where it is asked, with the constants by which `careful` judges cards for it: (1,) of `WEIGHTS`."""

    critic: Critic
    constants: npt.NDArray[np.void] | None
    kind: torch.dtype
    ahead: int  # the so many-th next decision of the seat

    def play_ahead(
        self,
        tables: Tables,
        seats: npt.NDArray[np.intp],
        players: npt.NDArray[np.int8],
        streams: npt.NDArray[np.uint64],
        network: Chooser,
    ) -> npt.NDArray[np.float64]:
        """Play tables (N,) on in place to the `ahead`-th next decision of each one's seat, and return what it will get.

        (N,) points below the table's mean; NaN where the hand was over before. Forced moves and how to settle a moon
        are no decisions. `players` (N, 11) and `streams` (N, 4) are those of `finish_hands`; the network must play
        `seats` (N,), for no other player is waited for.
        """
        foreseen = np.full(len(tables), np.nan)
        left = np.full(len(tables), self.ahead)
        tools = new_tools()
        playing = np.arange(len(tables))
        while len(playing := waiting_for_network(tables, playing, players, streams, tools)):
            public = tables["public"][playing]
            decides = (public["mover"] == seats[playing]) & (public["phase"] != MOON)
            left[playing[decides]] -= 1
            ends = decides & (left[playing] == 0)
            observations, masks = seen_by_movers(tables, playing)
            if ends.any():
                there = playing[ends]
                hidden = hidden_from_movers(tables, there, players)
                foreseen[there] = self.points(observations[ends], masks[ends], hidden)
            playing = playing[~ends]
            if len(playing):
                step_some(tables, playing, network(observations[~ends], masks[~ends]).astype(np.int64))
        return foreseen

    def points(
        self, observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8], hidden: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float32]:
        """Return the points below the table's mean that movers will end their hands with, (N,).

        `observations` (N, O) and `masks` (N, 54) are what they see, `hidden` (N, `NUM_HIDDEN`) what they do not.
        """
        points = np.empty(len(observations), np.float32)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=self.kind == torch.bfloat16):
            for start in range(0, len(observations), _ROWS):
                rows = slice(start, start + _ROWS)
                features = critic_features(observations[rows], masks[rows], self.constants, self.kind)
                taken = torch.from_numpy(points_taken(observations[rows]))
                asked = (features, torch.from_numpy(hidden[rows]), taken)
                count = len(features)
                more = filled_up(count) - count  # of rows of zeros
                filled = (nn.functional.pad(part, (0, 0) * (part.ndim - 1) + (0, more)) for part in asked)
                points[rows] = self.critic(*filled)[:count].numpy()
        return points * np.float32(POINTS_PER_UNIT)


def load_foresight(path: Path, kind: torch.dtype, ahead: int) -> Foresight | None:
    """Load the critic of a checkpoint, or of a run's newest, to be asked `ahead` decisions later; None if it has none.

    Raises ValueError if it is damaged.
    """
    place = checkpoint_place(path)
    if not (place / CRITIC).is_file():
        return None
    loaded = load_checkpoint(place)
    with damage_refused(place):
        settings = loaded.description["config"]["critic"]
        critic = Critic(loaded.network.num_features, settings["width"], settings["num_layers"], NUM_HIDDEN)
        critic.load_state_dict(load_file(place / CRITIC))
    return Foresight(critic.eval(), loaded.network.constants, kind, ahead)


def critic_features(
    observations: npt.NDArray[np.int8],
    masks: npt.NDArray[np.int8],
    constants: npt.NDArray[np.void] | None,
    kind: torch.dtype,
) -> torch.Tensor:
    """Return the features of observations and masks that a critic reads, (N, F) on the CPU.

    All of them, whatever the network is shown: `network.card_features` keeps nothing from its critic.
    """
    return dense_features(observations, masks, card_judgements(observations, masks, constants), kind)


def hidden_from_movers(
    tables: Tables, places: npt.NDArray[np.intp], players: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """Return what the movers of some tables do not see, (N, `NUM_HIDDEN`) int8, seats relative to them.

    The counts of each face in the other hands, cards that are being passed (R7) already with those who will get them,
    so that the mover's own row has what is on its way to it; then which of the other seats each compiled player plays,
    as `players` (B, 11) has it.
    """
    hidden = np.zeros((len(places), NUM_HIDDEN), np.int8)
    _write_hidden(tables, places, players, hidden)
    return hidden


@kernel
def _write_hidden(tables: Any, places: Any, players: Any, hidden: Any) -> None:
    for number in range(places.shape[0]):
        table, row = tables[places[number]], hidden[number]
        num_players, mover = table.options.num_players, table.public.mover
        for relative in range(num_players):
            seat = (mover + relative) % num_players
            private = table.private[seat]
            if relative > 0:
                for face in range(NUM_FACES):
                    row[NUM_FACES * relative + face] += private.hand[face]
                for place in range(len(_PLAYERS_TOLD_APART)):
                    is_this = players[places[number], seat] == _PLAYERS_TOLD_APART[place]
                    row[_FIRST_PLAYER + MAX_PLAYERS * place + relative] = is_this
            if table.public.phase == PASS:
                receiver = (relative + table.public.board.pass_offset) % num_players
                for card in range(CARDS_PASSED):
                    if private.given[card] > 0:
                        row[NUM_FACES * receiver + private.given[card] - 1] += 1
