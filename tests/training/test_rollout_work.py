"""Self-play in pieces: whoever plays them, the hands are the same; the weights of an update are handed over once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from baselines.random_legal import RandomLegal
from tests.training.test_ppo import CPU, RULES, config, rollout_of, weights_of
from training.config import NetworkConfig
from training.fit import new_network
from training.rollout import Rollout, joined
from training.self_play import SelfPlay
from training.workers import Shared, Workers

pytestmark = pytest.mark.train


class Counting(Workers):
    """Work done here, and a count of what is asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self.num_shared = 0
        self.num_works: list[int] = []

    def share(self, value: Any) -> Shared:
        self.num_shared += 1
        return super().share(value)

    def in_order(self, works: Iterable[Callable[[], Any]]) -> Iterator[Any]:
        given = list(works)
        self.num_works.append(len(given))
        return super().in_order(given)


def stage(workers: Workers, **ppo: Any) -> SelfPlay:
    """Self-play from fresh weights, with snapshots of itself at every other table."""
    settings = config(snapshots=0.5, **ppo)
    kinds = (torch.float32, torch.float32)
    return SelfPlay(settings, new_network(NetworkConfig(16, 1), 0, 0), CPU, kinds, workers=workers)


def after(num_iterations: int, workers: Workers, **ppo: Any) -> torch.Tensor:
    """The policy's weights after some iterations."""
    made = stage(workers, **ppo)
    for _ in range(num_iterations):
        made.iterate()
    return weights_of(made.policy)


def test_two_processes_play_the_pieces_that_one_plays() -> None:
    """Iterations with several policies each, to the last bit; a different number of pieces is a different run."""
    with Workers(0) as here, Workers(2) as processes:
        alone = after(3, here, pieces=5)
        assert torch.equal(after(3, processes, pieces=5), alone)
        assert not torch.equal(after(3, here, pieces=4), alone)


def test_weights_are_handed_over_once_in_each_iteration() -> None:
    """However many pieces there are; a snapshot once for all iterations."""
    workers = Counting()
    made = stage(workers, pieces=6, iterations=40)
    made.iterate()
    assert (workers.num_shared, workers.num_works) == (2, [6])  # the first snapshot, and the policy
    made.iterate()
    assert made.snapshots.maxlen is not None
    assert (workers.num_shared, workers.num_works) == (2 + len(made.snapshots), [6, 6])


def test_self_play_in_pieces_goes_on_as_if_not_interrupted(tmp_path: Path) -> None:
    """Snapshots included, which are handed over anew."""
    with Workers(0) as workers:
        whole = after(4, workers, pieces=3)
        first = stage(workers, pieces=3)
        for _ in range(2):
            first.iterate()
        first.save(tmp_path / "kept.pt")
        second = stage(workers, pieces=3)
        second.load(tmp_path / "kept.pt")
        for _ in range(2):
            second.iterate()
    assert torch.equal(weights_of(second.policy), whole)


def test_pieces_are_joined_in_their_order() -> None:
    """Each decision still belongs to its hand, and each hand to what it brought."""
    pieces = [rollout_of(RandomLegal(), seed) for seed in range(3)]
    whole = joined(pieces)
    assert len(whole) == sum(map(len, pieces))
    assert len(whole.rewards) == 3 * len(RULES)
    paid: Callable[[Rollout], Any] = lambda rollout: rollout.rewards[rollout.places, rollout.seats]  # noqa: E731
    np.testing.assert_array_equal(paid(whole), np.concatenate([paid(piece) for piece in pieces]))
    assert set(whole.places) == set(range(3 * len(RULES)))
