"""Labels: decisions met at the table, each with the values of its actions; made in chunks, in any order, anywhere.

A chunk follows from the run's seed, the round, its number, the network of the round before and the critic of its own,
where there is one, and from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.judgements import costs_of
from baselines.careful.weights import new_weights
from chearts_env.batch import begin_all
from chearts_env.cards import NUM_FACES
from chearts_env.compiled import kernel
from chearts_env.deal import next_word, seed_stream
from chearts_env.engine import step_table
from chearts_env.observation import OBSERVATION_SIZE, field_values
from chearts_env.rules import CARDS_PASSED, MAX_PLAYERS, Rules
from chearts_env.table import MOON, NUM_ACTIONS, OVER, PASS, PHASES, PLAY, Tables, new_tables
from training.config import LabelsConfig
from training.players import (
    CAREFUL,
    LOW_CARD,
    NETWORK,
    RANDOM_LEGAL,
    choose,
    choose_any,
    new_tools,
    num_choices,
)
from training.playouts import Chooser, PlaysAhead, compiled_values, network_values, seen_by_movers, step_some

#: What was seen at a decision, and the centred value of each action in points: NaN where it was not allowed, infinite
#: where it was not tried.
LABEL: Final = np.dtype([("observation", "i1", (OBSERVATION_SIZE,)), ("values", "<f2", (NUM_ACTIONS,))])
Labels = npt.NDArray[np.void]

#: Keeps the deals of training apart from those of matches (`chearts_env.arena`), whatever the seeds.
_LABEL_STREAM: Final = 2
#: Who plays on after a decision that was not the network's, by `labels.player`.
_SENSIBLE: Final = {"careful": CAREFUL, "low_card": LOW_CARD, "random_legal": RANDOM_LEGAL}
#: Room for noted decisions, per table; what does not fit is not noted.
_ROOM_PER_TABLE: Final = 24
#: Decisions of a hand: each card is played once, three of each seat are passed, one moon is settled.
_MOST_DECISIONS: Final = 2 * NUM_FACES + CARDS_PASSED * MAX_PLAYERS + 1
#: Cards that `careful` holds to be worse than its choice by more than this many points are seldom worth a playout, nor
#: are cards to give away behind the first few: what it says of them is true enough.
_PROMISING_POINTS: Final = 1.5
_PROMISING_PASSES: Final = 5
#: A moon is in sight where one seat has all the points taken so far, and so many at least.
_MOON_IN_SIGHT: Final = 13
#: Chance that another action is tried all the same, so that no error about any goes unseen.
_TRIED_ANYWAY: Final = 0.15


@dataclass(frozen=True)
class Chunk:
    """One piece of work: `settings.tables` hands of `rules` in turn, of round `round_number`."""

    seed: int
    round_number: int
    number: int
    rules: tuple[Rules, ...]
    settings: LabelsConfig

    def rules_of_tables(self) -> list[Rules]:
        """Return the rules of each table. Chunks go on where the one before ends: so few tables deal all rules, too."""
        first = self.number * self.settings.tables
        return [self.rules[(first + place) % len(self.rules)] for place in range(self.settings.tables)]


def rules_to_deal(all_rules: list[Rules], settings: LabelsConfig) -> tuple[Rules, ...]:
    """Return the rules to deal in turn: crowded tables under `two_pairs` repeat, for their labels say the least."""
    dealt: list[Rules] = []
    for rules in all_rules:
        is_crowded = rules.num_players >= 9 and rules.set_aside == "two_pairs"
        dealt += [rules] * (settings.crowded_weight if is_crowded else 1)
    return tuple(dealt)


def make_labels(chunk: Chunk, network: Chooser | None, foresight: PlaysAhead | None = None) -> Labels:
    """Deal hands, note decisions on the way and value their actions.

    `network` plays from the second round on; a `foresight` ends its playouts early.
    """
    settings = chunk.settings
    rng = np.random.default_rng([chunk.seed, _LABEL_STREAM, chunk.round_number, chunk.number])
    tables = new_tables(chunk.rules_of_tables(), single_hand=True)
    begin_all(tables, draw_seeds(rng, len(tables)))
    players = draw_players(rng, tables, settings, with_network=network is not None)
    noted, sources = note_decisions(tables, players, draw_seeds(rng, len(tables)), settings, network)
    observations, masks = seen_by_movers(noted, np.arange(len(noted)))
    tried = masks.astype(np.bool_)
    if settings.tried == "promising":
        tried = _promising(observations, masks, rng)
    kept = tried.sum(axis=1) > 1
    labels = np.zeros(kept.sum(), LABEL)
    labels["observation"] = observations[kept]
    labels["values"] = _values(noted[kept], players[sources[kept]], tried[kept], rng, settings, network, foresight)
    return labels


def _promising(
    observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8], rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Return which actions are worth a playout, (N, 54): those that may be best as `careful` says, and a few more."""
    allowed = masks.astype(np.bool_)
    costs = np.where(allowed, costs_of(observations, masks, new_weights()), np.inf)
    phase = field_values(observations, "phase")
    promising = costs <= costs.min(axis=1, keepdims=True) + _PROMISING_POINTS
    ranks = costs.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    is_pass = phase[:, PASS] > 0
    promising[is_pass] = ranks[is_pass] < _PROMISING_PASSES
    promising |= rng.random(costs.shape) < _TRIED_ANYWAY
    promising |= phase[:, MOON, None] > 0
    chosen: npt.NDArray[np.bool_] = promising & allowed
    return chosen


def _values(
    noted: Tables,
    players: npt.NDArray[np.int8],
    tried: npt.NDArray[np.bool_],
    rng: np.random.Generator,
    settings: LabelsConfig,
    network: Chooser | None,
    foresight: PlaysAhead | None,
) -> npt.NDArray[np.float32]:
    seeds = draw_seeds(rng, len(noted))
    by_network = np.zeros(len(noted), np.bool_)
    if network is not None:
        by_network = rng.random(len(noted)) < settings.network_playouts
    values = np.empty((len(noted), NUM_ACTIONS), np.float32)
    # Whoever made the decision, what it is worth is asked for a seat that goes on sensibly.
    players[np.arange(len(noted)), noted["public"]["mover"]] = NETWORK
    compiled = np.where(players == NETWORK, _SENSIBLE[settings.player], players).astype(np.int8)
    for rows in (np.flatnonzero(~by_network), np.flatnonzero(by_network)):
        if not len(rows):
            continue
        if by_network[rows[0]] and network is not None:
            # Once each: these cost far more than compiled ones and vary less.
            values[rows] = network_values(noted[rows], players[rows], seeds[rows], 1, tried[rows], network, foresight)
        else:
            values[rows] = compiled_values(noted[rows], compiled[rows], seeds[rows], settings.playouts, tried[rows])
    return values


def draw_seeds(rng: np.random.Generator, count: int) -> npt.NDArray[np.uint64]:
    """Return seeds, or keys, of so many tables, (count,)."""
    return rng.integers(0, 2**63, count, np.uint64)


def draw_players(
    rng: np.random.Generator, tables: Tables, settings: LabelsConfig, with_network: bool
) -> npt.NDArray[np.int8]:
    """Return who plays each seat, (B, 11): compiled players, and the network where there is one.

    `mixed` of the tables have seats that play worse than `player`. With a network, `self_play` of the tables are all
    the network's; at the others it has one seat, and of the rest a share drawn anew for each table.
    """
    count = len(tables)
    players = np.full((count, MAX_PLAYERS), _SENSIBLE[settings.player], np.int8)
    if settings.player != "random_legal":
        # What a seat has seen played tells it at which kind of table it sits.
        share = np.where(rng.random((count, 1)) < settings.mixed, rng.random((count, 1)), 1.0)
        worse = [RANDOM_LEGAL] if settings.player == "low_card" else [LOW_CARD, RANDOM_LEGAL]
        replaced = rng.random(players.shape) >= share
        players[replaced] = rng.choice(np.array(worse, np.int8), players.shape)[replaced]
    if with_network:
        num_players = tables["options"]["num_players"].astype(np.int64)
        players[rng.random(players.shape) < rng.random((count, 1))] = NETWORK
        players[np.arange(count), rng.integers(0, num_players)] = NETWORK
        players[rng.random(count) < settings.self_play] = NETWORK
    return players


def note_decisions(
    tables: Tables,
    players: npt.NDArray[np.int8],
    seeds: Any,
    settings: LabelsConfig,
    network: Chooser | None,
    notes_all: bool = False,
) -> tuple[Tables, npt.NDArray[np.int64]]:
    """Play all hands to their end in place.

    Return the tables noted on the way, (N,), those of each hand in the order of time, and which of the tables each one
    was: as many as `settings` want, or with `notes_all` every decision of the network's seats that was no forced move.
    """
    noting = players == NETWORK if network is not None else np.ones_like(players, np.bool_)
    rates = np.ones((len(tables), len(PHASES))) if notes_all else _rates(tables, noting, settings)
    room = np.empty((_MOST_DECISIONS if notes_all else _ROOM_PER_TABLE) * len(tables), tables.dtype)
    sources = np.zeros(len(room), np.int64)
    num_noted = np.zeros(1, np.int64)
    streams = np.zeros((len(tables), 4), np.uint64)
    for place, seed in enumerate(seeds):
        seed_stream(streams[place], seed)
    tools = new_tools()
    playing = np.arange(len(tables))
    while len(playing):
        waits = np.zeros(len(playing), np.bool_)
        _play_noting(
            tables, playing, players, noting, streams, rates, settings.moons, settings.explore, tools, room, sources,
            num_noted, waits,
        )  # fmt: skip
        playing = playing[waits]
        if len(playing) and network is not None:
            step_some(tables, playing, network(*seen_by_movers(tables, playing)).astype(np.int64))
    return room[: num_noted[0]], sources[: num_noted[0]]


def _rates(tables: Tables, noting: npt.NDArray[np.bool_], settings: LabelsConfig) -> npt.NDArray[np.float64]:
    """Return the chance that a decision is noted, by table and phase, (B, 4)."""
    num_seats = tables["options"]["num_players"].astype(np.int64)
    num_noting = (noting & (np.arange(MAX_PLAYERS) < num_seats[:, None])).sum(axis=1)
    rates = np.zeros((len(tables), len(PHASES)))
    rates[:, PASS] = settings.passes / (num_noting * CARDS_PASSED)
    rates[:, PLAY] = settings.plays / (num_noting * tables["options"]["hand_size"])
    rates[:, MOON] = 1.0
    return rates


@kernel
def _draw_share(stream: Any) -> float:
    return next_word(stream) / 4294967296.0


@kernel
def _is_moon_in_sight(public: Any) -> bool:
    taken, most = 0, 0
    for seat in range(MAX_PLAYERS):
        taken += public.seats[seat].points_seen
        most = max(most, public.seats[seat].points_seen)
    return taken >= _MOON_IN_SIGHT and most == taken


@kernel
def _note(tables: Any, place: int, room: Any, sources: Any, num_noted: Any) -> None:
    number = num_noted[0]
    if number < room.shape[0]:
        room[number] = tables[place]
        sources[number] = place
        num_noted[0] += 1


@kernel
def _play_noting(
    tables: Any,
    places: Any,
    players: Any,
    noting: Any,
    streams: Any,
    rates: Any,
    moons: float,
    explore: float,
    tools: Any,
    room: Any,
    sources: Any,
    num_noted: Any,
    waits: Any,
) -> None:
    """Play each table on to the network's next choice, copying decisions to `room` as `rates` and `moons` have it."""
    for number in range(places.shape[0]):
        place = places[number]
        public = tables[place].public
        stream = streams[place]
        while public.phase != OVER:
            seat = public.mover
            is_choice = num_choices(tables[place]) > 1
            rate = rates[place, public.phase]
            if moons > rate and _is_moon_in_sight(public):
                rate = moons
            if is_choice and noting[place, seat] and _draw_share(stream) < rate:
                _note(tables, place, room, sources, num_noted)
            player = players[place, seat]
            if not is_choice or _draw_share(stream) < explore:
                step_table(tables[place], choose_any(tables[place], stream))
            elif player == NETWORK:
                waits[number] = True
                break
            else:
                step_table(tables[place], choose(tables[place], player, stream, tools))
