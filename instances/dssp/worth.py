"""What the jobs of a table are worth: rewards and objectives made from priorities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.jobs import Job

LEVEL = "priority "
"""Before the priority in the name of an objective, which counts the jobs of that priority."""
UNPAID = "jobs without reward"
"""The objective that counts the jobs whose reward is 0."""


def reversed_priorities(priorities: Sequence[float]) -> list[float]:
    """Return priorities in reverse order within the same range: of 20, 30 and 90: 90, 80 and 20."""
    ends = min(priorities, default=0.0), max(priorities, default=0.0)
    total = as_written(ends[0]) + as_written(ends[1])
    return [float(total - as_written(priority)) for priority in priorities]


def in_levels(
    jobs: Iterable[Job], priorities: Sequence[float], *, lower: bool = False
) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Return jobs and objectives by which as many jobs as possible of each priority run, in order.

    The jobs of the most important priority have a reward of 1, and others 0. Each later objective
    counts the jobs of one priority.
    """
    levels = sorted(set(priorities), reverse=not lower)
    names = {level: f"{LEVEL}{level:.15g}" for level in levels}
    leveled = tuple(
        replace(job, reward=float(priority == levels[0]), values={names[priority]: 1.0})
        for job, priority in zip(jobs, priorities, strict=True)
    )
    return leveled, ("reward", *(names[level] for level in levels[1:])) if len(levels) > 1 else ()


def with_unpaid(jobs: Sequence[Job]) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Return jobs and objectives by which, after the reward, most jobs without a reward run."""
    if all(job.reward for job in jobs):
        return tuple(jobs), ()
    counted = (job if job.reward else replace(job, values={UNPAID: 1.0}) for job in jobs)
    return tuple(counted), ("reward", UNPAID)
