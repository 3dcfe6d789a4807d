"""A second dispatch simulator, over processors and tasks one by one: the oracle of the first.

Nonpreemptive and non-delay, from event to event: a task ends, a job is released, the machine
changes. At each, what ends there ends first, then jobs are released, then tasks start. A task waits
from when its job is released, its predecessors have completed while they are paid, and the stage
before it has ended; a task of no length is then done at once. Of those that wait, the least key
goes first, the file's order deciding ties, and who does not find all it needs lets others go.

A task takes its processors in one pool, the first of the file's that has enough; there it takes
those that leave first of all that stay until it ends, and of these the lowest numbers. What it
holds must be free at all times until it ends.

Source: Anderson et al., SPAA 2005, section 3.2.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from math import inf, isnan, nan
from typing import NamedTuple

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.machine import Layer, Steps
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.policies.dssp.dispatch import NEAR, clocks_of, key_of_tasks


class RunningTask(NamedTuple):
    """A task that runs."""

    end: float
    start: float
    job: int
    on: tuple[int, ...]


class PlainOutcome(NamedTuple):
    """The outcome of a simulation; NaN of what is not run, or never completes."""

    starts: Floats
    completion: Floats
    processors: dict[int, tuple[int, ...]]


def simulate_plainly(
    night: Instance, jobs: Ints, *, keys: Floats | None = None, draws: Floats | None = None
) -> PlainOutcome:
    """Simulate a dispatcher on some jobs: see `dispatch.simulate`."""
    run = _Simulation(night, jobs, keys, draws)
    while run.times:
        run.advance()
        run.dispatch()
    return PlainOutcome(np.array(run.starts), np.array(run.completion), run.on)


class _Simulation:
    """One simulation, from event to event."""

    def __init__(
        self, night: Instance, jobs: Ints, keys: Floats | None, draws: Floats | None
    ) -> None:
        self.night, self.tasks = night, night.tasks
        self.lengths = self.tasks.lengths.tolist()
        self.keys = key_of_tasks(night, keys).tolist()
        self.clocks = [] if draws is None else clocks_of(draws).tolist()
        self.clock, self.drawn, self.now = 0.0, 0, 0.0
        self.starts = [nan] * len(self.lengths)
        self.on: dict[int, tuple[int, ...]] = {}
        self.completion = [nan] * len(night.jobs)
        self.coming = {int(j): {night.index[n] for n in night.jobs[j].after} for j in jobs}
        self.paid: set[int] = set()  # jobs that have completed while they are
        self.stage = self.tasks.first_stage[:-1].tolist()
        self.waiting: list[tuple[float, int, list[int]]] = []  # key, job, equal tasks
        self.fresh: list[list[int]] = []
        self.running: list[RunningTask] = []
        machine = night.machine
        self.layers, self.job_of = machine.layers, self.tasks.job_of.tolist()
        seats = [rule for rule in night.constraints if isinstance(rule, Seats)]
        self.amounts = [*machine.resources.values(), *(Steps.of(rule.capacity) for rule in seats)]
        self.use = [
            [*(as_written(job.holds.get(name, 0.0)) for name in machine.resources)]
            + [Fraction(rule.use.get(job.name, 0)) for rule in seats]
            for job in night.jobs
        ]
        steps = [*(layer.there for layer in self.layers), *self.amounts]
        self.times = {float(time) for there in steps for time in there.times}
        self.times |= {night.jobs[j].release for j in self.coming}

    def advance(self) -> None:
        """Go to the next event: end tasks, then release jobs."""
        self.now = min(self.times)
        self.times.remove(self.now)
        ended = [task for task in self.running if task.end <= self.now]
        self.running = [task for task in self.running if task.end > self.now]
        for j in {task.job for task in ended} - {task.job for task in self.running}:
            self.open_next_stage(j)
        while ready := [
            j
            for j, before in self.coming.items()
            if self.night.jobs[j].release <= self.now and before <= self.paid
        ]:
            for j in ready:
                del self.coming[j]
                self.open(j)

    def open_next_stage(self, j: int) -> None:
        """Open a job's next stage, if all tasks of the present one have started and ended."""
        first, night = self.tasks.first_task[self.stage[j] :], self.night
        if any(isnan(start) for start in self.starts[first[0] : first[1]]):
            return
        self.stage[j] += 1
        if self.stage[j] < self.tasks.first_stage[j + 1]:
            self.open(j)
            return
        self.completion[j], due = self.now, night.deadlines[j]
        if self.now <= due * NEAR or self.now - due <= night.delay:
            self.paid.add(j)

    def open(self, j: int) -> None:
        """Let the tasks of a job's stage wait, in runs of equal ones."""
        if self.night.end is not None and self.now > self.night.end * NEAR:
            return
        first = self.tasks.first_task[self.stage[j] :]
        last: object = None
        for i in sorted(range(first[0], first[1]), key=lambda i: self.keys[i]):
            alike = self.lengths[i], self.keys[i]
            if not self.lengths[i]:
                self.starts[i] = self.now
            elif alike == last:
                self.fresh[-1].append(i)
            else:
                self.fresh.append([i])
            last = alike
        self.open_next_stage(j)

    def wait(self, tasks: list[int]) -> None:
        """Let equal tasks wait, if there are any, under their key, or one that is drawn."""
        if not tasks:
            return
        key = self.keys[tasks[0]]
        if self.clocks:  # so each task that waits is as likely as another to be the next
            key = self.clock + self.clocks[self.drawn % len(self.clocks)] / len(tasks)
            self.drawn += 1
        insort(self.waiting, (key, self.job_of[tasks[0]], tasks))

    def dispatch(self) -> None:
        """Start tasks until none of those that wait finds all it needs."""
        fresh, self.fresh, at = sorted(self.fresh), [], 0
        for tasks in fresh:
            self.wait(tasks)
        while at < len(self.waiting) and any(self.idle_processors(layer) for layer in self.layers):
            key, j, tasks = self.waiting[at]
            end = self.now + self.lengths[tasks[0]]
            if on := self.find_processors(j, end):
                task = tasks.pop(0)
                self.starts[task], self.on[task] = self.now, on
                self.running.append(RunningTask(end, self.now, j, on))
                self.times.add(end)
            if self.clocks or not tasks:
                del self.waiting[at]
            elif not on:
                at += 1
            if self.clocks and on:
                self.clock = key
                self.wait(tasks)
            elif self.clocks:  # it draws anew at the next event
                self.fresh.append(tasks)

    def find_processors(self, j: int, end: float) -> tuple[int, ...]:
        """Return the processors that a job's next task takes until an end; none where it waits."""
        job = self.night.jobs[j]
        mine = sum(len(task.on) for task in self.running if task.job == j)
        if job.max_processors is not None and mine + job.processors > job.max_processors:
            return ()
        if not all(self.is_available(r, j, end) for r, use in enumerate(self.use[j]) if use):
            return ()
        for pool in self.night.machine.of_job(job):
            long = [
                x for x in self.layers if x.pool == pool and end <= self.last_departure(x) * NEAR
            ]
            idle_processors = [
                p
                for layer in sorted(long, key=self.last_departure)
                for p in self.idle_processors(layer)
            ]
            if len(idle_processors) >= job.processors:
                return tuple(idle_processors[: job.processors])
        return ()

    def is_available(self, r: int, j: int, end: float) -> bool:
        """Tell whether what a job's task holds of an amount is free from now until an end."""
        for time, amount in _levels_from(self.amounts[r], self.now):
            held = sum(
                self.use[task.job][r]
                for task in self.running
                if task.start >= time or time * NEAR < task.end
            )
            if (time <= self.now or time * NEAR < end) and held + self.use[j][r] > amount:
                return False
        return True

    def last_departure(self, layer: Layer) -> float:
        """Return until when the processors of a layer that are there stay; -1: none is."""
        amounts = list(_levels_from(layer.there, self.now))
        return next((t for t, amount in amounts[1:] if not amount), inf) if amounts[0][1] else -1.0

    def idle_processors(self, layer: Layer) -> list[int]:
        """Return the processors of a layer that are idle now, those that came first first."""
        own = {*layer.numbers}
        busy = {p for task in self.running for p in task.on if p in own}
        count = int(next(_levels_from(layer.there, self.now))[1]) - len(busy)
        return list(islice((p for p in layer.numbers if p not in busy), max(0, count)))


def _levels_from(there: Steps, now: float) -> Iterator[tuple[float, Fraction]]:
    """Yield an amount from a time on: since when it is what it is, and later changes."""
    times = list(map(float, there.times))
    first = max(0, bisect_right(times, now) - 1)
    yield from zip(times[first:], there.amounts[first:], strict=True)
