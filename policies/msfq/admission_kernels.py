"""The admission rules compiled: which class starts next, or a number below 0.

All have the same arguments. ``memory`` and ``numbers`` hold what a rule remembers and its
parameters; ``slots`` is how many jobs of each class fit together; ``by_need`` are the classes, the
largest need first; ``head`` is the number of each class's longest waiting job.
"""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled

ANY, NONE = -2, -1
DRAIN, AUTHORS = 0, 2
"""Numbers of handovers of Static Quickswap, see `static_quickswap.HANDOVERS`."""


@compiled
def ask_the_rule(memory: Any, needs: Any, waiting: Any, running: Any, free: int, kind: int) -> Any:
    """Return which class alone may start after an arrival, `NONE`, or `ANY`: ask the rule."""
    return ANY


@compiled
def starts_where_it_fits(
    memory: Any, needs: Any, waiting: Any, running: Any, free: int, kind: int
) -> Any:
    """Start the job that came, or nothing: what fits was started before."""
    return kind if needs[kind] <= free else NONE


@compiled
def adaptive_after_arrival(
    memory: Any, needs: Any, waiting: Any, running: Any, free: int, kind: int
) -> Any:
    """Tell what an arrival may start: it brings on no drain while its class is in service."""
    if not memory[0]:
        if needs[kind] <= free:
            return kind
        return NONE if running[kind] else ANY
    if waiting[kind] > 1:
        return NONE  # a drain waits for the class of the largest need, and that is the same
    return ANY


@compiled
def fcfs(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """First come, first served."""
    return _oldest(needs, waiting, free, head, False)


@compiled
def first_fit(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """Of those that fit, who came first."""
    return _oldest(needs, waiting, free, head, True)


@compiled
def most_servers_first(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """Of those that fit, who needs most."""
    return _largest_fitting(needs, by_need, waiting, free)


@compiled
def by_the_clock(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """Of ``memory``: the turn, which the simulator moves on."""
    kind = memory[0]
    if waiting[kind] and running[kind] < slots[kind] and needs[kind] <= free:
        return kind
    return NONE


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
def msfq(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
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
def two_threshold(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
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
def static_quickswap(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """Of ``memory``: turn, draining, handover; limits, cycle, who waited after the last event."""
    count = needs.size
    if memory[2] >= AUTHORS:
        return _static_by_turns(memory, needs, waiting, running, free)
    while True:
        c = memory[3 + count + memory[0]]
        if not memory[1]:
            if waiting[c] and running[c] < slots[c]:
                return c if needs[c] <= free else -1
            if waiting[c] or running[c] > memory[3 + c]:
                return -1
            memory[1] = 1
        if running[c] and memory[2] == DRAIN:
            return -1
        if not _turn_goes_on(memory, waiting):
            return -1
        memory[1] = 0


@compiled
def _static_by_turns(memory: Any, needs: Any, waiting: Any, running: Any, free: int) -> Any:
    """Start what the turn allows; ``memory[1]`` tells whether this event has been seen to."""
    count = needs.size
    left = 3 + 2 * count
    if not memory[1]:
        memory[1] = 1
        anyone = another = False
        for c in range(count):
            if waiting[c] > memory[left + c]:
                anyone = True
                another = another or c != memory[3 + count + memory[0]]
        if another and _turn_may_go_on(memory, running):
            _turn_goes_on(memory, waiting)
        if anyone and not waiting[memory[3 + count + memory[0]]]:
            _turn_goes_on(memory, waiting)
    while True:
        c = memory[3 + count + memory[0]]
        if waiting[c] and needs[c] <= free:
            return c
        moved = _turn_may_go_on(memory, running) and _turn_goes_on(memory, waiting)
        if not moved or memory[2] == AUTHORS:
            memory[1] = 0
            for i in range(count):
                memory[left + i] = waiting[i]
            return -1


@compiled
def _turn_may_go_on(memory: Any, running: Any) -> bool:
    """Tell whether no other class runs, and at most its limit of the class whose turn it is."""
    turn = memory[3 + running.size + memory[0]]
    for c in range(running.size):
        if c != turn and running[c]:
            return False
    return bool(running[turn] <= memory[3 + turn])


@compiled
def _turn_goes_on(memory: Any, waiting: Any) -> bool:
    """Give the turn to the next class that waits, and tell whether there is one."""
    count = waiting.size
    for step in range(1, count + 1):
        turn = (memory[0] + step) % count
        if waiting[memory[3 + count + turn]]:
            memory[0] = turn
            return True
    return False


@compiled
def adaptive_quickswap(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
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
