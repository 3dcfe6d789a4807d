"""Running jobs by their planned end, compiled: a sorted list in blocks, which scales with both.

A block holds up to `ROOM` jobs in order; ``count`` and ``total`` (servers) are by block, and
``blocks`` holds the blocks in order, then those that are empty.
"""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled

ROOM = 256
HALF = ROOM // 2


@compiled
def _block(end: float, job: int, used: int, blocks: Any, ends: Any, jobs: Any) -> Any:
    """Return the position of the last block whose first job is not after this one; 0 at least."""
    low, high = 0, used
    while high - low > 1:
        middle = (low + high) >> 1
        first = blocks[middle] * ROOM
        if ends[first] < end or (ends[first] == end and jobs[first] <= job):
            low = middle
        else:
            high = middle
    return low


@compiled
def _place(end: float, job: int, b: int, count: int, ends: Any, jobs: Any) -> Any:
    """Return where in a block the first job is that is not before this one."""
    low, high = b * ROOM, b * ROOM + count
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] < end or (ends[middle] == end and jobs[middle] < job):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def insert(end: float, job: int, need: int, used: int, blocks: Any, ends: Any, jobs: Any,
           held: Any, count: Any, total: Any) -> Any:  # fmt: skip
    """Add a job, and return how many blocks there are now."""
    if not used:
        count[blocks[0]] = total[blocks[0]] = 0
        used = 1
    position = _block(end, job, used, blocks, ends, jobs)
    b = blocks[position]
    if count[b] == ROOM:
        fresh = blocks[used]
        for i in range(used, position + 1, -1):
            blocks[i] = blocks[i - 1]
        blocks[position + 1] = fresh
        used += 1
        moved = 0
        for i in range(HALF):
            source, target = b * ROOM + HALF + i, fresh * ROOM + i
            ends[target], jobs[target], held[target] = ends[source], jobs[source], held[source]
            moved += held[source]
        count[b], count[fresh] = HALF, HALF
        total[b], total[fresh] = total[b] - moved, moved
        first = fresh * ROOM
        if ends[first] < end or (ends[first] == end and jobs[first] <= job):
            b = fresh
    place = _place(end, job, b, count[b], ends, jobs)
    for i in range(b * ROOM + count[b], place, -1):
        ends[i], jobs[i], held[i] = ends[i - 1], jobs[i - 1], held[i - 1]
    ends[place], jobs[place], held[place] = end, job, need
    count[b] += 1
    total[b] += need
    return used


@compiled
def remove(end: float, job: int, used: int, blocks: Any, ends: Any, jobs: Any, held: Any,
           count: Any, total: Any) -> Any:  # fmt: skip
    """Take a job away, and return how many blocks there are now."""
    position = _block(end, job, used, blocks, ends, jobs)
    b = blocks[position]
    place = _place(end, job, b, count[b], ends, jobs)
    total[b] -= held[place]
    count[b] -= 1
    for i in range(place, b * ROOM + count[b]):
        ends[i], jobs[i], held[i] = ends[i + 1], jobs[i + 1], held[i + 1]
    if used == 1:
        return 1 if count[b] else 0
    few = HALF if count[b] else ROOM  # an empty block is joined to whichever
    if position + 1 < used and count[b] + count[blocks[position + 1]] <= few:
        return _joined(position, used, blocks, ends, jobs, held, count, total)
    if position and count[b] + count[blocks[position - 1]] <= few:
        return _joined(position - 1, used, blocks, ends, jobs, held, count, total)
    return used


@compiled
def _joined(position: int, used: int, blocks: Any, ends: Any, jobs: Any, held: Any, count: Any,
            total: Any) -> Any:  # fmt: skip
    """Put what is in the block after a position into that before, and the block to the empty."""
    b, other = blocks[position], blocks[position + 1]
    for i in range(count[other]):
        source, target = other * ROOM + i, b * ROOM + count[b] + i
        ends[target], jobs[target], held[target] = ends[source], jobs[source], held[source]
    count[b] += count[other]
    total[b] += total[other]
    for i in range(position + 1, used - 1):
        blocks[i] = blocks[i + 1]
    blocks[used - 1] = other
    return used - 1


@compiled
def reserve(need: int, free: int, used: int, blocks: Any, ends: Any, held: Any, count: Any,
            total: Any) -> Any:  # fmt: skip
    """Return when so many servers are free by plan, and how many are over then.

    All that is planned to end at that instant counts.
    """
    position = 0
    while position < used - 1 and free + total[blocks[position]] < need:
        free += total[blocks[position]]
        position += 1
    b = blocks[position]
    i = b * ROOM
    while free < need:
        free += held[i]
        i += 1
    time = ends[i - 1]
    while True:
        stop = b * ROOM + count[b]
        while i < stop and ends[i] == time:
            free += held[i]
            i += 1
        if i < stop or position + 1 == used:
            return time, free - need
        position += 1
        b = blocks[position]
        i = b * ROOM
