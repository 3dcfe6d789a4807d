"""Facts of a dssp instance, recomputed from its raw fields for the checkers alone."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, fsum
from sys import float_info

from instances.dssp import Instance, Job

ROUNDING = 1e-9
epsilon = float_info.epsilon


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
    demand, critical_path : dict of str to float
        T_1 and T_∞: predicted, else computed from the tasks.
    capacity : float
        r·P·D.
    """

    def __init__(self, night: Instance, fill: float) -> None:
        self.night = night
        self.capacity = fill * night.processors * night.deadline
        self.demand = {job.name: _demand(job) for job in night.jobs}
        self.critical_path = {job.name: _critical_path(job) for job in night.jobs}

    def total(self, names: Iterable[str]) -> float:
        """Return the total demand of some jobs."""
        return fsum(self.demand[name] for name in names)

    def fits(self, total: float) -> bool:
        """Tell whether a total demand fits: whole demands exactly, others up to rounding."""
        if all(demand.is_integer() for demand in self.demand.values()):
            return total <= floor(self.capacity * (1 + 4 * epsilon))
        return total <= self.capacity * (1 + ROUNDING)

    def members(self, by: str | None, group: str | None) -> list[str]:
        """Return the names of a group's jobs."""
        return [job.name for job in self.night.jobs if by and job.groups.get(by) == group]


def _demand(job: Job) -> float:
    """T_1 as planned: predicted, else the sum of all task lengths."""
    if job.demand is not None:
        return float(job.demand)
    return fsum(length for stage in job.stages or () for length in stage)


def _critical_path(job: Job) -> float:
    """T_∞ as planned: predicted, else the sum over stages of the longest task."""
    if job.critical_path is not None:
        return float(job.critical_path)
    return fsum(sorted(stage)[-1] for stage in job.stages or ())
