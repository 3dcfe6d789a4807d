"""Re-solving: at each event, the plan that would be optimal without further arrivals."""

import msgspec
import numpy as np

from schedopt.instances.hesrpt import Instance
from schedopt.policies.hesrpt.shares import share_policy
from schedopt.policies.hesrpt.simulator import Floats, Jobs
from schedopt.policies.registry import NotApplicableError

MOST_AT_ONCE = 12
"""The most jobs of unequal speedups: a plan for so many takes under a second or two."""
STEP = 0.2


@share_policy(
    "replan",
    source="common practice: a rolling horizon; no paper is followed",
    summary="the optimal plan for those who are here, solved again whenever a job comes or goes",
    waits="it solves an instance at each arrival and completion",
)
def replan(instance: Instance, jobs: Jobs, left: Floats) -> Floats:
    """Return the first shares of the best plan that is found for the remaining sizes.

    Side constraints are not looked at, as by the other policies.
    """
    from schedopt.solvers.hesrpt.orders import (
        OrderTree,  # and numba, for which `list` need not wait
        order_search,
    )

    if instance.objective == "makespan":
        raise NotApplicableError("it plans for flow times; helrpt is the plan for a makespan")
    here = tuple(
        msgspec.structs.replace(instance.jobs[j], size=size, arrival=0.0)
        for j, size in zip(jobs.tolist(), left.tolist(), strict=True)
    )
    now = msgspec.structs.replace(instance, jobs=here, constraints=())
    search = order_search(now)
    if isinstance(search, OrderTree) and len(here) > MOST_AT_ONCE:
        found = f"{len(here)} jobs that differ are in the system at once"
        raise NotApplicableError(f"it plans for {MOST_AT_ONCE} at the most: {found}")
    while not search.advance(STEP):
        pass
    first = search.solution().epochs[0].share
    return np.array([first.get(job.name, 0.0) for job in here])
