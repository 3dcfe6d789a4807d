"""OPT-EPOCH(k) as the paper searches for it, counting the assignments that it tests.

Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, section 4.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from schedopt.instances.arithmetic import divisors
from schedopt.instances.epoch import Instance, Partitioned, partitioned
from schedopt.policies.epoch.heuristics import PAPER
from schedopt.policies.registry import NotApplicableError, Policy, register

MOST_LOOKED_AT = 10_000_000
"""The search gives up after so many slots of assignments: some seconds."""

MOST_JOBS = 400
"""The most jobs for the recursion."""


def vectors(count: int, nodes: int, inequity: int) -> Iterator[list[int]]:
    """Yield the ways to cut N nodes into a number of allotments that differ by at most k.

    No way increases. Table 1 counts them, over all counts.
    """
    if inequity <= 1:  # at most one way: N mod h of the wider allotment
        if inequity == 1 or nodes % count == 0:
            wide = nodes % count
            yield [nodes // count + 1] * wide + [nodes // count] * (count - wide)
        return
    average = -(-nodes // count)
    for largest in range(average, min(nodes - count + 1, nodes // count + inequity) + 1):
        floor = max(1, largest - inequity)
        for rest in _falling(count - 1, nodes - largest, largest, floor):
            yield [largest, *rest]


def _falling(count: int, total: int, most: int, least: int) -> Iterator[list[int]]:
    """Yield the non-increasing sequences of a length and a sum, each number within bounds."""
    if count == 0:
        if total == 0:
            yield []
        return
    for first in range(min(most, total - least * (count - 1)), -(-total // count) - 1, -1):
        if first < least:
            break
        for rest in _falling(count - 1, total - first, first, least):
            yield [first, *rest]


def filled(descending: Sequence[int], slots: Sequence[int]) -> list[int] | None:
    """Return the largest jobs that fill all slots, by index, or None; both sequences fall."""
    taken, i = [], 0
    for slot in slots:
        while i < len(descending) and descending[i] > slot:
            i += 1
        if i == len(descending):
            return None
        taken.append(i)
        i += 1
    return taken


@dataclass
class _Search:
    """The recursion: each level is an epoch that holds the largest remaining job.

    Some epoch of an optimal schedule holds it, and the order of epochs is free.
    """

    minima: Sequence[int]
    nodes: int
    inequity: int
    looked_at: int = 0
    tested: int = 0
    best: list[list[int]] = field(default_factory=list)

    def run(self, left: list[int], chosen: list[list[int]]) -> None:
        if not left:
            self.best = chosen
            return
        sizes = [self.minima[j] for j in left]
        for slots in self._assignments(sizes):
            if self.best and len(chosen) + 1 >= len(self.best):
                return  # cannot become better than what is known
            self.looked_at += len(slots)
            if self.looked_at > MOST_LOOKED_AT:
                raise NotApplicableError(f"no end after {MOST_LOOKED_AT:,} slots of assignments")
            taken = filled(sizes, slots)
            if taken is None or taken[0] > 0:
                continue
            self.tested += 1
            gone = set(taken)
            rest = [j for i, j in enumerate(left) if i not in gone]
            self.run(rest, [*chosen, [left[i] for i in taken]])
            if self.inequity > 0 and taken[-1] == len(taken) - 1:
                return  # uninterrupted from the largest: all others leave dominated sets

    def _assignments(self, sizes: Sequence[int]) -> Iterator[list[int]]:
        """Yield the allotments that can hold the largest job, most jobs first."""
        floor = max(1, sizes[0] - self.inequity)
        most = min(len(sizes), 1 + (self.nodes - sizes[0]) // floor)
        if self.inequity == 0:
            counts = [h for h in divisors(self.nodes) if h <= most]
        else:
            counts = list(range(most, 0, -1))
        for count in counts:
            yield from vectors(count, self.nodes, self.inequity)


def opt_epochs(descending: Sequence[int], nodes: int, inequity: int) -> tuple[list[list[int]], int]:
    """Return the epochs of OPT-EPOCH(k), by index, and how many assignments were tested.

    Only assignments that hold the largest job that is left count as tested. Minima do not increase.
    `NotApplicableError` if the search takes too long.
    """
    if len(descending) > MOST_JOBS:
        raise NotApplicableError(f"a recursion over epochs: at most {MOST_JOBS} jobs")
    search = _Search(descending, nodes, inequity)
    search.run(list(range(len(descending))), [])
    return search.best, search.tested


def _run(instance: Instance) -> Partitioned:
    order = instance.descending
    epochs, tested = opt_epochs(instance.minima[order].tolist(), instance.nodes, instance.inequity)
    return partitioned(instance, [[order[i] for i in epoch] for epoch in epochs], tested=tested)


register(
    Policy(
        name="paper-search",
        problem="epoch",
        run=_run,
        source=f"{PAPER}, section 4.2",
        summary="OPT-EPOCH(k) by the paper's recursive search; counts the assignments it tests",
    )
)
