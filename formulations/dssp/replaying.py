"""Schedules from an order of tasks: each task as early as it can be, none later than it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush, heapreplace
from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Tasks

Times = Any
"""Floats in the unit of the file, or whole numbers on a grid."""


class Replayed(NamedTuple):
    """Start times and processors, shape (tasks,); undefined for tasks that are not run."""

    starts: Times
    processors: Any


def replay(
    night: Instance,
    jobs: Sequence[int],
    begin: Times,
    lengths: Times,
    *,
    releases: Times,
    seats: Iterable[Seats] = (),
    earliest: Times | None = None,
) -> Replayed:
    """Place tasks in the order of given starts, each as early as possible.

    With lengths that are no longer than those behind the given starts, none starts later. A task
    of no length asks for no processor and no seats. It stands where a longer one of its stage or
    of the next starts, or where the stage before has ended, if there is one: there a processor is
    between two tasks.

    Parameters
    ----------
    night : Instance
    jobs : sequence of int
        Positions of the jobs that are run.
    begin, lengths : ndarray, shape (tasks,)
        In one unit.
    releases : ndarray, shape (jobs,)
        In the unit of `lengths`.
    seats : iterable of Seats
        What running tasks hold.
    earliest : ndarray, shape (tasks,), optional
        Before which no task of some length starts, in the unit of `lengths`.
    """
    tasks = night.tasks
    stage_of, job_of = tasks.stage_of, tasks.job_of
    mine = np.flatnonzero(np.isin(job_of, jobs))
    long = mine[lengths[mine] > 0]
    order = long[np.lexsort((long, stage_of[long], begin[long]))]
    line = _Line(night, len(order), lengths, releases, list(seats), earliest=earliest)
    for i in order:
        line.place(int(i))
    for i in mine[lengths[mine] == 0]:
        line.place_instant(int(i))
    return Replayed(line.starts, line.processors)


class _Line:
    """The state of processors, seats and stages while tasks are placed one by one."""

    def __init__(
        self,
        night: Instance,
        count: int,
        lengths: Times,
        releases: Times,
        seats: list[Seats],
        *,
        earliest: Times | None,
    ) -> None:
        self.tasks: Tasks = night.tasks
        self.lengths, self.releases, self.earliest = lengths, releases, earliest
        self.zero = 0 * lengths[0] if len(lengths) else 0
        self.free = [(self.zero, p) for p in range(max(1, min(night.processors, count)))]
        self.first: dict[int, tuple[Times, int]] = {}
        self.last: dict[int, tuple[Times, int]] = {}
        self.starts = np.zeros(len(lengths), dtype=lengths.dtype)
        self.processors = np.full(len(lengths), -1, dtype=np.int64)
        names = [job.name for job in night.jobs]
        self.left = [rule.capacity for rule in seats]
        self.use = [[rule.use.get(name, 0) for rule in seats] for name in names]
        self.holding: list[tuple[Times, int]] = []  # end, job
        self.now = self.zero

    def place(self, i: int) -> None:
        """Place a task of some length; with seats, not before the one before it."""
        s = int(self.tasks.stage_of[i])
        at, p = self.free[0]
        start = max(at, self.opens(s)[0])
        if self.earliest is not None:
            start = max(start, self.earliest[i])
        if self.left:
            start = self.now = self.seated(i, max(start, self.now))
        end = start + self.lengths[i]
        self.starts[i], self.processors[i] = start, p
        self.first.setdefault(s, (start, p))
        self.last[s] = max(self.last.get(s, (self.zero, 0)), (end, p))
        heapreplace(self.free, (end, p))

    def seated(self, i: int, start: Times) -> Times:
        """Return the earliest time at which the task's seats are free, and take them."""
        j = int(self.tasks.job_of[i])
        asked = self.use[j]
        while self.holding and (
            self.holding[0][0] <= start
            or any(u > left for u, left in zip(asked, self.left, strict=True))
        ):
            end, other = heappop(self.holding)
            self.left = [a + b for a, b in zip(self.left, self.use[other], strict=True)]
            start = max(start, end)
        self.left = [a - b for a, b in zip(self.left, asked, strict=True)]
        heappush(self.holding, (start + self.lengths[i], j))
        return start

    def opens(self, s: int) -> tuple[Times, int]:
        """When and where the previous stage ended, or the job is released."""
        job = int(self.tasks.job_of_stage[s])
        while s > self.tasks.first_stage[job]:
            s -= 1
            if s in self.last:
                return self.last[s]
        return self.releases[job], 0

    def place_instant(self, i: int) -> None:
        """Place a task of no length."""
        s = int(self.tasks.stage_of[i])
        job = int(self.tasks.job_of_stage[s])
        at = self.first.get(s)
        if at is None and not any(k in self.last for k in range(self.tasks.first_stage[job], s)):
            after = range(s + 1, int(self.tasks.first_stage[job + 1]))
            at = next((self.first[k] for k in after if k in self.first), None)
        self.starts[i], self.processors[i] = at or self.opens(s)
