"""A heap of running jobs by their end, compiled; the same end, the job that came first."""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled


@compiled
def push(ends: Any, jobs: Any, count: int, end: float, job: int) -> None:
    """Put a job at place ``count``, the first that is free, and let it rise."""
    at = count
    while at > 0:
        above = (at - 1) >> 1
        if ends[above] < end or (ends[above] == end and jobs[above] < job):
            break
        ends[at], jobs[at] = ends[above], jobs[above]
        at = above
    ends[at], jobs[at] = end, job


@compiled
def pop(ends: Any, jobs: Any, count: int) -> None:
    """Take the first of ``count`` jobs away."""
    last = count - 1
    end, job = ends[last], jobs[last]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= last:
            break
        right = child + 1
        if right < last and (
            ends[right] < ends[child] or (ends[right] == ends[child] and jobs[right] < jobs[child])
        ):
            child = right
        if end < ends[child] or (end == ends[child] and job < jobs[child]):
            break
        ends[at], jobs[at] = ends[child], jobs[child]
        at = child
    ends[at], jobs[at] = end, job
