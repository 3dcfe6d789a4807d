"""The search over timelines: in which order jobs complete, and between which arrivals."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

import msgspec
import numpy as np

from schedopt.formulations.hesrpt.rules import Rules
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.clock import now
from schedopt.solvers.hesrpt.kernels import Floats
from schedopt.solvers.hesrpt.late_kernels import Late, cost_of_played, played
from schedopt.solvers.hesrpt.late_tree_kernels import BACK, explore, tree
from schedopt.solvers.hesrpt.prices import compiled, curves
from schedopt.solvers.hesrpt.search import OrderSearch, alike
from schedopt.solvers.hesrpt.timelines import Timeline
from schedopt.solvers.hesrpt.tree_kernels import NEAR, PAUSED, open_bound

MOST_LATE = 60
"""Jobs up to which sets of jobs are binary numbers."""
MOST_LEAVES = 20_000
FIRST, MOST_NODES = 200, 20_000
"""Nodes that are explored before the first look at the leaves, and between two looks at most."""


class TimelineSearch:
    """Find the least cost of jobs that arrive while others run, over all timelines; anytime.

    Parameters
    ----------
    instance : Instance
        Any objective but makespan, `MOST_LATE` jobs at the most. Side constraints are not seen.

    Attributes
    ----------
    value : float
        The least cost that is known; set it where something better is found elsewhere.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._curves = curves(instance)
        starts = np.unique(np.append(0.0, instance.arrivals))
        groups = np.searchsorted(starts, instance.arrivals).astype(np.int64)
        _, after, _ = alike(instance, Rules(instance))
        self._late = Late(instance.sizes, instance.costs, starts, groups, after)
        self._tree = tree(len(instance.jobs), len(starts), MOST_LEAVES)
        self._tree.found[:] = instance.costs / instance.each(
            "at", np.arange(len(instance.jobs)), np.full(len(instance.jobs), self._curves.servers)
        )
        compiled()
        self.value = float(cost_of_played(self._curves, self._late, self._tree.found))
        self._nodes = FIRST

    @property
    def nodes(self) -> int:
        """How many nodes have been explored."""
        return int(self._tree.numbers[2])

    def advance(self, until: float) -> bool:
        """Explore some nodes, or up to a time; tell whether the search has ended."""
        searched = self._tree
        searched.best[0] = self.value
        status, left = PAUSED, self._nodes
        while status == PAUSED and left > 0 and now() < until:
            some = min(left, FIRST)
            status = explore(self._curves, self._late, searched, some)
            left -= some
        self._nodes = min(2 * self._nodes, MOST_NODES)
        self.value = float(searched.best[0])
        return bool(status != PAUSED)

    @property
    def rest(self) -> float:
        """A bound on what is neither explored nor among the leaves; infinite at the end."""
        return float(open_bound(self._tree))

    def leaves(self) -> list[tuple[float, Timeline]]:
        """Return (bound, timeline) of those that could still be better, the least bound first."""
        count, limit = int(self._tree.numbers[1]), self.value * (1 - NEAR)
        values = self._tree.values[:count]
        rank = [i for i in np.argsort(values, kind="stable") if values[i] < limit]
        return [(float(values[i]), self._timeline(self._tree.leaves[i].tolist())) for i in rank]

    def _timeline(self, placed: list[int]) -> Timeline:
        """Return the order from the last, and how many complete before each arrival."""
        order = [j for j in placed if j != BACK]
        arrived: dict[str, int] = {}
        group, completed = 0, 0
        for j in reversed(placed):
            if j != BACK:
                completed += 1
                continue
            group += 1
            for i in np.flatnonzero(self._late.groups == group):
                arrived[self.instance.jobs[i].name] = completed
        return order, arrived

    def solution(self, prices: Floats | None = None) -> Allocated:
        """Return what playing prices makes: by default those of the best that was found so."""
        count = len(self.instance.jobs)
        most = count + len(self._late.starts)
        ends, times, shares = np.zeros(count), np.zeros(most), np.zeros((most, count))
        prices = self._tree.found if prices is None else prices
        made = played(self._curves, self._late, prices, ends, times, shares)
        epochs, start = [], 0.0
        for end, row in zip(times[:made].tolist(), shares, strict=False):
            jobs = np.flatnonzero(row)
            epochs.append((start, end, jobs, row[jobs]))
            start = end
        return allocated(self.instance, ends, epochs)


def without_arrivals(instance: Instance) -> float:
    """Return a bound on instances with arrivals: all there from the start, waiting not paid for."""
    each = instance.sizes / instance.each(
        "at", np.arange(len(instance.jobs)), np.full(len(instance.jobs), float(instance.servers))
    )
    if instance.objective == "makespan":
        return float((instance.arrivals + each).max())
    alone = fsum((instance.costs * each).tolist())
    jobs = tuple(msgspec.structs.replace(job, arrival=0.0) for job in instance.jobs)
    early = msgspec.structs.replace(instance, jobs=jobs, constraints=())
    search = OrderSearch(early)
    search.advance(5.0)
    return float(max(alone, search.bound - fsum((instance.costs * instance.arrivals).tolist())))


def as_played(instance: Instance, ends: Mapping[str, float]) -> Timeline:
    """Return the order from the last to complete, and what had completed at each arrival."""
    names = sorted(ends, key=lambda name: ends[name])
    arrived = {
        job.name: sum(end <= job.arrival for end in ends.values())
        for job in instance.jobs
        if job.arrival > 0
    }
    return [instance.index[name] for name in reversed(names)], arrived
