"""What needs other libraries runs in the environments of `make test-libraries`, what is of one of them in that one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from chearts_env import Game, VectorTables
from chearts_env.seat_tables import SeatTables
from tests.libraries.environments import HERE, VARIABLE, examples_here

IS_THERE = VARIABLE in os.environ
collect_ignore_glob = [] if IS_THERE else ["test_*.py"]
if os.environ.get(VARIABLE) != "main":
    collect_ignore_glob += ["test_open_spiel.py", "test_beyond_one_machine.py"]


def pytest_report_header() -> str:
    """Say what is left out."""
    return "" if IS_THERE else "tests/libraries left out: they have environments of their own, make test-libraries"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the examples, named by the parameter `name`, that have their turn in another environment."""
    elsewhere = [
        item
        for item in items
        if HERE in item.path.parents
        and isinstance(item, pytest.Function)
        and hasattr(item, "callspec")
        and item.callspec.params.get("name", "") not in ("", *examples_here())
    ]
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in elsewhere]


@dataclass
class Engine:
    """What reached the engine: decisions taken, illegal ones among them, and what episodes paid the learning seat."""

    decisions: int = 0
    illegal: int = 0
    learner_pay: list[float] = field(default_factory=list)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Count at the engine's three entrances: a game, tables of all seats, and tables with a learning seat."""
    seen = Engine()
    act, step, step_seat = Game.act, VectorTables.step, SeatTables.step

    def count(actions: Any, masks: Any) -> None:
        seen.decisions += len(actions)
        seen.illegal += int((np.take_along_axis(masks, np.asarray(actions, np.int64)[:, None], 1) == 0).sum())

    def counted_act(game: Game, action: Any) -> int:
        count([action], game.action_mask()[None])
        return act(game, action)

    def counted_step(tables: VectorTables, actions: Any) -> None:
        count(actions, tables._legal.view(np.int8).reshape(len(tables), -1))
        step(tables, actions)

    def counted_step_seat(tables: SeatTables, actions: Any, rows: Any) -> None:
        count(actions, tables._legal[rows])
        step_seat(tables, actions, rows)
        for row in rows[tables.terminations[rows]]:
            points = tables._tables["public"]["scores"][row, : tables.num_players[row]]
            seen.learner_pay.append(points.mean() - points[tables.seats[row]])

    monkeypatch.setattr(Game, "act", counted_act)
    monkeypatch.setattr(VectorTables, "step", counted_step)
    monkeypatch.setattr(SeatTables, "step", counted_step_seat)
    return seen
