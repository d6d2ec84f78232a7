"""A response to a frozen policy: plays as the policy does, but where a network holds another action to be worth more.

How much more is chosen by playing, on deals of its own: a network fitted to few labels is wrong more often than a good
policy, and is right where it is sure. With no margin that gains anything, the response is the policy itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import Match, Policy, joined, play_deals
from chearts_env.rules import Rules
from training.chunks import ChunkWork, deals_at_once
from training.matches import TABLES_AT_ONCE, named_policy
from training.policy import NetworkPolicy
from training.workers import Player, Workers, network_policy

#: Points by which another action must be worth more than the policy's own; one of these is chosen.
MARGINS: Final = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)


class Response:
    """The frozen policy with the network's corrections, as a `Policy`."""

    def __init__(self, frozen: Policy, network: NetworkPolicy, margin: float, points_per_unit: float) -> None:
        """`margin` is in points; `points_per_unit` is what the network was fitted with."""
        self._frozen = frozen
        self._network = network
        self._margin = margin / points_per_unit

    def act(
        self, observations: npt.NDArray[np.int8], action_masks: npt.NDArray[np.int8], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return one allowed action for each row, (N,)."""
        own: npt.NDArray[np.int64] = np.asarray(self._frozen.act(observations, action_masks, rng)).astype(np.int64)
        if self._margin == math.inf:
            return own
        worths = self._network.worths(observations, action_masks)
        rows, best = np.arange(len(own)), worths.argmax(axis=1)
        return np.where(worths[rows, best] - worths[rows, own] > self._margin, best, own)


@dataclass(frozen=True)
class ResponseMatch:
    """One response among copies of the policy `name`; a plan for `chunks.ChunkedRun`, and words that travel."""

    name: str
    network: Player
    margin: float
    points_per_unit: float
    rules: Rules
    num_deals: int
    seed: int

    @property
    def sizes(self) -> Sequence[int]:
        """One."""
        return (self.rules.num_players,)

    def num_at_once(self, size: int) -> int:
        """Return how many deals make one chunk."""
        return deals_at_once(TABLES_AT_ONCE, size + 1, (self.name,))

    def play(self, size: int, deals: range) -> Match:
        """Play some deals, here or in another process."""
        frozen = named_policy(self.name)
        response = Response(frozen, network_policy(self.network), self.margin, self.points_per_unit)
        return play_deals(response, frozen, self.rules, deals, self.seed)

    def joined(self, parts: Sequence[Match]) -> Match:
        """Return parts, in the order of their deals, as one match."""
        return joined(parts)

    def is_enough(self, part: Match) -> bool:
        """Say whether it may end early: it may not."""
        return False


def best_margin(matches: Sequence[ResponseMatch], workers: Workers, may_go_on: Callable[[], bool]) -> float:
    """Return the margin of the match that gains most, infinity if none gains anything.

    All play the same deals, chunk by chunk, as long as `may_go_on`; the first chunk in any case.
    """
    saved: list[list[npt.NDArray[np.float64]]] = [[] for _ in matches]
    (size,) = matches[0].sizes
    step, num_played = matches[0].num_at_once(size), 0
    while num_played < matches[0].num_deals and (num_played == 0 or may_go_on()):
        deals = range(num_played, min(num_played + step, matches[0].num_deals))
        works = [ChunkWork(match, size, deals) for match in matches]
        for part, played in zip(saved, workers.in_order(works), strict=True):
            part.append(played.saved)
        num_played = deals.stop
    gains = [float(np.concatenate(part).mean()) for part in saved]
    best = int(np.argmax(gains))
    return matches[best].margin if gains[best] > 0 else math.inf
