"""A schedule's reward in scenarios of run times, dispatched in the order of its starts.

An idle processor takes, of the tasks that can run, the one that is planned to start first; the
file's order decides ties. A task can run from its job's release on, once the stage before has
ended; a task of no length asks for no processor. Times are whole numbers (see `fineness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from schedopt.formulations.dssp.sample import Integers, Mask, Sample
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Scheduled, bounding
from schedopt.instances.dssp.scenarios import MILLION, Measure, fineness, judges, longest
from schedopt.instances.dssp.tasks import Floats, Ints
from schedopt.instances.errors import InputError, expect

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
