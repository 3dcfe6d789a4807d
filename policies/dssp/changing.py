"""The dispatch simulator where the machine changes, or jobs hold more than a processor and wait.

It plays as `dispatch.play` does, in plain Python. A task starts on processors that stay until it
ends: of those in the first pool that has enough of them, the ones that leave first. What it holds
must be there until it ends. What never finds that is never run, and its job does not complete.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import inf, nan

import numpy as np

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.policies.dssp.played import Held, Played, prepared

NEAR = 1 + 1e-11
"""Relative rounding allowed to a task that ends just after its processor leaves."""


def play_changing(
    night: Instance, jobs: Ints, *, keys: Floats | None = None, draws: Floats | None = None
) -> Played:
    """Simulate a dispatcher on some jobs: see `dispatch.play`."""
    run = _Simulation(night, jobs, keys, draws)
    while run.times:
        run.advance()
        run.dispatch()
    starts, places = np.array(run.starts), np.array(run.places, dtype=np.int64)
    return Played(starts, places, np.array(run.completion), run.several)


class _Changes:
    """An amount as floats."""

    def __init__(self, steps: Steps) -> None:
        self.times = [float(time) for time in steps.times]
        self.amounts = [float(amount) for amount in steps.amounts]

    def least(self, start: float, end: float) -> Iterator[tuple[float, float]]:
        """Yield each change of the amount between two times, with the new amount."""
        for i in range(max(0, bisect_right(self.times, start) - 1), len(self.times)):
            if self.times[i] * NEAR >= end:
                return
            yield max(self.times[i], start), self.amounts[i]


class _Idle:
    """The idle processors of a layer."""

    def __init__(self, first: int, count: int, there: Steps) -> None:
        self.first = self.fresh = first
        self.last, self.changes = first + count, _Changes(there)
        self.there = 0
        self.back: list[int] = []

    def count(self) -> int:
        return self.there - (self.fresh - self.first) + len(self.back)

    def take(self) -> int:
        if self.back:
            return heappop(self.back)
        self.fresh += 1
        return self.fresh - 1

    def leaves(self, now: float) -> float:
        """Return when the layer leaves (now, if none of it is there), and count what is there."""
        found = self.changes.least(now, inf)
        self.there = int(next(found)[1])
        return next((time for time, amount in found if amount == 0), inf) if self.there else now


class _Simulation:
    """One simulation, from event to event."""

    def __init__(
        self, night: Instance, jobs: Ints, keys: Floats | None, draws: Floats | None
    ) -> None:
        self.jobs = night.jobs
        self.tasks, self.keys = prepared(night, keys)
        self.lengths = self.tasks.lengths.tolist()
        self.starts, self.places = [nan] * len(self.lengths), [-1] * len(self.lengths)
        self.several: dict[int, tuple[int, ...]] = {}
        self.completion = [nan] * len(night.jobs)
        self.stage = self.tasks.first_stage[:-1].tolist()
        self.unfinished, self.busy = [0] * len(night.jobs), [0] * len(night.jobs)
        self.runnable: list[tuple[float, int, int]] = []  # key, job, task, in that order
        self.pool: list[tuple[int, int]] = []  # task, job
        self.working: list[tuple[float, int, tuple[int, ...], int]] = []  # end, task, on, job
        self.luck = iter(() if draws is None else draws.tolist())
        held = Held.of(night)
        self.left, self.use = held.capacity.copy(), held.use
        machine = night.machine
        self.idle = [_Idle(*layer[1:]) for layer in machine.layers]
        self.pools = [
            [
                [i for i, layer in enumerate(machine.layers) if layer.pool == pool]
                for pool in machine.of_job(job)
            ]
            for job in night.jobs
        ]
        self.resources = {name: _Changes(steps) for name, steps in machine.resources.items()}
        self.stays: dict[int, float] = {}  # when each layer that is there leaves
        self.coming = _waited_for(night, jobs.tolist())
        self.horizons = ((night.deadlines + night.delay) * NEAR).tolist()
        self.end = inf if night.end is None else night.end * NEAR
        self.now = 0.0
        every = [*(layer.there for layer in machine.layers), *machine.resources.values()]
        self.times = [float(time) for steps in every for time in steps.times]
        self.times += [night.jobs[job].release for job in self.coming]
        heapify(self.times)

    def advance(self) -> None:
        """Go to the next event: end tasks, then release jobs."""
        self.now = heappop(self.times)
        while self.working and self.working[0][0] <= self.now:
            _, _, on, job = heappop(self.working)
            for place in on:
                layer = next(idle for idle in self.idle if place < idle.last)
                heappush(layer.back, place)
            self.left += self.use[:, job]
            self.busy[job] -= len(on)
            self._ended(job)
        self._release()

    def _release(self) -> None:
        ready = [
            job
            for job, before in self.coming.items()
            if self.jobs[job].release <= self.now <= self.end
            and all(self.completion[o] <= min(self.now, self.horizons[o]) for o in before)
        ]
        for job in ready:
            if self.coming.pop(job, None) is not None:  # a job of no length may have let it go
                self._open(job)

    def _ended(self, job: int) -> None:
        self.unfinished[job] -= 1
        if self.unfinished[job] == 0:
            self.stage[job] += 1
            if self.stage[job] == self.tasks.first_stage[job + 1]:
                self.completion[job] = self.now
                self._release()
            else:
                self._open(job)

    def _open(self, job: int) -> None:
        """Make the tasks of a job's current stage runnable; tasks of no length are done at once."""
        stage, first = self.stage[job], self.tasks.first_task
        tasks = range(int(first[stage]), int(first[stage + 1]))
        self.unfinished[job] = len(tasks)
        for task in tasks:
            if self.lengths[task] > 0 and self.keys is None:
                self.pool.append((task, job))
            elif self.lengths[task] > 0 and self.keys is not None:
                insort(self.runnable, (float(self.keys[task]), job, task))
        for task in tasks:
            if self.lengths[task] == 0:
                self.starts[task], self.places[task] = self.now, 0
                self._ended(job)

    def dispatch(self) -> None:
        """Start tasks while any finds all that it needs."""
        stays = enumerate(idle.leaves(self.now) for idle in self.idle)
        self.stays = {i: until for i, until in stays if until > self.now}
        for task, job, on in self._taken():
            self.left -= self.use[:, job]
            self.busy[job] += len(on)
            self.starts[task], self.places[task] = self.now, on[0]
            if len(on) > 1:
                self.several[task] = on
            end = self.now + self.lengths[task]
            heappush(self.working, (end, task, on, job))
            heappush(self.times, end)

    def _taken(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield each task that finds all it needs, with its job and processors.

        Whoever is asked starts it: what one does not find now, it does not find after that.
        """
        refused: set[tuple[int, float]] = set()
        i, longest = 0, self._longest()
        while i < len(self.runnable) and longest:
            _, job, task = self.runnable[i]
            kind = job, self.lengths[task]
            i += 1
            if kind[1] > longest or kind in refused:
                continue
            if layers := self._finds(*kind):
                i -= 1
                del self.runnable[i]
                yield task, job, self._occupied(job, layers)
                longest = self._longest()
            else:
                refused.add(kind)
        while self.pool and self._longest():
            kinds = {(job, self.lengths[task]) for task, job in self.pool}
            fitting = {kind: layers for kind in kinds if (layers := self._finds(*kind))}
            found = [
                i for i, (task, job) in enumerate(self.pool) if (job, self.lengths[task]) in fitting
            ]
            if not found:
                return
            i = found[int(next(self.luck) * len(found))]
            (task, job), self.pool[i] = self.pool[i], self.pool[-1]
            self.pool.pop()
            yield task, job, self._occupied(job, fitting[job, self.lengths[task]])

    def _longest(self) -> float:
        """Return the longest task that may start now; 0 where no processor is idle."""
        stays = (until for layer, until in self.stays.items() if self.idle[layer].count())
        latest = max(stays, default=self.now)
        return latest * NEAR - self.now if latest > self.now else 0.0

    def _finds(self, job: int, length: float) -> Sequence[int]:
        """Return the layers that a task takes its processors from; none where it must wait."""
        asked, end = self.jobs[job], self.now + length
        most, wide = asked.max_processors, asked.processors
        if most is not None and self.busy[job] + wide > most:
            return ()
        if len(self.left) and not (self.use[:, job] <= self.left).all():
            return ()
        if not all(self._left(name, use, end) for name, use in asked.holds.items()):
            return ()
        for layers in self.pools[job]:
            stays = self.stays
            long = [i for i in layers if end <= stays.get(i, 0.0) * NEAR and self.idle[i].count()]
            long.sort(key=stays.__getitem__)
            if sum(self.idle[i].count() for i in long) >= wide:
                return long
        return ()

    def _left(self, name: str, use: float, end: float) -> bool:
        """Tell whether an amount of a resource stays free until a time."""
        for time, amount in self.resources[name].least(self.now, end) if use else ():
            held = sum(
                self.jobs[job].holds.get(name, 0.0)
                for until, _, _, job in self.working
                if until > time * NEAR
            )
            if held + use > amount * (1 + 1e-12):
                return False
        return True

    def _occupied(self, job: int, layers: Sequence[int]) -> tuple[int, ...]:
        """Take a task's processors, from the layers that leave first."""
        on: list[int] = []
        for i in layers:
            while self.idle[i].count() and len(on) < self.jobs[job].processors:
                on.append(self.idle[i].take())
        return tuple(on)


def _waited_for(night: Instance, jobs: Sequence[int]) -> dict[int, list[int]]:
    """Return, in file order, the jobs whose predecessors are run too, and these."""
    before = {j: [night.index[name] for name in night.jobs[j].after] for j in sorted(jobs)}
    while any(other not in before for others in before.values() for other in others):
        before = {j: others for j, others in before.items() if all(o in before for o in others)}
    return dict(sorted(before.items(), key=lambda item: night.jobs[item[0]].release))
