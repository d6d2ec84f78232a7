"""Processes that learn together: those that `torchrun` starts, each with a share of the rows of every batch.

The first of them runs the training and tells the others what to do (`training.followers`). Each computes the gradient
of its own rows; their sum, which all of them get, is that of the whole batch, so that all take the same steps and stay
the same. A process that is not one of several is the first of one: then nothing here costs or changes anything.
"""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from io import BytesIO
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import distributed, nn

from training.precision import chosen_device

Indexes = TypeVar("Indexes", torch.Tensor, npt.NDArray[np.int64])

#: The others wait for as long as the first makes labels.
_LONGEST_WAIT: Final = timedelta(days=30)
#: What torchrun tells each process in its environment.
_VARIABLES: Final = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


class Ranks:
    """This process, number `rank` of `size`; on its machine it is number `local_rank` of `local_size`."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0, local_size: int = 1) -> None:
        self.rank = rank
        self.size = size
        self._local_rank = local_rank
        self.local_size = local_size

    def device(self, name: str) -> torch.device:
        """Return the device that a configuration names, of several GPUs the one of this process.

        Raises ValueError if there are not as many as processes, or no way for them to add their gradients.
        """
        device = chosen_device(name)
        if self.size == 1 or device.type == "cpu":
            return device
        if torch.cuda.device_count() < self.local_size:
            raise ValueError(
                f"{self.local_size} processes learn on this machine and it has {torch.cuda.device_count()} GPUs: "
                "--nproc-per-node must not be more, or device=cpu"
            )
        if not distributed.is_nccl_available():
            raise ValueError("this build of torch has no NCCL, by which GPUs add their gradients: device=cpu would do")
        return torch.device("cuda", self._local_rank)

    def own(self, rows: Indexes) -> Indexes:
        """Return which of some rows, counted over all processes, are held here, (n,), as counted here."""
        return rows if self.size == 1 else rows[rows % self.size == self.rank] // self.size

    def share_of(self, count: int) -> float:
        """Return the share that `count` here has of the sum over all processes."""
        return 1.0 if self.size == 1 else count / max(self.sums(count)[0], 1.0)

    def sums(self, *numbers: float) -> list[float]:
        """Return numbers, each summed over all processes."""
        if self.size == 1:
            return list(numbers)
        summed = torch.tensor(numbers, dtype=torch.float64)
        distributed.all_reduce(summed)
        return summed.tolist()

    def sum_gradients(self, module: nn.Module) -> None:
        """Replace each gradient of a module by its sum over all processes; one without gradients counts as zero."""
        if self.size == 1:
            return
        weights = list(module.parameters())
        gradients = (torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        parts = torch.split(flat, [weight.numel() for weight in weights])
        for weight, summed in zip(weights, parts, strict=True):
            weight.grad = summed.view_as(weight)

    def woven(self, part: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float32]:
        """Return what each process has of its own rows as one array of all rows, (`count`,)."""
        if self.size == 1:
            return part
        whole = torch.zeros(count)
        whole[self.rank :: self.size] = torch.from_numpy(part)
        distributed.all_reduce(whole)
        return whole.numpy()

    def of_first(self, value: Any = None) -> Any:
        """Return what the first process has; the others wait for it, and get its tensors as the CPU's."""
        if self.size == 1:
            return value
        carried = [_packed(value) if self.rank == 0 else b""]
        distributed.broadcast_object_list(carried, src=0)
        return value if self.rank == 0 else torch.load(BytesIO(carried[0]), map_location="cpu", weights_only=False)

    def dealt(self, values: list[Any]) -> Any:
        """Return the value, of those that the first process has, that is for this one."""
        if self.size == 1:
            return values[0]
        carried = [None]
        distributed.scatter_object_list(carried, values if self.rank == 0 else None, src=0)
        return carried[0]


def _packed(value: Any) -> bytes:
    packed = BytesIO()
    torch.save(value, packed)
    return packed.getvalue()


ALONE: Final = Ranks()


def joined_ranks() -> Ranks:
    """Return this process among those that `torchrun` started, joined to them; `ALONE` where it did not.

    Raises ConnectionError if they cannot be joined.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return ALONE
    missing = [name for name in _VARIABLES if name not in os.environ]
    if missing:
        raise ConnectionError(
            f"WORLD_SIZE is set and {missing[0]} is not: torchrun sets both, without it unset the first"
        )
    rank, size, local_rank, local_size = (int(os.environ[name]) for name in _VARIABLES)
    has_nccl = torch.cuda.is_available() and distributed.is_nccl_available()
    if has_nccl:
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
    try:
        distributed.init_process_group("cpu:gloo,cuda:nccl" if has_nccl else "gloo", timeout=_LONGEST_WAIT)
    except (RuntimeError, ValueError) as error:
        brief = str(error).splitlines()[0]
        raise ConnectionError(
            f"process {rank} of {size} that torchrun started cannot join the others: {brief}"
        ) from None
    if rank:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first; they end when it does
    return Ranks(rank, size, local_rank, local_size)


def leave() -> None:
    """Part from the other processes, at the end of all work."""
    if distributed.is_initialized():
        distributed.barrier()  # who closes its connections while another still reads brings it down
        distributed.destroy_process_group()
