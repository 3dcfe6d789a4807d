"""Running jobs by planned end, compiled: a sorted list in blocks.

A block holds up to `ROOM` jobs in order.
"""

from typing import Any, NamedTuple

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.replay_kernels import fits, held

ROOM = 256
HALF = ROOM // 2


class Plan(NamedTuple):
    """Running jobs by their planned end.

    ``blocks`` lists the blocks in order, then the empty ones. Block by block, ``ends``, ``jobs``
    and ``held`` are when each job is to end, which it is, and its servers; ``count`` and ``total``
    are the jobs of each block and their servers; ``more`` and ``sums`` the same as ``held`` and
    ``total`` of each other resource, of shapes (places, resources) and (blocks, resources).
    """

    blocks: Any
    ends: Any
    jobs: Any
    held: Any
    count: Any
    total: Any
    more: Any
    sums: Any


@compiled
def _copy(target: int, source: int, plan: Plan) -> None:
    plan.ends[target], plan.jobs[target] = plan.ends[source], plan.jobs[source]
    plan.held[target] = plan.held[source]
    for r in range(plan.more.shape[1]):
        plan.more[target, r] = plan.more[source, r]


@compiled
def _block(end: float, job: int, used: int, plan: Plan) -> Any:
    """Return the last block whose first job is not after this one; at least 0."""
    low, high = 0, used
    while high - low > 1:
        middle = (low + high) >> 1
        first = plan.blocks[middle] * ROOM
        if plan.ends[first] < end or (plan.ends[first] == end and plan.jobs[first] <= job):
            low = middle
        else:
            high = middle
    return low


@compiled
def _place(end: float, job: int, b: int, plan: Plan) -> Any:
    """Return where in a block the first job is that is not before this one."""
    low, high = b * ROOM, b * ROOM + plan.count[b]
    while low < high:
        middle = (low + high) >> 1
        if plan.ends[middle] < end or (plan.ends[middle] == end and plan.jobs[middle] < job):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def insert(end: float, job: int, need: int, more: Any, used: int, plan: Plan) -> Any:
    """Add a job, and return how many blocks there are now; ``more`` is as in `Log`."""
    resources = plan.sums.shape[1]
    if not used:
        plan.count[plan.blocks[0]] = plan.total[plan.blocks[0]] = 0
        for r in range(resources):
            plan.sums[plan.blocks[0], r] = 0
        used = 1
    position = _block(end, job, used, plan)
    b = plan.blocks[position]
    if plan.count[b] == ROOM:
        fresh = plan.blocks[used]
        for i in range(used, position + 1, -1):
            plan.blocks[i] = plan.blocks[i - 1]
        plan.blocks[position + 1] = fresh
        used += 1
        moved = 0
        for i in range(HALF):
            source, target = b * ROOM + HALF + i, fresh * ROOM + i
            _copy(target, source, plan)
            moved += plan.held[source]
        plan.count[b], plan.count[fresh] = HALF, HALF
        plan.total[b], plan.total[fresh] = plan.total[b] - moved, moved
        for r in range(resources):
            moved = 0
            for i in range(HALF):
                moved += plan.more[fresh * ROOM + i, r]
            plan.sums[b, r], plan.sums[fresh, r] = plan.sums[b, r] - moved, moved
        first = fresh * ROOM
        if plan.ends[first] < end or (plan.ends[first] == end and plan.jobs[first] <= job):
            b = fresh
    place = _place(end, job, b, plan)
    for i in range(b * ROOM + plan.count[b], place, -1):
        _copy(i, i - 1, plan)
    plan.ends[place], plan.jobs[place], plan.held[place] = end, job, need
    plan.count[b] += 1
    plan.total[b] += need
    for r in range(resources):
        plan.more[place, r] = more[job, r]
        plan.sums[b, r] += more[job, r]
    return used


@compiled
def remove(end: float, job: int, used: int, plan: Plan) -> Any:
    """Take a job away, and return how many blocks there are now."""
    position = _block(end, job, used, plan)
    b = plan.blocks[position]
    place = _place(end, job, b, plan)
    plan.total[b] -= plan.held[place]
    for r in range(plan.sums.shape[1]):
        plan.sums[b, r] -= plan.more[place, r]
    plan.count[b] -= 1
    for i in range(place, b * ROOM + plan.count[b]):
        _copy(i, i + 1, plan)
    if used == 1:
        return 1 if plan.count[b] else 0
    few = HALF if plan.count[b] else ROOM  # an empty block is joined to whichever
    if position + 1 < used and plan.count[b] + plan.count[plan.blocks[position + 1]] <= few:
        return _joined(position, used, plan)
    if position and plan.count[b] + plan.count[plan.blocks[position - 1]] <= few:
        return _joined(position - 1, used, plan)
    return used


@compiled
def _joined(position: int, used: int, plan: Plan) -> Any:
    """Merge a block into the one before, and free it."""
    b, other = plan.blocks[position], plan.blocks[position + 1]
    for i in range(plan.count[other]):
        source, target = other * ROOM + i, b * ROOM + plan.count[b] + i
        _copy(target, source, plan)
    plan.count[b] += plan.count[other]
    plan.total[b] += plan.total[other]
    for r in range(plan.sums.shape[1]):
        plan.sums[b, r] += plan.sums[other, r]
    for i in range(position + 1, used - 1):
        plan.blocks[i] = plan.blocks[i + 1]
    plan.blocks[used - 1] = other
    return used - 1


@compiled
def reserve(job: int, need: int, free: int, more: Any, over: Any, used: int, plan: Plan) -> Any:
    """Return when a job can start by plan, and how many servers are then spare.

    All that is planned to end at that instant counts. ``over``, which holds what is left of other
    resources now, takes what is over then; ``more`` is as in `Log`.
    """
    position = 0
    while position < used - 1:
        b = plan.blocks[position]
        held(b, plan.sums, over, 1)
        if free + plan.total[b] >= need and fits(job, more, over):
            held(b, plan.sums, over, -1)
            break
        free += plan.total[b]
        position += 1
    b = plan.blocks[position]
    i = b * ROOM
    while free < need or not fits(job, more, over):
        free += plan.held[i]
        held(i, plan.more, over, 1)
        i += 1
    time = plan.ends[i - 1]
    while True:
        stop = b * ROOM + plan.count[b]
        while i < stop and plan.ends[i] == time:
            free += plan.held[i]
            held(i, plan.more, over, 1)
            i += 1
        if i < stop or position + 1 == used:
            held(job, more, over, -1)
            return time, free - need
        position += 1
        b = plan.blocks[position]
        i = b * ROOM
