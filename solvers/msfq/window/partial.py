"""The best schedule of few jobs, by a search over partial schedules in order of time."""

import numpy as np

from schedopt.formulations.msfq.log_bound import Ticks64
from schedopt.solvers.clock import now
from schedopt.solvers.msfq.window.packing import Packing
from schedopt.solvers.msfq.window.partial_kernels import (
    EXHAUSTED,
    FULL,
    Facts,
    Partials,
    Scratch,
    Search,
    Tally,
    search,
)

MOST = 3_000_000
"""Partial schedules that are kept; each takes 48 bytes."""
AT_ONCE = 50
"""Partial schedules between two looks at the clock."""


class PartialSearch:
    """The search for a schedule that is better than one known.

    It uses the bound and the starts of prices, and keeps up to `most` partial schedules; `full`
    says that there is no room to go on. `known` is the sum of weighted starts of the best schedule
    so far; `proven` says that none is better.
    """

    def __init__(self, packing: Packing, *, most: int = MOST) -> None:
        self._jobs = len(packing.ticks.run)
        self._found = Partials(*(np.zeros(most, np.int64) for _ in Partials._fields))
        self._tally = Tally(*(np.zeros(1, np.int64) for _ in Tally._fields))
        self._tally.known[0] = packing.known
        scratch = Scratch(*(np.zeros(self._jobs + 2, np.int64) for _ in Scratch._fields))
        found = self._found  # at first nobody has started
        found.begun[0], found.parent[0] = -1, -1
        self._tally.found[0] = self._tally.waiting[0] = 1
        self._search = Search(facts_of(packing), found, self._tally, scratch)
        self.proven = self.full = False

    @property
    def known(self) -> int:
        """The sum of weighted starts of the best schedule by now."""
        return int(self._tally.known[0])

    def advance(self, seconds: float) -> bool:
        """Search for about that long; tell whether there is nothing left to do."""
        until = now() + seconds
        while not (self.proven or self.full):
            came = search(self._search, AT_ONCE)
            self.proven, self.full = came == EXHAUSTED, came == FULL
            if now() >= until:
                break
        return self.proven or self.full

    def starts(self) -> Ticks64 | None:
        """Return the starts of a schedule that is better than the first, if there is one."""
        at = int(self._tally.best[0])
        if at == 0:
            return None
        found, starts = self._found, np.zeros(self._jobs, np.int64)
        while at > 0:
            parent = int(found.parent[at])
            new = int(found.started[at]) & ~int(found.started[parent])
            for job in range(self._jobs):
                if new >> job & 1:
                    starts[job] = found.begun[at]
            at = parent
        return starts


def facts_of(packing: Packing) -> Facts:
    """Return the data of a search, from prices that prove something."""
    ticks, grid = packing.ticks, packing.grid
    prices, paid = packing.summed(packing.prices)
    value = packing.values()
    jobs = len(ticks.run)
    alike, last = np.full(jobs, -1), dict[tuple[int, int], int]()
    for job, of in enumerate(zip(ticks.need.tolist(), ticks.run.tolist(), strict=True)):
        alike[job] = last.get(of, -1)
        last[of] = job
    facts = Facts(
        submit=ticks.submit,
        need=ticks.need,
        takes=packing.sizes * packing.shared,
        run=ticks.run,
        weight=ticks.weight,
        kind=packing.kind,
        alike=alike,
        servers=ticks.servers,
        unit=packing.unit,
        step=packing.step,
        grid=grid,
        prices=prices,
        paid=paid,
        value=np.append(value, 0),
        values=np.append(0, np.cumsum(value * packing.lengths)),
        corners=np.zeros((jobs, 2 * len(grid) + 2), np.int64),
        floors=np.zeros((jobs, 2 * len(grid) + 2), np.int64),
        many=np.zeros(jobs, np.int64),
    )
    for job in range(jobs):
        _fill_floors(packing, facts, job)
    return facts


def _fill_floors(packing: Packing, facts: Facts, job: int) -> None:
    """Fill in a job's least cost from each time on at which its course changes."""
    grid, run, kind = packing.grid, packing.ticks.run[job], packing.kind[job]
    ends = np.array([packing.first[job], packing.last[job]])
    times = np.concatenate([grid, grid - run])
    within = (ends[0] < times) & (times < ends[1])
    marks = np.unique(np.concatenate([ends, times[within]]))

    def paid(times: Ticks64) -> Ticks64:
        at = np.searchsorted(grid, times, "right") - 1
        so_far: Ticks64 = facts.paid[kind, at] + facts.prices[kind, at] * (times - grid[at])
        return so_far

    costs = packing.unit * packing.ticks.weight[job] * marks + paid(marks + run) - paid(marks)
    facts.many[job] = len(marks)
    facts.corners[job, : len(marks)] = marks
    facts.floors[job, : len(marks)] = np.minimum.accumulate(costs[::-1])[::-1]
