"""Facts of a dssp instance, recomputed exactly from its raw fields for the checkers alone.

What numbers mean, and which rule has which tolerance, is said in `instances.dssp.planned`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain

from instances.decimals import as_written, total
from instances.dssp import Instance, Job, refuse_windows


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
    capacity : Fraction
        r·P·D.
    """

    def __init__(self, night: Instance, fill: float) -> None:
        refuse_windows(night, "the checker")
        self.night = night
        self.deadline = as_written(night.deadline)
        self.capacity = as_written(fill) * night.processors * self.deadline
        self.demand = {job.name: _demand(job) for job in night.jobs}
        self.critical_path = {job.name: _critical_path(job) for job in night.jobs}

    def total(self, names: Iterable[str]) -> Fraction:
        """Return the total demand of some jobs."""
        return sum((self.demand[name] for name in names), Fraction(0))

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
