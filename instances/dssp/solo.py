"""Jobs that complete on time in scenarios if each runs alone, after its predecessors.

Completion times are intervals of doubles, computed for all scenarios at once: a lower end with
lengths slightly decreased, an upper end with lengths slightly increased. If an interval contains
the deadline, the scenario is computed again with fractions. This is valid because completion times
never decrease with run times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.machine import Steps, in_order

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Instance = Any  # `records.Instance`, which imports this module

MILLION = 1_000_000  # factors are in units of one part of it
MARGIN = 1e-11
"""What an interval is widened by at each step, as a part of the largest time or work."""


class Profile(NamedTuple):
    """An amount over time in doubles; ``sums`` is its integral up to each of its times."""

    times: Floats
    amounts: Floats
    sums: Floats

    @classmethod
    def of(cls, steps: Steps) -> Profile:
        """Return an exact amount over time in doubles."""
        times = np.array([float(time) for time in steps.times])
        amounts = np.array([float(amount) for amount in steps.amounts])
        sums = [float(steps.until(time)) for time in steps.times]
        return cls(times, amounts, np.array(sums))

    def time_reached(self, at: Floats, work: Floats, margin: float) -> Floats:
        """Return when the integral from ``at`` on reaches ``work``; infinity if never.

        ``margin`` changes all work by this fraction of the largest work.
        """
        finite = np.isfinite(at)
        begin = np.where(finite, at, 0.0)
        i = np.searchsorted(self.times, begin, side="right") - 1
        i = np.maximum(i, 0)
        whole = self.sums[i] + self.amounts[i] * (begin - self.times[i]) + work
        whole = np.maximum(whole + margin * whole.max(initial=self.sums[-1]), 0.0)
        i = np.maximum(np.searchsorted(self.sums, whole, side="left") - 1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(self.amounts[i] > 0, (whole - self.sums[i]) / self.amounts[i], np.inf)
        ends = np.maximum(self.times[i] + more, begin)
        return np.where(finite, np.where(work > 0, ends, at), np.inf)


class Intervals(NamedTuple):
    """The maximal intervals in which one pool and all resources suffice for a task."""

    starts: Sequence[float]
    ends: Sequence[float]

    @classmethod
    def of(cls, asks: Sequence[tuple[Steps, Fraction]]) -> Intervals:
        """Return the intervals in which each of several amounts is large enough."""
        times = sorted({time for steps, _ in asks for time in steps.times})
        starts: list[float] = []
        ends: list[float] = []
        for time in times:
            enough = all(steps.at(time) >= need for steps, need in asks)
            if enough and len(starts) == len(ends):
                starts.append(float(time))
            elif not enough and len(starts) > len(ends):
                ends.append(float(time))
        return cls(starts, [*ends, *[np.inf] * (len(starts) - len(ends))])

    def first_end(self, at: Floats, length: Floats) -> Floats:
        """Return the earliest end of a task that starts at ``at`` or later; infinity if never."""
        ends = np.full(at.shape, np.inf)
        for start, end in zip(reversed(self.starts), reversed(self.ends), strict=True):
            own = np.maximum(at, start) + length
            ends = np.where(own <= end, own, ends)
        return ends


@dataclass(frozen=True)
class Kind:
    """Jobs that may use the same processors and that hold the same resources."""

    work: Profile  # the processors that a job may have at a time
    tasks: tuple[Intervals, ...]  # of each pool
    running: Profile | None  # 1 while a task can run, for jobs with a predicted critical path


class SoloFeasibility:
    """Function that decides which jobs complete on time alone, in given scenarios.

    Predecessors complete first, even if they are late. ``due`` are the deadlines, by default the
    instance's.
    """

    def __init__(self, night: Instance, due: Floats | None = None) -> None:
        self.night, self.due = night, night.deadlines if due is None else due
        self.after = [[night.index[name] for name in job.after] for job in night.jobs]
        self.lengths = [
            [] if job.critical_path is not None else [max(stage) for stage in job.stages or ()]
            for job in night.jobs
        ]
        self.demands = np.array([float(one) for one in night.planned.demands.fractions])
        self.releases = np.array([job.release for job in night.jobs], dtype=np.float64)
        self.groups = self._groups()
        ends = [float(steps.times[-1]) for steps in self._all_steps()]
        self.horizon = max([*ends, *self.releases.tolist(), *self.due.tolist()], default=0.0)

    def __call__(self, drawn: NDArray[Any]) -> Mask:
        """Return whether each job completes on time in each scenario, shape (scenarios, jobs)."""
        feasible: Mask = self._ends(drawn, MARGIN) <= self.due
        unsure = ~feasible & (self._ends(drawn, -MARGIN) <= self.due)
        for j in np.flatnonzero(unsure.any(axis=0)).tolist():
            chain = self._chain(j)
            own, open_ = drawn[:, chain], np.flatnonzero(unsure[:, j])
            while open_.size:  # longer run times end no sooner: one scenario decides others
                one = own[open_[np.argsort(own[open_].sum(axis=1))[open_.size // 2]]]
                late = self._is_late(chain, one.tolist())
                alike = (own[open_] >= one if late else own[open_] <= one).all(axis=1)
                feasible[open_[alike], j] = not late
                open_ = open_[~alike]
        return feasible

    def _all_steps(self) -> Iterable[Steps]:
        return [*self.night.machine.pools.values(), *self.night.machine.resources.values()]

    def _groups(self) -> list[tuple[Kind, NDArray[np.intp]]]:
        """Return the jobs by level of precedence and kind; predecessors come first."""
        level = [0] * len(self.after)
        kinds: dict[tuple[Any, ...], Kind] = {}
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for j in in_order(self.night.jobs, self.night.index)[0]:
            level[j] = 1 + max((level[i] for i in self.after[j]), default=-1)
            job = self.night.jobs[j]
            most = None if job.max_processors is None else job.widest
            pools = None if job.pools is None else tuple(job.pools)
            predicted = job.critical_path is not None
            key = (pools, most, job.processors, tuple(job.holds.items()), predicted)
            if key not in kinds:
                kinds[key] = self._kind(job, most)
            groups[level[j], key].append(j)
        return [(kinds[key], np.array(groups[n, key])) for n, key in sorted(groups, key=_level)]

    def _kind(self, job: Job, most: int | None) -> Kind:
        machine = self.night.machine
        pools = tuple(machine.of_job(job))
        holds = [(machine.resources[name], as_written(a)) for name, a in job.holds.items()]
        running = None
        if job.critical_path is not None:
            running = Profile.of(machine.usable(pools, need=job.processors))
        asks = [[(machine.pools[name], Fraction(job.processors)), *holds] for name in pools]
        work = Profile.of(machine.usable(pools, most=most))
        return Kind(work, tuple(Intervals.of(one) for one in asks), running)

    def _ends(self, drawn: NDArray[Any], margin: float) -> Floats:
        """Return upper bounds on completion times, or lower bounds for a negative ``margin``."""
        ends = np.empty(drawn.shape)
        slack = margin * self.horizon
        for kind, jobs in self.groups:
            factors = drawn[:, jobs] / MILLION
            at = np.broadcast_to(self.releases[jobs], factors.shape).copy()
            for column, j in enumerate(jobs.tolist()):
                if self.after[j]:
                    before = ends[:, self.after[j]].max(axis=1)
                    np.maximum(at[:, column], before, out=at[:, column])
            worked = kind.work.time_reached(at, factors * self.demands[jobs], margin)
            if kind.running is not None:
                paths = np.array([self.night.jobs[j].critical_path for j in jobs])
                at = kind.running.time_reached(at, factors * paths, margin)
            lengths = [self.lengths[j] for j in jobs.tolist()]
            for s in range(max(map(len, lengths))):
                planned = np.array([own[s] if s < len(own) else 0.0 for own in lengths])
                some = np.flatnonzero(planned)
                length = np.maximum(factors[:, some] * planned[some] + slack, 0.0)
                begun = at[:, some]
                tasks = [one.first_end(begun, length) for one in kind.tasks]
                at[:, some] = np.minimum.reduce(tasks, initial=np.inf)
            ends[:, jobs] = np.maximum(worked, at) + slack
        return ends

    def _chain(self, j: int) -> list[int]:
        """Return a job and all its predecessors in topological order."""
        chain: dict[int, None] = {}
        stack = [(j, False)]
        while stack:
            i, complete = stack.pop()
            if complete:
                chain[i] = None
            elif i not in chain:
                stack += [(i, True), *((before, False) for before in self.after[i])]
        return list(chain)

    def _is_late(self, chain: Sequence[int], factors: Sequence[int]) -> bool:
        """Return True if the last job of a chain is late, exactly; factors are in millionths."""
        night, ends = self.night, dict[str, Fraction]()
        demands = night.planned.demands.fractions
        for i, factor in zip(chain, factors, strict=True):
            job = night.jobs[i]
            start = max([as_written(job.release), *(ends[name] for name in job.after)])
            end = night.machine.completes(job, start, demands[i], Fraction(factor, MILLION))
            if end is None:
                return True
            ends[job.name] = end
        return ends[night.jobs[chain[-1]].name] > as_written(float(self.due[chain[-1]]))


def _level(key: tuple[Any, ...]) -> int:
    return int(key[0])
