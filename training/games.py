"""Whole games to the target: one challenger among a field, in each seat of every game; places, wins, hands, scores.

Games with the same seed are dealt the same cards hand by hand, whoever plays, for a table's own stream deals and does
nothing else; they part where one of them ends sooner. The mean over the seats of one seed is one observation, and
intervals come from the means of seeds. Deals and players draw from streams of their own, as in `chearts_env.arena`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import Policy, dealt_games, mean_interval, ratio_interval, role_names
from chearts_env.rules import Rules
from chearts_env.seating import play_seated, table_keys
from training.checkpoint import versions
from training.chunks import deals_at_once
from training.matches import Row, named_policy

#: Tables of one chunk. Those that have ended wait for the longest game, so many at once are no gain.
TABLES_AT_ONCE: Final = 512

_PLAYER_STREAM: Final = 4


@dataclass(frozen=True)
class Games:
    """What G game seeds brought, each played n times, with the challenger in each of n seats."""

    rules: Rules
    seed: int
    scores: npt.NDArray[np.int64]  # (G, n, n) final, of all seats while the challenger has that of the second axis
    hands: npt.NDArray[np.int64]  # (G, n) hands played
    decisions: int  # made by the challenger
    challenger_seconds: float  # the challenger took for them

    @property
    def num_deals(self) -> int:
        """Game seeds played."""
        return len(self.scores)

    @property
    def own_scores(self) -> npt.NDArray[np.int64]:
        """Final scores of the challenger, (G, n), low is good."""
        return np.diagonal(self.scores, axis1=1, axis2=2)

    @property
    def field_scores(self) -> npt.NDArray[np.float64]:
        """Mean final scores of the other seats of the same games, (G, n)."""
        means: npt.NDArray[np.float64] = (self.scores.sum(axis=2) - self.own_scores) / (self.rules.num_players - 1)
        return means

    @property
    def places(self) -> npt.NDArray[np.float64]:
        """Places of the challenger, (G, n), 1 is best; seats that tie share the mean of their places."""
        lower, equal = self._lower_and_equal()
        places: npt.NDArray[np.float64] = 1 + lower + (equal - 1) / 2
        return places

    @property
    def wins(self) -> npt.NDArray[np.float64]:
        """Shares of the win that the challenger had, (G, n): seats that tie for the lowest score share it (R24)."""
        lower, equal = self._lower_and_equal()
        wins: npt.NDArray[np.float64] = (lower == 0) / equal
        return wins

    def shares_of_places(self) -> npt.NDArray[np.float64]:
        """Return how often the challenger came first, second, …, (n,); who ties has a share of each of its places."""
        lower, equal = (each[..., None] for each in self._lower_and_equal())
        place = np.arange(self.rules.num_players)
        shares: npt.NDArray[np.float64] = (((place >= lower) & (place < lower + equal)) / equal).mean(axis=(0, 1))
        return shares

    def _lower_and_equal(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return how many seats have less than the challenger, and how many as much, itself among them, (G, n)."""
        own = self.own_scores[:, :, None]
        return (self.scores < own).sum(axis=2), (self.scores == own).sum(axis=2)


@dataclass(frozen=True)
class GamePlan:
    """The games asked for: `num_deals` seeds for each of `sizes`; policies by names that `policy_named` knows."""

    challenger: str
    field: str
    preset: str
    sizes: tuple[int, ...]
    num_deals: int
    seed: int = 0

    def num_at_once(self, size: int) -> int:
        """Return how many seeds make one chunk."""
        return deals_at_once(TABLES_AT_ONCE, size, (self.challenger, self.field))

    def play(self, size: int, deals: range) -> Games:
        """Play the games of some seeds, here or in another process."""
        challenger, field = named_policy(self.challenger), named_policy(self.field)
        return play_games(challenger, field, getattr(Rules, self.preset)(size), deals, self.seed)

    def joined(self, parts: Sequence[Games]) -> Games:
        """Return parts, in the order of their seeds, as one."""
        return replace(
            parts[0],
            scores=np.concatenate([part.scores for part in parts]),
            hands=np.concatenate([part.hands for part in parts]),
            decisions=sum(part.decisions for part in parts),
            challenger_seconds=sum(part.challenger_seconds for part in parts),
        )

    def is_enough(self, part: Games) -> bool:
        """Say that games do not end early."""
        return False


def play_games(challenger: Policy, field: Policy, rules: Rules, deals: range, seed: int = 0) -> Games:
    """Play the games of some seeds, by their numbers, all at once."""
    n = rules.num_players
    games = dealt_games(rules, seed, deals, "game")
    keys = table_keys(seed, _PLAYER_STREAM, deals, n)
    seats = np.tile(1 - np.eye(n, dtype=np.int64), (len(games), 1))
    tables = [game for game in games for _ in range(n)]
    played = play_seated(tables, [challenger, field], seats, keys, names=role_names(challenger, field))
    scores, hands = played.points.reshape(len(games), n, n), played.hands.reshape(len(games), n)
    return Games(rules, seed, scores, hands, int(played.decisions[0]), float(played.seconds[0]))


def row_of(games: Games, challenger: str, field: str, preset: str) -> Row:
    """Return games as one object of the JSON; `score_ahead` is the field's mean final score minus the challenger's."""
    wins = games.wins.mean(axis=1)
    means = {
        "place": games.places,
        "hands_per_game": games.hands,
        "score_challenger": games.own_scores,
        "score_field": games.field_scores,
        "score_ahead": games.field_scores - games.own_scores,
    }
    row: Row = {
        "challenger": challenger,
        "field": field,
        "rules": preset,
        "seats": games.rules.num_players,
        "deals": games.num_deals,
        "games": games.hands.size,
        "wins": float(wins.mean()),
        "wins95": list(ratio_interval(wins, np.ones(len(wins)), games.seed)),
    }
    for key, values in means.items():
        of_seeds: npt.NDArray[Any] = values.mean(axis=1)
        row |= {key: float(of_seeds.mean()), f"{key}95": list(mean_interval(of_seeds))}
    return row | {
        "shares_of_places": games.shares_of_places().tolist(),
        "microseconds_per_decision": 1e6 * games.challenger_seconds / games.decisions,
        "seed": games.seed,
        "versions": versions(),
    }


def table_of(rows: Sequence[Row]) -> str:
    """Return rows as a table in text, one line for each table size."""
    width = max([len(row["field"]) for row in rows], default=0) + 2
    heading = (
        f"{'field':<{width}}{'rules':<11}{'seats':>5}{'games':>7}{'wins %':>8}{'95 %':>14}{'even':>7}{'place':>8}"
        f"{'95 %':>14}{'even':>7}{'hands':>8}{'score':>8}{'field':>8}"
    )
    lines = [heading, "-" * len(heading)]
    for row in rows:
        wins, places = row["wins95"], row["place95"]
        lines.append(
            f"{row['field']:<{width}}{row['rules']:<11}{row['seats']:>5}{row['games']:>7}{100 * row['wins']:>8.1f}"
            f"{f'{100 * wins[0]:.1f} … {100 * wins[1]:.1f}':>14}{100 / row['seats']:>7.1f}{row['place']:>8.2f}"
            f"{f'{places[0]:.2f} … {places[1]:.2f}':>14}{(row['seats'] + 1) / 2:>7.1f}{row['hands_per_game']:>8.1f}"
            f"{row['score_challenger']:>8.1f}{row['score_field']:>8.1f}"
        )
    return "\n".join(lines)


def brief_of(games: Games) -> str:
    """Return the result in a few words."""
    return f"won {100 * games.wins.mean():.1f} %"
