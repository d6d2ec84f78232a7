"""Positions set up by hand: the tricks played so far and the hands that matter, as text."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from baselines.careful import Careful
from baselines.careful.facts import FACTS, note_facts
from baselines.careful.play import ITEM, cost_of_playing
from baselines.careful.weights import WEIGHTS, tuned_weights
from baselines.likely_worlds import likely_worlds
from chearts_env import Game, Rules
from chearts_env.arena import Policy
from chearts_env.cards import NUM_RANKS, face_from_text, face_to_text, faces_from_text, faces_to_text
from chearts_env.knowledge import redeal_observation
from chearts_env.observation import OBSERVATION


def position(rules: Rules, tricks: list[str], hands: Mapping[int, str], kitty: str = "") -> Game:
    """The single hand after some tricks, the last of which may be unfinished; the next seat is to move.

    A trick is `leader: cards in the order played`, a hand what a seat holds after them all. Seats without a hand get
    cards from what is left, none of a suit that they have not followed; what then remains joins the kitty.
    """
    seats = range(rules.num_players)
    played: list[list[int]] = [[] for _ in seats]
    missed: list[set[int]] = [set() for _ in seats]
    turns: list[tuple[int, int]] = []
    for trick in tricks:
        leader, _, cards = trick.partition(":")
        faces = faces_from_text(cards)
        for place, face in enumerate(faces):
            seat = (int(leader) + place) % rules.num_players
            turns.append((seat, face))
            played[seat].append(face)
            if face // NUM_RANKS != faces[0] // NUM_RANKS:
                missed[seat].add(faces[0] // NUM_RANKS)
    dealt = [played[seat] + faces_from_text(hands.get(seat, "")) for seat in seats]
    in_kitty = faces_from_text(kitty)
    used = Counter(face for cards in (*dealt, in_kitty) for face in cards)
    assert max(used.values()) <= 2, f"three copies of {face_to_text(used.most_common(1)[0][0])}"
    left = [face for face in range(52) for _ in range(2 - used[face])]
    random.Random(7).shuffle(left)
    for seat in sorted(seats, key=lambda seat: -len(missed[seat])):
        room = rules.hand_size - len(dealt[seat])
        fitting = [face for face in left if face // NUM_RANKS not in missed[seat]][:room]
        assert len(fitting) == room
        assert not room or seat not in hands, f"seat {seat} lacks {room} cards"
        for face in fitting:
            left.remove(face)
        dealt[seat] += fitting
    first = int(tricks[0].partition(":")[0]) if tricks else 0
    game = Game.from_hands(
        rules,
        [faces_to_text(cards) for cards in dealt],
        kitty=faces_to_text(in_kitty + left),
        dealer=(first - 1) % rules.num_players,
        episode="hand",
    )
    for seat, face in turns:
        assert game.mover == seat, f"{face_to_text(face)} is not for seat {seat} to play, but for seat {game.mover}"
        game.step(face)
    return game


def moments(rules: Rules, seed: int, phases: dict[str, list[int]]) -> Iterator[Game]:
    """Yield a hand of careful play at some decisions of each phase, by their numbers."""
    game = Game(rules, seed=seed, episode="hand")
    numbers = dict.fromkeys(("pass", "play", "moon"), 0)
    while game.mover is not None:
        if numbers[game.phase] in phases.get(game.phase, ()):
            yield game.copy()
        numbers[game.phase] += 1
        game.step(action_of(Careful(), game))


def tuned_array() -> npt.NDArray[np.record]:
    """The constants of `careful`, (1,) of dtype `WEIGHTS`."""
    weights: npt.NDArray[np.record] = np.array([tuned_weights()], WEIGHTS)
    return weights


def likely_games(observation: npt.NDArray[np.int8], seed: int, num_worlds: int) -> list[Game]:
    """The worlds that search draws with this seed, as games; the seat that looks is seat 0."""
    rules, _ = redeal_observation(observation, np.random.default_rng(0))
    tables = likely_worlds(observation, np.random.default_rng(seed), num_worlds, tuned_array())
    return [Game._of_tables(rules, tables[place : place + 1].copy(), []) for place in range(num_worlds)]


def sight(game: Game) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """What the mover sees and may do: (O,) and (54,)."""
    assert game.mover is not None
    return game.observation(game.mover), game.action_mask()


def action_of(policy: Policy, game: Game, seed: int = 0) -> int:
    """The action that a policy chooses for the mover."""
    observation, mask = sight(game)
    return int(policy.act(observation[None], mask[None], np.random.default_rng(seed))[0])


def choice(game: Game, policy: Policy | None = None) -> str:
    """The card that a policy, `careful` by default, chooses for the mover."""
    return face_to_text(action_of(policy or Careful(), game))


def words_of(game: Game) -> dict[str, str]:
    """What `careful` says of each card the mover may play."""
    return {reason.card: reason.words for reason in Careful().explain(*sight(game))}


def facts_of(observation: npt.NDArray[np.int8], weights: np.record | None = None) -> Any:
    """The facts of an observation, (O,), a record of dtype `FACTS`."""
    facts = np.zeros(1, FACTS)[0]
    note_facts(observation.view(OBSERVATION)[0], tuned_weights() if weights is None else weights, facts)
    return facts


def item_of(game: Game, card: str | int, weights: np.record | None = None) -> Any:
    """The chances and prices that `careful` sees in a card of the mover, a record of dtype `ITEM`."""
    face = face_from_text(card) if isinstance(card, str) else card
    weights = tuned_weights() if weights is None else weights
    observation, _ = sight(game)
    item = np.zeros(1, ITEM)[0]
    cost_of_playing(observation.view(OBSERVATION)[0], facts_of(observation, weights), weights, face, item)
    return item
