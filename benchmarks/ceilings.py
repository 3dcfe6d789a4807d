"""What this machine can do at most: memory, random numbers, keys in order; kernels beside it."""

from functools import cache
from heapq import heapify, heapreplace
from typing import Any

import numpy as np

from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import cpu
from schedopt.instances.sorting import steady_order
from schedopt.policies.msfq.random_kernels import exponentials, stream
from schedopt.solvers.compiling import compiled
from schedopt.solvers.dssp.schedule.tournament import NOBODY, begin, replay

SIZE = 1 << 20
LEAVES = 1024


@compiled
def _replays(best: Any, who: Any, steps: Any) -> None:
    """Let the winner come back later, as often as there are steps."""
    for step in steps:
        replay(best, who, who[1], best[1] + step)


@cache
def limits() -> dict[str, float]:
    """Return what can be done a second on one core, in millions (memory in MB)."""
    source, target = np.zeros(8 * SIZE), np.zeros(8 * SIZE)
    numbers, state = np.empty(SIZE), stream(1, 1)
    best, who = np.full(2 * LEAVES, NOBODY), np.zeros(2 * LEAVES, np.int64)
    best[LEAVES:] = np.arange(LEAVES)
    begin(best, who)
    steps = np.random.default_rng(1).integers(1, 10**6, SIZE)
    heap = list(range(LEAVES))
    heapify(heap)
    few = steps[: SIZE // 8].tolist()
    keys = np.random.default_rng(2).random(SIZE)
    copied = 2 * source.nbytes / 1e6
    drawn = len(few) / 1e6
    return {
        "memory copied, MB/s": copied / cpu(lambda: np.copyto(target, source)),
        "exponential numbers": SIZE / 1e6 / cpu(lambda: exponentials(state, numbers)),
        "replays of a tournament of 1,024": SIZE / 1e6 / cpu(lambda: _replays(best, who, steps), 3),
        "replacements in Python's heap of 1,024": drawn
        / cpu(lambda: [heapreplace(heap, heap[0] + s) for s in few], 3),
        "keys put in order": SIZE / 1e6 / cpu(lambda: steady_order(keys), 3),
    }


@measurement
def machine_limits() -> Measured:
    """Print what this machine can do at most, on one core."""
    yield "limits of this machine, on one core, CPU time: millions a second"
    for name, rate in limits().items():
        yield row(name, rate)


def part_of(rate: float, limit: str) -> str:
    """Say which part of a limit a rate is, both a second; the rate in units, not millions."""
    part = rate / 1e6 / limits()[limit]
    return f"{part:.0%}" if part >= 0.02 else f"{part:.1%}"


if __name__ == "__main__":
    run(machine_limits)
