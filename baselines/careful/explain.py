"""Why `careful` plays what it plays: each legal action's cost and the reason in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from baselines.careful.choose import cost_of
from baselines.careful.facts import FACTS, note_facts
from baselines.careful.moons import settle_moon
from baselines.careful.play import ITEM
from chearts_env.cards import FACE_SUIT, face_to_text
from chearts_env.observation import OBSERVATION, OBSERVATION_SIZE
from chearts_env.table import ADD_MOON, MOON, NUM_ACTIONS, OVER, PASS

#: Prices below this many points are not worth a word.
_WORTH_SAYING: Final = 0.05


@dataclass(frozen=True)
class Reason:
    """One legal action: what `careful` expects it to cost, in points, and why. The lowest cost is played."""

    action: int
    card: str
    cost: float
    words: str


def explain(observation: npt.NDArray[np.int8], action_mask: npt.NDArray[np.int8], weights: np.record) -> list[Reason]:
    """Return every legal action of an observation, (O,), and its mask, (54,), the one that is played first.

    Raises ValueError for other shapes and once the game is over.
    """
    mask = np.asarray(action_mask)
    if np.shape(observation) != (OBSERVATION_SIZE,) or mask.shape != (NUM_ACTIONS,):
        raise ValueError(
            f"explain takes one observation ({OBSERVATION_SIZE},) and its mask ({NUM_ACTIONS},), "
            f"not {np.shape(observation)} and {mask.shape}"
        )
    seen = np.ascontiguousarray(observation, np.int8).view(OBSERVATION)[0]
    if seen["phase"][OVER]:
        raise ValueError("explain takes the observation of a seat that has something to decide: this game is over")
    facts, item = np.zeros(1, FACTS)[0], np.zeros(1, ITEM)[0]
    note_facts(seen, weights, facts)
    legal = [int(action) for action in np.flatnonzero(mask)]
    if seen["phase"][MOON]:
        return _explain_moon(seen, facts, legal)
    reasons = []
    for face in legal:
        cost = cost_of(seen, facts, weights, face, item)
        if seen["phase"][PASS]:
            words = f"gives away {item.shed:.1f} points of danger"
        else:
            words = _words_of_play(seen, facts, item, face)
        reasons.append(Reason(face, face_to_text(face), float(cost), words))
    return sorted(reasons, key=lambda reason: (reason.cost, reason.action))


def _explain_moon(seen: np.record, facts: np.record, legal: list[int]) -> list[Reason]:
    chosen = settle_moon(seen, int(facts["num_players"]))
    why = {
        True: "adding ends the game with me as its winner",
        False: "adding would not win the game at once, and my own score falls by subtracting",
    }[chosen == ADD_MOON]
    names = {action: "add to the others" if action == ADD_MOON else "subtract from mine" for action in legal}
    reasons = [Reason(action, names[action], 0.0 if action == chosen else 1.0, why) for action in legal]
    return sorted(reasons, key=lambda reason: reason.cost)


def _words_of_play(seen: np.record, facts: np.record, item: np.record, face: int) -> str:
    parts = [_situation(seen, facts, face)]
    if item.wins >= 0.995:
        parts.append(f"wins {item.pot:.1f} points")
    elif item.wins > 0.005:
        parts.append(f"wins {item.pot:.1f} points with {100 * item.wins:.0f} %")
    elif item.set_aside < 0.995:
        parts.append("does not win")
    if item.set_aside >= 0.995:
        parts.append(f"the trick is set aside with {item.pot:.1f} points")
    elif item.set_aside > 0.005:
        parts.append(f"set aside with {100 * item.set_aside:.0f} %")
    for price, if_cost, if_gain in (
        (-item.stops, "as it may help a moon", "as it may stop a moon"),
        (item.taken - item.wins * item.pot, "as it ends my own moon", "as it nears my own moon"),
        (item.back, "for a pot that comes back", "for a pot that comes back"),
        (item.tempo, "for the lead", "by the lead"),
        (-item.shed, "as it guards other cards", "by being rid of it"),
    ):
        if price >= _WORTH_SAYING:
            parts.append(f"costs {price:.1f} {if_cost}")
        elif price <= -_WORTH_SAYING:
            parts.append(f"saves {-price:.1f} {if_gain}")
    return "; ".join(parts)


def _situation(seen: np.record, facts: np.record, face: int) -> str:
    trick = seen["board"]["trick"]
    if facts.led < 0:
        return "leads"
    cancels = trick[face] == 1
    if cancels and facts.two_pairs and facts.pairs == 1:
        return "completes a second pair"
    if cancels:
        return "cancels its twin"
    if FACE_SUIT[face] != facts.led:
        return "cannot follow, throws it"
    return "follows, last to play" if facts.behind == 0 else f"follows, {facts.behind} behind"
