"""Schedules of some jobs, by trying everything: see `judge.brute`, which reads the night."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from math import lcm
from operator import gt
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from judge.brute import Night

NONE = Fraction(0)


class Placed(NamedTuple):
    """A task that is placed: its place among the tasks, its job and stage, and when it runs."""

    place: int
    job: str
    stage: int
    start: int
    end: int


Processor = tuple[str, int]


class Trial:
    """Every way to run some jobs, all of them: tasks in order of their starts, as early as may be.

    In some best schedule no task can start earlier, the others staying where they are. Taken in the
    order of its starts, each of its tasks starts as early as those before it allow. Times are whole
    numbers of what divides them all.
    """

    def __init__(self, night: "Night", chosen: tuple[str, ...]) -> None:
        self.night, self.chosen, self.machine = night, chosen, night.machines[1]
        self.jobs = jobs = {name: night.jobs[name] for name in chosen}
        delay, end = (night.file.get("late") or [[NONE]])[-1][0], night.file.get("end")
        last = {
            n: min(job.due + delay, job.due + delay if end is None else end)
            for n, job in jobs.items()
        }
        lengths = [
            (name, s, length)
            for name, job in jobs.items()
            for s, stage in enumerate(job.stages)
            for length in stage
            if length > 0
        ]
        given = [*self.machine.times, *last.values(), *(length for _, _, length in lengths)]
        self.scale = lcm(*(t.denominator for t in [*given, *(j.release for j in jobs.values())]))
        ticks = lambda time: int(time * self.scale)  # noqa: E731
        self.tasks = [(name, s, ticks(length)) for name, s, length in lengths]
        self.last = {name: ticks(time) for name, time in last.items()}
        self.release = {name: ticks(job.release) for name, job in jobs.items()}
        self.times = list(map(ticks, self.machine.times))
        self.most = sum((job.reward for job in jobs.values()), NONE)

    def best(self) -> Fraction | None:
        """Return the most that these jobs earn; None if they cannot all complete while paid."""
        seats = self.night.seats
        if any(r["use"].get(n, 0) > r["capacity"] for r in seats for n in self.chosen):
            return None
        size = {name: int(max(levels)) for name, levels in self.machine.numbered.items()}
        return self._best([], {(name, k): 0 for name, most in size.items() for k in range(most)})

    def _best(self, placed: list[Placed], free: dict[Processor, int]) -> Fraction | None:
        """Return the most that can follow when some tasks are placed and processors free."""
        start, place = (placed[-1].start, placed[-1].place) if placed else (0, -1)
        done = {one.place for one in placed}
        left = [(i, *task) for i, task in enumerate(self.tasks) if i not in done]
        ends = {name: self._end(name, placed) for name in self.chosen}
        for name in self.chosen:
            stages = [(s, length) for _, job, s, length in left if job == name]
            path = sum(max(x for s, x in stages if s == stage) for stage in {s for s, _ in stages})
            if max(ends[name], (start + path) * bool(path)) > self.last[name]:
                return None
        if not left:
            late = {n: Fraction(ends[n], self.scale) - job.due for n, job in self.jobs.items()}
            return sum((j.reward * self.night.paid(late[n]) for n, j in self.jobs.items()), NONE)
        found = None
        for i, name, stage, length in left:
            before = {(name, s) for s in range(stage)} | {(o, None) for o in self._before(name)}
            if any(
                {(job, s), (job, None)} & before or (k < i and (job, s, x) == (name, stage, length))
                for k, job, s, x in left
            ):
                continue
            opens = [p.end for p in placed if p.job == name and p.stage < stage]
            opens += [start, self._opens(name, placed)]
            for on in self._processors(name, free):
                at = max(*opens, *(free[one] for one in on))
                later = sorted({at, *self.times, *(p.end for p in placed)})
                fits = (
                    t for t in later if t >= at and self._holds(name, on, (t, t + length), placed)
                )
                at = next(fits, self.last[name])
                if (at, i) > (start, place) and at + length <= self.last[name]:
                    one = Placed(i, name, stage, at, at + length)
                    earned = self._best([*placed, one], free | dict.fromkeys(on, one.end))
                    if earned is not None and (found is None or earned > found):
                        found = earned
                        if found == self.most:
                            return found
        return found

    def _before(self, name: str) -> Iterator[str]:
        for other in self.jobs[name].after:
            yield from (other, *self._before(other))

    def _opens(self, name: str, placed: list[Placed]) -> int:
        """Return when a job may start, as far as others are placed."""
        others = [self._end(other, placed) for other in self.jobs[name].after]
        return max([self.release[name], *others])

    def _end(self, name: str, placed: list[Placed]) -> int:
        """Return when a job ends, as far as it is placed."""
        return max([self._opens(name, placed), *(one.end for one in placed if one.job == name)])

    def _processors(self, name: str, free: dict[Processor, int]) -> list[list[Processor]]:
        """Return the processors that a task may take, one of all choices that are alike."""
        found = {}
        for pool in self.jobs[name].pools:
            times = range(len(self.times))
            alike = {
                on: (free[on], *(self.machine.has(on, i) for i in times))
                for on in free
                if on[0] == pool
            }
            for some in combinations(alike, self.jobs[name].wide):
                found[pool, tuple(sorted(alike[on] for on in some))] = [*some]
        return [*found.values()]

    def _holds(
        self, name: str, on: list[Processor], span: tuple[int, int], placed: list[Placed]
    ) -> bool:
        """Tell whether a task can run with what is placed, which has all started by then."""
        for i, (a, b) in enumerate(zip(self.times, [*self.times[1:], span[1]], strict=True)):
            if a >= span[1] or (b <= span[0] and a != self.times[-1]):
                continue
            at = max(a, span[0])
            running = [name, *(one.job for one in placed if one.end > at)]
            jobs = [self.jobs[one] for one in running]
            mine = self.jobs[name].wide * running.count(name)
            if (
                not all(self.machine.has(one, i) for one in on)
                or mine > (self.jobs[name].most or mine)
                or any(
                    sum(job.holds.get(resource, 0) for job in jobs) > levels[i]
                    for resource, levels in self.machine.resources.items()
                )
                or any(
                    sum(rule["use"].get(one, 0) for one in running) > rule["capacity"]
                    for rule in self.night.seats
                )
            ):
                return False
        return True


def keeps(night: "Night", tasks: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether the tasks of a plan keep all that a schedule keeps on one night."""
    machine, end = night.machines[1], night.file.get("end")
    numbers = [(p, k) for p, levels in machine.numbered.items() for k in range(int(max(levels)))]
    spans = [
        (night.jobs[task["job"]], task["stage"], *(_exact(task[key]) for key in ("start", "end")))
        for task in tasks
    ]
    taken = [task.get("processors") or [task["processor"]] for task in tasks]
    last = {job.name: max(b for other, _, _, b in spans if other is job) for job, *_ in spans}
    delay = (night.file.get("late") or [[NONE]])[-1][0]
    for job, stage, a, b in spans:
        before = [e for other, s, _, e in spans if other is job and s < stage]
        others = [last.get(name, NONE) for name in job.after]
        due = [night.jobs[name].due + delay for name in job.after]
        if a < max([job.release, *before, *others]) or (end is not None and b > end):
            return False
        if any(map(gt, others, due)):
            return False
    for at in {*machine.times, *(a for _, _, a, _ in spans)}:
        i = max(i for i, time in enumerate(machine.times) if time <= at)
        now = [(job, on) for (job, _, a, b), on in zip(spans, taken, strict=True) if a <= at < b]
        places = [[numbers[k] for k in on if 0 <= k < len(numbers)] for _, on in now]
        used = [place for some in places for place in some]
        for (job, on), some in zip(now, places, strict=True):
            pools = {pool for pool, _ in some}
            right = len({*on}) == len(some) == len(on) == job.wide and len(pools) == 1
            mine = job.wide * sum(other is job for other, _ in now)
            if not (right and pools <= {*job.pools} and mine <= (job.most or mine)):
                return False
        jobs = [job for job, _ in now]
        if (
            len({*used}) < len(used)
            or not all(machine.has(place, i) for place in used)
            or any(
                sum(j.holds.get(r, 0) for j in jobs) > q[i] for r, q in machine.resources.items()
            )
            or any(sum(r["use"].get(j.name, 0) for j in jobs) > r["capacity"] for r in night.seats)
        ):
            return False
    return True


def _exact(time: float) -> Fraction:
    """Return a sum of lengths as they are written."""
    return Fraction(f"{time:.9f}") if time >= 1e-3 else Fraction(f"{time:.9g}")
