"""Valleys: profiles that never rise before they fall, but for times at which they are 0.

On a valley tasks find processors that stay until they end where never more run than there is room
for, and any profile is a pile of valleys: for the proof see ``docs/problems/dssp-bound.md``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from itertools import chain, count, groupby, pairwise
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from schedopt.formulations.dssp.grid import LARGEST, whole_rows
from schedopt.formulations.dssp.selection import Selection
from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.dssp import Scheduled, bounding
from schedopt.instances.dssp.machine import Steps

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from schedopt.formulations.protocol import Value, Variable


class Task(NamedTuple):
    """A task that takes some processors of a valley, by its position."""

    start: int
    end: int
    takes: int
    position: int


def valley_levels(amounts: Iterable[int]) -> list[int]:
    """Return the fewest levels, from 0 up, that cut a profile into valleys.

    A bump, between its nearest lower amounts before and after it, needs a cut between these two.
    """
    bumps, rising = [], [0]
    for amount in (*amounts, 0):
        while rising[-1] > amount:
            rising.pop()
            bumps.append(sorted((rising[-1], amount)))
        if rising[-1] < amount:
            rising.append(amount)
    levels = [0]
    for low, high in sorted(bumps, key=lambda bump: bump[1]):
        if low > levels[-1]:
            levels.append(high)
    return levels


def number_processors(there: Steps, tasks: Sequence[Task]) -> dict[int, list[int]]:
    """Return the processors of each task on a valley, from 0: they stay until it ends.

    Whatever runs at the bottom comes first. After it there are ever more processors: each task
    takes the lowest idle ones; before it too, seen backwards in time.
    """
    on: dict[int, list[int]] = {}
    for _, parts in groupby(there.spans(), lambda span: span.amount > 0):
        stretch = list(parts)
        bottom, last = int(min(stretch, key=lambda span: span.amount).start), stretch[-1].end or inf
        mine = [task for task in tasks if stretch[0].start <= task.start < last]
        at_bottom = [task for task in mine if task.start < bottom < task.end]
        after = sorted(task for task in mine if task.start >= bottom)
        mirrored = [task._replace(start=-task.end, end=-task.start) for task in at_bottom]
        before = sorted(
            task._replace(start=-task.end, end=-task.start) for task in mine if task.end <= bottom
        )
        on |= lowest_idle_processors([*at_bottom, *after]) | lowest_idle_processors(
            [*mirrored, *before]
        )
    return on


def lowest_idle_processors(tasks: Iterable[Task]) -> dict[int, list[int]]:
    """Return the processors of each task, which takes the lowest idle ones."""
    on: dict[int, list[int]] = {}
    idle, busy, fresh = list[int](), list[tuple[int, int]](), count()
    for start, end, takes, position in tasks:
        while busy and busy[0][0] <= start:
            heappush(idle, heappop(busy)[1])
        on[position] = [heappop(idle) if idle else next(fresh) for _ in range(takes)]
        for number in on[position]:
            heappush(busy, (end, number))
    return on


Schedule = Any
"""`schedule.Schedule`, which this states a part of."""


@dataclass
class Room:
    """An amount over time, in integer units, and what tasks take of it, each by its position.

    ``literals`` tell whether a task takes anything; of those without one its job's does.
    ``numbers`` are those of the processors, where it is of these.
    """

    there: Steps
    asked: dict[int, Any]
    literals: dict[int, Variable] = field(default_factory=dict)
    numbers: Sequence[int] = range(0)

    def band(self, low: int, high: int) -> Steps:
        """Return what there is above a level and up to another."""
        return self.there.map_amounts(
            lambda amount: min(max(amount, Fraction(low)), Fraction(high)) - low
        )

    def demand_of_tasks(self, value: Value) -> dict[int, int]:
        """Return what each task takes, if its job is run."""
        numbers = {k: y if isinstance(y, int) else round(value(y)) for k, y in self.asked.items()}
        absent = {k for k, literal in self.literals.items() if value(literal) < 0.5}
        return {k: number for k, number in numbers.items() if number and k not in absent}


class Rooms:
    """States the constraints of the machine on a schedule, and decodes the schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.night, self.grid = schedule, schedule.instance, schedule.grid
        self.tasks = schedule._task_of
        self.pools: list[list[Room]] = []  # the valleys of each
        self._optional: dict[tuple[int, int], cp_model.IntervalVar] = {}

    def _whole_amount(self, there: Steps, unit: int | Fraction = 1) -> Steps:
        """Return an amount in integers; what is away for part of a unit counts as away."""
        scale, last = Fraction(self.grid.scale), Fraction(self.grid.horizon + 1)
        spans = [
            (
                floor(min(last, start * scale)),
                ceil(last if end is None else min(last, end * scale)),
                floor(amount * unit),
            )
            for start, end, amount in there.spans()
        ]
        times = sorted({time for a, b, _ in spans for time in (a, b)})
        least = [floor(there.most * unit)] * (len(times) - 1)
        for a, b, amount in spans:
            for i in range(bisect_left(times, a), bisect_left(times, b)):
                least[i] = min(least[i], amount)
        return Steps(tuple(map(Fraction, times[:-1])), tuple(map(Fraction, least)))

    def state(self) -> None:
        """State all of it."""
        from ortools.sat.python import cp_model

        schedule, model, jobs = self.schedule, self.schedule.model, self.night.jobs
        of_job: dict[int, dict[int, int]] = defaultdict(dict)
        for k, j in enumerate(schedule._job_of):
            of_job[j][k] = jobs[j].processors
        self._processors({k: wide for mine in of_job.values() for k, wide in mine.items()})
        for name, there in self.night.machine.resources.items():
            self._resource(name, there)
        for j, mine in of_job.items():
            if (most := jobs[j].max_processors) is not None:
                self._limit_concurrent_use(Room(Steps.of(most), dict(mine)))
        above = Selection(msgspec.structs.replace(bounding(self.night), constraints=()))
        for closed in np.flatnonzero(~above.open).tolist():
            model.add(schedule._x[closed] == 0)
        for whole in (whole for row in above.own_rows for whole in whole_rows(row)):
            if whole.exact and whole.upper is not None:  # implied
                x = [schedule._x[j] for j in whole.jobs]
                body = cp_model.LinearExpr.weighted_sum(x, list(whole.coefficients))
                model.add(body <= whole.upper)

    def _processors(self, wide: dict[int, int]) -> None:
        """State that tasks find processors of one pool, and choose the pool and its valleys."""
        schedule, model, machine = self.schedule, self.schedule.model, self.night.machine
        literals: dict[str, dict[int, Variable]] = {name: {} for name in machine.pools}
        for k, j in enumerate(schedule._job_of):
            pools, x = machine.of_job(self.night.jobs[j]), self._job(k)
            own = [x] if len(pools) == 1 else [model.new_bool_var(f"{k} on {p}") for p in pools]
            for name, literal in zip(pools, own, strict=True):
                literals[name][k] = literal
            if len(pools) > 1:
                model.add(sum(own) == x)
        for name, there in machine.pools.items():
            mine = literals[name]
            asked = {k: wide[k] for k in mine}
            whole = Room(self._whole_amount(there), asked, mine)
            whole.there = whole.band(0, sum(asked.values()))
            if machine.away:
                layers = [layer for layer in machine.layers if layer.pool == name]
                parts = [(self._whole_amount(layer.there), layer.numbers) for layer in layers]
            else:
                levels = [*valley_levels(map(int, whole.there.amounts)), int(whole.there.most)]
                cuts = [*levels[:-1], max(levels[-1], int(there.most))]
                parts = [
                    (whole.band(low, high), machine.numbers[name][a:b])
                    for (low, high), (a, b) in zip(pairwise(levels), pairwise(cuts), strict=True)
                ]
            valleys = [Room(part, dict(asked), mine, numbers) for part, numbers in parts]
            self._limit_concurrent_use(whole)
            if len(valleys) > 1:
                for v, valley in enumerate(valleys):
                    for k in mine:
                        most = min(wide[k], int(valley.there.most))
                        valley.asked[k] = model.new_int_var(0, most, f"{k} from {v}")
                    self._limit_concurrent_use(valley)
                for k, literal in mine.items():
                    model.add(sum(valley.asked[k] for valley in valleys) == wide[k] * literal)
            self.pools.append(valleys)

    def _resource(self, name: str, there: Steps) -> None:
        job_of, jobs = self.schedule._job_of, self.night.jobs
        held = {k: as_written(jobs[j].holds.get(name, 0.0)) for k, j in enumerate(job_of)}
        unit = lowest([*held.values(), *there.amounts])[1]
        if there.most * unit > LARGEST:  # in larger units, rounded to be on the safe side
            unit = Fraction(LARGEST, ceil(there.most))
            self.schedule.exact = False
        asked = {k: min(ceil(use * unit), LARGEST) for k, use in held.items() if use}
        self._limit_concurrent_use(Room(self._whole_amount(there, unit), dict(asked)))

    def _limit_concurrent_use(self, room: Room) -> None:
        """State that concurrent tasks take no more than there is."""
        if not room.asked:
            return
        model, most, last = self.schedule.model, room.there.most, self.grid.horizon + 1
        spans = [self._interval(k, room.literals.get(k)) for k in room.asked]
        sizes = [*room.asked.values()]
        for start, end, amount in room.there.spans():
            if amount < most:
                long = int((last if end is None else end) - start)
                spans.append(model.new_fixed_size_interval_var(int(start), long, f"away[{start}]"))
                sizes.append(int(most - amount))
        model.add_cumulative(spans, sizes, int(most))

    def _job(self, k: int) -> Variable:
        """Return whether a task's job is run."""
        return self.schedule._x[self.schedule._job_of[k]]

    def _interval(self, k: int, literal: Variable | None) -> cp_model.IntervalVar:
        """Return the interval of a task, where a literal, or else its job's, says that it is."""
        schedule, i = self.schedule, self.tasks[k]
        if literal is None or literal is self._job(k):
            interval: cp_model.IntervalVar = schedule._intervals[k]
            return interval
        key = k, literal.index
        if key not in self._optional:
            self._optional[key] = schedule.model.new_optional_fixed_size_interval_var(
                schedule._starts[i], int(self.grid.lengths[i]), literal, f"task[{i}] on a pool"
            )
        return self._optional[key]

    def decode(self, value: Value) -> Scheduled:
        """Turn values of the variables into a schedule."""
        schedule = self.schedule
        run = [j for j, x in enumerate(schedule._x) if value(x) > 0.5]
        begin = [s if isinstance(s, int) else round(value(s)) for s in schedule._starts]
        order = [k for k in range(len(self.tasks)) if schedule._job_of[k] in set(run)]
        on: dict[int, tuple[int, ...]] = {}
        for valley in chain(*self.pools):
            part = valley.demand_of_tasks(value)
            tasks = [
                Task(begin[i], begin[i] + int(self.grid.lengths[i]), part[k], i)
                for k, i in ((k, self.tasks[k]) for k in order if k in part)
            ]
            for i, numbers in number_processors(valley.there, tasks).items():
                on[i] = *on.get(i, ()), *map(valley.numbers.__getitem__, numbers)
        scheduled: Scheduled = schedule.schedule_at(run, begin, on)
        return scheduled
