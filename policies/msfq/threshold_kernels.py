"""Switching thresholds by class, compiled: see `class_thresholds` and `admission_kernels`."""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled


@compiled
def class_thresholds(
    memory: Any, numbers: Any, needs: Any, slots: Any, by_need: Any,
    waiting: Any, running: Any, free: int, head: Any,
) -> Any:  # fmt: skip
    """Of ``memory``: draining, least first; by class leave, rest, call, and whether it left."""
    count = needs.size
    rest, call, left = 2 + count, 2 + 2 * count, 2 + 3 * count
    if memory[0]:
        for c in by_need:
            enough = memory[rest + c] + 1 if memory[left + c] else memory[call + c]
            if waiting[c] and waiting[c] >= enough:
                if needs[c] > free:
                    return -1
                memory[0] = 0
                return c
        memory[0] = 0
    best = other = -1
    called = stays = False
    for rank in range(count - 1, -1, -1):
        c = by_need[rank]
        if running[c] and (running[c] > memory[2 + c] or waiting[c] > memory[rest + c]):
            stays = True
        if not waiting[c]:
            continue
        fits = needs[c] <= free
        if running[c] or waiting[c] >= memory[call + c]:
            if fits:
                if best < 0 or not memory[1]:
                    best = c
                stays = stays or not running[c]
            called = called or not running[c]
        elif fits and (other < 0 or not memory[1]):
            other = c
    if called and not stays:
        memory[0] = 1
        for c in range(count):
            memory[left + c] = running[c] > 0
        return -1
    return best if best >= 0 else other
