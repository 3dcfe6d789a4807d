"""The machine over time, and the resources that jobs hold, for the checkers.

Everything is recomputed from the raw fields of the instance, and no code is shared with the
planner. Processor k of a pool is available while the pool has more than k processors.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, pairwise, takewhile
from math import isfinite
from operator import itemgetter

from msgspec import UNSET

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job, PlacedTask, Scheduled

ROUNDING = 1e-9  # relative rounding error of sums of held amounts
NEAR = 1 + Fraction(1, 10**11)  # factor by which a completion time may exceed a deadline
NEVER = Fraction(10) ** 400


class StepFunction(list[tuple[Fraction, Fraction]]):
    """A piecewise constant amount: increasing times, and the amount from each time on."""

    @cached_property
    def areas(self) -> list[Fraction]:
        """The integral of the amount up to each time."""
        parts = (amount * (b - a) for (a, amount), (b, _) in pairwise(self))
        return [*accumulate(parts, initial=Fraction(0))]

    def area(self, end: Fraction) -> Fraction:
        """Return the integral of the amount up to a time."""
        i = bisect_right(self, end, key=itemgetter(0)) - 1
        return self.areas[i] + self[i][1] * (end - self[i][0]) if i >= 0 else Fraction(0)


def amount_at(points: StepFunction, time: Fraction) -> Fraction:
    """Return the amount at a time; 0 before time 0."""
    i = bisect_right(points, time, key=itemgetter(0))
    return points[i - 1][1] if i else Fraction(0)


def integral(points: StepFunction, start: Fraction, end: Fraction) -> Fraction:
    """Return the integral of the amount between two times."""
    return points.area(end) - points.area(start)


class MachineProfile:
    """The machine of an instance over time.

    Attributes
    ----------
    pools : dict of str to step function
        The processors of each pool; without pools, all processors under an empty name.
    """

    def __init__(self, night: Instance) -> None:
        self.night = night
        self.jobs = {job.name: job for job in night.jobs}
        sizes: dict[str, Sequence[tuple[float, float]]] = {
            name: [(0, 0), *size] if isinstance(size, tuple) else [(0, size)]
            for name, size in night.pools.items()
        } or {"": [(0, night.processors), *night.changes]}
        self.single: dict[int, list[tuple[Fraction, Fraction]]] = defaultdict(list)
        for down in night.down:
            for number in down.numbers:
                self.single[number].append((as_written(down.start), as_written(down.end)))
        self._joint: dict[tuple[frozenset[str], Fraction | None, int], StepFunction] = {}
        self.end = NEVER if night.end is None else as_written(night.end)
        self.numbered = {name: self._reserved(name, given) for name, given in sizes.items()}
        self.pools = {name: self._without_single(name) for name in sizes}
        self.resources = {
            name: self.without_after_end(
                _step_function([(0, 0), *given] if isinstance(given, tuple) else [(0, given)])
            )
            for name, given in night.resources.items()
        }
        self.everything = self.together(self.pools)

    def without_after_end(self, points: Iterable[tuple[Fraction, Fraction]]) -> StepFunction:
        """Return an amount that is 0 from the end of the instance on."""
        before = StepFunction(takewhile(lambda point: point[0] < self.end, points))
        return before if self.end == NEVER else StepFunction([*before, (self.end, Fraction(0))])

    def _reserved(self, pool: str, given: Sequence[tuple[float, float]]) -> StepFunction:
        """Return the processors of a pool without reservations, up to the end."""
        points = _step_function(given)
        gone: dict[Fraction, int] = defaultdict(int, ((time, 0) for time, _ in points))
        for down in self.night.down:
            if (down.pool or "") == pool:
                gone[as_written(down.start)] += down.processors
                gone[as_written(down.end)] -= down.processors
        times, reserved = sorted(gone), StepFunction()
        for time, away in zip(times, accumulate(gone[time] for time in times), strict=True):
            reserved.append((time, max(Fraction(0), amount_at(points, time) - away)))
        return self.without_after_end(reserved)

    def _without_single(self, pool: str) -> StepFunction:
        """Return the processors of a pool over time, without single processors that are down."""
        points = self.numbered[pool]
        own = {
            place[1]: spans
            for n, spans in self.single.items()
            if (place := self.place(n)) and place[0] == pool
        }
        times = {time for time, _ in points} | {
            t for spans in own.values() for s in spans for t in s
        }
        counted = StepFunction()
        for time in sorted(times) if own else ():
            there = amount_at(points, time)
            gone = sum(
                k < there and any(start <= time < end for start, end in spans)
                for k, spans in own.items()
            )
            counted.append((time, there - gone))
        return counted or points

    def together(
        self, names: Collection[str], most: Fraction | None = None, need: int = 0
    ) -> StepFunction:
        """Return the processors of several pools: at most ``most``, or 1 if ``need`` exist."""
        key = frozenset(names), most, need
        if key in self._joint:
            return self._joint[key]
        if most is not None:
            room = StepFunction((time, min(there, most)) for time, there in self.together(names))
        elif need:
            room = StepFunction(
                (time, Fraction(there >= need)) for time, there in self.together(names)
            )
        else:
            pools = [self.pools[name] for name in names]
            times = sorted({time for points in pools for time, _ in points})
            room = StepFunction(
                (time, sum((amount_at(points, time) for points in pools), Fraction(0)))
                for time in times
            )
        self._joint[key] = room
        return room

    def allowed_pools(self, job: Job) -> list[str]:
        """Return the pools that a job's tasks may run on."""
        return [name for name in self.pools if not job.pools or name in job.pools]

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The largest number of processors of each pool."""
        return {name: int(max(there for _, there in own)) for name, own in self.numbered.items()}

    @property
    def count(self) -> int:
        """The largest number of processors at any time."""
        return sum(self.sizes.values())

    def place(self, processor: int) -> tuple[str, int] | None:
        """Return the pool of a processor and its index there, or None if it does not exist."""
        for name, size in self.sizes.items() if processor >= 0 else ():
            if processor < size:
                return name, processor
            processor -= size
        return None

    def earliest(
        self, demand: Mapping[str, Fraction], longer: Mapping[str, Fraction] | None = None
    ) -> dict[str, Fraction]:
        """Return the earliest completion time of each job alone on the machine, or `NEVER`.

        ``longer`` maps jobs to factors of their demand and lengths; late jobs then still complete.
        """
        starts: dict[str, Fraction] = {}
        waiting = [self.jobs[name] for name in (self.jobs if longer is None else longer)]
        while waiting:
            ready = [job for job in waiting if all(name in starts for name in job.after)]
            for job in ready:
                start = max([as_written(job.release), *(starts[name] for name in job.after)])
                more = Fraction(1) if longer is None else longer[job.name]
                end = start if start == NEVER else self._alone(job, start, demand[job.name], more)
                due = as_written(self.night.deadline if job.deadline is None else job.deadline)
                late = longer is None and end > min(due, self.end)
                starts[job.name] = NEVER if late else end
            waiting = [job for job in waiting if job.name not in starts]
        return starts

    def _alone(self, job: Job, start: Fraction, demand: Fraction, more: Fraction) -> Fraction:
        """Return the earliest completion time of a job that starts at a time, alone."""
        pools = self.allowed_pools(job)
        end = _completion_of_work(self.together(pools, most_processors(job)), start, more * demand)
        if job.critical_path is not None:
            runs = self.together(pools, need=job.processors)
            return max(end, _completion_of_work(runs, start, more * as_written(job.critical_path)))
        for stage in job.stages or ():
            length = more * as_written(max(stage))
            if start < NEVER and length:
                start = length + min(
                    self._opening(job, name, start, length) for name in self.allowed_pools(job)
                )
        return max(end, min(start, NEVER))

    def _opening(self, job: Job, pool: str, start: Fraction, length: Fraction) -> Fraction:
        """Return the earliest start of a task on a pool: now, or at a change of the machine."""
        asked = [(self.pools[pool], Fraction(job.processors))]
        asked += [(self.resources[name], as_written(a)) for name, a in job.holds.items()]
        later = heapq.merge(*(_changes_after(points, start) for points, _ in asked))
        since: Fraction | None = None
        for time in chain([start], map(itemgetter(0), later)):
            if since is not None and since + length <= time:
                return since
            enough = all(amount_at(points, time) >= need for points, need in asked)
            since = (time if since is None else since) if enough else None
        return NEVER if since is None else since

    def parts(
        self, names: Collection[str], fill: Fraction
    ) -> Iterator[tuple[str, dict[str, Fraction], StepFunction]]:
        """Yield the unions of pools, filled to a fraction, and the resources.

        Each is a name, the amount that jobs use per unit of their demand, and the available amount.
        """
        for union in self.unions(names):
            inside = [name for name in names if {*self.allowed_pools(self.jobs[name])} <= union]
            points = StepFunction((time, fill * amount) for time, amount in self.together(union))
            named = f"pools {', '.join(name for name in self.pools if name in union)}"
            yield named, dict.fromkeys(inside, Fraction(1)), points
        for resource, points in self.resources.items():
            yield (
                f"resource {resource}",
                {name: self.amount_held(name, resource) for name in names},
                points,
            )

    def unions(self, names: Collection[str]) -> list[frozenset[str]]:
        """Return the sets of pools that jobs may run on, and their unions."""
        unions: set[frozenset[str]] = set()  # other sets of pools are covered by these unions
        for own in {frozenset(self.allowed_pools(self.jobs[n])) for n in names}:
            unions |= {own, *(own | other for other in unions)}
        return sorted(unions - {frozenset(self.pools)}, key=sorted)

    def amount_held(self, name: str, resource: str) -> Fraction:
        """Return the amount of a resource that a job holds per processor."""
        job = self.jobs[name]
        return as_written(job.holds.get(resource, 0.0)) / job.processors

    def missing_predecessors(self, chosen: Collection[str]) -> Iterator[str]:
        """Yield a line for each chosen job with a predecessor that is not chosen."""
        for name in sorted(chosen):
            for other in self.jobs[name].after:
                if other not in chosen:
                    yield f"after: {name} is run, {other} is not"

    def misplaced_tasks(self, solution: Scheduled, slack: float) -> Iterator[str]:
        """Yield a line for each task that is misplaced, late, or holds too much."""
        timed = [task for task in solution.tasks if isfinite(task.start) and isfinite(task.end)]
        tasks = [task for task in timed if task.job in self.jobs]
        long = [task for task in tasks if task.start < task.end - slack]
        for task in long:
            yield from self._standing(task, slack)
        for name, points in self.resources.items():
            held = [(task, self.jobs[task.job].holds.get(name, 0.0)) for task in long]
            yield from _overuse(f"resource {name}", held, points, slack)
        of_job: dict[str, list[PlacedTask]] = defaultdict(list)
        for task in long:
            of_job[task.job].append(task)
        for job in self.night.jobs:
            if job.max_processors is not None:
                wide = [(task, float(job.processors)) for task in of_job[job.name]]
                most = StepFunction([(Fraction(0), Fraction(job.max_processors))])
                yield from _overuse(f"max_processors of {job.name}", wide, most, slack)
        starts: dict[str, float] = {}
        ends: dict[str, float] = {}
        for task in tasks:
            starts[task.job] = min(starts.get(task.job, task.start), task.start)
            ends[task.job] = max(ends.get(task.job, task.end), task.end)
        for name, start in starts.items():
            if ends[name] - slack > self.end:
                yield f"end: {name} ends at {ends[name]:.12g}, after {float(self.end):.12g}"
            for other in self.jobs[name].after:
                end = ends.get(other, start)
                if start < end - slack:
                    yield f"after: {name} at {start:.12g}, {other} ends at {end:.12g}"
                if end - slack > self._horizon(other) * NEAR:
                    yield f"after: {name} is run, {other} is late at {end:.12g}"

    def _horizon(self, name: str) -> Fraction:
        """Return the latest time at which a job still earns a reward."""
        own, late = self.jobs[name].deadline, self.night.late
        due = as_written(self.night.deadline if own is None else own)
        return due + (as_written(late[-1][0]) if late else 0)

    def _standing(self, task: PlacedTask, slack: float) -> Iterator[str]:
        """Yield the reasons why a task may not run on its processors."""
        job, on = self.jobs[task.job], processors_of(task)
        named = f"{task.job}[{task.stage}][{task.task}]"
        places = [(*place, p) for p in on if (place := self.place(p)) is not None]
        pools = {pool for pool, _, _ in places}
        if pools - {*self.allowed_pools(job)} or len(pools) > 1:
            yield f"{named}: on processors of pools that it may not use"
        first, last = Fraction(task.start + slack), Fraction(task.end - slack)
        for pool, k, number in places:
            points = self.numbered[pool]
            inside = takewhile(lambda point: point[0] < last, _changes_after(points, first))
            moments = chain([(first, amount_at(points, first))], inside)
            away = [start for start, end in self.single[number] if start < last and first < end]
            gone = next((time for time, amount in moments if amount <= k), min(away, default=None))
            if gone is not None:
                yield f"{named}: its processor is away at {float(gone):.12g}"


def processors_of(task: PlacedTask) -> tuple[int, ...]:
    """Return the processors of a task."""
    return (task.processor,) if task.processors is UNSET else tuple(task.processors)


def most_processors(job: Job) -> Fraction | None:
    """Return the most processors that a job's tasks use at a time, or None if undefined."""
    if job.max_processors is None:
        return None
    return Fraction(job.max_processors // job.processors * job.processors)


def _step_function(given: Sequence[tuple[float, float]]) -> StepFunction:
    """Return changes as a step function."""
    return StepFunction(
        sorted({as_written(time): as_written(amount) for time, amount in given}.items())
    )


def _changes_after(points: StepFunction, time: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    first = bisect_right(points, time, key=itemgetter(0))
    return map(points.__getitem__, range(first, len(points)))


def _completion_of_work(points: StepFunction, start: Fraction, work: Fraction) -> Fraction:
    """Return the time at which an amount of work that starts at a time is done."""
    if work <= 0:
        return start
    done = points.area(start) + work
    i = bisect_left(points.areas, done) - 1
    time, rate = points[i]
    return time + (done - points.areas[i]) / rate if rate else NEVER


def _overuse(
    what: str, held: Sequence[tuple[PlacedTask, float]], points: StepFunction, slack: float
) -> Iterator[str]:
    """Yield a line for each time from which concurrent tasks hold too much of a resource."""
    moments = {task.start + slack for task, _ in held} | {float(t) + slack for t, _ in points}
    begin = sorted(((task.start, amount) for task, amount in held), reverse=True)
    end = sorted(((task.end - slack, amount) for task, amount in held), reverse=True)
    now = Fraction(0)
    for time in sorted(moments):
        while begin and begin[-1][0] <= time:
            now += as_written(begin.pop()[1])
        while end and end[-1][0] <= time:
            now -= as_written(end.pop()[1])
        room = amount_at(points, Fraction(time))
        if now > room * (1 + Fraction(ROUNDING)):
            yield f"{what}: {float(now):.12g} of {float(room):.12g} held at {time:.12g}"
