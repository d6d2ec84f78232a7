"""Matches by name: planned in chunks that worker processes can play, and told as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import add
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from baselines.names import policy_of
from chearts_env.arena import Match, Policy, Watch, joined, play_deals, play_match
from chearts_env.policy import Actions, ValuingPolicy
from chearts_env.record_format import HandRecord
from chearts_env.recording import TablesRecorder
from chearts_env.rules import Rules
from chearts_env.vector import VectorTables
from training.checkpoint import versions
from training.chunks import deals_at_once
from training.losses import Losses, LossWatch, losses_of_match
from training.names import policy_named
from training.workers import Player, network_policy

Row = dict[str, Any]

#: Tables of one chunk: enough for policies to be called in batches, few enough for a bar to move and workers to share.
TABLES_AT_ONCE: Final = 1024


@dataclass(frozen=True)
class MatchWork:
    """Play a network, on its way through a training run, against a field of one of the baselines."""

    player: Player
    name: str
    field: str
    preset: str
    size: int
    num_deals: int
    seed: int

    def __call__(self) -> Row:
        """Do it."""
        names = (self.name, self.field)
        return play_row(
            network_policy(self.player), policy_of(self.field), names, self.preset, self.size, self.num_deals, self.seed
        )


@dataclass(frozen=True)
class MatchPlan:
    """The matches asked for, one for each of `sizes`; policies by names that `policy_named` knows.

    A match has `num_deals` deals, or ends earlier, once its 95 % interval reaches at most `until` points to either side
    of the advantage.
    """

    challenger: str
    field: str
    preset: str
    sizes: tuple[int, ...]
    num_deals: int
    seed: int = 0
    swapped: bool = False
    until: float | None = None
    is_watched: bool = False  # a report is to be made: note where points come from
    is_recorded: bool = False  # keep every hand
    values_by: str | None = None  # ... with what this policy holds actions to be worth

    def num_at_once(self, size: int) -> int:
        """Return how many deals make one chunk."""
        return deals_at_once(TABLES_AT_ONCE, size + 1, (self.challenger, self.field))

    def play(self, size: int, deals: range) -> Match:
        """Play some deals, here or in another process."""
        challenger, field = named_policy(self.challenger), named_policy(self.field)
        rules = getattr(Rules, self.preset)(size)
        losses = LossWatch() if self.is_watched else None
        hands: list[HandRecord] = []
        recorder = self._recorder(size, len(deals), hands.append) if self.is_recorded else None
        watch = Watches([each for each in (losses, recorder) if each is not None])
        match = play_deals(challenger, field, rules, deals, self.seed, swapped=self.swapped, watch=watch)
        found = losses_of_match(losses, match) if losses else None
        return WatchedMatch(**vars(match), losses=found, hands=tuple(hands))

    def _recorder(self, size: int, num_deals: int, write: Callable[[HandRecord], object]) -> TablesRecorder:
        lone, other = (self.field, self.challenger) if self.swapped else (self.challenger, self.field)
        # The lone seat's number is that of the table; at the last of each deal there is none.
        tables = [[lone if seat == table else other for seat in range(size)] for table in range(size + 1)]
        return TablesRecorder(write, tables * num_deals, valuing_policy(self.values_by) if self.values_by else None)

    def joined(self, parts: Sequence[Match]) -> Match:
        """Return parts, in the order of their deals, as one match."""
        watched = [part for part in parts if isinstance(part, WatchedMatch)]
        losses = [part.losses for part in watched if part.losses is not None]
        found: tuple[Losses, Losses] | None = None
        if losses:
            challenger, field = (reduce(add, each) for each in zip(*losses, strict=True))
            found = (challenger, field)
        hands = tuple(hand for part in watched for hand in part.hands)
        return replace(joined(parts), losses=found, hands=hands)  # type: ignore[call-arg] # a WatchedMatch, as its parts

    def is_enough(self, part: Match) -> bool:
        """Say whether a match may end with these deals: whether its interval is narrow enough."""
        return self.until is not None and half_width(part) <= self.until


@dataclass(frozen=True, kw_only=True)
class WatchedMatch(Match):
    """A match of which is known where its points came from, or how its hands were played."""

    #: Of the challenger and of the field's policy, in the same seats on the same deals.
    losses: tuple[Losses, Losses] | None = None
    hands: tuple[HandRecord, ...] = ()  # those of each chunk in the order in which they ended


class Watches:
    """Several watches as one."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches

    def before_step(self, tables: VectorTables, actions: Actions, playing: npt.NDArray[np.bool_]) -> None:
        """Tell all of them."""
        for watch in self._watches:
            watch.before_step(tables, actions, playing)

    def after_step(self, tables: VectorTables, playing: npt.NDArray[np.bool_]) -> None:
        """Tell all of them."""
        for watch in self._watches:
            watch.after_step(tables, playing)


@lru_cache(maxsize=64)
def named_policy(name: str) -> Policy:
    """Return a policy by its name, made once in each process and asked once: what it compiles then takes seconds."""
    policy = policy_named(name)
    tables = VectorTables(Rules(), 1, seed=0)
    policy.act(tables.observations, tables.action_masks, np.random.default_rng(0))
    return policy


def valuing_policy(name: str) -> ValuingPolicy:
    """Return a policy that says what it holds actions to be worth. Raises ValueError for one that does not."""
    policy = named_policy(name)
    if not isinstance(policy, ValuingPolicy):
        raise ValueError(f"{name} does not say what it holds actions to be worth: careful and networks do")
    return policy


def half_width(match: Match) -> float:
    """Return how far the 95 % interval reaches to either side of the advantage, in points."""
    low, high = match.interval95
    return (high - low) / 2


def play_row(
    challenger: Policy,
    field: Policy,
    names: tuple[str, str],
    preset: str,
    size: int,
    num_deals: int,
    seed: int,
    on_deals: Callable[[int], object] = lambda num_deals: None,
) -> Row:
    """Play one match and return it as one object of the JSON; `names` are challenger's and field's."""
    match = play_match(challenger, field, getattr(Rules, preset)(size), num_deals, seed, on_deals=on_deals)
    return row_of(match, *names, preset)


def row_of(match: Match, challenger: str, field: str, preset: str) -> Row:
    """Return a match as one object of the JSON; points are per hand, `advantage` is points saved, positive is good."""
    return {
        "challenger": challenger,
        "field": field,
        "rules": preset,
        "seats": match.rules.num_players,
        "deals": match.num_deals,
        "hands": match.num_hands,
        "swapped": match.swapped,
        "advantage": match.advantage,
        "interval95": list(match.interval95),
        "points_challenger": match.points_challenger,
        "points_field": match.points_field,
        "share_won": match.share_won,
        "share_won95": list(match.share_won95),
        "moons_made": match.moons_made,
        "moons_made95": list(match.moons_made95),
        "moons_suffered": match.moons_suffered,
        "moons_suffered95": list(match.moons_suffered95),
        "microseconds_per_decision": match.microseconds_per_decision,
        "seed": match.seed,
        "versions": versions(),
    }


def table_of(rows: Sequence[Row]) -> str:
    """Return rows as a table in text, one line for each match."""
    width = max([len(row["field"]) for row in rows], default=0) + 2
    heading = (
        f"{'field':<{width}}{'rules':<11}{'seats':>5}{'deals':>7}{'points':>8}{'field':>9}{'saved':>8}   95 % interval"
    )
    lines = [heading, "-" * len(heading)]
    for row in rows:
        low, high = row["interval95"]
        lines.append(
            f"{row['field']:<{width}}{row['rules']:<11}{row['seats']:>5}{row['deals']:>7}{row['points_challenger']:>8.2f}"
            f"{row['points_field']:>9.2f}{row['advantage']:>+8.2f}   {low:+.2f} … {high:+.2f}"
        )
    return "\n".join(lines)


def brief_of(match: Match) -> str:
    """Return the result in a few words."""
    return f"saved {match.advantage:+.2f}"
