"""Facts of a dssp instance, recomputed exactly from its raw fields for the checkers alone.

What numbers mean, and which rule has which tolerance, is said in `instances.dssp.planned`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, zip_longest

from instances.decimals import as_written, total
from instances.dssp import Instance, Job


class Facts:
    """What planning knows of each job, by name.

    Parameters
    ----------
    night : Instance
        The raw instance.
    fill : float
        The selection parameter r.

    Attributes
    ----------
    demand, critical_path : dict of str to Fraction
        T_1 and T_∞: predicted, else computed from the tasks.
    release, due : dict of str to Fraction
        From when on and by when each job is to run.
    rate, capacity : Fraction
        r·P, and r·P·D.
    """

    def __init__(self, night: Instance, fill: float) -> None:
        self.night = night
        self.deadline = as_written(night.deadline)
        self.rate = as_written(fill) * night.processors
        self.capacity = self.rate * self.deadline
        self.release = {job.name: as_written(job.release) for job in night.jobs}
        self.due = {
            job.name: self.deadline if job.deadline is None else as_written(job.deadline)
            for job in night.jobs
        }
        self.demand = {job.name: _demand(job) for job in night.jobs}
        self.critical_path = {job.name: _critical_path(job) for job in night.jobs}

    def total(self, names: Iterable[str]) -> Fraction:
        """Return the total demand of some jobs."""
        return sum((self.demand[name] for name in names), Fraction(0))

    def fits(self, name: str) -> bool:
        """Tell whether a job's critical path fits from its release to its deadline."""
        return self.release[name] + self.critical_path[name] <= self.due[name]

    def overfull(
        self, work: Mapping[str, Fraction], rate: Fraction
    ) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
        """Yield each release and deadline with the work between them, where there is too much.

        Parameters
        ----------
        work : mapping of str to Fraction
            What some jobs ask for.
        rate : Fraction
            What there is in a unit of time.
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
                if asked > rate * max(end - start, Fraction(0)):
                    yield start, end, asked

    def members(self, by: str | None, group: str | None) -> list[str]:
        """Return the names of a group's jobs."""
        return [job.name for job in self.night.jobs if by and job.groups.get(by) == group]


def _demand(job: Job) -> Fraction:
    """T_1 as planned: predicted, else the sum of all task lengths."""
    if job.demand is not None:
        return as_written(job.demand)
    return total(chain(*(job.stages or ())))


def _critical_path(job: Job) -> Fraction:
    """T_∞ as planned: predicted, else the sum over stages of the longest task."""
    if job.critical_path is not None:
        return as_written(job.critical_path)
    return sum((as_written(sorted(stage)[-1]) for stage in job.stages or ()), Fraction(0))
