"""Action values by playing out: at a decision, every allowed action is tried and the same true deal played to its end.

Or to where a critic says what that end would be. A value is the seat's points relative to the table's mean, negative so
that more is better, averaged over a few playouts and centred over the actions tried, which takes the luck of the deal
out. Playouts of one decision share their chance: playout k of every action draws from the same stream. The hidden cards
decide what follows, but the players of a playout do not see them, so what a network learns from many such values is
what an action is worth given what its seat knows.

Settling a moon is worth the same relative points either way (R21), so there the seat's own points count instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from chearts_env.compiled import kernel
from chearts_env.deal import seed_stream
from chearts_env.engine import is_legal, step_table, write_mask
from chearts_env.observation import OBSERVATION, OBSERVATION_SIZE, encode
from chearts_env.table import MASK, MOON, NUM_ACTIONS, Tables
from training.players import new_tools, play_on

#: (N, O) observations, (N, 54) masks -> (N,) actions: a network that plays.
Chooser = Callable[[npt.NDArray[np.int8], npt.NDArray[np.int8]], npt.NDArray[np.integer[Any]]]


class PlaysAhead(Protocol):
    """What ends playouts early: `training.foresight` has it."""

    def play_ahead(
        self,
        tables: Tables,
        seats: npt.NDArray[np.intp],
        players: npt.NDArray[np.int8],
        streams: npt.NDArray[np.uint64],
        network: Chooser,
    ) -> npt.NDArray[np.float64]:
        """Play tables (N,) on in place, and return what their `seats` (N,) will get.

        (N,) points below the table's mean, NaN where a hand is over. `players` (N, 11) play the seats, the network
        `seats` among them; `streams` (N, 4) are the chance of those who need some.
        """


#: The value of an action that is allowed and was not tried. One that is not allowed has none: NaN.
UNTRIED: Final = np.inf
#: Rows that a network is asked about at once in playouts.
NETWORK_ROWS: Final = 8192


@kernel
def relative_points(table: Any, seat: int) -> float:
    """Return the table's mean score change of a hand minus a seat's own, in points."""
    mean = 0.0
    for each in range(table.options.num_players):
        mean += table.public.score_changes[each]
    return mean / table.options.num_players - table.public.score_changes[seat]  # type: ignore[no-any-return]


@kernel
def _worth(table: Any, seat: int, was_moon: bool) -> float:
    if was_moon:
        return -float(table.public.score_changes[seat])
    return relative_points(table, seat)


@kernel
def _play_out_all(
    tables: Any, players: Any, seeds: Any, tried: Any, num_playouts: int, room: Any, tools: Any, values: Any
) -> None:
    # `room` is one table to play in: the decisions themselves stay as they are.
    stream = np.zeros(4, np.uint64)
    for row in range(tables.shape[0]):
        seat = tables[row].public.mover
        was_moon = tables[row].public.phase == MOON
        for action in range(NUM_ACTIONS):
            if not is_legal(tables[row], action):
                continue
            if not tried[row, action]:
                values[row, action] = UNTRIED
                continue
            total = 0.0
            for playout in range(num_playouts):
                room[0] = tables[row]
                seed_stream(stream, seeds[row] + np.uint64(playout))
                step_table(room[0], action)
                play_on(room[0], players[row], stream, tools)
                total += _worth(room[0], seat, was_moon)
            values[row, action] = total / num_playouts


def compiled_values(
    tables: Tables,
    players: npt.NDArray[np.int8],
    seeds: npt.NDArray[np.uint64],
    num_playouts: int,
    tried: npt.NDArray[np.bool_],
) -> npt.NDArray[np.float32]:
    """Return centred action values, (N, 54) float32, NaN where an action is not allowed.

    `tables` (N,) stand at decisions and stay as they are; `players` (N, 11) int8 says who plays each seat
    out, compiled players only; `seeds` (N,) start the playouts' streams; `tried` (N, 54) says which of the allowed
    actions are played out, the others are `UNTRIED`.
    """
    values = np.full((len(tables), NUM_ACTIONS), np.nan, np.float32)
    _play_out_all(tables, players, seeds, tried, num_playouts, tables[:1].copy(), new_tools(), values)
    return centred(values)


def network_values(
    tables: Tables,
    players: npt.NDArray[np.int8],
    seeds: npt.NDArray[np.uint64],
    num_playouts: int,
    tried: npt.NDArray[np.bool_],
    network: Chooser,
    foresight: PlaysAhead | None = None,
) -> npt.NDArray[np.float32]:
    """Return what `compiled_values` does, with a network playing the seats that `players` gives to it.

    With a `foresight`, playouts end where it says what they come to.
    """
    _, masks = seen_by_movers(tables, np.arange(len(tables)))
    rows, actions, playouts = _expanded(masks.astype(np.bool_) & tried, num_playouts)
    values = np.zeros((len(tables), NUM_ACTIONS), np.float64)
    for start in range(0, len(rows), NETWORK_ROWS):
        part = slice(start, start + NETWORK_ROWS)
        room = tables[rows[part]]
        streams = np.zeros((len(room), 4), np.uint64)
        _begin_playouts(room, actions[part], seeds[rows[part]] + playouts[part], streams)
        worths = np.empty(len(room))
        if foresight is None:
            finish_hands(room, players[rows[part]], streams, network)
            _write_worths(tables, rows[part], room, worths)
        else:
            seats = tables["public"]["mover"][rows[part]].astype(np.intp)
            foreseen = foresight.play_ahead(room, seats, players[rows[part]], streams, network)
            _write_worths(tables, rows[part], room, worths)
            worths = np.where(np.isnan(foreseen), worths, foreseen)
        np.add.at(values, (rows[part], actions[part]), worths)
    values = np.where(tried, values / num_playouts, UNTRIED)
    return centred(np.where(masks, values, np.nan).astype(np.float32))


def centred(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return values less each row's mean over the actions tried, those with a finite value."""
    means = np.nanmean(np.where(np.isfinite(values), values, np.nan), axis=1, keepdims=True)
    less: npt.NDArray[np.float32] = values - means
    return less


def finish_hands(
    tables: Tables, players: npt.NDArray[np.int8], streams: npt.NDArray[np.uint64], network: Chooser
) -> None:
    """Play hands to their end in place, asking the network about all tables that wait for it at once."""
    tools = new_tools()
    playing = np.arange(len(tables))
    while len(playing := waiting_for_network(tables, playing, players, streams, tools)):
        observations, masks = seen_by_movers(tables, playing)
        step_some(tables, playing, network(observations, masks).astype(np.int64))


def waiting_for_network(
    tables: Tables,
    playing: npt.NDArray[np.intp],
    players: npt.NDArray[np.int8],
    streams: npt.NDArray[np.uint64],
    tools: npt.NDArray[np.void],
) -> npt.NDArray[np.intp]:
    """Play some tables on (`play_on`), and return those that wait for a network; at the others the hand is over."""
    waits = np.zeros(len(playing), np.bool_)
    _play_on_all(tables, playing, players, streams, tools, waits)
    return playing[waits]


def seen_by_movers(tables: Tables, places: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Return what the movers of some tables see and may do: (N, O) and (N, 54) int8."""
    observations = np.zeros((len(places), OBSERVATION_SIZE), np.int8)
    masks = np.zeros((len(places), NUM_ACTIONS), np.int8)
    _show_some(tables, places, observations.view(OBSERVATION)[:, 0], masks.view(MASK)[:, 0])
    return observations, masks


def _expanded(
    tried: npt.NDArray[np.bool_], num_playouts: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.uint64]]:
    """Return row, action and playout number of every playout to be made."""
    rows, actions = np.nonzero(tried)
    playouts = np.tile(np.arange(num_playouts, dtype=np.uint64), len(rows))
    return np.repeat(rows, num_playouts), np.repeat(actions, num_playouts), playouts


@kernel
def _begin_playouts(room: Any, actions: Any, seeds: Any, streams: Any) -> None:
    for row in range(room.shape[0]):
        seed_stream(streams[row], seeds[row])
        step_table(room[row], actions[row])


@kernel
def _play_on_all(tables: Any, places: Any, players: Any, streams: Any, tools: Any, waits: Any) -> None:
    for number in range(places.shape[0]):
        place = places[number]
        waits[number] = play_on(tables[place], players[place], streams[place], tools)


@kernel
def step_some(tables: Any, places: Any, actions: Any) -> None:
    """Take one action, (N,), at each of some tables."""
    for number in range(places.shape[0]):
        step_table(tables[places[number]], actions[number])


@kernel
def _show_some(tables: Any, places: Any, seen: Any, masks: Any) -> None:
    for number in range(places.shape[0]):
        table = tables[places[number]]
        mover = table.public.mover
        write_mask(table.options, table.public, table.private[mover], masks[number])
        encode(table.options, table.public, table.private[mover], mover, seen[number])


@kernel
def _write_worths(decisions: Any, rows: Any, room: Any, worths: Any) -> None:
    for number in range(rows.shape[0]):
        decision = decisions[rows[number]].public
        worths[number] = _worth(room[number], decision.mover, decision.phase == MOON)
