"""Rewards and objectives made from the priorities of a table."""

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
    """Return priorities mirrored within their range: 90, 80 and 20 for 20, 30 and 90."""
    ends = min(priorities, default=0.0), max(priorities, default=0.0)
    total = as_written(ends[0]) + as_written(ends[1])
    return [float(total - as_written(priority)) for priority in priorities]


def by_level(night: Instance, *, most: int = MOST_WEIGHT) -> Instance:
    """Return an instance that maximizes the number of jobs of each priority, in order of priority.

    Each job has a value named after its priority. If rewards that sum to at most ``most`` allow it,
    a job's reward exceeds that of all less important jobs together. Otherwise jobs of the first
    priority have a reward of 1, and a further objective counts the jobs of each other priority.
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
    """Return the name of the value of jobs with a priority."""
    return f"{LEVEL}{priority:.15g}{LOWER * lower}"


def priority_of(level: str) -> float:
    """Return the priority that the name of a level contains."""
    return float(level.removeprefix(LEVEL).removesuffix(LOWER))


def levels_of(night: Instance) -> list[str]:
    """Return the levels of an instance's jobs, the most important first."""
    levels = sorted({level_of(job) for job in night.jobs}, key=priority_of)
    return levels if levels and levels[0].endswith(LOWER) else levels[::-1]


def level_of(job: Job) -> str:
    """Return the level of a job; empty if it has none."""
    return next((name for name in job.values if name.startswith(LEVEL)), "")


def with_unpaid(night: Instance) -> Instance:
    """Return an instance that, after the reward, maximizes the number of jobs without a reward."""
    if night.objectives or all(job.reward for job in night.jobs):
        return night
    jobs = (job if job.reward else replace(job, values={UNPAID: 1.0}) for job in night.jobs)
    return replace(night, jobs=tuple(jobs), objectives=("reward", UNPAID))
