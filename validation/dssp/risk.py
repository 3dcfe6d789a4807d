"""Checker of selections under risk: their value in scenarios.

The scenarios are drawn again from the seed of the question. Jobs in time are computed in integers
from the raw fields.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import fsum, inf, lcm, sqrt
from typing import Any, NamedTuple

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import scenarios
from schedopt.instances.dssp.scenarios import factors
from schedopt.instances.errors import InputError, quote
from schedopt.instances.options import is_count
from schedopt.solvers.result import Document
from schedopt.validation.dssp.facts import Chosen, Facts
from schedopt.validation.dssp.machine import StepFunction, integral
from schedopt.validation.report import Report, same

LATE = ("time-limit", "interrupted")
"""Terminations with which the value out of sample may be missing."""
NORMAL = 1.96  # 97.5% quantile of the standard normal distribution
Integers = NDArray[Any]


class Window(NamedTuple):
    """Selected jobs in order of service, their demand, and the capacity of the window."""

    jobs: NDArray[np.intp]
    work: Integers
    room: int


def check(facts: Facts, chosen: Chosen, claim: Document, report: Report) -> None:
    """Check the value of a selection under risk, in and out of sample."""
    count: Any = claim.options.get("scenarios")
    seed: Any = claim.options.get("seed")
    measure = scenarios.Measure.read(claim.options.get("risk"))
    if not is_count(count, 10_000) or not (
        (type(seed) is int and seed == 0) or is_count(seed, 2**31 - 1)
    ):
        found = quote(f"scenarios={count}, seed={seed}")
        raise InputError("1 to 10000 scenarios of a seed", found=found, place="options")
    told: Mapping[str, Any] = {} if isinstance(claim.risk, UnsetType) else claim.risk
    report.expect_time()
    drawn = factors(facts.night, seed, scenarios.DECIDING, count)
    served = _ServiceOrder(facts, chosen, drawn, report.expect_time)
    inside, _ = served.worth(measure, drawn)
    worth: float = inside
    if measure.kind == "chance":
        worth = fsum(job.reward for job in served.jobs)
        kept = round(inside * count) >= measure.level * count
        report.expect(kept, f"chance: {inside:.6g} for a job, below {float(measure.level):.6g}")
    stated = float(inf if claim.objective is None else claim.objective)
    report.expect(same(worth, stated), f"objective: {worth:.17g}, not {claim.objective}")
    if not told and claim.termination in LATE:
        return
    outside, half = served.worth(
        measure, factors(facts.night, seed, scenarios.JUDGING, scenarios.judges(facts.night))
    )
    ours = {"in_sample": inside, "out_of_sample": outside, "confidence": half, "scenarios": count}
    report.expect(told.keys() == ours.keys(), f"risk: {sorted(told)}, not {sorted(ours)}")
    for key in ours.keys() & told.keys():
        claimed, scale = told[key], max(abs(inside), abs(outside))
        right = isinstance(claimed, int | float) and same(ours[key], claimed, scale)
        report.expect(right, f"risk: {key} {ours[key]:.12g}, not {quote(claimed)}")


def by_density(facts: Facts, fitting: Mapping[int, int]) -> list[int]:
    """Return jobs in decreasing order of reward per demand; ties keep the order of the file.

    The reward is weighted by ``fitting``, the number of scenarios in which the path of a job fits.
    """
    jobs = facts.night.jobs

    def brings(j: int) -> Fraction | float:
        demand = facts.demand[jobs[j].name]
        return as_written(jobs[j].reward) * fitting[j] / demand if demand else inf

    return sorted(fitting, key=lambda j: (-brings(j), j))


class _ServiceOrder:
    """The selected jobs in the order in which scenarios serve them."""

    def __init__(
        self,
        facts: Facts,
        chosen: Chosen,
        drawn: Integers,
        expect_time: Callable[[], None] = lambda: None,
    ) -> None:
        self.facts, jobs, self.expect_time = facts, facts.night.jobs, expect_time
        at = [j for j, job in enumerate(jobs) if job.name in chosen]
        self.longest = scenarios.longest(facts.night)
        self.limits = {j: self._limit(j) for j in at}
        fitting = {j: int(self._fits(j, drawn).sum()) for j in at}
        rest = {jobs[j].name: j for j in by_density(facts, fitting)}
        self.at: list[int] = []
        while rest:
            free = (name for name, j in rest.items() if not rest.keys() & {*jobs[j].after})
            self.at.append(rest.pop(next(free)))
        self.jobs = [jobs[j] for j in self.at]
        self.windows = list(self._windows(self.longest))

    def _limit(self, j: int) -> int:
        """Return the largest factor at which a job's critical path fits, in millionths.

        On a machine that changes, the paths of all predecessors have to fit too.
        """
        job = self.facts.night.jobs[j]
        if self.facts.night.features:
            last, count = self.longest, len(self._chain(j))
            if not self._late(j, [last] * count):
                return last
            late = partial(self._late, j)
            return bisect_left(range(1, last), True, key=lambda f: late([f] * count))
        path = self.facts.critical_path[job.name]
        length = self.facts.due[job.name] - self.facts.release[job.name]
        if length < 0:
            return -1
        return min(2**60, int(length * scenarios.MILLION / path)) if path else 2**60

    def _chain(self, j: int) -> list[int]:
        """Return a job and all its predecessors."""
        night, chain = self.facts.night, [j]
        for i in chain:
            waits = {night.index[name] for name in night.jobs[i].after}
            chain += sorted(waits.difference(chain))
        return chain

    def _late(self, j: int, factors: Sequence[int]) -> bool:
        """Return True if a job is late after its predecessors, alone on the machine."""
        jobs, facts = self.facts.night.jobs, self.facts
        longer = {
            jobs[i].name: Fraction(factor, scenarios.MILLION)
            for i, factor in zip(self._chain(j), factors, strict=True)
        }
        return facts.machine.earliest(facts.demand, longer)[jobs[j].name] > facts.due[jobs[j].name]

    def _fits(self, j: int, drawn: Integers) -> NDArray[np.bool_]:
        """Return the scenarios in which a job's critical path fits its window."""
        self.expect_time()
        own = drawn[:, self._chain(j)]
        fits = np.asarray(own.max(axis=1) <= self.limits[j])
        for s in np.flatnonzero((own.min(axis=1) <= self.limits[j]) & ~fits).tolist():
            fits[s] = not self._late(j, own[s].tolist())
        return fits

    def _windows(self, most: int) -> Iterator[Window]:
        """Yield the demand of the jobs between any release and any deadline."""
        facts, there = self.facts, self.facts.machine
        names, part = [job.name for job in self.jobs], min(facts.fill, Fraction(1))
        spans = {(Fraction(0), facts.deadline)}
        if facts.windowed:
            due = {facts.due[name] for name in names}
            spans |= {(a, b) for a in {facts.release[name] for name in names} for b in due if a < b}
        times = {*facts.release.values(), *facts.due.values(), facts.deadline, Fraction(0)}
        rank = {time: i for i, time in enumerate(sorted(times))}
        machine = StepFunction((time, part * amount) for time, amount in there.everything)
        whole = ("machine", dict.fromkeys(names, Fraction(1)), machine)
        for _, taken, points in (whole, *there.parts(names, part)):
            work = {i: taken.get(n, Fraction(0)) * facts.demand[n] for i, n in enumerate(names)}
            among = [i for i in work if work[i]]
            scale = lcm(*(work[i].denominator for i in among))
            at, numbers = np.array(among, dtype=np.intp), [int(work[i] * scale) for i in among]
            large = sum(numbers) * most >= 2**62
            held = np.array(numbers, dtype=object if large else np.int64)
            opened, closed = (
                np.array([rank[times[names[i]]] for i in among], dtype=np.int64)
                for times in (facts.release, facts.due)
            )
            for start, end in sorted(spans):
                self.expect_time()
                inside = (rank[start] <= opened) & (closed <= rank[end])
                room = int(integral(points, start, end) * scale * scenarios.MILLION)
                if int(held[inside].sum()) * most > room:  # other windows fit in every scenario
                    yield Window(at[inside], held[inside], room)

    def in_time(self, drawn: Integers) -> NDArray[np.bool_]:
        """Return which jobs are in time, by scenario."""
        run = drawn[:, self.at]
        done = np.zeros(run.shape, dtype=np.bool_)
        for i, j in enumerate(self.at):
            done[:, i] = self._fits(j, drawn)
        for window in self.windows:
            self.expect_time()
            asked = np.cumsum(run[:, window.jobs] * window.work, axis=1)
            done[:, window.jobs] &= (asked <= window.room).astype(np.bool_)
        return done

    def worth(self, measure: scenarios.Measure, drawn: Integers) -> tuple[float, float]:
        """Return the value of the selection over scenarios, and the half-width of its interval.

        Under a chance constraint it is the least fraction of scenarios in which a job is in time.
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
