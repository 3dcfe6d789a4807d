"""Schedules on a machine that changes: processors in layers, and what running tasks hold.

The processors of a pool that come and go together are a layer: a task takes its processors from
layers that stay until it ends, so each layer is a cumulative that is full while it is away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from schedopt.formulations.dssp.grid import LARGEST, whole_rows
from schedopt.formulations.dssp.selection import Selection
from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.dssp import Scheduled, bounding, scheduled
from schedopt.instances.dssp.machine import Steps

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from schedopt.formulations.protocol import Value, Variable

Schedule = Any
"""`schedule.Schedule`, which this states a part of."""
SHIFTED = 300
"""Most tasks for which each is moved to its earliest start."""


class Room(NamedTuple):
    """The most there is, and when how much of it is away, in integer units."""

    most: int
    away: list[tuple[int, int, int]]


class Use(NamedTuple):
    """The tasks' use of a room, each by its position among the tasks of some length."""

    room: Room
    asked: dict[int, Variable]


class Moving:
    """States the constraints of a machine that changes on a schedule, and decodes the schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.night, self.grid = schedule, schedule.instance, schedule.grid
        self.tasks = schedule._task_of
        self.layers = self.night.machine.layers
        self.uses: list[Use] = []
        self.of_layer: list[dict[int, Variable]] = [{} for _ in self.layers]

    def _room(self, there: Steps, unit: Fraction = Fraction(1)) -> Room:
        """Return an amount in integers; what is away for part of a unit counts as away."""
        most = floor(there.most * unit)
        scale, last = Fraction(self.grid.scale), self.grid.horizon + 1
        spans = [
            (floor(start * scale), last if end is None else min(last, ceil(end * scale)), amount)
            for start, end, amount in there.spans()
        ]
        cuts = sorted({min(time, last) for a, b, _ in spans for time in (a, b)})
        found = [
            (a, b, most - min(floor(amount * unit) for c, d, amount in spans if c < b and a < d))
            for a, b in pairwise(cuts)
        ]
        return Room(most, [span for span in found if span[2]])

    def state(self) -> None:
        """State all of it."""
        from ortools.sat.python import cp_model

        schedule, model, jobs = self.schedule, self.schedule.model, self.night.jobs
        of_job: dict[int, list[int]] = defaultdict(list)
        for k, j in enumerate(schedule._job_of):
            of_job[j].append(k)
            self._choose(k, j)
        for layer, asked in zip(self.layers, self.of_layer, strict=True):
            self._hold(self._room(layer.there), asked)
        if len(self.night.machine.pools) < len(self.layers):  # implied by the layers
            wide = {k: jobs[j].processors for k, j in enumerate(schedule._job_of)}
            self._hold(self._room(self.night.machine.total), dict(wide), kept=False)
        for name, there in self.night.machine.resources.items():
            self._resource(name, there)
        for j, mine in of_job.items():
            if (most := jobs[j].max_processors) is not None:
                self._hold(Room(most, []), dict.fromkeys(mine, jobs[j].processors))
        above = Selection(msgspec.structs.replace(bounding(self.night), constraints=()))
        for closed in np.flatnonzero(~above.open).tolist():
            model.add(schedule._x[closed] == 0)
        for whole in (whole for row in above.capacity for whole in whole_rows(row)):
            if whole.exact and whole.upper is not None:  # implied
                x = [schedule._x[j] for j in whole.jobs]
                body = cp_model.LinearExpr.weighted_sum(x, list(whole.coefficients))
                model.add(body <= whole.upper)

    def _choose(self, k: int, j: int) -> None:
        """State which layers a task takes its processors from."""
        model, x, job = self.schedule.model, self.schedule._x[j], self.night.jobs[j]
        pools = self.night.machine.of_job(job)
        mine = [i for i, layer in enumerate(self.layers) if layer.pool in pools]
        if len(mine) == 1:
            self.of_layer[mine[0]][k] = job.processors
            return
        # Of pools one is chosen; of the layers of one pool any may give a part.
        part = 1 if len(pools) == 1 else job.processors
        most = job.processors // part
        taken = [model.new_int_var(0, most, f"from[{k},{i}]") for i in mine]
        model.add(sum(taken) == most * x)
        for i, y in zip(mine, taken, strict=True):
            self.of_layer[i][k] = part * y

    def _resource(self, name: str, there: Steps) -> None:
        job_of, jobs = self.schedule._job_of, self.night.jobs
        held = {k: as_written(jobs[j].holds.get(name, 0.0)) for k, j in enumerate(job_of)}
        unit = lowest([*held.values(), *there.amounts])[1]
        if there.most * unit > LARGEST:  # in larger units, rounded to be on the safe side
            unit = Fraction(LARGEST, ceil(there.most))
            self.schedule.exact = False
        asked = {k: min(ceil(use * unit), LARGEST) for k, use in held.items() if use}
        self._hold(self._room(there, unit), dict(asked))

    def _hold(self, room: Room, asked: dict[int, Variable], *, kept: bool = True) -> None:
        """State that concurrent tasks need no more than there is."""
        model, intervals = self.schedule.model, self.schedule._intervals
        if not asked:
            return
        if kept:
            self.uses.append(Use(room, asked))
        spans: list[cp_model.IntervalVar] = [intervals[k] for k in asked]
        spans += [
            model.new_fixed_size_interval_var(a, b - a, f"away[{a}]") for a, b, _ in room.away
        ]
        sizes: list[Any] = [*asked.values(), *(gone for _, _, gone in room.away)]
        model.add_cumulative(spans, sizes, room.most)

    def decode(self, value: Value) -> Scheduled:
        """Turn values of the variables into a schedule, with tasks moved forward where possible."""
        schedule, night, scale = self.schedule, self.night, self.grid.scale
        run = [j for j, x in enumerate(schedule._x) if value(x) > 0.5]
        begin = [s if isinstance(s, int) else round(value(s)) for s in schedule._starts]
        order = [k for k in range(len(self.tasks)) if schedule._job_of[k] in set(run)]
        order.sort(key=lambda k: (begin[self.tasks[k]], self.tasks[k]))
        taken = [{k: _number(y, value) for k, y in use.asked.items()} for use in self.uses]
        if len(order) <= SHIFTED and not schedule.changed:
            begin = _forward(self, begin, order, taken)
        layers = [{k: _number(y, value) for k, y in asked.items()} for asked in self.of_layer]
        on = self._standing(begin, order, layers)
        opens = self._opens(run, begin)
        for i in np.flatnonzero(self.grid.lengths == 0).tolist():
            begin[i] = opens.get(int(night.tasks.stage_of[i]), 0)
        places = np.zeros(len(begin), dtype=np.int64)
        for i, found in on.items():
            places[i] = found[0]
        starts = np.array(begin, dtype=float) / scale
        several = {i: found for i, found in on.items() if len(found) > 1}
        return scheduled(night, run, starts, places, several=several)

    def _standing(
        self, begin: Sequence[int], order: Sequence[int], layers: Sequence[dict[int, int]]
    ) -> dict[int, tuple[int, ...]]:
        """Return each task's processors; those of one layer are interchangeable."""
        on: dict[int, tuple[int, ...]] = {}
        idle: list[list[int]] = [[] for _ in self.layers]
        busy: list[list[tuple[int, int]]] = [[] for _ in self.layers]
        fresh = [layer.first for layer in self.layers]
        for k in sorted(order, key=lambda k: (begin[self.tasks[k]], self.tasks[k])):
            i, found = self.tasks[k], list[int]()
            for m, asked in enumerate(layers):
                while busy[m] and busy[m][0][0] <= begin[i]:
                    heappush(idle[m], heappop(busy[m])[1])
                for _ in range(asked.get(k, 0)):
                    if idle[m]:
                        p = heappop(idle[m])
                    else:
                        p, fresh[m] = fresh[m], fresh[m] + 1
                    found.append(p)
                    heappush(busy[m], (begin[i] + int(self.grid.lengths[i]), p))
            on[i] = tuple(found)
        return on

    def _opens(self, run: Sequence[int], begin: Sequence[int]) -> dict[int, int]:
        """Return when each stage opens: after its predecessor, the release, and other jobs."""
        tasks, lengths = self.night.tasks, self.grid.lengths
        opens: dict[int, int] = {}
        done: dict[int, int] = {}
        for j in self.schedule.in_order:
            if j not in set(run):
                continue
            at = max([int(self.grid.releases[j]), *(done[a] for a in self.schedule.before[j])])
            for s in range(int(tasks.first_stage[j]), int(tasks.first_stage[j + 1])):
                opens[s] = at
                for i in range(int(tasks.first_task[s]), int(tasks.first_task[s + 1])):
                    at = max(at, begin[i] + int(lengths[i])) if lengths[i] else at
            done[j] = at
        return opens


def _number(asked: Any, value: Value) -> int:
    return asked if isinstance(asked, int) else round(value(asked))


def _forward(
    moving: Moving, begin: list[int], order: Sequence[int], taken: Sequence[dict[int, int]]
) -> list[int]:
    """Return starts no later than those given, each the earliest at which the task fits.

    Tasks are placed in the order of their starts: those before one are placed no later than they
    were, so where one of them still runs at its start, it did before; so there it finds room.
    """
    tasks, lengths = moving.night.tasks, moving.grid.lengths
    uses = [(use.room, asked) for use, asked in zip(moving.uses, taken, strict=True)]
    uses += [
        (
            Room(rule.capacity, []),
            {
                k: rule.use.get(moving.night.jobs[j].name, 0)
                for k, j in enumerate(moving.schedule._job_of)
            },
        )
        for rule in moving.schedule.seats
    ]
    held: list[list[tuple[int, int, int]]] = [list(room.away) for room, _ in uses]
    begin = list(begin)
    ended: dict[int, int] = defaultdict(int)

    def done(a: int) -> int:
        stages = range(int(tasks.first_stage[a]), int(tasks.first_stage[a + 1]))
        before = (done(b) for b in moving.schedule.before[a])
        return max([int(moving.grid.releases[a]), *(ended[t] for t in stages), *before])

    for k in order:
        i, j = moving.tasks[k], moving.schedule._job_of[k]
        length, s = int(lengths[i]), int(tasks.stage_of[i])
        first = int(tasks.first_stage[j])
        at = int(moving.grid.releases[j])
        at = max([at, *(ended[t] for t in range(first, s))])
        at = max([at, *(done(a) for a in moving.schedule.before[j])])
        mine = [
            (room.most, held[u], asked[k]) for u, (room, asked) in enumerate(uses) if k in asked
        ]
        times = {end for _, spans, _ in mine for _, end, _ in spans if at < end < begin[i]}
        for time in sorted({int(at), *times}):
            if time <= begin[i] and all(
                _most(spans, time, time + length) + need <= most
                for most, spans, need in mine
                if need
            ):
                begin[i] = time
                break
        for _, spans, need in mine:
            if need:
                spans.append((begin[i], begin[i] + length, need))
        ended[s] = max(ended[s], begin[i] + length)
    return begin


def _most(spans: Sequence[tuple[int, int, int]], start: int, end: int) -> int:
    """Return the most held at any time between two times."""
    inside = [span for span in spans if span[0] < end and span[1] > start]
    moments = {start, *(span[0] for span in inside if span[0] > start)}
    return max(sum(use for a, b, use in inside if a <= time < b) for time in moments)
