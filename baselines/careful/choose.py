"""The decision of `careful`: the legal action of the lowest cost."""

from __future__ import annotations

from typing import Any

from baselines.careful.facts import note_facts
from baselines.careful.moons import settle_moon
from baselines.careful.passing import cost_of_giving
from baselines.careful.play import cost_of_playing
from chearts_env.cards import NUM_FACES, NUM_SUITS
from chearts_env.compiled import kernel
from chearts_env.table import MOON, NUM_ACTIONS, PASS


@kernel
def cost_of(seen: Any, facts: Any, weights: Any, face: int, item: Any) -> float:
    """Return the cost of giving or playing a card, points, and note in `item` what it is made of."""
    if seen.phase[PASS]:
        return cost_of_giving(seen, facts, weights, face, item)
    return cost_of_playing(seen, facts, weights, face, item)


@kernel
def forced_action(mask: Any) -> int:
    """Return the one action that a mask, (54,), allows, -1 if it allows more."""
    num_legal = 0
    only = 0
    for action in range(NUM_ACTIONS):
        num_legal += mask[action]
        only += action * int(mask[action])
    return only if num_legal == 1 else -1


@kernel
def choose_carefully(seen: Any, mask: Any, weights: Any, facts: Any, item: Any) -> int:
    """Return the action for an observation, a record of dtype `OBSERVATION`, and its mask, (54,), that leaves a choice.

    `facts` and `item` are room to work in, records of dtype `FACTS` and `ITEM`. Of equal costs the lowest face is
    taken.
    """
    note_facts(seen, weights, facts)
    if seen.phase[MOON]:
        return settle_moon(seen, facts.num_players)
    best = -1
    lowest = 0.0
    for place in range(facts.first[NUM_SUITS]):  # sooner done than all faces
        face = facts.cards[place]
        if not mask[face] or (place > 0 and face == facts.cards[place - 1]):
            continue
        cost = cost_of(seen, facts, weights, face, item)
        if best < 0 or cost < lowest:
            best = face
            lowest = cost
    return max(best, 0)  # once all is over no card is held and every action allowed


@kernel
def write_costs(seen: Any, mask: Any, weights: Any, facts: Any, item: Any, costs: Any) -> None:
    """Write the cost of each legal action into `costs`, (54,); those of a moon's settlement are all alike."""
    note_facts(seen, weights, facts)
    for face in range(NUM_FACES):
        if mask[face]:
            costs[face] = cost_of(seen, facts, weights, face, item)
