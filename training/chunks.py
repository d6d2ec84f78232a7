"""Long matches cut into chunks of deals, which worker processes play and which are put together again.

A chunk holds the same deals whatever the number of workers, the length of the match and the other sizes: so the results
are the same bit for bit, and a longer match begins with the chunks of a shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from tqdm import tqdm

from baselines.names import is_search
from chearts_env.rules import Rules
from training.workers import Workers

#: Chunks with players that search have so many times fewer tables: a bar should move within seconds.
_SLOWNESS: Final = 16
#: A match does not end before: the interval of a few deals may be narrow by chance.
LEAST_DEALS: Final = 60


class Part(Protocol):
    """Some deals of a match, or all of them."""

    @property
    def rules(self) -> Rules:
        """Those of the match."""
        ...

    @property
    def num_deals(self) -> int:
        """Deals played."""
        ...


PartT = TypeVar("PartT", bound=Part)


class Plan(Protocol[PartT]):
    """Matches to be played, one for each of `sizes`, of `num_deals` deals at most."""

    @property
    def sizes(self) -> Sequence[int]:
        """Table sizes, each once."""
        ...

    @property
    def num_deals(self) -> int:
        """The most deals of a match."""
        ...

    def num_at_once(self, size: int) -> int:
        """Return how many deals make one chunk."""
        ...

    def play(self, size: int, deals: range) -> PartT:
        """Play some deals, here or in another process: a plan is words and numbers that travel."""
        ...

    def joined(self, parts: Sequence[PartT]) -> PartT:
        """Return parts, in the order of their deals, as one."""
        ...

    def is_enough(self, part: PartT) -> bool:
        """Say whether a match may end with the deals of this part."""
        ...


@dataclass(frozen=True)
class ChunkWork(Generic[PartT]):
    """Play one chunk of a plan."""

    plan: Plan[PartT]
    size: int
    deals: range

    def __call__(self) -> PartT:
        """Do it."""
        return self.plan.play(self.size, self.deals)


class ChunkedRun(Generic[PartT]):
    """Plays a plan; what is finished can be had at any moment, after Ctrl-C as well.

    Of each part is kept what `kept` makes of it: a match may play more hands than fit into memory.
    """

    def __init__(self, plan: Plan[PartT], kept: Callable[[PartT], PartT] = lambda part: part) -> None:
        self.plan = plan
        self._kept = kept
        self._parts: dict[int, list[PartT]] = {size: [] for size in plan.sizes}
        self._finished: set[int] = set()

    def play(self, workers: Workers, on_deals: Callable[[int, int], object]) -> None:
        """Play all matches; `on_deals` is told after each chunk its size and how many more deals it finished."""
        for part in workers.in_order(self._works()):
            size = part.rules.num_players
            if size in self._finished:  # begun before it was known that the match was to end
                continue
            self._parts[size].append(self._kept(part))
            if self._ends(size):
                self._finished.add(size)
            on_deals(size, part.num_deals)

    def _works(self) -> Iterator[ChunkWork[PartT]]:
        for size in self.plan.sizes:
            step = self.plan.num_at_once(size)
            for start in range(0, self.plan.num_deals, step):
                if size in self._finished:
                    break
                yield ChunkWork(self.plan, size, range(start, min(start + step, self.plan.num_deals)))

    def _ends(self, size: int) -> bool:
        if self.num_played(size) >= self.plan.num_deals:
            return True
        parts = self._parts[size]
        is_time = is_time_to_look(len(parts)) and self.num_played(size) >= LEAST_DEALS
        return is_time and self.plan.is_enough(self.plan.joined(parts))

    def is_finished(self, size: int) -> bool:
        """Whether the match of a size has been played to its end."""
        return size in self._finished

    def num_played(self, size: int) -> int:
        """Return how many deals of a size have been played."""
        return sum(part.num_deals for part in self._parts[size])

    def match(self, size: int) -> PartT:
        """Return what has been played of the match of a size, at least one chunk."""
        return self.plan.joined(self._parts[size])

    @property
    def matches(self) -> list[PartT]:
        """What has been played, one for each size that has at least two deals; the last may not be finished."""
        return [self.match(size) for size in self.plan.sizes if self.num_played(size) > 1]


def play_with_bar(run: ChunkedRun[PartT], num_workers: int, brief_of: Callable[[PartT], str] = lambda part: "") -> None:
    """Play a run with a bar on stderr; `brief_of` tells a result in a few words. One worker is this process itself."""
    plan = run.plan
    with (
        tqdm(total=len(plan.sizes) * plan.num_deals, unit="deal", dynamic_ncols=True) as bar,
        Workers(num_workers if num_workers > 1 else 0) as workers,
    ):

        def on_deals(size: int, num_deals: int) -> None:
            if run.is_finished(size):
                bar.total -= plan.num_deals - run.num_played(size)
                brief = brief_of(run.match(size))
                bar.set_postfix_str(f"{brief} at {size} seats" if brief else "", refresh=False)
            bar.set_description(f"{size} seats", refresh=False)
            bar.update(num_deals)

        run.play(workers, on_deals)


def deals_at_once(num_tables: int, tables_per_deal: int, names: Iterable[str]) -> int:
    """Return how many deals make a chunk of about `num_tables` tables, fewer where players sit that take long.

    It follows from the names alone, as the results do.
    """
    if any(map(is_search, names)):
        num_tables //= _SLOWNESS
    return max(1, num_tables // tables_per_deal)


def is_time_to_look(num_chunks: int) -> bool:
    """Say whether a match may end after so many chunks: at stretches that grow by a quarter.

    Looking after each chunk would end more matches on an interval that is narrow by chance.
    """
    looked = 1
    while looked < num_chunks:
        looked = max(looked + 1, looked * 5 // 4)
    return looked == num_chunks
