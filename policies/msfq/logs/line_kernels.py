"""The waiting line, compiled: the next fitting job in some order, without scanning the line.

Jobs have a place in the order, from 0. Over the places stands a tree of `FAN` children a node; each
node knows the least need of each resource and the shortest planned time of the waiting jobs below.
"""

from typing import Any, NamedTuple

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.replay_kernels import Log, fits

FAN, BITS = 16, 4
NOBODY = 2**31
NONE = 2**62
"""The need of nobody of a resource beside servers."""


class Line(NamedTuple):
    """The jobs that wait.

    ``rank`` is each job's place, ``order`` the job at each place, ``inside`` whether it waits.
    ``needs`` and ``shortest`` are what each node of the tree knows; ``base`` is where each level
    begins in these, the lowest first, and where the last ends. ``more`` is the least need of each
    resource beside servers, of shape (nodes, resources); ``anything`` is empty, a limit to none.
    """

    rank: Any
    order: Any
    inside: Any
    needs: Any
    shortest: Any
    base: Any
    more: Any
    anything: Any


@compiled
def join(job: int, log: Log, line: Line) -> None:
    """Let a job into the line."""
    need, planned = log.need[job], log.planned[job]
    at = line.rank[job]
    line.inside[at] = 1
    node = at
    for level in range(line.base.size - 1):
        node >>= BITS
        i = line.base[level] + node
        known = line.needs[i] <= need and line.shortest[i] <= planned
        for r in range(line.more.shape[1]):
            known = known and line.more[i, r] <= log.more[job, r]
            line.more[i, r] = min(line.more[i, r], log.more[job, r])
        if known:
            return
        line.needs[i] = min(line.needs[i], need)
        line.shortest[i] = min(line.shortest[i], planned)


@compiled
def leave(job: int, log: Log, line: Line) -> None:
    """Take a job out of the line."""
    at = line.rank[job]
    line.inside[at] = 0
    node = at >> BITS
    least, soonest = NOBODY, 1e308
    first, last = node << BITS, min((node + 1) << BITS, line.inside.size)
    for place in range(first, last):
        if line.inside[place]:
            job = line.order[place]
            least, soonest = min(least, log.need[job]), min(soonest, log.planned[job])
    for level in range(line.base.size - 1):
        i = line.base[level] + node
        known = line.needs[i] == least and line.shortest[i] == soonest
        for r in range(line.more.shape[1]):
            fewest = NONE
            for below in range(first, last):
                if level:
                    fewest = min(fewest, line.more[below, r])
                elif line.inside[below]:
                    fewest = min(fewest, log.more[line.order[below], r])
            known = known and line.more[i, r] == fewest
            line.more[i, r] = fewest
        if known:
            return
        line.needs[i], line.shortest[i] = least, soonest
        if level + 2 == line.base.size:
            return
        node >>= BITS
        least, soonest = NOBODY, 1e308
        first = line.base[level] + (node << BITS)
        last = min(first + FAN, line.base[level + 1])
        for child in range(first, last):
            least, soonest = min(least, line.needs[child]), min(soonest, line.shortest[child])


@compiled
def following(
    at: int,
    free: int,
    left: Any,
    spare: int,
    over: Any,
    now: float,
    time: float,
    log: Log,
    line: Line,
) -> Any:
    """Return the first place from ``at`` on whose job may start, or -1.

    It needs at most ``free`` servers and what is ``left`` of other resources, and at most ``spare``
    and what is ``over`` unless it is planned to end by ``time``.
    """
    level, node = 0, at
    top = line.base.size - 1
    while True:
        end = (node | (FAN - 1)) + 1
        if level == 0:
            end = min(end, line.inside.size)
            while node < end:
                if line.inside[node]:
                    job = line.order[node]
                    n = log.need[job]
                    if (
                        n <= free
                        and fits(job, log.more, left)
                        and (
                            now + log.planned[job] <= time
                            or (n <= spare and fits(job, log.more, over))
                        )
                    ):
                        return node
                node += 1
        else:
            first = line.base[level - 1]
            end = min(end, line.base[level] - first)
            found = False
            while node < end:
                n = line.needs[first + node]
                if (
                    n <= free
                    and fits(first + node, line.more, left)
                    and (
                        now + line.shortest[first + node] <= time
                        or (n <= spare and fits(first + node, line.more, over))
                    )
                ):
                    found = True
                    break
                node += 1
            if found:
                level -= 1
                node <<= BITS
                continue
        if level == top:
            return -1
        node = ((node - 1) >> BITS) + 1
        level += 1
        size = line.base[level] - line.base[level - 1]
        while level < top and node < size and node & (FAN - 1) == 0:
            node >>= BITS
            level += 1
            size = line.base[level] - line.base[level - 1]
        if node >= size:
            return -1
