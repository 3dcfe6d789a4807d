"""The least makespan: all jobs complete together, for any speedups."""

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.result import Result, Termination

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def least_makespan(
    instance: Instance, jobs: Ints | None = None, left: Floats | None = None
) -> tuple[float, float, Floats]:
    """Return the least makespan, a bound beside it, and the shares of all jobs.

    `jobs`, of which `left` is still to be done, are those in question; all where left out.

    A share that is averaged over time does no less work, since speedups are concave: so a time T
    suffices if and only if all jobs together need no more than all servers to complete at T.

    Source: heSRPT paper, Theorem 1, for any concave speedups of the jobs.
    """
    jobs = np.arange(len(instance.jobs)) if jobs is None else jobs
    sizes, servers = instance.sizes if left is None else left, float(instance.servers)

    def needed(time_: float) -> Floats:
        return instance.each("servers_for", jobs, sizes / time_)

    high = float((sizes / instance.each("at", jobs, np.full(len(sizes), servers))).sum())
    low = high / (2.0 * len(sizes))
    while low > 0 and needed(low).sum() <= servers:
        high, low = low, low / 2
    while needed(high).sum() > servers:
        high *= 1 + 1e-15
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if needed(middle).sum() <= servers:
            high = middle
        else:
            low = middle
    return high, low, needed(high) / servers


def solve(model: Allocation, task: EngineTask) -> Result[Allocated]:
    """Let all jobs complete together, in the given order where there is one."""

    def work(attempt: Attempt) -> Termination:
        high, low, shares = least_makespan(model.instance)
        everyone = np.arange(len(shares))
        together = allocated(
            model.instance,
            np.full(len(everyone), high),
            [(0.0, high, everyone, shares)],
            order=model.last_first[::-1].tolist() if model.given else None,
        )
        attempt.take(together, "closed-form")
        attempt.raise_bound(low, "closed-form")
        return "completed"

    return run_attempt(model, task, "closed-form", work)
