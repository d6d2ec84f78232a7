"""Mixed tables: who of a pool sits where, and the hands played so.

Every deal is played at as many tables as the pool has policies, and in each seat the policies take turns in an order
drawn for that seat: so on every deal every policy plays every seat's cards once, and at any one table the seats are
filled independently, each policy equally likely. Whom a policy meets varies from table to table, copies of itself
included, and all pairs meet equally often but for chance.

Deals, seatings and players draw from streams of their own. The deals are those of a match with the same seed; a seating
depends on the seed, the number of its deal, of policies and of seats; what a policy draws, on the seed, the deal and
the table. So a longer pool begins with the tables of a shorter one, in however many pieces it is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from chearts_env.arena import dealt_games
from chearts_env.policy import Policy
from chearts_env.rules import Rules
from chearts_env.seating import play_seated, table_keys

# Arena's matches have the streams 1 and 7.
_SEATING_STREAM: Final = 2
_PLAYER_STREAM: Final = 3


@dataclass(frozen=True)
class PoolTables:
    """D deals, each played at T tables of n seats by policies that are numbered 0 … P - 1."""

    rules: Rules
    points: npt.NDArray[np.int64]  # (D, T, n) score changes of the hands, moons settled (R20 to R22); low is good
    seats: npt.NDArray[np.int64]  # (D, T, n) the number of the policy in each seat
    dealers: npt.NDArray[np.int64]  # (D,) seat of the dealer
    decisions: npt.NDArray[np.int64]  # (P,) made by each policy
    seconds: npt.NDArray[np.float64]  # (P,) it took for them

    @property
    def num_deals(self) -> int:
        """Deals played."""
        return len(self.points)

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """Seats counted from the dealer, (D, 1, n): 0 is the dealer, 1 leads the first trick (R10)."""
        num_players = self.points.shape[2]
        places: npt.NDArray[np.int64] = (np.arange(num_players) - self.dealers[:, None, None]) % num_players
        return places


def drawn_seats(seed: int, deals: range, num_policies: int, num_players: int) -> npt.NDArray[np.int64]:
    """Return who sits where on some deals, (D, P, n): at P tables each policy has each seat once."""
    seats = np.empty((len(deals), num_policies, num_players), np.int64)
    turns = np.repeat(np.arange(num_policies)[:, None], num_players, axis=1)
    for place, deal in enumerate(deals):
        generator = np.random.default_rng([seed, _SEATING_STREAM, deal])
        seats[place] = generator.permuted(turns, axis=0)
    return seats


def play_tables(policies: Sequence[Policy], names: Sequence[str], rules: Rules, seed: int, deals: range) -> PoolTables:
    """Play the tables of some deals, all together, and return what they brought.

    `names` are what messages call the policies. Raises IllegalActionError for an action that a mask excludes, naming
    policy, seat and action.
    """
    num_policies, num_players = len(policies), rules.num_players
    seats = drawn_seats(seed, deals, num_policies, num_players)
    games = dealt_games(rules, seed, deals, "hand")
    played = play_seated(
        [game for game in games for _ in range(num_policies)],
        policies,
        seats.reshape(-1, num_players),
        table_keys(seed, _PLAYER_STREAM, deals, num_policies),
        names=names,
    )
    return PoolTables(
        rules,
        played.points.reshape(seats.shape),
        seats,
        np.array([game.dealer for game in games], np.int64),
        played.decisions,
        played.seconds,
    )


def joined_tables(parts: Sequence[PoolTables]) -> PoolTables:
    """Return the tables of stretches of deals, in their order, as one."""
    return PoolTables(
        parts[0].rules,
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.seats for part in parts]),
        np.concatenate([part.dealers for part in parts]),
        np.sum([part.decisions for part in parts], axis=0),
        np.sum([part.seconds for part in parts], axis=0),
    )
