"""Slot patterns: the maximal ways to fill one epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from schedopt.formulations.epoch.slots import Pattern
from schedopt.instances.arithmetic import divisors
from schedopt.solvers.clock import now

MOST_WIDTHS = 30
"""Widths of slots in one epoch, beyond which there are too many patterns to begin with."""

LOOKS = 10
"""Patterns that are looked at for each that may be kept, before giving up."""


def patterns(
    descending: Sequence[int], nodes: int, inequity: int, most: int, seconds: float = inf
) -> list[Pattern] | None:
    """Return all maximal slot patterns of an epoch, None if there are too many.

    With inequity 0 an epoch of h jobs has h slots of N/h; with 1 it has N mod h slots of one node
    more than the others. With more, for each leader v, some slots of the sizes in (v - k, v], and
    slots of max(1, v - k) in the rest.

    Parameters
    ----------
    descending : sequence of int
        Minima, not increasing.
    nodes, inequity : int
        N and k.
    most : int
        Patterns after which to give up.
    seconds : float
        Time after which to give up.
    """
    if inequity <= 1:
        counts = divisors(nodes) if inequity == 0 else range(min(nodes, len(descending)), 0, -1)
        even = (_even(nodes, h) for h in counts if h <= len(descending))
        return [pattern for pattern in even if pattern[-1][0] >= descending[-1]]
    found: list[Pattern] = []
    looked_at, until = 0, now() + seconds
    for leader in dict.fromkeys(descending):
        led = _Led(Counter(descending), leader, nodes, inequity)
        if len(led.widths) > MOST_WIDTHS:
            return None
        for pattern in led.patterns():
            looked_at += 1
            if pattern is not None:
                found.append(pattern)
            if len(found) > most or looked_at > LOOKS * most or now() > until:
                return None
    return found


def _even(nodes: int, jobs: int) -> Pattern:
    width, wider = divmod(nodes, jobs)
    if wider == 0:
        return ((width, jobs),)
    return ((width + 1, wider), (width, jobs - wider))


class _Led:
    """The patterns of epochs whose largest job has a given minimum."""

    def __init__(self, jobs: Counter[int], leader: int, nodes: int, inequity: int) -> None:
        self.floor = max(1, leader - inequity)
        self.nodes = nodes
        self.widths = [s for s in sorted(jobs, reverse=True) if self.floor < s <= leader]
        if leader == self.floor:  # jobs of one node
            self.widths = [leader]
        self.useful, total = [], 0
        for width in self.widths:
            total += jobs[width]
            self.useful.append(total)
        self.jobs = sum(n for s, n in jobs.items() if s <= leader)

    def patterns(self) -> Iterator[Pattern | None]:
        """Yield the maximal patterns, and None for each that is not."""
        for counts, left in self._counts(0, 0, self.nodes):
            rest = min(left // self.floor, self.jobs - sum(counts))
            if self._grows(counts, rest, left - rest * self.floor):
                yield None
                continue
            slots = [(w, n) for w, n in zip(self.widths, counts, strict=True) if n]
            if rest:
                slots.append((self.floor, rest))
            yield tuple(slots)

    def _counts(self, i: int, taken: int, left: int) -> Iterator[tuple[list[int], int]]:
        """Yield counts of slots of each width from the i-th on, and the nodes that are left."""
        if i == len(self.widths):
            yield [], left
            return
        width = self.widths[i]
        for count in range(min(left // width, self.useful[i] - taken), (0 if i else 1) - 1, -1):
            for counts, rest in self._counts(i + 1, taken + count, left - count * width):
                yield [count, *counts], rest

    def _grows(self, counts: list[int], rest: int, spare: int) -> bool:
        """Tell whether a slot could be wider, for a job that could use it: then not maximal."""
        taken = 0
        for i, (width, useful) in enumerate(zip(self.widths, self.useful, strict=True)):
            taken += counts[i]
            if taken >= useful:
                continue
            last = i + 1 == len(self.widths)
            narrower = self.floor if last else self.widths[i + 1]
            if (rest if last else counts[i + 1]) and width - narrower <= spare:
                return True
        return False
