"""The instance whose best selection bounds every schedule of another."""

from __future__ import annotations

import msgspec

from instances.dssp.jobs import Job
from instances.dssp.records import Instance


def bounding(night: Instance) -> Instance:
    """Return the night whose best selection (r = 1) no schedule of the given one can beat.

    What completes by some time has a total demand, as it happens, of at most that time on all
    processors, and a critical path of at most that time. So predictions give way to the tasks, and
    the deadline to the time after which nothing is paid. Side constraints speak of the planned
    demands and of the deadline: they stay where these are the same.
    """
    planned = [job for job in night.jobs if job.stages and _predicted(job)]
    if not planned and not night.late:
        return night
    jobs = [
        msgspec.structs.replace(job, demand=None, critical_path=None) if job.stages else job
        for job in night.jobs
    ]
    return msgspec.structs.replace(
        night, jobs=tuple(jobs), deadline=night.horizon, late=(), constraints=()
    )


def _predicted(job: Job) -> bool:
    return job.demand is not None or job.critical_path is not None
