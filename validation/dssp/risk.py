"""The checker for selections and schedules under risk: what they earn in scenarios.

The factors of scenarios are drawn anew from the question's seed; who is in time is worked out from
the raw fields, in whole numbers.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import ceil, floor, fsum, inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Job, Scheduled
from schedopt.instances.dssp.scenarios import (
    DECIDING,
    JUDGES,
    JUDGING,
    MILLION,
    Measure,
    factors,
    fineness,
    judges,
    longest,
)
from schedopt.instances.errors import InputError, shown
from schedopt.instances.options import is_count
from schedopt.solvers.result import Document
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.report import Report, same

NORMAL = 1.96
"""Half the width of a normal's middle 95%, in standard deviations."""

Integers = NDArray[Any]


class Window(NamedTuple):
    """Selected jobs in the order in which they are served, what they ask for, and the room."""

    jobs: list[int]
    work: Integers
    room: int


def check(
    facts: Facts, chosen: frozenset[str] | Scheduled, claim: Document, report: Report
) -> None:
    """Check what a choice or a schedule is worth under risk, and what is said of it out of sample.

    Raises
    ------
    InputError
        If the question's measure, scenarios or seed are none.
    """
    count: Any = claim.options.get("scenarios")
    seed: Any = claim.options.get("seed")
    measure = Measure.read(claim.options.get("risk"))
    if not is_count(count, 10_000) or not (seed == 0 or is_count(seed, 2**31 - 1)):
        found = shown(f"scenarios={count}, seed={seed}")
        raise InputError("1 to 10000 scenarios of a seed", found=found, place="options")
    told: Mapping[str, Any] = {} if isinstance(claim.risk, UnsetType) else claim.risk
    drawn = factors(facts.night, seed, DECIDING, count)
    ran = isinstance(chosen, Scheduled)
    served = _Ran(facts, chosen) if isinstance(chosen, Scheduled) else _Served(facts, chosen, drawn)
    inside, _ = served.worth(measure, drawn)
    worth: float = inside
    if measure.kind == "chance":
        worth = fsum(job.reward for job in served.jobs)
        kept = round(inside * count) >= measure.level * count
        report.expect(kept, f"chance: {inside:.6g} for a job, below {float(measure.level):.6g}")
    stated = float(inf if claim.objective is None else claim.objective)
    report.expect(same(worth, stated), f"objective: {worth:.17g}, not {claim.objective}")
    others = judges(facts.night) if ran else JUDGES
    outside, half = served.worth(measure, factors(facts.night, seed, JUDGING, others))
    ours = {"in_sample": inside, "out_of_sample": outside, "confidence": half, "scenarios": count}
    report.expect(told.keys() == ours.keys(), f"risk: {sorted(told)}, not {sorted(ours)}")
    for key in ours.keys() & told.keys():
        given, scale = told[key], max(abs(inside), abs(outside))
        right = isinstance(given, int | float) and same(ours[key], given, scale)
        report.expect(right, f"risk: {key} {ours[key]:.12g}, not {shown(given)}")


class _Worth:
    """What some jobs are worth by who of them is in time."""

    jobs: list[Job]

    def in_time(self, drawn: Integers) -> NDArray[np.bool_]:
        """Tell which jobs are in time, shape (scenarios, jobs)."""
        raise NotImplementedError

    def worth(self, measure: Measure, drawn: Integers) -> tuple[float, float]:
        """Return what the jobs are worth in some scenarios, and the half-width of its interval.

        Under a chance it is the least share of them in which a job is in time.
        """
        done = self.in_time(drawn)
        count = len(drawn)
        if measure.kind == "chance":
            share = float(done.mean(axis=0).min(initial=1.0))
            wide = sqrt(share * (1 - share) / count + NORMAL**2 / (4 * count**2))
            return share, NORMAL * wide / (1 + NORMAL**2 / count)
        rewards = np.array([job.reward for job in self.jobs], dtype=np.float64)
        earned = sorted((done @ rewards).tolist())
        if measure.kind == "mean":
            values, tail = earned, Fraction(count)
        else:
            tail = (1 - measure.level) * count
            level = earned[int(tail)]
            values = [level - max(0.0, level - e) * count / float(tail) for e in earned]
        worth = fsum(e * min(1.0, max(0.0, float(tail - i))) for i, e in enumerate(earned))
        middle = fsum(values) / count
        wide = sqrt(fsum((v - middle) ** 2 for v in values) / max(1, count - 1) / count)
        return worth / float(tail), NORMAL * wide


class _Served(_Worth):
    """Selected jobs as scenarios serve them."""

    def __init__(self, facts: Facts, chosen: frozenset[str], drawn: Integers) -> None:
        self.facts, jobs = facts, facts.night.jobs
        at = [j for j, job in enumerate(jobs) if job.name in chosen]
        limits = {j: self._limit(jobs[j]) for j in at}
        brings = {}
        for j in at:
            fitting = int((drawn[:, j] <= limits[j]).sum())
            demand = jobs[j].planned_demand
            brings[j] = jobs[j].reward * fitting / demand if demand else inf
        self.at = sorted(at, key=lambda j: (-brings[j], j))
        self.jobs = [jobs[j] for j in self.at]
        self.limits = np.array([limits[j] for j in self.at], dtype=np.int64)
        self.windows = list(self._windows(longest(facts.night)))

    def _limit(self, job: Job) -> int:
        """Return the largest factor by which a job's path fits, in millionths."""
        path = self.facts.critical_path[job.name]
        length = self.facts.due[job.name] - self.facts.release[job.name]
        if length < 0:
            return -1
        return min(2**60, int(length * MILLION / path)) if path else 2**60

    def _windows(self, most: int) -> Iterator[Window]:
        """Yield what the jobs between any release and any deadline ask for."""
        facts, names = self.facts, [job.name for job in self.jobs]
        rate = min(facts.fill, Fraction(1)) * facts.night.processors
        spans = {(Fraction(0), facts.deadline)}
        if facts.windowed:
            due = {facts.due[name] for name in names}
            spans |= {(a, b) for a in {facts.release[n] for n in names} for b in due if a < b}
        for start, end in sorted(spans):
            among = [
                i
                for i, name in enumerate(names)
                if facts.release[name] >= start and facts.due[name] <= end
            ]
            work = [facts.units[names[i]] for i in among]
            room = int(rate * (end - start) * facts.scale * MILLION)
            small = max(sum(work) * most, room) < 2**62
            kind: Any = np.int64 if small else object
            yield Window(among, np.array(work, dtype=kind), room)

    def in_time(self, drawn: Integers) -> NDArray[np.bool_]:
        """Tell which jobs are served in time."""
        run = drawn[:, self.at]
        done = run <= self.limits
        for window in self.windows:
            asked = np.cumsum(run[:, window.jobs] * window.work, axis=1)
            done[:, window.jobs] &= (asked <= window.room).astype(np.bool_)
        return np.asarray(done)


class _Ran(_Worth):
    """The jobs of a schedule, run in the order of its tasks' starts."""

    def __init__(self, facts: Facts, solution: Scheduled) -> None:
        night = facts.night
        known = {job.name: job for job in night.jobs}
        self.jobs = [known[name] for name in solution.selected if name in known]
        self.at = [night.index[job.name] for job in self.jobs]
        self.processors = night.processors
        scale = Fraction(10) ** fineness(night)
        self.release = [ceil(facts.release[job.name] * scale * MILLION) for job in self.jobs]
        self.due = [floor(facts.due[job.name] * scale * MILLION) for job in self.jobs]
        starts = {(task.job, task.stage, task.task): task.start for task in solution.tasks}
        self.stages = [
            [
                [
                    ((starts.get((job.name, s, i), inf), at, s, i), as_written(length) * scale)
                    for i, length in enumerate(stage)
                    if length
                ]
                for s, stage in enumerate(job.stages or ())
            ]
            for at, job in zip(self.at, self.jobs, strict=True)
        ]

    def in_time(self, drawn: Integers) -> NDArray[np.bool_]:
        """Tell which jobs end in time."""
        found = np.zeros((len(drawn), len(self.jobs)), dtype=np.bool_)
        for done, factor in zip(found, drawn[:, self.at].tolist(), strict=True):
            done[:] = [end <= due for end, due in zip(self._ends(factor), self.due, strict=True)]
        return found

    def _ends(self, factor: list[int]) -> list[int]:
        """Go from event to event: a task's end, or a release (of no task)."""
        ends, ahead = list(self.release), [iter(stages) for stages in self.stages]
        left = [0] * len(ends)
        events = [(release, n) for n, release in enumerate(self.release)]
        heapify(events)
        ready: list[Any] = []
        busy = 0
        while events:
            now = events[0][0]
            while events and events[0][0] == now:
                n = heappop(events)[1]
                busy -= left[n] > 0
                left[n] -= left[n] > 0
                if left[n]:
                    continue
                ends[n] = now
                stage = next((tasks for tasks in ahead[n] if tasks), ())
                left[n] = len(stage)
                for key, length in stage:
                    heappush(ready, (key, n, ceil(length * factor[n])))
            while ready and busy < self.processors:
                _, n, length = heappop(ready)
                busy += 1
                heappush(events, (now + length, n))
        return ends
