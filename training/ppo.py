"""Proximal policy optimisation (https://arxiv.org/abs/1707.06347): losses, and one iteration's updates.

The policy draws each action by the softmax of the network's worths; the critic has a network of its own. An anchor, a
slow average of the weights, keeps the policy from running away from what it has learned.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from chearts_env.table import SUBTRACT_MOON
from training.config import PpoConfig
from training.critic import POINTS_PER_UNIT, Critic, other_hands, points_taken
from training.network import Network
from training.ranks import ALONE, Ranks
from training.returns import advantages
from training.rollout import Rollout

_MOST_GRADIENT: Final = 0.5
_ADAM_EPSILON: Final = 1e-5
#: One row in so many is compared with the anchor.
_ANCHOR_PART: Final = 4
_TOLD: Final = ("critic_loss", "ratio", "clipped", "entropy", "divergence")
#: Rows looked at at once where nothing is learned.
_ROWS: Final = 4096


def log_probabilities(worths: Tensor, scale: float) -> Tensor:
    """Return the logarithm of each action's probability, (N, 54), minus infinity for those not allowed.

    `worths` (N, 54) are a network's, minus infinity where an action is not allowed. Raises ValueError if a row allows
    none.
    """
    allows = worths.isfinite().any(dim=1)
    if not allows.all():
        raise ValueError(f"row {int(allows.logical_not().nonzero()[0])} allows no action")
    return torch.log_softmax(worths.float() * scale, dim=1)


def policy_loss(ratios: Tensor, gains: Tensor, clip: float) -> Tensor:
    """Return the clipped objective, to be minimised; `ratios` (N,) are new to old probabilities of what was done."""
    return -torch.minimum(ratios * gains, ratios.clamp(1 - clip, 1 + clip) * gains).mean()


def mean_entropy(log_chances: Tensor) -> Tensor:
    """Return the mean entropy of rows of log probabilities, in nats."""
    return -(log_chances.exp() * log_chances.nan_to_num(neginf=0.0)).sum(1).mean()


def mean_divergence(log_chances: Tensor, others: Tensor) -> Tensor:
    """Return the mean Kullback-Leibler divergence of rows of log probabilities from `others`, in nats."""
    differences = log_chances.nan_to_num(neginf=0.0) - others.nan_to_num(neginf=0.0)
    return (log_chances.exp() * differences).sum(1).mean()


class Seen(NamedTuple):
    """A rollout as the networks take it, all on one device."""

    features: Tensor  # (N, F), those of the policy's network
    masks: Tensor  # (N, 54)
    hidden: Tensor  # (N, H), what the critic sees beside them
    actions: Tensor  # (N, 1)
    taken: Tensor  # (N,)


class Batch(NamedTuple):
    """The rows of a minibatch that this process holds, and their share of it; likewise those that meet the anchor."""

    rows: Tensor  # (n,)
    share: float
    num_anchored: int  # rows at the start
    share_anchored: float


class Learner:
    """A policy, its critic and its anchor with their optimizers, on one device and in one floating type.

    Where several processes learn (`ranks`), all have the same and each has every so many-th decision of a rollout.
    """

    def __init__(
        self,
        policy: Network,
        critic: Critic,
        settings: PpoConfig,
        device: torch.device,
        kind: torch.dtype,
        ranks: Ranks = ALONE,
    ) -> None:
        self.policy = policy.to(device).train()
        self.critic = critic.to(device).train()
        self.anchor = copy.deepcopy(policy).eval().requires_grad_(False)
        self._settings = settings
        self._device = device
        self._kind = kind
        self._ranks = ranks
        rate = settings.learning_rate
        self._optimizers = [
            torch.optim.Adam(module.parameters(), lr=rate, eps=_ADAM_EPSILON, fused=True) for module in (policy, critic)
        ]
        # The constants of an expansion decide the type of its features; weights stay float32, cast as used.
        self.policy.expansion.to(kind)

    def update(self, rollout: Rollout, share: float, rng: np.random.Generator, learns: bool = True) -> dict[str, float]:
        """Learn from what was played, `share` of the way through; without `learns` only the critic does.

        Return what there is to tell: how far the policy went, how well the critic foresaw.
        """
        ranks = self._ranks
        ranks.of_first(len(rollout))
        own = ranks.dealt([rollout.part(rank, ranks.size) for rank in range(ranks.size)]) if ranks.size > 1 else rollout
        seen = self._expanded(own)
        old, values = self._before(seen)
        values = ranks.woven(values, len(rollout))
        paid = rollout.rewards / np.float32(POINTS_PER_UNIT)
        gains, returns = advantages(values, rollout.places, rollout.seats, paid, self._settings.trace)
        foreseen = 1 - np.var(returns - values) / max(np.var(returns), 1e-9)
        gains = (gains - gains.mean()) / max(gains.std(), 1e-6)
        # Both ways to settle a moon are worth the same below the table's mean (R21): the seat's own points decide.
        settles = rollout.masks[:, SUBTRACT_MOON] > 0
        gains[settles] = np.where(rollout.actions[settles] == SUBTRACT_MOON, 1, -1)
        ranks.of_first((gains, returns, share, rng, learns))
        return {"foreseen": float(foreseen)} | self._learn(seen, old, gains, returns, share, rng, learns)

    def follow(self, num_decisions: int) -> None:
        """Do this process's share of an `update` of so many decisions that the first process makes."""
        seen = self._expanded(self._ranks.dealt([]))
        old, values = self._before(seen)
        self._ranks.woven(values, num_decisions)
        self._learn(seen, old, *self._ranks.of_first())

    def _learn(
        self,
        seen: Seen,
        old: Tensor,
        gains: npt.NDArray[np.float32],
        returns: npt.NDArray[np.float32],
        share: float,
        rng: np.random.Generator,
        learns: bool,
    ) -> dict[str, float]:
        """Go through all minibatches; `gains` and `returns` are those of all processes' decisions."""
        settings, ranks = self._settings, self._ranks
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = _between(settings.learning_rate, settings.last_learning_rate, share)
        entropy_price = _between(settings.entropy, settings.last_entropy, share)
        own = slice(ranks.rank, None, ranks.size)
        gained, returned = (torch.from_numpy(part[own]).to(self._device) for part in (gains, returns))
        sums = dict.fromkeys(_TOLD if learns else _TOLD[:1], 0.0)
        for batch in self._batches(len(gains), rng):
            features = seen.features[batch.rows]
            told = self._learn_critic(seen, batch, features, returned)
            if learns:
                told |= self._learn_policy(seen, batch, features, old, gained, entropy_price)
                self._move_anchor()
            for name, value in told.items():
                sums[name] += value * len(batch.rows)
        count = len(gains) * settings.epochs
        return {name: value / count for name, value in zip(sums, ranks.sums(*sums.values()), strict=True)}

    def _learn_policy(
        self, seen: Seen, batch: Batch, features: Tensor, old: Tensor, gains: Tensor, entropy_price: float
    ) -> dict[str, float]:
        settings, rows = self._settings, batch.rows
        if not len(rows):
            self._step(0, self.policy, None)
            return {}
        masks = seen.masks[rows]
        # A part of the rows says well enough how far the policy is from its anchor.
        part = slice(0, batch.num_anchored)
        with self._precision():
            new = log_probabilities(self.policy.worths(features, masks), settings.logit_scale)
            with torch.no_grad():
                anchor = log_probabilities(self.anchor.worths(features[part], masks[part]), settings.logit_scale)
        ratios = (new.gather(1, seen.actions[rows])[:, 0] - old[rows]).exp()
        entropy = mean_entropy(new)
        divergence = mean_divergence(new[part], anchor) if batch.num_anchored else torch.zeros((), device=new.device)
        loss = policy_loss(ratios, gains[rows], settings.clip) - entropy_price * entropy
        self._step(0, self.policy, batch.share * loss + batch.share_anchored * settings.anchor * divergence)
        return {
            "ratio": float(ratios.detach().mean()),
            "clipped": float(((ratios.detach() - 1).abs() > settings.clip).float().mean()),
            "entropy": float(entropy.detach()),
            "divergence": float(divergence.detach()) * batch.share_anchored / batch.share,
        }

    def _learn_critic(self, seen: Seen, batch: Batch, features: Tensor, returns: Tensor) -> dict[str, float]:
        rows = batch.rows
        if not len(rows):
            self._step(1, self.critic, None)
            return {}
        with self._precision():
            values = self.critic(features, seen.hidden[rows], seen.taken[rows])
        loss = nn.functional.huber_loss(values, returns[rows])
        self._step(1, self.critic, batch.share * loss)
        return {"critic_loss": float(loss.detach())}

    def _step(self, number: int, module: nn.Module, loss: Tensor | None) -> None:
        """Take a step by this process's part of a loss, none if it has none of the rows, and by the others' parts."""
        optimizer = self._optimizers[number]
        optimizer.zero_grad(set_to_none=True)
        if loss is not None:
            loss.backward()  # type: ignore[no-untyped-call]
        self._ranks.sum_gradients(module)
        nn.utils.clip_grad_norm_(module.parameters(), _MOST_GRADIENT)
        optimizer.step()

    def _expanded(self, rollout: Rollout) -> Seen:
        """Return the rollout on the device, observations as features: they are the same for all updates."""
        features = []
        with torch.no_grad():
            for start in range(0, len(rollout), _ROWS):
                rows = slice(start, start + _ROWS)
                features.append(self.policy.features(rollout.observations[rows], rollout.masks[rows]))
        unseen = other_hands(rollout.hands)[:, : self.critic.num_hidden]
        parts = (rollout.masks, unseen, rollout.actions[:, None], points_taken(rollout.observations))
        masks, hidden, actions, taken = (torch.from_numpy(part).to(self._device) for part in parts)
        return Seen(torch.cat(features), masks, hidden, actions, taken)

    def _before(self, seen: Seen) -> tuple[Tensor, npt.NDArray[np.float32]]:
        """Return the log probability of what was done, (N,), and the critic's values, (N,), before any update.

        By the same sums as the updates make, so that the first ratios are exactly 1.
        """
        chances, values = [], []
        with torch.no_grad(), self._precision():
            for start in range(0, len(seen.actions), _ROWS):
                rows = slice(start, start + _ROWS)
                worths = self.policy.worths(seen.features[rows], seen.masks[rows])
                log_chances = log_probabilities(worths, self._settings.logit_scale)
                chances.append(log_chances.gather(1, seen.actions[rows])[:, 0])
                values.append(self.critic(seen.features[rows], seen.hidden[rows], seen.taken[rows]))
        return torch.cat(chances), torch.cat(values).cpu().numpy()

    def _batches(self, count: int, rng: np.random.Generator) -> Iterator[Batch]:
        for _ in range(self._settings.epochs):
            order = torch.from_numpy(rng.permutation(count)).to(self._device)
            for rows in order.tensor_split(max(1, round(count / self._settings.batch_size))):
                own, num_anchored = self._ranks.own(rows), max(1, len(rows) // _ANCHOR_PART)
                own_anchored = len(self._ranks.own(rows[:num_anchored]))
                yield Batch(own, len(own) / len(rows), own_anchored, own_anchored / num_anchored)

    def _move_anchor(self) -> None:
        with torch.no_grad():
            for slow, weight in zip(self.anchor.parameters(), self.policy.parameters(), strict=True):
                slow.lerp_(weight, 1 - self._settings.anchor_decay)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self._kind == torch.bfloat16)

    def networks(self) -> tuple[Network, Critic]:
        """Return copies of the policy and the critic."""
        return copy.deepcopy(self.policy), copy.deepcopy(self.critic)

    def state(self) -> dict[str, Any]:
        """Return all that a run needs to go on from here, for `torch.save`."""
        return {
            "policy": self.policy.state_dict(),
            "critic": self.critic.state_dict(),
            "anchor": self.anchor.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned."""
        self.policy.load_state_dict(state["policy"])
        self.critic.load_state_dict(state["critic"])
        self.anchor.load_state_dict(state["anchor"])
        for optimizer, kept in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)


def _between(first: float, last: float, share: float) -> float:
    return first + (last - first) * min(share, 1.0)
