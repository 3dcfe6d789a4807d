"""The simulator: arrivals and completions, one after the other, and a response time for each job.

With exponential sizes nothing need be remembered of a job but when it came: which one of a class
completes next is drawn. Otherwise sizes come with the jobs, and a heap holds when they end; then
jobs are the same for every policy under one seed (common random numbers).

Memory grows with the queue, not with the number of arrivals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from policies.msfq.admission_kernels import MSFQ, NMSR, next_start
from policies.msfq.random_kernels import exponential, size, stream, uniform

BUCKETS = 96 * 128
"""Of the histogram: 128 to each power of two, from 2^-40 to 2^56."""
LOWEST = (1023 - 40) * 128


@njit(cache=True)  # type: ignore[untyped-decorator]
def simulate(
    k: int, needs: Any, rates: Any, services: Any, shapes: Any, values: Any, starts: Any,
    policy: int, memory: Any, numbers: Any, slots: Any, limits: Any, by_need: Any, order: Any,
    holding: Any, arrivals: int, warm: int, seed: int, sized: bool,
    trace_times: Any, trace_classes: Any, trace_sizes: Any,
    sums: Any, counts: Any, areas: Any, came: Any, histogram: Any, phases: Any, clock: Any,
    responses: Any, grid: Any, samples: Any,
) -> int:  # fmt: skip
    """Play a policy; return the largest number of jobs that was ever in the system.

    Parameters
    ----------
    shapes, values, starts : ndarray
        Size distributions: code and numbers by class, shape (C, 4); empirical values laid end to
        end, and where each class's begin.
    memory, numbers, slots, limits, by_need, order : ndarray
        What the admission rule knows: see `admission_kernels`.
    holding : ndarray, shape (C,)
        How long nMSR holds each class's schedule; empty for other policies.
    arrivals, warm : int
        Jobs in all, and those before anything is counted.
    trace_times, trace_classes, trace_sizes : ndarray
        A trace to play in place of random jobs; empty for none. A NaN size is drawn.
    sums, counts : ndarray, shape (B, C)
        Filled in: response times by batch and class.
    areas, came : ndarray, shape (C,)
        Filled in: jobs in the system integrated over time, and arrivals.
    histogram : ndarray, shape (C, BUCKETS)
        Filled in: response times.
    phases : ndarray, shape (2, 5)
        Filled in for MSFQ: time in each phase, and how often it was entered.
    clock : ndarray, shape (3,)
        Filled in: time counted, busy servers integrated over it, and the end.
    responses : ndarray
        Filled in with each job's response time, if it has room for all; else empty.
    grid, samples : ndarray, shape (G,) and (G, C)
        Times, and the numbers in the system at them.
    """
    count = needs.size
    draw, when, turn = stream(seed, 1), stream(seed, 2), stream(seed, 3)
    total_rate = rates.sum()
    batches = sums.shape[0]
    waiting, running = np.zeros(count, np.int64), np.zeros(count, np.int64)
    first, last = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    head, since = np.zeros(count), np.zeros(count)
    # Jobs: when they came, how long they take, which they are, who is next in line; then who runs.
    pool = 1024
    came_at, takes, which = np.empty(pool), np.empty(pool), np.empty(pool, np.int64)
    after = np.arange(1, pool + 1)
    after[pool - 1] = -1
    spare = 0
    base = np.zeros(count + 1, np.int64)
    for c in range(count):
        base[c + 1] = base[c] + k // needs[c]
    served = np.empty(base[count], np.int64)
    ends, ended = np.empty(k + 1), np.empty(k + 1, np.int64)
    heap = 0
    of_class = np.empty(pool, np.int64)
    traced = trace_times.size > 0
    now, free, busy = 0.0, k, 0
    service_rate = 0.0
    next_arrival = trace_times[0] if traced else exponential(when) / total_rate
    next_turn = np.inf
    if policy == NMSR:
        next_turn = exponential(turn) * holding[memory[0]]
    number = in_system = most = batch = 0
    counting, began, busy_since, tick, phase = False, 0.0, 0.0, 0, 0
    step = max(1, (arrivals - warm) // batches)
    bits_of = np.empty(1)
    bits = bits_of.view(np.int64)
    while True:
        # What happens next: an arrival, a completion, or nMSR's clock.
        kind, c = 0, 0
        pick = 0.0
        if sized:
            end = ends[1] if heap else np.inf
            if number < arrivals and next_arrival < end:
                at = next_arrival
            else:
                at, kind = end, 1
                if heap == 0 and (policy != NMSR or in_system == 0):
                    break
        else:
            rate = service_rate + (total_rate if number < arrivals else 0.0)
            if rate <= 0.0 or (number >= arrivals and in_system == 0):
                break
            at = now + exponential(when) / rate
            pick = uniform(draw) * rate
            if pick < service_rate:
                kind = 1
            else:
                pick -= service_rate
        if next_turn < at:
            at, kind = next_turn, 2
        while tick < grid.size and grid[tick] < at:
            for i in range(count):
                samples[tick, i] = waiting[i] + running[i]
            tick += 1
        now = at
        if kind == 0:
            if traced:
                c = trace_classes[number]
            else:
                if sized:
                    pick = uniform(draw) * total_rate
                while c < count - 1 and pick >= rates[c]:
                    pick -= rates[c]
                    c += 1
            if number == warm:
                counting, began, busy_since = True, now, now
                clock[1] = 0.0
                for i in range(count):
                    since[i] = now
                    areas[i] = 0.0
                phases[:] = 0.0
                phases[0, phase] = -now
            if spare < 0:
                came_at, takes, which, after, of_class = _grown(
                    came_at, takes, which, after, of_class
                )
                spare = pool
                pool = after.size
            job = spare
            spare = after[job]
            came_at[job], which[job], of_class[job] = now, number, c
            if sized:
                known = trace_sizes[number] if traced else np.nan
                if known == known:
                    takes[job] = known
                else:
                    takes[job] = size(
                        draw, int(shapes[c, 0]), shapes[c, 1], shapes[c, 2], shapes[c, 3],
                        values[starts[c] : starts[c + 1]],
                    ) / services[c]  # fmt: skip
            areas[c] += (waiting[c] + running[c]) * (now - since[c])
            since[c] = now
            after[job] = -1
            if waiting[c]:
                after[last[c]] = job
            else:
                first[c], head[c] = job, number
            last[c] = job
            waiting[c] += 1
            in_system += 1
            most = max(most, in_system)
            number += 1
            came[c] += counting
            if counting:
                batch = min((number - warm) // step, batches - 1)
            if sized and number < arrivals:
                if traced:
                    next_arrival = trace_times[number]
                else:
                    next_arrival = now + exponential(when) / total_rate
        elif kind == 1:
            if sized:
                job = ended[1]
                heap = _pop(ends, ended, heap)
                c = of_class[job]
            else:
                while c < count - 1 and pick >= running[c] * services[c]:
                    pick -= running[c] * services[c]
                    c += 1
                while running[c] == 0:  # rounding at the very end of the range
                    c -= 1
                place = base[c] + min(int(pick / services[c]), running[c] - 1)
                job = served[place]
                served[place] = served[base[c] + running[c] - 1]
            areas[c] += (waiting[c] + running[c]) * (now - since[c])
            since[c] = now
            clock[1] += busy * (now - busy_since)
            busy_since = now
            running[c] -= 1
            free += needs[c]
            busy -= needs[c]
            service_rate = service_rate - services[c] if busy else 0.0
            in_system -= 1
            response = now - came_at[job]
            if counting and which[job] >= warm:
                sums[batch, c] += response
                counts[batch, c] += 1
                bits_of[0] = response
                bucket = min(max((bits[0] >> 45) - LOWEST, 0), BUCKETS - 1)
                histogram[c, bucket] += 1
            if responses.size:
                responses[which[job]] = response
            after[job] = spare
            spare = job
        else:
            memory[0] = (memory[0] + 1) % count
            next_turn = now + exponential(turn) * holding[memory[0]]
        while True:
            c = next_start(
                policy, memory, numbers, needs, slots, limits, by_need, order,
                waiting, running, free, head,
            )  # fmt: skip
            if c < 0:
                break
            job = first[c]
            first[c] = after[job]
            waiting[c] -= 1
            if waiting[c]:
                head[c] = which[first[c]]
            clock[1] += busy * (now - busy_since)
            busy_since = now
            free -= needs[c]
            busy += needs[c]
            if sized:
                heap = _push(ends, ended, heap, now + takes[job], job)
            else:
                served[base[c] + running[c]] = job
                service_rate += services[c]
            running[c] += 1
        if policy == MSFQ:
            phase = _note_phase(memory, waiting, running, k, phase, now, phases)
        if number >= arrivals and kind == 0:
            clock[2] = now
        if number >= arrivals and in_system == 0:
            break
        if number >= arrivals and not responses.size:
            break
    for c in range(count):
        areas[c] += (waiting[c] + running[c]) * (now - since[c])
    clock[1] += busy * (now - busy_since)
    clock[0] = now - began
    phases[0, phase] += now
    return most


@njit(cache=True)  # type: ignore[untyped-decorator]
def _note_phase(
    memory: Any, waiting: Any, running: Any, k: int, phase: int, now: float, phases: Any
) -> int:
    """Note the time in each of section 4.2's phases; 0 is an empty system."""
    small, large = memory[0], memory[1]
    if running[large]:
        new = 1
    elif not running[small]:
        new = 0
    elif memory[2]:
        new = 4
    else:
        new = 2 if phase in (0, 1, 4) and waiting[small] + running[small] >= k else 3
        if phase == 2 and waiting[small] + running[small] >= k:
            new = 2
    if new != phase:
        phases[0, phase] += now
        phases[0, new] -= now
        phases[1, new] += 1
    return new


@njit(cache=True)  # type: ignore[untyped-decorator]
def _grown(came_at: Any, takes: Any, which: Any, after: Any, of_class: Any) -> Any:
    """Return room for twice as many jobs; the new places are linked to one another."""
    old = after.size
    linked = np.empty(2 * old, np.int64)
    linked[:old] = after
    for i in range(old, 2 * old):
        linked[i] = i + 1
    linked[2 * old - 1] = -1
    double, double_takes = np.empty(2 * old), np.empty(2 * old)
    double[:old], double_takes[:old] = came_at, takes
    double_which, double_class = np.empty(2 * old, np.int64), np.empty(2 * old, np.int64)
    double_which[:old], double_class[:old] = which, of_class
    return double, double_takes, double_which, linked, double_class


@njit(cache=True)  # type: ignore[untyped-decorator]
def _push(ends: Any, ended: Any, heap: int, at: float, job: int) -> int:
    """Add a completion to the heap, whose root is place 1."""
    heap += 1
    i = heap
    while i > 1 and ends[i >> 1] > at:
        ends[i], ended[i] = ends[i >> 1], ended[i >> 1]
        i >>= 1
    ends[i], ended[i] = at, job
    return heap


@njit(cache=True)  # type: ignore[untyped-decorator]
def _pop(ends: Any, ended: Any, heap: int) -> int:
    """Remove the root of the heap."""
    at, job = ends[heap], ended[heap]
    heap -= 1
    i = 1
    while 2 * i <= heap:
        child = 2 * i
        if child < heap and ends[child + 1] < ends[child]:
            child += 1
        if ends[child] >= at:
            break
        ends[i], ended[i] = ends[child], ended[child]
        i = child
    ends[i], ended[i] = at, job
    return heap
