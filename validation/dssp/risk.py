"""The checker for selections under risk: what they earn in scenarios.

The factors of scenarios are drawn anew from the question's seed; who is in time is worked out from
the raw fields, in whole numbers.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import fsum, inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from schedopt.instances.dssp import Job
from schedopt.instances.dssp.scenarios import (
    DECIDING,
    JUDGES,
    JUDGING,
    MILLION,
    Measure,
    factors,
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


def check(facts: Facts, chosen: frozenset[str], claim: Document, report: Report) -> None:
    """Check what a selection is worth under risk, and what is said of it out of sample.

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
    served = _Served(facts, chosen, drawn)
    inside, _ = served.worth(measure, drawn)
    worth: float = inside
    if measure.kind == "chance":
        worth = fsum(job.reward for job in served.jobs)
        kept = round(inside * count) >= measure.level * count
        report.expect(kept, f"chance: {inside:.6g} for a job, below {float(measure.level):.6g}")
    stated = float(inf if claim.objective is None else claim.objective)
    report.expect(same(worth, stated), f"objective: {worth:.17g}, not {claim.objective}")
    outside, half = served.worth(measure, factors(facts.night, seed, JUDGING, JUDGES))
    ours = {"in_sample": inside, "out_of_sample": outside, "confidence": half, "scenarios": count}
    report.expect(told.keys() == ours.keys(), f"risk: {sorted(told)}, not {sorted(ours)}")
    for key in ours.keys() & told.keys():
        given, scale = told[key], max(abs(inside), abs(outside))
        right = isinstance(given, int | float) and same(ours[key], given, scale)
        report.expect(right, f"risk: {key} {ours[key]:.12g}, not {shown(given)}")


class _Served:
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

    def worth(self, measure: Measure, drawn: Integers) -> tuple[float, float]:
        """Return what the selection is worth in some scenarios, and the half-width of its interval.

        Under a chance it is the least share of them in which a job is in time.
        """
        run = drawn[:, self.at]
        done = run <= self.limits
        for window in self.windows:
            asked = np.cumsum(run[:, window.jobs] * window.work, axis=1)
            done[:, window.jobs] &= (asked <= window.room).astype(np.bool_)
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
