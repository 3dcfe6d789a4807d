"""Schedules from an order of tasks, and what they earn in scenarios of run times.

An order is replayed with each task as early as it can be, none later than it was. In a scenario,
jobs are dispatched in the order of their starts: an idle processor takes, of the tasks that can
run, the one that is planned to start first; the file's order decides ties. A task can run from its
job's release on, once the stage before has ended; a task of no length asks for no processor. Times
are whole numbers (see `fineness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush, heapreplace
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.dssp.sample import Integers, Mask, Sample
from schedopt.instances.constraints import Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Scheduled, bounding
from schedopt.instances.dssp.planned import Floats, Ints, Tasks
from schedopt.instances.dssp.scenarios import MILLION, Measure, fineness, judges, longest
from schedopt.instances.errors import InputError, expect

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


Play = Callable[[Floats], Floats]
"""From the length of each task to the completion of each job."""


class Order(NamedTuple):
    """Jobs that are run, and when their tasks are planned to start, shape (tasks,)."""

    jobs: Mask
    starts: Floats


class PlayedSample(Sample):
    """Scenarios, and the rewards of schedules in them.

    ``long``: the tasks of some length, which alone are dispatched; ``first_task``, ``first_stage``:
    of these, as in `Tasks`; ``releases``, ``due``: in whole units, shape (jobs,).
    """

    def __init__(
        self, night: Instance, open_: Mask, fill: float, measure: Measure, drawn: Integers
    ) -> None:
        super().__init__(bounding(night), open_, fill, measure, drawn)
        self.night, self.player, tasks = night, plainly, night.tasks
        self.judges = judges(night)
        self.unit = Fraction(10) ** fineness(night) * MILLION
        self.long = np.flatnonzero(tasks.lengths > 0)
        self.job_of = tasks.job_of[self.long]
        counts = np.bincount(tasks.stage_of[self.long], minlength=len(tasks.job_of_stage))
        of_jobs = np.bincount(tasks.job_of_stage[counts > 0], minlength=len(night.jobs))
        self.first_task = np.concatenate(([0], np.cumsum(counts[counts > 0]))).astype(np.int64)
        self.first_stage = np.concatenate(([0], np.cumsum(of_jobs))).astype(np.int64)
        self.stage_of = np.repeat(np.arange(len(self.first_task) - 1), np.diff(self.first_task))
        exact = [as_written(x) * self.unit / MILLION for x in tasks.lengths[self.long].tolist()]
        self._times = np.array([x.numerator for x in exact], dtype=object)
        self._parts = np.array([x.denominator for x in exact], dtype=object)
        if max((x.numerator for x in exact), default=0) * longest(night) < 2**62:
            self._times = self._times.astype(np.int64)
            self._parts = self._parts.astype(np.int64)
        self.releases = self._whole(night.releases, up=True)
        self.due = self._whole(night.deadlines, up=False)

    def _whole(self, times: Floats, *, up: bool) -> Ints:
        units = [as_written(time) * self.unit for time in times.tolist()]
        return np.array([-(-x // 1) if up else x // 1 for x in units], dtype=np.int64)

    def lengths(self, factor: Ints) -> Floats:
        """Return the lengths of the tasks of some length, in units, rounded up."""
        found = -(-(self._times * factor[self.job_of]) // self._parts)
        return np.asarray(found, dtype=np.float64)

    def ordered(self, solution: Scheduled) -> Order:
        """Return the order that a schedule implies."""
        tasks, index = self.night.tasks, self.night.index
        jobs = np.zeros(len(self.night.jobs), dtype=np.bool_)
        jobs[[index[name] for name in solution.selected]] = True
        starts = np.full(len(tasks.lengths), np.inf)
        for task in solution.tasks:
            first = tasks.first_task[tasks.first_stage[index[task.job]] + task.stage]
            starts[first + task.task] = task.start
        return Order(jobs, starts)

    @property
    def units(self) -> int:
        """Factor on integer rewards that makes the measure's objective an integer."""
        if self.measure.kind == "cvar":
            return ((1 - self.measure.level) * self.count).numerator
        return self.count if self.measure.kind == "mean" else 1

    def mask(self, chosen: Order) -> Mask:
        """Return which jobs are run."""
        return chosen.jobs

    def in_time(self, chosen: Order, lengths: Iterable[Floats] | None = None) -> Mask:
        """Tell which jobs are run and in time, shape (scenarios, jobs).

        ``lengths``: those of the tasks in each scenario, where they are known.
        """
        jobs, starts = np.flatnonzero(self.mask(chosen)), chosen.starts
        rank = np.empty(len(self.long), dtype=np.int64)
        rank[np.lexsort((self.long, starts[self.long]))] = np.arange(len(self.long))
        found = np.zeros((len(self.drawn), len(chosen.jobs)), dtype=np.bool_)
        play = self.player(self, jobs, rank)
        for done, long in zip(found, lengths or map(self.lengths, self.drawn), strict=True):
            done[jobs] = play(long)[jobs] <= self.due[jobs]
        return found


def plainly(sample: PlayedSample, jobs: Ints, rank: Ints) -> Play:
    """Play jobs in plain Python: the definition."""
    return partial(_played, sample, jobs, rank)


def _played(sample: PlayedSample, jobs: Ints, rank: Ints, lengths: Floats) -> Floats:
    first_task, stage = sample.first_task.tolist(), sample.first_stage[:-1].tolist()
    last, job_of, ranks = sample.first_stage[1:].tolist(), sample.job_of.tolist(), rank.tolist()
    ends, unfinished = sample.releases.astype(np.float64), [0] * len(stage)
    waiting, working = list[tuple[int, int]](), list[tuple[float, int]]()
    released, long = sample.releases.tolist(), lengths.tolist()
    coming = sorted(((released[j], j) for j in jobs.tolist()), reverse=True)
    idle, now = sample.night.processors, 0.0

    def open_stage(j: int) -> None:
        ends[j] = now
        if stage[j] < last[j]:
            tasks = range(first_task[stage[j]], first_task[stage[j] + 1])
            unfinished[j], stage[j] = len(tasks), stage[j] + 1
            for i in tasks:
                heappush(waiting, (ranks[i], i))

    while working or coming:
        now = min([float(time) for time, _ in (*working[:1], *coming[-1:])])
        while working and working[0][0] == now:
            j, idle = heappop(working)[1], idle + 1
            unfinished[j] -= 1
            if not unfinished[j]:
                open_stage(j)
        while coming and coming[-1][0] <= now:
            open_stage(coming.pop()[1])
        while idle and waiting:
            i, idle = heappop(waiting)[1], idle - 1
            heappush(working, (now + long[i], job_of[i]))
    return ends


def refuse_at_risk(night: Instance) -> None:
    """Raise `InputError` if an instance has features that schedules under risk do not take."""
    expect(not night.late, "nothing paid for what is late", "late", "risk")
    for key in night.beyond:
        what = f"a schedule without `{key}`, which is not played; selections take it"
        raise InputError(what, found=key, place="risk")
