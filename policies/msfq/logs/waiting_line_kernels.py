"""The waiting line, compiled: the next job that fits in some order, without a scan of the line.

Each job has a place in the order, from 0. A tree with `FAN` children per node is over the places;
each node knows the least need of each resource and the shortest planned time of the waiting jobs
below it.
"""

from typing import Any, NamedTuple

from schedopt.policies.msfq.logs.event_loop_kernels import Log, fits
from schedopt.solvers.compiling import makes_no_arrays

FAN, BITS = 8, 3
NOBODY = 2**62
"""The need at places without a waiting job."""
AGES = 1e308
"""The planned time at places without a waiting job."""


class Line(NamedTuple):
    """The waiting jobs.

    ``rank`` is each job's place, ``order`` the job at each place. ``needs``, shape (nodes,
    resources), and ``shortest`` are the values of the nodes, the places first. ``base`` is the
    start of each level in these, and the end of the last. ``anything`` is a capacity that admits
    every job.
    """

    rank: Any
    order: Any
    needs: Any
    shortest: Any
    base: Any
    anything: Any


@makes_no_arrays
def join(job: int, log: Log, line: Line) -> None:
    """Add a job to the line."""
    node = line.rank[job]
    for level in range(line.base.size - 1):
        i = line.base[level] + node
        known = line.shortest[i] <= log.planned[job]
        line.shortest[i] = min(line.shortest[i], log.planned[job])
        for r in range(line.anything.size):
            known = known and line.needs[i, r] <= log.need[job, r]
            line.needs[i, r] = min(line.needs[i, r], log.need[job, r])
        if known:
            return
        node >>= BITS


@makes_no_arrays
def leave(job: int, line: Line) -> None:
    """Remove a job from the line."""
    node = line.rank[job]
    line.shortest[node] = AGES
    for r in range(line.anything.size):
        line.needs[node, r] = NOBODY
    for level in range(1, line.base.size - 1):
        node >>= BITS
        i, first = line.base[level] + node, line.base[level - 1] + (node << BITS)
        last = min(first + FAN, line.base[level])
        soonest = AGES
        for child in range(first, last):
            soonest = min(soonest, line.shortest[child])
        known = line.shortest[i] == soonest
        line.shortest[i] = soonest
        for r in range(line.anything.size):
            least = NOBODY
            for child in range(first, last):
                least = min(least, line.needs[child, r])
            known = known and line.needs[i, r] == least
            line.needs[i, r] = least
        if known:
            return


@makes_no_arrays
def next_fitting(at: int, left: Any, over: Any, now: float, time: float, line: Line) -> Any:
    """Return the first place from ``at`` on whose job may start, or -1.

    Its needs are at most ``left``, and at most ``over`` unless its planned end is at most ``time``.
    """
    level, node = 0, at
    top = line.base.size - 2
    while True:
        first = line.base[level]
        end = min((node | (FAN - 1)) + 1, line.base[level + 1] - first)
        while node < end:
            i = first + node
            if fits(i, line.needs, left) and (
                now + line.shortest[i] <= time or fits(i, line.needs, over)
            ):
                break
            node += 1
        if node < end:
            if level == 0:
                return node
            level, node = level - 1, node << BITS
            continue
        if level == top:
            return -1
        level, node = level + 1, ((node - 1) >> BITS) + 1
        while level < top and node & (FAN - 1) == 0:
            level, node = level + 1, node >> BITS
