"""What the jobs of a table are worth: rewards and objectives made from priorities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance

LEVEL, LOWER = "priority ", " (lower first)"
"""Around the priority in the name of a job's value, which counts the jobs of that priority."""
UNPAID = "jobs without reward"
"""The objective that counts the jobs whose reward is 0."""
MOST_WEIGHT = (1 << 30) - 1
"""Largest sum of rewards that stand for levels: CP-SAT errs on numbers beyond 2^31."""


def reversed_priorities(priorities: Sequence[float]) -> list[float]:
    """Return priorities in reverse order within the same range: of 20, 30 and 90: 90, 80 and 20."""
    ends = min(priorities, default=0.0), max(priorities, default=0.0)
    total = as_written(ends[0]) + as_written(ends[1])
    return [float(total - as_written(priority)) for priority in priorities]


def by_level(night: Instance, *, most: int = MOST_WEIGHT) -> Instance:
    """Return a night in which as many jobs as possible of each priority run, level after level.

    Each job has a value named after its priority. The reward of a job exceeds that of all jobs of
    less important levels together, where such rewards sum to ``most`` at most. Else the jobs of the
    first level have a reward of 1, and an objective for each other level counts its jobs.
    """
    levels = levels_of(night)
    count = Counter(map(level_of, night.jobs))
    weights, total = dict[str, int](), 0
    for level in reversed(levels):
        weights[level] = total + 1
        total += count[level] * weights[level]
    if total > most:
        weights = {level: int(level == levels[0]) for level in levels}
    jobs = tuple(replace(job, reward=float(weights[level_of(job)])) for job in night.jobs)
    objectives = ("reward", *levels[1:]) if total > most else ()
    return replace(night, jobs=jobs, objectives=objectives)


def level_name(priority: float, *, lower: bool = False) -> str:
    """Return the name of the value that a job of a priority has."""
    return f"{LEVEL}{priority:.15g}{LOWER * lower}"


def priority_of(level: str) -> float:
    """Return the priority in the name of a level."""
    return float(level.removeprefix(LEVEL).removesuffix(LOWER))


def levels_of(night: Instance) -> list[str]:
    """Return the levels of a night's jobs, the most important first."""
    levels = sorted({level_of(job) for job in night.jobs}, key=priority_of)
    return levels if levels and levels[0].endswith(LOWER) else levels[::-1]


def level_of(job: Job) -> str:
    """Return the level of a job, empty if it has none."""
    return next((name for name in job.values if name.startswith(LEVEL)), "")


def with_unpaid(night: Instance) -> Instance:
    """Return a night of which, after the reward, most jobs without a reward run."""
    if night.objectives or all(job.reward for job in night.jobs):
        return night
    jobs = (job if job.reward else replace(job, values={UNPAID: 1.0}) for job in night.jobs)
    return replace(night, jobs=tuple(jobs), objectives=("reward", UNPAID))
