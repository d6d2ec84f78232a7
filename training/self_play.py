"""Self-play: the learning policy at tables with itself, with its own past and with `careful`, update after update."""

from __future__ import annotations

import copy
import time
from collections import deque
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from baselines.careful import Careful
from chearts_env.arena import Policy
from chearts_env.whole_files import write_whole
from training.config import Config
from training.critic import OTHER_HANDS, Critic
from training.labels import rules_to_deal
from training.network import Network
from training.policy import NetworkPolicy
from training.ppo import Learner
from training.precision import name_of, num_threads
from training.ranks import ALONE, Ranks
from training.rollout import Rollout, RolloutWork, SelfPlayTables, draw_players, joined
from training.workers import Shared, SharedPlayer, Workers, WorkerSet

#: Keeps the deals of self-play apart from those of labels and matches, whatever the seeds.
_SELF_PLAY_STREAM: Final = 11
#: One snapshot is taken each such share of the way.
_SNAPSHOTS_IN_ALL: Final = 20
#: So many of them sit at the tables of one iteration.
_SNAPSHOTS_AT_ONCE: Final = 2


class SelfPlay:
    """The stage of a run in which the policy improves by playing; `iteration` counts what is done."""

    def __init__(
        self,
        config: Config,
        start: Network,
        device: torch.device,
        kinds: tuple[torch.dtype, torch.dtype],
        threads: int = 1,
        workers: WorkerSet | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        """Begin with a network's weights; `kinds` are the floating types to play and to learn in, `threads` learn.

        `workers` play where hands are dealt in pieces, this process by itself where there are none; `ranks` learn.
        """
        self._config = config
        self._device = device
        self._threads = threads
        self._play_kind, learn_kind = kinds
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            num_hidden = OTHER_HANDS if config.ppo.critic_sees_all else 0
            critic = Critic(start.num_features, config.ppo.critic_width, num_hidden=num_hidden)
        self.learner = Learner(copy.deepcopy(start), critic, config.ppo, device, learn_kind, ranks)
        rules = rules_to_deal(config.rules(), config.labels)
        self._workers = workers or Workers(0)
        self._rules = [rules[number % len(rules)] for number in range(config.ppo.hands)]
        self._tables = SelfPlayTables(self._rules) if config.ppo.pieces == 1 else None
        self.snapshots: deque[Network] = deque(maxlen=config.ppo.num_snapshots)
        self._shared: deque[Shared] = deque(maxlen=config.ppo.num_snapshots)  # the same, for the workers
        self.iteration = 0
        self.seconds = 0.0
        self.decisions = 0

    @property
    def share(self) -> float:
        """How far this stage has come, 1 at its end."""
        settings = self._config.ppo
        return max(self.iteration / settings.iterations, self.seconds / settings.seconds)

    @property
    def policy(self) -> Network:
        """A copy of the policy as it stands, that no update changes."""
        network = copy.deepcopy(self.learner.policy).float().eval()
        network.expansion.float()
        return network

    def iterate(self) -> dict[str, float]:
        """Deal, play and learn once.

        Return what there is to tell: what `Learner.update` tells, decisions learned from so far, actions of all seats
        a second, and which shares of the time went into playing, and, a part of that, into choosing actions.
        """
        began = time.perf_counter()
        settings, share = self._config.ppo, self.share
        if not self.iteration:
            self._keep_snapshot()
        rng = np.random.default_rng([self._config.seed, _SELF_PLAY_STREAM, self.iteration])
        rollout = self._play(rng)
        played = time.perf_counter()
        with num_threads(self._threads):
            told = self.learner.update(rollout, share, rng, learns=self.iteration >= settings.warm_up)
        ended = time.perf_counter()
        self.iteration += 1
        self.seconds += ended - began
        self.decisions += len(rollout)
        if int(_SNAPSHOTS_IN_ALL * self.share) > int(_SNAPSHOTS_IN_ALL * share):
            self._keep_snapshot()
        numbers = told | {
            "decisions_per_second": rollout.num_steps / (ended - began),
            "share_playing": (played - began) / (ended - began),
            "share_choosing": (played - began) / (ended - began) * rollout.seconds_choosing / rollout.seconds,
        }
        return {name: round(value, 4) for name, value in numbers.items()} | {"decisions": self.decisions}

    def _play(self, rng: np.random.Generator) -> Rollout:
        """Draw who sits where and have the hands played, all of them here or piece by piece."""
        settings = self._config.ppo
        # In units of the network's output: the softmax of `logit_scale` times that.
        temperature = 1 / settings.logit_scale
        # A few at a time: each more makes the batches of all smaller.
        drawn = rng.permutation(len(self.snapshots))[:_SNAPSHOTS_AT_ONCE]
        num_players = np.array([rules.num_players for rules in self._rules])
        players = draw_players(rng, num_players, settings, len(drawn))
        if self._tables is not None:
            player = NetworkPolicy(self.policy, self._play_kind, self._device, temperature, points_per_unit=1)
            earlier = [NetworkPolicy(self.snapshots[place], self._play_kind, self._device) for place in drawn]
            opponents: list[Policy] = [Careful(), *earlier]
            return self._tables.play(player, opponents, players, int(rng.integers(2**63)), rng)
        kind = name_of(self._play_kind)
        learner = SharedPlayer(self._workers.share(self.policy.cpu()), kind, temperature)
        snapshots = tuple(SharedPlayer(self._shared[place], kind) for place in drawn)
        seed = (self._config.seed, _SELF_PLAY_STREAM, self.iteration)
        works = (
            RolloutWork(
                tuple(self._rules[place] for place in places), players[places], learner, snapshots, (*seed, number)
            )
            for number, places in enumerate(np.array_split(np.arange(settings.hands), settings.pieces), start=1)
        )
        return joined(list(self._workers.in_order(works)))

    def _keep_snapshot(self) -> None:
        self._keep(self.policy)

    def _keep(self, snapshot: Network) -> None:
        self.snapshots.append(snapshot)
        if self._tables is None:
            self._shared.append(self._workers.share(snapshot.cpu()))

    def save(self, path: Path) -> None:
        """Write all that is needed to go on from here, whole at any moment."""
        written = BytesIO()
        torch.save(
            {
                "iteration": self.iteration,
                "seconds": self.seconds,
                "decisions": self.decisions,
                "learner": self.learner.state(),
                "snapshots": [snapshot.state_dict() for snapshot in self.snapshots],
            },
            written,
        )
        write_whole(path, written.getvalue())

    def load(self, path: Path) -> None:
        """Go on from what `save` wrote. Loading runs no code: the file holds tensors and numbers only."""
        kept: dict[str, Any] = torch.load(path, map_location=self._device, weights_only=True)
        self.iteration, self.seconds, self.decisions = kept["iteration"], kept["seconds"], kept["decisions"]
        self.learner.load(kept["learner"])
        self.snapshots.clear()
        self._shared.clear()
        for weights in kept["snapshots"]:
            network = self.learner.policy.fresh()
            network.load_state_dict(weights)
            self._keep(network.eval())
