"""The instance whose best selection bounds every schedule of another."""

from __future__ import annotations

from math import inf, nextafter

from msgspec.structs import replace

from schedopt.instances.constraints import Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance


def bounding(night: Instance) -> Instance:
    """Return the night whose best selection (r = 1) no schedule of the given one can beat.

    What lives between two times has a total demand, as it happens, of at most what all processors
    do between them, and a critical path of at most that time. So predictions give way to the tasks,
    and deadlines to the times after which nothing is paid. Side constraints speak of the planned
    demands and of the deadlines: they stay where these are the same, and seats stay in any case.
    """
    if not night.late and not any(job.stages and _predicted(job) for job in night.jobs):
        return night
    return replace(
        night,
        jobs=tuple(_bounding(job, night.delay) for job in night.jobs),
        deadline=_later(night.deadline, night.delay),
        late=(),
        constraints=tuple(rule for rule in night.constraints if isinstance(rule, Seats)),
    )


def _bounding(job: Job, delay: float) -> Job:
    if job.deadline is not None and delay:
        job = replace(job, deadline=_later(job.deadline, delay))
    if job.stages and _predicted(job):
        job = replace(job, demand=None, critical_path=None)
    return job


def _later(deadline: float, delay: float) -> float:
    """Add a delay to a deadline, without rounding it down."""
    exact = as_written(deadline) + as_written(delay)
    near = float(exact)
    return near if as_written(near) >= exact else nextafter(near, inf)


def _predicted(job: Job) -> bool:
    return job.demand is not None or job.critical_path is not None
