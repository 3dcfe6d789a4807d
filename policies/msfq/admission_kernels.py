"""The admission rules of `rules`, compiled: which class starts next, or -1.

``memory`` and ``numbers`` hold what a rule remembers and its parameters; ``head`` is when each
class's longest waiting job arrived.
"""

from __future__ import annotations

from typing import Any

from policies.msfq.compiling import compiled

FCFS, FIRST_FIT, MSF, MSFQ, TWO_THRESHOLD, STATIC, ADAPTIVE, NMSR = range(8)
ANY, NONE = -2, -1


@compiled
def after_arrival(
    policy: int, memory: Any, needs: Any, waiting: Any, running: Any, free: int, c: int
) -> Any:
    """Return which class alone may start after an arrival of c, `NONE`, or `ANY` to be asked.

    Rules that start whatever fits have left nothing that fits: so a job that comes now starts, or
    nothing does. Under Adaptive Quickswap it cannot bring on a drain either, unless its class is
    not in service.
    """
    if policy in (MSF, FIRST_FIT):
        return c if needs[c] <= free else NONE
    if policy == ADAPTIVE and not memory[0]:
        if needs[c] <= free:
            return c
        if running[c]:
            return NONE
    if policy == ADAPTIVE and memory[0] and waiting[c] > 1:
        return NONE  # a drain waits for the class of the largest need, and that is the same
    return ANY


@compiled
def next_start(  # noqa: PLR0911 - one for each rule
    policy: int, memory: Any, numbers: Any, needs: Any, slots: Any, limits: Any,
    by_need: Any, order: Any, waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """Return the class that starts next, or -1."""
    if policy == MSFQ:
        return _msfq(memory, numbers, waiting, running, free)
    if policy == TWO_THRESHOLD:
        return _two_threshold(memory, numbers, waiting, running, free)
    if policy == MSF:
        return _largest_fitting(needs, by_need, waiting, free)
    if policy == ADAPTIVE:
        return _adaptive(memory, needs, by_need, waiting, running, free)
    if policy == FCFS:
        return _oldest(needs, waiting, free, head, False)
    if policy == FIRST_FIT:
        return _oldest(needs, waiting, free, head, True)
    if policy == STATIC:
        return _static(memory, needs, slots, limits, order, waiting, running, free)
    c = memory[0]
    if waiting[c] and running[c] < slots[c] and needs[c] <= free:
        return c
    return -1


@compiled
def _oldest(needs: Any, waiting: Any, free: int, head: Any, fitting: bool) -> Any:
    best = -1
    for c in range(needs.size):
        if waiting[c] and (not fitting or needs[c] <= free) and (best < 0 or head[c] < head[best]):
            best = c
    return best if best >= 0 and needs[best] <= free else -1


@compiled
def _largest_fitting(needs: Any, by_need: Any, waiting: Any, free: int) -> Any:
    """Look from the least need up: in a busy system few servers are free, and few classes fit."""
    best = -1
    for rank in range(by_need.size - 1, -1, -1):
        c = by_need[rank]
        if needs[c] > free:
            break
        if waiting[c]:
            best = c
    return best


@compiled
def _msfq(memory: Any, numbers: Any, waiting: Any, running: Any, free: int) -> Any:
    """Of ``memory``: small, large, draining, batch, l, lazy."""
    small, large = memory[0], memory[1]
    if running[large]:
        return -1
    if not running[small] and not memory[3]:
        if waiting[large]:
            return large
        memory[2] = not memory[5] and waiting[small] <= memory[4]
        memory[3] = waiting[small] if memory[2] else 0
    if not memory[2] and waiting[small] + running[small] <= memory[4]:
        memory[2] = waiting[large] > 0 or not memory[5]
    if memory[2]:
        if memory[3]:
            memory[3] -= 1
            return small
        return -1
    return small if waiting[small] and free else -1


@compiled
def _two_threshold(memory: Any, numbers: Any, waiting: Any, running: Any, free: int) -> Any:
    """Of ``memory``: small, large, l; of ``numbers``: b0, b1, b2."""
    small, large = memory[0], memory[1]
    if running[large]:
        return -1
    few, many, c = waiting[small], waiting[large], running[small]
    if not c and many and (not few or few < numbers[0] + numbers[1] * many):
        return large
    stop = c and many and c <= memory[2] and few < numbers[2]
    return small if few and free and not stop else -1


@compiled
def _static(
    memory: Any, needs: Any, slots: Any, limits: Any, order: Any,
    waiting: Any, running: Any, free: int,
) -> Any:  # fmt: skip
    """Of ``memory``: turn, draining, overlap."""
    count = order.size
    while True:
        c = order[memory[0]]
        if not memory[1]:
            if waiting[c] and running[c] < slots[c]:
                return c if needs[c] <= free else -1
            if waiting[c] or running[c] > limits[c]:
                return -1
            memory[1] = 1
        if running[c] and not memory[2]:
            return -1
        following = -1
        for i in range(count):
            turn = (memory[0] + 1 + i) % count
            if waiting[order[turn]]:
                following = turn
                break
        if following < 0:
            return -1
        memory[0], memory[1] = following, 0


@compiled
def _adaptive(memory: Any, needs: Any, by_need: Any, waiting: Any, running: Any, free: int) -> Any:
    """Of ``memory``: draining."""
    if memory[0]:
        for c in by_need:
            if waiting[c]:
                if needs[c] > free:
                    return -1
                memory[0] = 0
                return c
        memory[0] = 0
    best = _largest_fitting(needs, by_need, waiting, free)
    if best >= 0:
        return best
    left_out = False
    for rank in range(by_need.size - 1, -1, -1):
        c = by_need[rank]
        if waiting[c]:
            if running[c]:
                return -1
            left_out = True
    memory[0] = left_out
    return -1
