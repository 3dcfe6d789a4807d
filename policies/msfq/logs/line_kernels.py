"""The waiting line, compiled: the next job in some order that fits, without a walk along the line.

Jobs have a place in the order, from 0. Over the places stands a tree of `FAN` children a node; each
node knows the least need and the shortest planned time of the waiting jobs below it.
"""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled

FAN, BITS = 16, 4
NOBODY = 2**31


@compiled
def join(at: int, need: int, planned: float, inside: Any, needs: Any, shortest: Any,
         base: Any) -> None:  # fmt: skip
    """Put a job of that need and planned time at its place in the line.

    ``base`` holds where each level begins in ``needs`` and ``shortest``, and where the last ends;
    level 0 is the places themselves, of which only ``inside`` says who waits.
    """
    inside[at] = 1
    node = at
    for level in range(base.size - 1):
        node >>= BITS
        i = base[level] + node
        if needs[i] <= need and shortest[i] <= planned:
            return
        needs[i] = min(needs[i], need)
        shortest[i] = min(shortest[i], planned)


@compiled
def leave(at: int, inside: Any, order: Any, need: Any, planned: Any, needs: Any, shortest: Any,
          base: Any) -> None:  # fmt: skip
    """Take the job at a place out of the line."""
    inside[at] = 0
    node = at >> BITS
    least, soonest = NOBODY, 1e308
    for place in range(node << BITS, min((node + 1) << BITS, inside.size)):
        if inside[place]:
            job = order[place]
            least, soonest = min(least, need[job]), min(soonest, planned[job])
    for level in range(base.size - 1):
        i = base[level] + node
        if needs[i] == least and shortest[i] == soonest:
            return
        needs[i], shortest[i] = least, soonest
        if level + 2 == base.size:
            return
        node >>= BITS
        least, soonest = NOBODY, 1e308
        first = base[level] + (node << BITS)
        for child in range(first, min(first + FAN, base[level + 1])):
            least, soonest = min(least, needs[child]), min(soonest, shortest[child])


@compiled
def following(at: int, free: int, spare: int, now: float, time: float, inside: Any, order: Any,
              need: Any, planned: Any, needs: Any, shortest: Any, base: Any) -> Any:  # fmt: skip
    """Return the first place from ``at`` on whose job may start, or -1.

    It needs at most ``free`` servers, and at most ``spare`` unless it is planned to end by
    ``time``.
    """
    level, node = 0, at
    top = base.size - 1
    while True:
        end = (node | (FAN - 1)) + 1
        if level == 0:
            end = min(end, inside.size)
            while node < end:
                if inside[node]:
                    job = order[node]
                    n = need[job]
                    if n <= free and (n <= spare or now + planned[job] <= time):
                        return node
                node += 1
        else:
            first = base[level - 1]
            end = min(end, base[level] - first)
            found = False
            while node < end:
                n = needs[first + node]
                if n <= free and (n <= spare or now + shortest[first + node] <= time):
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
        size = base[level] - base[level - 1]
        while level < top and node < size and node & (FAN - 1) == 0:
            node >>= BITS
            level += 1
            size = base[level] - base[level - 1]
        if node >= size:
            return -1
