"""FCFS without simulating: its exact mean response times, where sizes are exponential."""

from __future__ import annotations

import numpy as np

from schedopt.instances.msfq import ClassTime, Expected, Instance
from schedopt.policies.msfq.stability import require_stable
from schedopt.policies.registry import NotApplicableError

QUICK = 1200
"""Phases up to which it is solved unasked: a second or two."""


def solved(queue: Instance, required: bool) -> Expected | None:
    """Return FCFS's exact mean response times, or None if simulating is better or the only way.

    If they are ``required``, however long they take, `NotApplicableError` says why there are none.
    `UnstableError` if FCFS is not stable.
    """
    from schedopt.solvers.msfq.fcfs import MOST_PHASES, TooManyPhasesError, UnsettledError, fcfs

    if not queue.memoryless:
        if required:
            raise NotApplicableError("exact times of fcfs are for exponential sizes")
        return None
    region = require_stable(queue, "fcfs")
    try:
        found = fcfs(queue, MOST_PHASES if required else QUICK)
    except (TooManyPhasesError, UnsettledError) as reason:
        if required:
            raise NotApplicableError(f"no exact times of fcfs: {reason}") from None
        return None
    return Expected(
        mean_response_time=float(np.dot(queue.weights("mean"), found.times)),
        weighted_response_time=float(np.dot(queue.weights("weighted"), found.times)),
        classes=tuple(
            ClassTime(
                need=job.need,
                mean_response_time=float(time),
                mean_number=float(number),
                arrival_rate=job.arrival_rate,
            )
            for job, time, number in zip(queue.classes, found.times, found.numbers, strict=True)
        ),
        method="exact",
        utilization=queue.load,
        limit=queue.arrival_rate / region.load,
    )
