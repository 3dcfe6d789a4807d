"""The waiting line, compiled: the next fitting job in some order, without scanning the line.

Jobs have a place in the order, from 0. Over the places stands a tree of `FAN` children a node; each
node knows the least need of each resource and the shortest planned time of the waiting jobs below.
"""

from typing import Any, NamedTuple

from schedopt.policies.msfq.logs.event_loop_kernels import Log, fits
from schedopt.solvers.compiling import makes_no_arrays

FAN, BITS = 8, 3
NOBODY = 2**62
"""The need where nobody waits."""
AGES = 1e308
"""The planned time where nobody waits."""


class Line(NamedTuple):
    """The jobs that wait.

    ``rank`` is each job's place, ``order`` the job at each place. ``needs``, of shape (nodes,
    resources), and ``shortest`` are what each node of the tree knows, the places first; ``base`` is
    where each level begins in these, and where the last ends. ``anything`` is a limit to nobody.
    """

    rank: Any
    order: Any
    needs: Any
    shortest: Any
    base: Any
    anything: Any


@makes_no_arrays
def join(job: int, log: Log, line: Line) -> None:
    """Let a job into the line."""
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
    """Take a job out of the line."""
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

    It needs at most what is ``left``, and at most what is ``over`` unless it is planned to end by
    ``time``.
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
