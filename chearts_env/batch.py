"""The loops over many tables, and what a scored hand pays. Each loop calls the kernels of one table and adds no rule.

A loop takes a share `begin … end - 1` of the tables, so that threads can take one each; it allocates nothing.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from chearts_env.compiled import kernel
from chearts_env.deal import begin_episode, next_seed
from chearts_env.engine import GOES_ON, HAND_SCORED, TERMINATED, TRUNCATED, step_table, write_mask
from chearts_env.observation import encode
from chearts_env.prefetch import fetch_soon
from chearts_env.rules import MAX_PLAYERS
from chearts_env.table import NUM_ACTIONS
from chearts_env.tickets import STOP, await_other, load, store

Reward = Literal["points", "relative", "win"]
REWARDS: Final = ("points", "relative", "win")
_POINTS: Final = REWARDS.index("points")
_RELATIVE: Final = REWARDS.index("relative")

ALL_LEGAL: Final = -1
_AHEAD: Final = 3


def checked_reward(reward: str) -> int:
    """Return the number of a kind of reward; raises ValueError for an unknown one."""
    if reward not in REWARDS:
        raise ValueError(f"reward={reward!r} is not allowed: it must be one of {', '.join(map(repr, REWARDS))}")
    return REWARDS.index(reward)


@kernel
def write_rewards(options: Any, public: Any, status: int, reward: int, rewards: Any) -> None:
    """Write what the step that scored a hand pays each seat into `rewards`, shape (at least n,)."""
    num_players = options.num_players
    if reward == _POINTS:
        for seat in range(num_players):
            rewards[seat] = -public.score_changes[seat]
    elif reward == _RELATIVE:
        mean = 0.0
        for seat in range(num_players):
            mean += public.score_changes[seat]
        mean /= num_players
        for seat in range(num_players):
            rewards[seat] = mean - public.score_changes[seat]
    elif status != HAND_SCORED:  # R24: the winners share 1
        lowest = public.scores[0]
        for seat in range(num_players):
            lowest = min(lowest, public.scores[seat])
        num_winners = 0
        for seat in range(num_players):
            num_winners += public.scores[seat] == lowest
        for seat in range(num_players):
            rewards[seat] = 1.0 / num_winners if public.scores[seat] == lowest else 0.0


@kernel
def first_illegal(legal: Any, actions: Any) -> int:
    """Return the first table whose action, any integer, its mask does not allow, ALL_LEGAL if there is none."""
    for b in range(legal.shape[0]):
        if actions[b] < 0 or actions[b] >= NUM_ACTIONS or legal[b].legal[actions[b]] == 0:
            return b
    return ALL_LEGAL


@kernel
def _show_table(table: Any, observation: Any, mask: Any, legal: Any) -> int:
    mover = table.public.mover
    private = table.private[mover]
    write_mask(table.options, table.public, private, mask)
    write_mask(table.options, table.public, private, legal)
    encode(table.options, table.public, private, mover, observation)
    return mover  # type: ignore[no-any-return]


@kernel
def step_all(
    tables: Any,
    actions: Any,
    reward: int,
    observations: Any,
    masks: Any,
    legal: Any,
    movers: Any,
    rewards: Any,
    terminations: Any,
    truncations: Any,
    final_scores: Any,
    begin: int,
    end: int,
) -> None:
    """Take legal actions, start new episodes where one ended, and show each table to its mover."""
    for b in range(begin, end):
        if b + _AHEAD < end:
            fetch_soon(tables[b + _AHEAD])  # a large batch does not fit the near caches
        table = tables[b]
        status = step_table(table, actions[b])
        for seat in range(MAX_PLAYERS):
            rewards[b, seat] = 0.0
        terminations[b] = status == TERMINATED
        truncations[b] = status == TRUNCATED
        if status != GOES_ON:
            write_rewards(table.options, table.public, status, reward, rewards[b])
            if status != HAND_SCORED:
                for seat in range(MAX_PLAYERS):
                    final_scores[b, seat] = table.public.scores[seat]
                stream = table.hidden.stream
                begin_episode(table, next_seed(stream))
        movers[b] = _show_table(table, observations[b], masks[b], legal[b])


@kernel
def serve_steps(buffers: Any, tickets: Any, worker: int, patience: int, begin: int, end: int) -> None:
    """Step a share for each new ticket, as `step_all(*buffers, begin, end)` does, until none has come for a while."""
    done = load(tickets, worker)
    ticket = await_other(tickets, 0, done, patience)
    while ticket not in (done, STOP):
        step_all(*buffers, begin, end)  # type: ignore[call-arg] # how many the tuple holds, mypy cannot know
        done = ticket
        store(tickets, worker, done)
        ticket = await_other(tickets, 0, done, patience)


@kernel
def begin_all(tables: Any, seeds: Any) -> None:
    """Start an episode at every table."""
    for b in range(tables.shape[0]):
        begin_episode(tables[b], seeds[b])


@kernel
def show_all(tables: Any, observations: Any, masks: Any, legal: Any, movers: Any) -> None:
    """Write what the mover of every table sees."""
    for b in range(tables.shape[0]):
        movers[b] = _show_table(tables[b], observations[b], masks[b], legal[b])


@kernel
def gather_hands(tables: Any, hands: Any) -> None:
    """Write all hands of every table, seats relative to the mover, into `hands`, (B, 11, 52)."""
    for b in range(tables.shape[0]):
        num_players = tables[b].options.num_players
        for row in range(MAX_PLAYERS):
            seat = (tables[b].public.mover + row) % num_players
            for face in range(52):
                hands[b, row, face] = tables[b].private[seat].hand[face] if row < num_players else 0
