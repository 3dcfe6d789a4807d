"""Continue a plan without a search: keep tasks at their times, or start them as early as possible.

Tasks that still fit keep their times. Other tasks move, jobs that would earn nothing are dropped,
and further jobs are added in the remaining gaps.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import inf
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job, Scheduled, scheduled
from schedopt.instances.dssp.machine import Span, Steps, in_order
from schedopt.planning.moments import ON_TIME


class Placement(NamedTuple):
    """The start and the processors of a task; no processors if they are unknown."""

    start: float
    processors: tuple[int, ...] = ()


class Placer:
    """Places jobs on processors one after the other."""

    def __init__(self, night: Instance) -> None:
        self.night, machine = night, night.machine
        self.busy: list[list[tuple[float, float]]] = []  # of each processor, ascending
        self.pool: dict[str, range] = {}
        for name, there in machine.by_number.items():
            self.pool[name] = numbers = machine.numbers[name]
            self.busy += [
                _away(there, k, machine.away.get(number, ())) for k, number in enumerate(numbers)
            ]
        self.held: dict[str, list[tuple[float, float, Fraction]]] = {
            name: [] for name in machine.resources
        }
        self.placed: dict[int, Placement] = {}  # by position of the task
        self.ends: dict[str, float] = {}
        rises = {
            float(t)
            for steps in (*machine.pools.values(), *machine.resources.values())
            for t in steps.times
        }
        self.changes = sorted(rises)

    def place(self, job: Job, wishes: Mapping[int, Placement], *, exact: bool) -> bool:
        """Place all tasks of a job, or no task if the job would earn nothing.

        ``wishes`` are by position of the task. With ``exact``, each task has to start at its wish.
        """
        tasks, j = self.night.tasks, self.night.index[job.name]
        if any(name not in self.ends for name in job.after):
            return False
        opened = max([job.release, *(self.ends[name] for name in job.after)])
        last = float(self.night.deadlines[j]) + self.night.delay
        mine: list[int] = []
        for s in range(int(tasks.first_stage[j]), int(tasks.first_stage[j + 1])):
            closed = opened
            for i in range(int(tasks.first_task[s]), int(tasks.first_task[s + 1])):
                length, wish = float(tasks.lengths[i]), wishes.get(i)
                wanted = opened if wish is None else max(opened, wish.start)
                if exact and (wish is None or wanted > wish.start * ON_TIME):
                    self._remove(job, mine)
                    return False
                found = self._earliest(job, wanted, length, wish, last, exact=exact)
                if found is None:
                    self._remove(job, mine)
                    return False
                self._add(job, i, found, length)
                mine.append(i)
                closed = max(closed, found.start + length)
            opened = closed
        if not self.night.worth(j, opened) and opened > float(self.night.deadlines[j]) * ON_TIME:
            self._remove(job, mine)
            return False
        self.ends[job.name] = opened
        return True

    def remove(self, job: Job) -> None:
        """Remove a placed job."""
        tasks, j = self.night.tasks, self.night.index[job.name]
        first, after = tasks.first_stage[j], tasks.first_stage[j + 1]
        self._remove(job, [*range(int(tasks.first_task[first]), int(tasks.first_task[after]))])
        del self.ends[job.name]

    def schedule(self) -> Scheduled:
        """Return the schedule of the placed jobs."""
        starts = np.zeros(len(self.night.tasks.lengths))
        places = np.zeros(len(starts), dtype=np.int64)
        several: dict[int, tuple[int, ...]] = {}
        for i, (start, on) in self.placed.items():
            starts[i], places[i] = start, on[0] if on else 0
            if len(on) > 1:
                several[i] = on
        jobs = [self.night.index[name] for name in self.ends]
        return scheduled(self.night, jobs, starts, places, several=several)

    def _earliest(
        self,
        job: Job,
        start: float,
        length: float,
        wish: Placement | None,
        last: float,
        *,
        exact: bool,
    ) -> Placement | None:
        """Return the earliest placement of a task; None if it ends after ``last``."""
        if not length:
            return Placement(start, ())
        later = self.changes[bisect_right(self.changes, start) :]
        later = sorted({*later, *(e for own in self.busy for _, e in own if start < e < inf)})
        for time in [start] if exact else [start, *later]:
            if time + length > last * ON_TIME:
                return None
            if self._has_resources(job, time, time + length):
                on = self._idle(job, time, time + length, wish)
                if on:
                    return Placement(time, on)
        return None

    def _idle(self, job: Job, start: float, end: float, wish: Placement | None) -> tuple[int, ...]:
        """Return idle processors of one pool: the wished ones, else those with the shortest gap."""
        if wish is not None and len(wish.processors) == job.processors:
            pools = [self.pool[name] for name in self.night.machine.of_job(job)]
            inside = any(all(k in pool for k in wish.processors) for pool in pools)
            if inside and all(self._idle_until(k, start, end) is not None for k in wish.processors):
                return wish.processors
        for name in self.night.machine.of_job(job):
            idle = [
                (until, -k)
                for k in self.pool[name]
                if (until := self._idle_until(k, start, end)) is not None
            ]
            if len(idle) >= job.processors:
                return tuple(sorted(-k for _, k in sorted(idle)[: job.processors]))
        return ()

    def _idle_until(self, k: int, start: float, end: float) -> float | None:
        """Return the end of a processor's idle gap; None if it is busy in between."""
        busy = self.busy[k]
        i = bisect_right(busy, (start, inf))
        before = busy[i - 1][1] if i else 0.0
        after = busy[i][0] if i < len(busy) else inf
        return after if before <= start * ON_TIME and end <= after * ON_TIME else None

    def _has_resources(self, job: Job, start: float, end: float) -> bool:
        machine = self.night.machine
        needs = [
            (machine.resources[name], self.held[name], as_written(a))
            for name, a in job.holds.items()
        ]
        if job.max_processors is not None:
            own = self.held.setdefault(f"\0{job.name}", [])
            needs.append((Steps.of(job.max_processors), own, Fraction(job.processors)))
        for there, held, need in needs:
            if not need:
                continue
            over = [(s, e, a) for s, e, a in held if s < end and start * ON_TIME < e]
            times = {
                start,
                *(s for s, _, _ in over if s > start),
                *(t for t in map(float, there.times) if start < t < end),
            }
            for time in times:
                used = sum((a for s, e, a in over if s <= time and time * ON_TIME < e), Fraction(0))
                if used + need > there.at(as_written(time)):
                    return False
        return True

    def _add(self, job: Job, i: int, found: Placement, length: float) -> None:
        self.placed[i] = found
        end = found.start + length
        for k in found.processors:
            insort(self.busy[k], (found.start, end))
        for name, amount in self._holds(job):
            self.held[name].append((found.start, end, amount))

    def _remove(self, job: Job, positions: Sequence[int]) -> None:
        for i in positions:
            start, on = self.placed.pop(i)
            end = start + float(self.night.tasks.lengths[i])
            for k in on:
                self.busy[k].remove((start, end))
            for name, amount in self._holds(job):
                self.held[name].remove((start, end, amount))

    def _holds(self, job: Job) -> list[tuple[str, Fraction]]:
        holds = [(name, as_written(amount)) for name, amount in job.holds.items()]
        if job.max_processors is not None:
            self.held.setdefault(f"\0{job.name}", [])
            holds.append((f"\0{job.name}", Fraction(job.processors)))
        return holds


def _away(there: Steps, k: int, by_number: Sequence[Span]) -> list[tuple[float, float]]:
    """Return the times at which the k-th processor of a pool is not available."""
    spans = sorted(
        [*(span for span in there.spans() if span.amount <= k), *by_number],
        key=attrgetter("start"),
    )
    away: list[tuple[float, float]] = []
    for span in spans:
        start, end = float(span.start), inf if span.end is None else float(span.end)
        if away and start <= away[-1][1]:
            away[-1] = (away[-1][0], max(away[-1][1], end))
        else:
            away.append((start, end))
    return away


def continue_plan(
    night: Instance,
    first: Collection[str],
    wanted: Sequence[str],
    wishes: Mapping[int, Placement],
    keeps: Callable[[Collection[str]], bool],
    *,
    linked: Mapping[str, str],
    begun: Collection[str] = (),
) -> Scheduled | None:
    """Return a schedule close to the planned times, or None if a side constraint is violated.

    Parameters
    ----------
    night : Instance
        The rest of a night.
    first : collection of str
        Jobs without a task left to start, which have to be in the schedule.
    wanted : sequence of str
        Further jobs of the plan.
    wishes : mapping of int to Placement
        The planned start and processors of tasks, by position.
    keeps : callable
        Whether a set of jobs keeps all side constraints.
    linked : mapping of str to str
        The first parts of jobs, and their jobs, which run only together.
    begun : collection of str
        Jobs that have begun, which are moved before other jobs.
    """
    placer = Placer(night)
    order = in_order(night.jobs, night.index)[0]
    rank = {night.jobs[j].name: n for n, j in enumerate(order)}
    jobs = {job.name: job for job in night.jobs}
    for name in sorted(first, key=lambda name: (rank[name], jobs[name].deadline or inf)):
        if not placer.place(jobs[name], wishes, exact=False):
            return None
    parts = {name: [*(p for p, of in linked.items() if of == name), name] for name in jobs}

    def place(name: str, *, exact: bool) -> bool:
        done: list[str] = []
        for one in parts[name]:
            if not placer.place(jobs[one], wishes, exact=exact):
                for other in reversed(done):
                    placer.remove(jobs[other])
                return False
            done.append(one)
        return True

    def drop(name: str) -> None:
        for one in reversed(parts[name]):
            placer.remove(jobs[one])

    kept = {name for name in sorted(wanted, key=rank.__getitem__) if place(name, exact=True)}
    in_turn = sorted({*wanted} - kept, key=lambda name: (name not in begun, rank[name]))
    moved = {name for name in in_turn if place(name, exact=False)}
    by_ratio = sorted(
        (job for job in night.jobs if job.name not in placer.ends and (job.reward or job.values)),
        key=lambda job: -job.reward / max(1e-300, job.planned_demand),
    )
    if not keeps([*placer.ends]):
        return None
    others = (job.name for job in by_ratio if job.name not in linked)
    for name in (name for name in others if name not in moved):
        if place(name, exact=False) and not keeps([*placer.ends]):
            drop(name)
    return placer.schedule()
