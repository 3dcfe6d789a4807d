"""Exact numbers of a dssp instance, recomputed from its raw fields for the checkers only.

`instances.dssp.planned` defines the numbers and the tolerances of rules.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import chain, zip_longest

from schedopt.instances.decimals import as_written, total
from schedopt.instances.dssp import Instance, Job, refuse_nights
from schedopt.instances.errors import InputError, quote
from schedopt.solvers.result import Document
from schedopt.validation.dssp.machine import NEVER, MachineProfile, StepFunction, integral

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
            everything = self.machine.everything
            self.capacity = self.fill * integral(everything, Fraction(0), self.deadline)
        self.demand = {job.name: _demand(job) for job in night.jobs}
        self.release = {job.name: as_written(job.release) for job in night.jobs}
        self.due = {
            job.name: self.deadline if job.deadline is None else as_written(job.deadline)
            for job in night.jobs
        }
        self.windowed = any(job.release or job.deadline is not None for job in night.jobs)

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
    def critical_path(self) -> dict[str, Fraction]:
        """T_∞ of each job, for an unchanging machine; otherwise see `earliest`."""
        return {job.name: _critical_path(job) for job in self.night.jobs}

    def total_reward(self, names: Iterable[str]) -> Fraction:
        """Return the total reward of some jobs."""
        return total(self.night.jobs[self.night.index[name]].reward for name in names)

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
        return sum(map(self.demand.__getitem__, names), Fraction(0))

    def used(self, by: str, group: str, names: Chosen) -> Fraction:
        """Return the demand of the jobs of a group among some jobs."""
        return self.total(name for name in self.members(by, group) if name in names)

    def fits(self, name: str) -> bool:
        """Return True if a job's critical path fits between its release and its deadline."""
        if self.night.features:
            return self.earliest[name] < NEVER
        return self.release[name] + self.critical_path[name] <= self.due[name]

    def floor_counts(self, name: str) -> bool:
        """Return True if a job counts for a minimum: it may be on time, given max(1, r)·P."""
        if self.night.features or not self.fits(name):
            return self.fits(name)
        length = self.due[name] - self.release[name]
        return self.demand[name] <= max(Fraction(1), self.fill) * self.night.processors * length

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


def facts_of(night: Instance, claim: Document, *, nights: bool = False) -> Facts:
    """Return the facts of an instance under the document's option ``fill``, which is r.

    Instances of several nights are accepted with ``nights``. `InputError` if ``fill`` is not a
    number above 0, or r·P·D overflows.
    """
    if not nights:
        refuse_nights(night, "a selection, or a schedule,")
    fill = claim.options.get("fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill < float("inf"):
        raise InputError("a number above 0", found=quote(fill), place="options.fill")
    facts = Facts(night, fill)
    if facts.capacity > sys.float_info.max:
        raise InputError("a finite r·P·D", found=quote(fill), place="options.fill")
    return facts


def nights_of(season: Instance) -> dict[str, range]:
    """Return the nights of each job."""
    return {
        job.name: range(job.first_night, (job.last_night or season.nights) + 1)
        for job in season.jobs
    }


def _demand(job: Job) -> Fraction:
    """Return T_1 of a job: predicted, else the sum of all task lengths on all processors."""
    if job.demand is not None:
        return as_written(job.demand)
    return job.processors * total(chain(*(job.stages or ())))


def _critical_path(job: Job) -> Fraction:
    """Return T_∞ of a job: predicted, else the sum over stages of the longest task."""
    if job.critical_path is not None:
        return as_written(job.critical_path)
    return sum((as_written(sorted(stage)[-1]) for stage in job.stages or ()), Fraction(0))
