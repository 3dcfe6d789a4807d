"""Continue a plan by hand: every task where it was, else as soon as it can, on real processors.

This is no search. It keeps what still fits at its time, moves what does not, drops jobs that would
earn nothing, and adds jobs in gaps that are left.
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

NEAR = 1 + 1e-11  # rounding within which a task ends when its processor leaves, or is due


class Wish(NamedTuple):
    """When a task was to start, and on which processors; none where that is not known."""

    start: float
    processors: tuple[int, ...] = ()


class Placed(NamedTuple):
    """When a task starts, and on which processors."""

    start: float
    processors: tuple[int, ...]


class Placer:
    """Places the tasks of an instance one by one, in the order in which jobs are given."""

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
        self.placed: dict[int, Placed] = {}  # by position of the task
        self.ends: dict[str, float] = {}
        rises = {
            float(t)
            for steps in (*machine.pools.values(), *machine.resources.values())
            for t in steps.times
        }
        self.changes = sorted(rises)

    def place(self, job: Job, wishes: Mapping[int, Wish], *, exact: bool) -> bool:
        """Place all tasks of a job, or none if it would earn nothing.

        ``wishes`` are by position of the task; ``exact``: whether every task has to start when it
        was to.
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
                if exact and (wish is None or wanted > wish.start * NEAR):
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
        if not self.night.worth(j, opened) and opened > float(self.night.deadlines[j]) * NEAR:
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
        """Return the schedule of all placed jobs."""
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
        self, job: Job, start: float, length: float, wish: Wish | None, last: float, *, exact: bool
    ) -> Placed | None:
        """Return the earliest place from a time on; None if the task ends after ``last``."""
        if not length:
            return Placed(start, ())
        later = self.changes[bisect_right(self.changes, start) :]
        later = sorted({*later, *(e for own in self.busy for _, e in own if start < e < inf)})
        for time in [start] if exact else [start, *later]:
            if time + length > last * NEAR:
                return None
            if self._has_resources(job, time, time + length):
                on = self._idle(job, time, time + length, wish)
                if on:
                    return Placed(time, on)
        return None

    def _idle(self, job: Job, start: float, end: float, wish: Wish | None) -> tuple[int, ...]:
        """Return processors of one pool that are idle: the wished ones, or those idle shortest."""
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
        """Return until when a processor is idle; None where it is not from start to end."""
        busy = self.busy[k]
        i = bisect_right(busy, (start, inf))
        before = busy[i - 1][1] if i else 0.0
        after = busy[i][0] if i < len(busy) else inf
        return after if before <= start * NEAR and end <= after * NEAR else None

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
            over = [(s, e, a) for s, e, a in held if s < end and start * NEAR < e]
            times = {
                start,
                *(s for s, _, _ in over if s > start),
                *(t for t in map(float, there.times) if start < t < end),
            }
            for time in times:
                used = sum((a for s, e, a in over if s <= time and time * NEAR < e), Fraction(0))
                if used + need > there.at(as_written(time)):
                    return False
        return True

    def _add(self, job: Job, i: int, found: Placed, length: float) -> None:
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
    """Return when the k-th processor of a pool is not there."""
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


def continued(
    night: Instance,
    first: Collection[str],
    wanted: Sequence[str],
    wishes: Mapping[int, Wish],
    keeps: Callable[[Collection[str]], bool],
    *,
    linked: Mapping[str, str],
    begun: Collection[str] = (),
) -> Scheduled | None:
    """Return a schedule near a plan, or None where that breaks a rule.

    Parameters
    ----------
    night : Instance
        The rest of a night.
    first : collection of str
        Jobs that have to be in it: those without a task left to start.
    wanted : sequence of str
        Further jobs of the plan.
    wishes : mapping of int to Wish
        Where tasks were, by position.
    keeps : callable
        Whether a set of jobs keeps all side constraints.
    linked : mapping of str to str
        Jobs that are run only together: the first part and the job.
    begun : collection of str
        Jobs that have begun: of those that cannot stay at their time they come first.
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
