"""# Cancellation Hearts.

The trick-taking card game for 6 to 11 players with two packs, as a PettingZoo AEC environment.

| fact | value |
|---|---|
| Import | `from chearts_env import cancellation_hearts_v0` |
| Actions | Discrete |
| Parallel API | no (turn based; `turn_based_aec_to_parallel` works) |
| Manual control | no |
| Agents | `agents = ["player_0", …, "player_{n-1}"]`, seats clockwise |
| Number of agents | 6 … 11 |
| Action shape | `Discrete(54)` |
| Observation shape | `{"observation": (1024,), "action_mask": (54,)}` |
| Observation values | small whole numbers, float32 or int8 |

Each seat wants few points: every heart counts 1 and each of the two queens of spades, the Black Marias, 13. Identical
cards in one trick cancel each other, a trick with two identical pairs is set aside for the next winner (R15), and a
seat that takes all 52 points has shot the moon. `RULES.md` beside this file numbers the clauses (R1 … R25) cited here.

### Arguments

``` python
cancellation_hearts_v0.env(rules=None, *, episode="game", reward="points", render_mode=None,
                           render_view="mover", observation_dtype=np.float32, **options)
```

`rules`: a `Rules`, or instead its options by name, such as `num_players=8, set_aside="no_live_card"`.

`episode`: `"game"` plays to the target score (R23), `"hand"` a single hand whose pass direction is drawn from
`pass_cycle` and whose dealer from `first_dealer`.

`reward`: see below.

`render_mode`: `None`; `"ansi"`: text; `"rgb_array"`: a picture, (800, 1200, 3) uint8; `"human"`: that in a window.
Pictures need the extra `render`.

`render_view`: `"mover"`: what the current seat may see, and never more; a seat's number: what that one may;
`"all"`: everybody's cards.

`observation_dtype`: `np.float32`, or `np.int8` with the same values.

### Observation space

A dictionary of `observation` and `action_mask`, in that order, fresh arrays at every call. The vector holds what the
agent's seat has legally seen, seats relative to it (0 = itself, 1 = its left), the same layout for all table sizes;
rows of absent seats are zero.

OBSERVATION_TABLE

### Action mask

`observe(agent)` works for every possible agent at any time. The mask is that of the seat to move, its legal actions by
R7, R10, R11, R12 and R21, never empty; other seats get zeros, since a mask shows a hand, and once the episode is over
all entries are one.

### Action space

| action | what it does |
|---|---|
| 0 … 51 | give (three in a row by each seat, R7, R9) or play one copy of a face |
| 52 | after shooting the moon: subtract 26 from one's own score (R21) |
| 53 | after shooting the moon: add 26 to every other seat's |

A face is `13 * suit + rank`; suits are clubs, diamonds, spades, hearts = 0 … 3, ranks 2 … A = 0 … 12.

An illegal action raises `IllegalActionError` in `raw_env` and changes nothing; in `env` it ends the episode with a
warning and costs its seat 1, as in PettingZoo's classic environments.

### Rewards

Paid when a hand is scored (R20, R21) and never earlier, since a reward for points as they are taken would give a hidden
kitty away (R18).

| reward | paid to each seat |
|---|---|
| `"points"` | minus the change of its score |
| `"relative"` | the mean change at the table minus its own; sums to zero |
| `"win"` | at the end of the episode, 1 shared by the winners (R24), else 0 |

### Infos

Empty dictionaries, one for each agent: what a seat may know is in its observation.

### Terminations and truncations

All agents end in the same step: terminated at the target score (R23), or after the hand with `episode="hand"`;
truncated at `max_hands` (R25). An illegal action in `env` ends the episode as terminated and truncated at once, as
PettingZoo's wrapper has it.

### Reset

`reset(seed=s)` deals what `Game(rules, seed=s)` deals; `reset()` deals the next game that follows from the last seed.
`reset(options={"game": game})` plays a copy of a `Game`.

### Version history

* v0: first version (0.1.0), observation version 1
"""

from __future__ import annotations

from typing import Any

from chearts_env.aec import CancellationHeartsEnv, GuardedEnv
from chearts_env.observation import describe
from chearts_env.rules import Rules

__all__ = ["env", "raw_env"]

__doc__ = (__doc__ or "").replace("OBSERVATION_TABLE", describe())


def env(rules: Rules | None = None, **arguments: Any) -> GuardedEnv:
    """Return the environment as PettingZoo's classic ones are wrapped; the module's docstring has the arguments."""
    return GuardedEnv(raw_env(rules, **arguments))


def raw_env(rules: Rules | None = None, **arguments: Any) -> CancellationHeartsEnv:
    """Return the environment unwrapped; the module's docstring has the arguments."""
    return CancellationHeartsEnv(rules, **arguments)
