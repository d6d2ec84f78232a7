"""Batches of tables for tests: of mixed rules, some way into their games."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from chearts_env import Rules, VectorTables
from tests.sizes import preferred, priorities, random_rules


def mixed_rules(seed: int) -> list[Rules]:
    """Draw rules of all sizes."""
    rng = random.Random(seed)
    return [random_rules(size, rng, target_score=100) for size in (6, 7, 8, 9, 10, 11)]


def played_tables(num_tables: int = 6, num_steps: int = 40, **arguments: Any) -> VectorTables:
    """Deal tables of all sizes and take some steps."""
    tables = VectorTables(mixed_rules(1), num_tables, seed=2, **arguments)
    step_all(tables, num_steps)
    return tables


def step_all(tables: VectorTables, num_steps: int, seed: int = 3) -> None:
    """Take some steps that depend on nothing but the masks."""
    for priority in priorities(num_steps, seed):
        tables.step(preferred(tables.action_masks, priority))


def everything(tables: VectorTables) -> list[bytes]:
    """Write down all that tables show, and their state."""
    shown: list[np.ndarray] = [tables.observations, tables.action_masks, tables.movers, tables.num_players]
    shown.append(tables.rewards)
    shown += [tables.terminations, tables.truncations, tables.final_scores, tables.seeds, tables.episode_seeds]
    return [tables.to_bytes(), *(array.tobytes() for array in shown)]
