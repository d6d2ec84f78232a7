"""A plain rule player: one formula, constants set by hand once; far better than `low_card`, far below `careful`.

It is the rule player that published numbers for this game were first measured with, as far as a description tells: the
chance to win a trick from the cards above, the points that its winner may take, and a price for getting rid of a card.
Of tricks set aside by two pairs (R15) it knows how often they are, by the pairs on them, the seats to come and the size
of the table: `plain_rules.json`, measured by `python -m baselines.plain_rules` at tables of the same player without it.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.careful.choose import forced_action
from baselines.careful.facts import FACTS, NO_RIVAL, NO_SUIT, note_facts
from baselines.careful.weights import new_weights
from chearts_env import Rules, VectorTables
from chearts_env.cards import BLACK_MARIA, FACE_POINTS, FACE_SUIT, HEARTS, NUM_FACES, NUM_RANKS, SPADES
from chearts_env.compiled import kernel
from chearts_env.observation import OBSERVATION, field_values
from chearts_env.rules import CARDS_PASSED, MAX_PLAYERS, MIN_PLAYERS
from chearts_env.table import MASK, MOON, PASS, PLAY, SUBTRACT_MOON
from chearts_env.whole_files import write_whole

VOIDS_FILE: Final = Path(__file__).with_suffix(".json")
_MEASURED_TABLES: Final = 2_000
#: With so many lower spades, high ones are no danger.
_ENOUGH_LOW_SPADES: Final = 5
_FIRST_SPADE: Final = NUM_RANKS * SPADES
#: A rival with all points taken so far counts from here, and its pile counts for so much.
_RIVAL_FROM: Final = 10.0
_RIVAL_PILE: Final = 0.3


class PlainRules:
    """Plays the card of the lowest cost by one formula. Always the same answer to the same observation."""

    def __init__(self, knows_set_aside: bool = True) -> None:
        """Without `knows_set_aside` it has never heard that two pairs set a trick aside (R15)."""
        self._knows = knows_set_aside
        self._voids = _voids() if knows_set_aside else np.zeros((MAX_PLAYERS - MIN_PLAYERS + 1, 2, MAX_PLAYERS))
        self._constants = new_weights()
        for name, value in (("rival_from", _RIVAL_FROM), ("rival_moon", 1.0), ("rival_pile", _RIVAL_PILE)):
            self._constants[name] = value

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        seen = np.ascontiguousarray(observations, np.int8).view(OBSERVATION)[:, 0]
        masks = np.ascontiguousarray(action_masks, np.int8).view(MASK)[:, 0]
        actions = np.zeros(len(seen), np.int64)
        _choose_all(seen, masks, self._constants, np.zeros(1, FACTS), self._knows, self._voids, actions)
        return actions


@kernel
def _choose_all(seen: Any, masks: Any, constants: Any, facts: Any, knows: bool, voids: Any, actions: Any) -> None:
    for row in range(seen.shape[0]):
        actions[row] = _choose(seen[row], masks[row].legal, constants[0], facts[0], knows, voids)


@kernel
def _choose(seen: Any, mask: Any, constants: Any, facts: Any, knows: bool, voids: Any) -> int:
    forced = forced_action(mask)
    if forced >= 0:
        return forced
    if seen.phase[MOON]:
        return SUBTRACT_MOON
    note_facts(seen, constants, facts)
    best = -1
    lowest = 0.0
    for face in range(NUM_FACES):
        if not mask[face]:
            continue
        cost = _cost_of_giving(seen, facts, face) if seen.phase[PASS] else _cost(seen, facts, face, knows, voids)
        if best < 0 or cost < lowest:
            best = face
            lowest = cost
    return best


@kernel
def _low_spades(seen: Any) -> int:
    count = 0
    for face in range(_FIRST_SPADE, BLACK_MARIA):
        count += seen.hand[face]
    return count


@kernel
def _cost_of_giving(seen: Any, facts: Any, face: int) -> float:
    """Return how much a card is better kept: high spades go first, then high cards and short suits."""
    rank = face % NUM_RANKS
    suit = FACE_SUIT[face]
    if suit == SPADES:
        if face >= BLACK_MARIA and _low_spades(seen) < _ENOUGH_LOW_SPADES:
            return -30.0 - rank
        if face < BLACK_MARIA:
            return 5.0 - 0.1 * rank
    worth = rank + 1.5 * (4 - facts.suits_mine[suit])
    if suit == HEARTS:
        worth += 1.0
    if seen.hand[face] == 2 and rank > 8:
        worth += 1.5
    return -worth  # type: ignore[no-any-return]


@kernel
def _cost(seen: Any, facts: Any, face: int, knows: bool, voids: Any) -> float:
    """Return what a card is expected to cost: points it wins, its share of those set aside, less what goes with it."""
    suit = facts.led if facts.led != NO_SUIT else FACE_SUIT[face]
    cancels = facts.led != NO_SUIT and seen.board.trick[face] == 1
    chance_aside = 0.0
    if knows and facts.two_pairs:
        pairs = facts.pairs + cancels
        chance_aside = 1.0 if pairs >= 2 else voids[facts.num_players - MIN_PLAYERS, pairs, facts.behind]
    follow = facts.open_behind[suit]
    pot = facts.pot + FACE_POINTS[face]
    to_come = 0.25 * facts.behind + 2.0 * (facts.behind - follow)
    if suit == HEARTS:
        to_come += 0.9 * follow
    elif suit == SPADES and facts.queens_out > 0:
        to_come += 13.0 * (0.5 if face > BLACK_MARIA and FACE_SUIT[face] == SPADES else 0.15)
    wins = 0.0 if FACE_SUIT[face] != suit or cancels else _chance_to_win(seen, facts, suit, face)
    wins *= 1.0 - chance_aside
    cost = wins * (pot + to_come) + chance_aside * pot / facts.num_players
    if knows and facts.rival != NO_RIVAL:
        cost -= facts.rival_price * wins * min(pot, 1.0)
    if FACE_SUIT[face] == suit:
        return cost - _price_of_holding(seen, facts, face)  # type: ignore[no-any-return]
    if face == BLACK_MARIA and chance_aside >= 1.0:
        return cost + 5.0  # type: ignore[no-any-return] # kept for a trick that somebody wins
    return cost - _danger(seen, facts, face)  # type: ignore[no-any-return]


@kernel
def _chance_to_win(seen: Any, facts: Any, suit: int, face: int) -> float:
    top = -1
    if facts.led != NO_SUIT:
        for other in range(NUM_RANKS * suit, NUM_RANKS * suit + NUM_RANKS):
            if seen.board.trick[other] == 1:
                top = other
    follow = facts.open_behind[suit]
    if face > top:
        chance = 1.0
    elif facts.out[top] > 0:
        chance = 0.15 * follow / (facts.num_players - 1)
    else:
        return 0.0
    above = facts.above[face] / max(facts.suits_out[suit], 1)
    for _ in range(follow):
        chance *= 1.0 - 0.55 * above
    return chance * 0.88 if facts.out[face] > 0 and follow > 0 else chance


@kernel
def _price_of_holding(seen: Any, facts: Any, face: int) -> float:
    """Return what it is worth to be rid of a card of the suit led."""
    suit = FACE_SUIT[face]
    if face == BLACK_MARIA:
        price = 7.0
    elif suit == SPADES and face > BLACK_MARIA and facts.queens_out > 0:
        price = 3.0
    else:
        price = (0.22 if suit == HEARTS else 0.16) * (face % NUM_RANKS)
    return price + 0.15 if seen.hand[face] == 2 else price


@kernel
def _danger(seen: Any, facts: Any, face: int) -> float:
    """Return what it is worth to throw a card on a trick of another suit."""
    suit = FACE_SUIT[face]
    if face == BLACK_MARIA:
        return 30.0
    if suit == SPADES and face > BLACK_MARIA and facts.queens_out > 0 and _low_spades(seen) < _ENOUGH_LOW_SPADES:
        return 20.0
    danger = 6.0 * (facts.below[face] - facts.above[face]) / max(facts.suits_out[suit], 1)
    if suit == HEARTS:
        danger += 2.5
    danger += 0.8 * (3 - facts.suits_mine[suit])
    return danger + 0.5 if seen.hand[face] == 2 else danger  # type: ignore[no-any-return]


@cache
def _voids() -> npt.NDArray[np.float64]:
    """Return the chances that a trick is set aside, by table size, pairs on it (0, 1) and seats to come: (6, 2, 11)."""
    chances = json.loads(VOIDS_FILE.read_text("utf-8"))["chances"]
    return np.array([chances[str(size)] for size in range(MIN_PLAYERS, MAX_PLAYERS + 1)])


def measured_voids(num_players: int, num_tables: int, seed: int) -> npt.NDArray[np.float64]:
    """Return how often tricks with so many pairs and seats to come are set aside, (2, 11), at one table size."""
    tables = VectorTables(Rules.card_page(num_players), num_tables, seed=seed)
    player, rng, every = PlainRules(knows_set_aside=False), np.random.default_rng(seed), np.arange(num_tables)
    counts = np.zeros((2, 2, MAX_PLAYERS))  # [set aside, pairs, seats to come]
    trick: list[tuple[npt.NDArray[np.int64], int]] = []
    for _ in range(num_players * (CARDS_PASSED + tables.rules[0].hand_size)):
        observations = tables.observations
        actions = player.act(observations, tables.action_masks, rng)
        if field_values(observations, "phase")[0, PLAY]:
            lies = field_values(observations, "trick")[every, actions] == 1
            pairs = field_values(observations, "trick_pairs")[:, 0] + lies
            trick.append((pairs, num_players - 1 - len(trick)))
            if len(trick) == num_players:
                for before, to_come in trick:
                    for is_aside in (0, 1):
                        for number in (0, 1):
                            counts[is_aside, number, to_come] += ((pairs >= 2) == is_aside)[before == number].sum()
                trick.clear()
        tables.step(actions)
    chances: npt.NDArray[np.float64] = counts[1] / np.maximum(counts.sum(axis=0), 1)
    return chances


def main() -> int:
    """Measure and write the file."""
    chances = {
        str(size): measured_voids(size, _MEASURED_TABLES, seed=size).round(3).tolist()
        for size in range(MIN_PLAYERS, MAX_PLAYERS + 1)
    }
    write_whole(VOIDS_FILE, json.dumps({"tables": _MEASURED_TABLES, "chances": chances}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
