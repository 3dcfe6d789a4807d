"""Orders of jobs: the schedules that they stand for, and annealing, compiled."""

from typing import Any

import numpy as np

from schedopt.solvers.compiling import njit


@njit(cache=True)
def place(
    order: Any, submit: Any, need: Any, run: Any, servers: int, starts: Any, times: Any, free: Any
) -> None:
    """Give each job in turn the earliest start that there is, and put it into `starts`.

    `times` and `free`, shape (2 * jobs + 2,), are work space for the free servers from each time to
    the next.
    """
    size = 1
    times[0], free[0] = 0, servers
    for job in order:
        first = 0
        while first + 1 < size and times[first + 1] <= submit[job]:
            first += 1
        start = submit[job]
        last = first
        while True:
            if free[last] < need[job]:
                last += 1
                start, first = times[last], last
            elif last + 1 >= size or times[last + 1] >= start + run[job]:
                break
            else:
                last += 1
        starts[job] = start
        end = start + run[job]
        if times[first] < start:
            first += 1
            last += 1
            _split(times, free, size, first, start)
            size += 1
        last += 1
        if last >= size or times[last] > end:
            _split(times, free, size, last, end)
            size += 1
        for i in range(first, last):
            free[i] -= need[job]


@njit(cache=True)
def _split(times: Any, free: Any, size: int, at: int, time: int) -> None:
    """Split a piece of time at a time."""
    for i in range(size, at, -1):
        times[i], free[i] = times[i - 1], free[i - 1]
    times[at], free[at] = time, free[at - 1]


@njit(cache=True)
def _moved(order: Any, new: Any) -> None:
    """Copy an order with one job moved, or two exchanged; near places more often than far ones."""
    count = order.size
    new[:] = order
    a = np.random.randint(count)
    b = np.random.randint(count)
    if np.random.random() < 0.5:
        far = np.random.randint(1, max(2, count // 3))
        b = max(0, a - far) if np.random.random() < 0.5 else min(count - 1, a + far)
    job = new[a]
    if np.random.random() < 0.4:
        new[a], new[b] = new[b], job
        return
    step = 1 if a < b else -1
    while a != b:
        new[a] = new[a + step]
        a += step
    new[b] = job


@njit(cache=True)
def anneal(
    order: Any,
    submit: Any,
    need: Any,
    run: Any,
    weight: Any,
    servers: int,
    rounds: int,
    warm: float,
    cold: float,
    seed: int,
    best: Any,
    best_starts: Any,
) -> int:
    """Improve an order; fill in `best` and its starts, and return their weighted sum."""
    np.random.seed(seed)
    count = order.size
    times, free = np.zeros(2 * count + 2, np.int64), np.zeros(2 * count + 2, np.int64)
    starts = np.zeros(count, np.int64)
    now, new = order.copy(), order.copy()
    place(now, submit, need, run, servers, starts, times, free)
    value = (weight * starts).sum()
    least = value
    best[:], best_starts[:] = now, starts
    for i in range(rounds):
        _moved(now, new)
        place(new, submit, need, run, servers, starts, times, free)
        total = (weight * starts).sum()
        heat = warm * (cold / warm) ** (i / rounds)
        if total <= value or np.random.random() < np.exp((value - total) / heat):
            value = total
            now[:] = new
            if total < least:
                least = total
                best[:], best_starts[:] = new, starts
    return int(least)
