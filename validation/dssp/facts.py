"""Exact numbers of a dssp instance, recomputed from its raw fields for the checkers only.

`instances.dssp.planned` defines the numbers and the tolerances of rules.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import chain, zip_longest
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import Whole, as_written, total
from schedopt.instances.dssp import Instance, Job, refuse_nights
from schedopt.instances.errors import InputError, quote
from schedopt.solvers.result import Document
from schedopt.validation.dssp.machine import NEVER, MachineProfile, StepFunction, integral

MOST = int(sys.float_info.max)
"""The largest double, as an integer, since fractions compare faster with integers."""

Chosen = frozenset[str]


class Facts:
    """The planned numbers of each job, by name, and of the machine.

    Parameters
    ----------
    night : Instance
    fill : float
        The selection parameter r.

    Attributes
    ----------
    demand, critical_path : dict of Fraction
        T_1 and T_∞: predicted, else computed from the tasks.
    whole : Whole
        T_1 of each job, in units of 1/`scale`.
    release, due : dict of Fraction
        When each job may start, and when it must end.
    rate, capacity : Fraction
        r·P and r·P·D.
    """

    def __init__(self, night: Instance, fill: float) -> None:
        self.night = night
        self.deadline = as_written(night.deadline)
        self.fill = as_written(fill)
        self.rate = self.fill * night.processors
        self.capacity = self.rate * self.deadline
        if night.features:
            self.capacity = self.fill * integral(
                self.machine.everything, Fraction(0), self.deadline
            )
        self.whole = _demands(night)
        self.scale = self.whole.scale
        self._added: dict[str, tuple[Chosen | None, dict[str, int]]] = {}

    @cached_property
    def machine(self) -> MachineProfile:
        """The machine over time."""
        return MachineProfile(self.night)

    @cached_property
    def rates(self) -> Fraction | StepFunction:
        """Capacity in a unit of time: r·P, or a step function on a changing machine."""
        if not self.night.features:
            return self.rate
        return StepFunction((time, self.fill * amount) for time, amount in self.machine.everything)

    @cached_property
    def earliest(self) -> dict[str, Fraction]:
        """The earliest end of each job if it runs alone on the changing machine."""
        return self.machine.earliest(self.demand)

    @cached_property
    def units(self) -> dict[str, int]:
        """T_1 of each job in units of 1/`scale`."""
        names = map(attrgetter("name"), self.night.jobs)
        return dict(zip(names, self.whole.numbers.tolist(), strict=True))

    @cached_property
    def demand(self) -> dict[str, Fraction]:
        """T_1 of each job."""
        return {name: Fraction(units, self.scale) for name, units in self.units.items()}

    @cached_property
    def critical_path(self) -> dict[str, Fraction]:
        """T_∞ of each job, for an unchanging machine; otherwise see `earliest`."""
        return {job.name: _critical_path(job) for job in self.night.jobs}

    @cached_property
    def release(self) -> dict[str, Fraction]:
        """When each job may start."""
        none = Fraction(0)
        jobs = self.night.jobs
        return {job.name: as_written(job.release) if job.release else none for job in jobs}

    @cached_property
    def due(self) -> dict[str, Fraction]:
        """When each job must end."""
        return {
            job.name: self.deadline if job.deadline is None else as_written(job.deadline)
            for job in self.night.jobs
        }

    @cached_property
    def windowed(self) -> bool:
        """Whether some job has a release or a deadline of its own."""
        return bool(self._with_own_times.any())

    @cached_property
    def _with_own_times(self) -> NDArray[np.bool_]:
        """Jobs that have a release or a deadline of their own."""
        return (self.night.column("release") > 0) | ~np.isnan(self.night.column("deadline"))

    @cached_property
    def surely_in_time(self) -> NDArray[np.bool_]:
        """Jobs whose predicted path meets the common deadline, without times of their own.

        Doubles have the same order as the decimals that they stand for.
        """
        paths = self.night.column("critical_path")
        sure: NDArray[np.bool_] = (paths <= self.night.deadline) & ~self._with_own_times
        return sure

    def places(self, names: Iterable[str]) -> NDArray[np.intp]:
        """Return the positions of some jobs, in order; raise `KeyError` for an unknown name."""
        return np.sort(np.fromiter(map(self.night.index.__getitem__, names), np.intp))

    def total_reward(self, names: Iterable[str]) -> Fraction:
        """Return the total reward of some jobs."""
        return Fraction(self._rewards.take(self.places(names)).total, self._rewards.scale)

    @cached_property
    def _rewards(self) -> Whole:
        return Whole.of(self.night.column("reward"))

    def worths(self, objective: str) -> dict[str, float]:
        """Return each job's value for an objective; ``-`` before a name negates the value."""
        if objective[0] == "-":
            return {job: -value for job, value in self.worths(objective[1:]).items()}
        if objective == "reward":
            return {job.name: job.reward for job in self.night.jobs}
        if objective == "demand":
            return {job.name: job.planned_demand for job in self.night.jobs}
        return {job.name: job.values.get(objective, 0.0) for job in self.night.jobs}

    def total(self, names: Iterable[str]) -> Fraction:
        """Return the total demand of some jobs."""
        return Fraction(self.whole.take(self.places(names)).total, self.scale)

    def used(self, by: str, group: str, names: Chosen) -> Fraction:
        """Return the demand of the jobs of a group among some jobs.

        The demand of all groups of a grouping is kept for the last set of jobs.
        """
        if by not in self.night.codes:
            return Fraction(0)
        known, added = self._added.get(by, (None, {}))
        if known is not names:
            groups, codes = self.night.codes[by]
            places = self.places(names)
            numbers = self.whole.numbers[places]
            sums = np.zeros(len(groups) + 1, dtype=numbers.dtype)  # the last: of no group
            np.add.at(sums, codes[places], numbers)
            added = dict(zip(groups, map(int, sums), strict=False))
            self._added[by] = names, added
        return Fraction(added.get(group, 0), self.scale)

    def fits(self, name: str) -> bool:
        """Return True if a job's critical path fits between its release and its deadline."""
        return name in self._fitting

    def floor_counts(self, name: str) -> bool:
        """Return True if a job counts for a minimum: it may be on time, given max(1, r)·P."""
        if self.night.features or not self.fits(name):
            return self.fits(name)
        length = self.due[name] - self.release[name]
        return self.demand[name] <= max(Fraction(1), self.fill) * self.night.processors * length

    @cached_property
    def _fitting(self) -> frozenset[str]:
        if self.night.features:
            return frozenset(name for name, end in self.earliest.items() if end < NEVER)
        return frozenset(
            job.name
            for job, sure in zip(self.night.jobs, self.surely_in_time.tolist(), strict=True)
            if sure or self.release[job.name] + _critical_path(job) <= self.due[job.name]
        )

    def overfull(
        self, work: Mapping[str, Fraction], rate: Fraction | StepFunction
    ) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
        """Yield each release, deadline and work between them that exceeds the capacity.

        ``work`` is the demand of some jobs, and ``rate`` the capacity in a unit of time.
        """
        by_deadline = sorted(work, key=self.due.__getitem__)
        for start in sorted({self.release[name] for name in work}):
            inside = [name for name in by_deadline if self.release[name] >= start]
            asked = Fraction(0)
            for name, after in zip_longest(inside, inside[1:]):
                asked += work[name]
                end = self.due[name]
                if after is not None and self.due[after] == end:
                    continue
                if asked > room_of(rate, start, end):
                    yield start, end, asked

    def members(self, by: str | None, group: str | None) -> list[str]:
        """Return the names of a group's jobs."""
        jobs = self.night.jobs
        return [jobs[j].name for j in self.night.groups.get(by or "", {}).get(group or "", ())]


def room_of(rate: Fraction | StepFunction, start: Fraction, end: Fraction) -> Fraction:
    """Return the capacity between two times."""
    if end <= start:
        return Fraction(0)
    return rate * (end - start) if isinstance(rate, Fraction) else integral(rate, start, end)


_KEY = "_checked"


def facts_of(night: Instance, claim: Document, *, nights: bool = False) -> Facts:
    """Return the facts of an instance under the document's option ``fill``, which is r.

    Parameters
    ----------
    night : Instance
    claim : Document
    nights : bool
        Whether an instance of several nights is accepted.

    Raises
    ------
    InputError
        If ``fill`` is not a number above 0, or r·P·D overflows.
    """
    if not nights:
        refuse_nights(night, "a selection, or a schedule,")
    fill = claim.options.get("fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill < float("inf"):
        raise InputError("a number above 0", found=quote(fill), place="options.fill")
    facts: Facts | None = night.__dict__.get(_KEY)  # cached with the instance
    if facts is None or facts.fill != as_written(fill):
        facts = Facts(night, fill)
    if facts.capacity > MOST:
        raise InputError("a finite r·P·D", found=quote(fill), place="options.fill")
    night.__dict__[_KEY] = facts
    return facts


def nights_of(season: Instance) -> dict[str, range]:
    """Return the nights of each job."""
    return {
        job.name: range(job.first_night, (job.last_night or season.nights) + 1)
        for job in season.jobs
    }


def _demands(night: Instance) -> Whole:
    """Return T_1 of each job: predicted, else the sum of all task lengths."""
    jobs, predicted = night.jobs, night.column("demand")
    if not np.isnan(predicted).any():
        return Whole.of(predicted)
    parts = [
        (job.demand,) if job.demand is not None else tuple(chain(*(job.stages or ())))
        for job in jobs
    ]
    if any(job.processors > 1 for job in jobs):
        wide = [job.processors if job.demand is None else 1 for job in jobs]
        return Whole.of_fractions(n * total(part) for n, part in zip(wide, parts, strict=True))
    if not all(parts):
        return Whole.of_fractions(map(total, parts))
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    return Whole.of(np.array(list(chain.from_iterable(parts)), dtype=np.float64)).sums(starts)


def _critical_path(job: Job) -> Fraction:
    """Return T_∞ of a job: predicted, else the sum over stages of the longest task."""
    if job.critical_path is not None:
        return as_written(job.critical_path)
    return sum((as_written(sorted(stage)[-1]) for stage in job.stages or ()), Fraction(0))
