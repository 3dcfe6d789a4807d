"""Pack tasks onto identical processors by bin completion, for nights that are almost full.

Each processor is a bin whose capacity is the time until the deadline. The search takes the longest
task that is left, places it on an empty processor, and tries the sets of other tasks that complete
that processor while wasting no more time than the night can spare. Sets with few tasks come first,
so that short tasks, which fit anywhere, remain for the last processors. The search restarts with
another order of equally large sets when it has visited too many nodes.

Sources: Korf, *A New Algorithm for Optimal Bin Packing*, AAAI 2002, for bin completion; Akram,
Maas, Sanders and Schreiber, arXiv 2405.15371, 2024, for the same idea on identical machines.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

Positions = tuple[int, ...]  # of items in a list


@dataclass(frozen=True)
class BinCompletionParams:
    """Limits of the search.

    Attributes
    ----------
    attempts : sequence of int
        Nodes of each attempt. The first attempt completes bins in the order in which sets are
        generated; the later ones prefer sets of few tasks and break ties at random.
    candidates : int
        Completions of one bin that the later attempts compare.
    bits : int
        Largest product of tasks and capacity, in units of time, for the tables of reachable sums.
        Longer horizons are rounded to a coarser unit where the spare time allows it.
    """

    attempts: Sequence[int] = (2_000, 10_000, 10_000, 40_000, 40_000)
    candidates: int = 60
    bits: int = 20_000_000


class _OutOfNodesError(Exception):
    """The attempt has visited as many nodes as it may."""


def pack(
    sizes: Sequence[int],
    capacity: int,
    bins: int,
    *,
    seed: int = 0,
    params: BinCompletionParams | None = None,
) -> list[list[int]] | None:
    """Return the items of each bin, or None if no packing was found.

    Parameters
    ----------
    sizes : sequence of int
        Positive sizes of the items.
    capacity : int
        Capacity of each bin.
    bins : int
        Number of bins.
    seed : int
        Seed for breaking ties; the same seed returns the same packing.
    params : BinCompletionParams, optional

    Returns
    -------
    list of list of int or None
        Positions of the items in each bin that is used. None proves nothing.
    """
    params = params or BinCompletionParams()
    unit = 1 + len(sizes) * capacity // params.bits
    coarse, room = [-(-size // unit) for size in sizes], capacity // unit
    if sum(coarse) > room * bins or max(coarse, default=0) > room:
        return None
    draw = random.Random(seed)  # noqa: S311
    order = sorted(range(len(sizes)), key=lambda i: -coarse[i])
    ordered = [coarse[i] for i in order]
    for attempt, nodes in enumerate(params.attempts):
        candidates = params.candidates if attempt else 0
        with suppress(_OutOfNodesError):
            found = _Search(ordered, room, bins, nodes, candidates, draw).run()
            return None if found is None else [[order[i] for i in one] for one in found]
    return None


@dataclass
class _Search:
    """One attempt: depth-first over bins, each completed in every way that the slack allows."""

    sizes: Sequence[int]
    capacity: int
    bins: int
    nodes: int
    candidates: int
    draw: random.Random

    def run(self) -> list[list[int]] | None:
        """Return the items of each bin; None if there is no packing."""
        left = list(range(len(self.sizes)))
        slack = self.capacity * self.bins - sum(self.sizes)
        stack = [(left, slack, self._completions(left, slack))]
        filled: list[list[int]] = []
        while stack:
            left, slack, completions = stack[-1]
            if not left:
                return filled
            chosen = next(completions, None) if len(filled) < self.bins else None
            if chosen is None:
                stack.pop()
                if filled:
                    filled.pop()
                continue
            taken = {0, *chosen}
            filled.append([left[i] for i in (0, *chosen)])
            rest = [item for i, item in enumerate(left) if i not in taken]
            waste = self.capacity - sum(self.sizes[item] for item in filled[-1])
            stack.append((rest, slack - waste, self._completions(rest, slack - waste)))
        return None

    def _completions(self, left: Sequence[int], slack: int) -> Iterator[Positions]:
        """Yield positions of items that complete the bin of the largest item."""
        if not left:
            return
        sizes = [self.sizes[item] for item in left]
        room = self.capacity - sizes[0]
        mask, reachable = (1 << (room + 1)) - 1, [1] * (len(sizes) + 1)
        for i in range(len(sizes) - 1, 0, -1):
            reachable[i] = (reachable[i + 1] | (reachable[i + 1] << sizes[i])) & mask
        found = self._subsets(sizes, 1, room, slack, reachable)
        if not self.candidates:
            yield from found
            return
        first = list(islice(found, self.candidates))
        yield from sorted(first, key=lambda chosen: (len(chosen), self.draw.random()))
        yield from found

    def _subsets(
        self, sizes: Sequence[int], i: int, room: int, slack: int, reachable: Sequence[int]
    ) -> Iterator[Positions]:
        """Yield sets of items from position ``i`` on that leave at most ``slack`` of the room."""
        self.nodes -= 1
        if self.nodes < 0:
            raise _OutOfNodesError
        previous = 0
        for k in range(i, len(sizes)):
            size = sizes[k]
            if size > room or size == previous:  # equal items are interchangeable
                continue
            if not _some_in(reachable[k], room - slack, room):
                break
            previous = size
            if _some_in(reachable[k + 1], room - size - slack, room - size):
                for others in self._subsets(sizes, k + 1, room - size, slack, reachable):
                    yield (k, *others)
        if room <= slack:
            yield ()


def _some_in(sums: int, low: int, high: int) -> bool:
    """Return True if a bit of ``sums`` from ``low`` to ``high`` is set."""
    low = max(low, 0)
    return bool((sums >> low) & ((1 << (high - low + 1)) - 1))
