"""A quick allocation of very many jobs: waves of jobs that complete together.

It is at hand whatever the time limit, and has few epochs to write: shares epoch by epoch of all
jobs would be too many numbers.
"""

import numpy as np

from schedopt.formulations.hesrpt.epochs import Rules, smiths_order
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.hesrpt.kernels import Floats, Ints

COUNTS = (4, 16, 64)
LARGE, COUNTS_OF_LARGE = 300_000, (8,)
"""Jobs from which on there is time for one number of waves alone: near the best for a million."""
CLOSER = 3
"""How often the lengths of waves are improved."""


def in_waves(instance: Instance, rules: Rules) -> Allocated | None:
    """Return the cheapest allocation in waves, None for few jobs, or under side constraints."""
    order = smiths_order(instance)[::-1]
    if rules.bounds or len(order) < COUNTS[-1]:
        return None
    counts = COUNTS if len(order) <= LARGE else COUNTS_OF_LARGE
    return min(
        (Waves(instance, order, count) for count in counts), key=lambda waves: waves.cost
    ).allocation()


class Waves:
    """Jobs by Smith's rule in waves, each of which has all servers and completes at once.

    As speedups are concave, the servers that a wave asks for are convex in 1 over its length: a
    line between two lengths finds one that is long enough, and nearer to the shortest.
    """

    def __init__(self, instance: Instance, order: Ints, count: int) -> None:
        self.instance, servers = instance, float(instance.servers)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        kinds = instance.kinds
        self.jobs = np.argsort(kinds, kind="stable")
        self.cuts = np.flatnonzero(np.diff(kinds[self.jobs])) + 1
        self.waves = (ranks * count // len(order))[self.jobs]
        self.sizes = instance.sizes[self.jobs]
        even = servers / np.bincount(self.waves)
        times = self.sizes / self._each("at", even[self.waves])
        longest = np.zeros(count)
        np.maximum.at(longest, self.waves, times)
        pace, asked = 1.0 / longest, self._asked(1.0 / longest)
        for _ in range(CLOSER):
            further = pace * servers / asked
            more = self._asked(further)
            between = np.where(
                np.isfinite(more) & (more > asked),
                pace + (further - pace) * (servers - asked) / np.maximum(more - asked, 1e-300),
                (pace + further) / 2,
            )
            now = self._asked(between)
            fits = now <= servers
            pace, asked = np.where(fits, between, pace), np.where(fits, now, asked)
        self.pace, self.ends = pace, np.cumsum(1.0 / pace)
        self.cost = float(instance.costs[self.jobs] @ self.ends[self.waves])

    def _each(self, method: str, values: Floats) -> Floats:
        parts = np.split(values, self.cuts)
        kinds = self.instance.kinds[self.jobs[np.append(0, self.cuts)]]
        of = self.instance.speedups
        made = [getattr(of[k], method)(v) for k, v in zip(kinds, parts, strict=True)]
        return np.concatenate(made)

    def _asked(self, pace: Floats) -> Floats:
        """Return the servers that each wave asks for."""
        asked: Floats = np.bincount(
            self.waves, self._each("servers_for", self.sizes * pace[self.waves])
        ).astype(np.float64)
        return asked

    def allocation(self) -> Allocated:
        """Return the allocation."""
        shares = self._each("servers_for", self.sizes * self.pace[self.waves])
        shares /= self.instance.servers
        who = np.argsort(self.waves, kind="stable")
        cuts = np.searchsorted(self.waves[who], np.arange(1, len(self.pace)))
        starts = np.append(0.0, self.ends[:-1])
        ends = np.empty(len(self.jobs))
        ends[self.jobs] = self.ends[self.waves]
        held = zip(np.split(self.jobs[who], cuts), np.split(shares[who], cuts), strict=True)
        times = zip(starts, self.ends, held, strict=True)
        epochs = ((start, end, *its) for start, end, its in times)
        return allocated(self.instance, ends, epochs)
