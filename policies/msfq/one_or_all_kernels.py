"""MSFQ on a one-or-all system with exponential sizes: a simulator for it alone, twice as fast.

It draws what `kernels.advance` draws, and adds in the same order: what it finds is the same to the
bit. What makes it faster is that either small jobs run or one large job does: numbers in the system
stand in registers, and jobs of a class, which come and start in turn, in a ring.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.kernels import BUCKETS, DRAWN_AHEAD, LOWEST
from schedopt.policies.msfq.random_kernels import exponentials, uniforms

NUMBER, MOST, BATCH, PHASE, SMALL, LARGE, RUNNING, BUSY, DRAINING, PAUSE, FULL = range(11)
"""Places in ``whole``: jobs so far, the most in the system ever, ..., small and large jobs in the
system, small ones that run, whether a large one does; after which job to pause."""
NOW, SERVICE, BEGAN, BUSY_SINCE, BUSY_AREA, RUNS_SINCE, SMALL_SINCE, LARGE_SINCE = range(8)
"""Places in ``real``: when the large job that runs came, and when the numbers changed last."""
TINY = 5e-324


@partial(compiled, nogil=True)  # for replications side by side
def advance(  # noqa: PLR0915 - in pieces it is slower
    k: int, threshold: int, lazy: bool, small: int, rates: Any, services: Any,
    arrivals: int, warm: int, whole: Any, real: Any, draw: Any, when: Any, gaps: Any, picks: Any,
    small_line: Any, large_line: Any, heads: Any, served: Any,
    sums: Any, counts: Any, levels: Any, areas: Any, came: Any, histogram: Any, phases: Any,
) -> None:  # fmt: skip
    """Play until all jobs have come, until a line may become full, or until a pause.

    Parameters
    ----------
    threshold, lazy : int, bool
        MSFQ's l and variant.
    small : int
        Which class needs one server, 0 or 1.
    small_line, large_line, heads : ndarray
        When the waiting jobs came, in rings of 2^n places, and where each begins. It is below 0
        for a job of the warm-up, which is not counted.
    served : ndarray, shape (k,)
        When the small jobs that run came.
    rates, services, arrivals, warm, whole, real, draw, when, gaps, picks
        See `kernels.advance`; numbers are drawn ahead, and all of them are used.
    sums, counts, levels, areas, came, histogram, phases : ndarray
        What is found: see `simulation.Played`.
    """
    large = 1 - small
    total = rates[0] + rates[1]
    m1, mk = services[small], services[large]
    small_end, large_end = small_line.size - 1, large_line.size - 1
    number, most, batch, phase = whole[NUMBER], whole[MOST], whole[BATCH], whole[PHASE]
    smalls, larges, running = whole[SMALL], whole[LARGE], whole[RUNNING]
    busy, draining = whole[BUSY] > 0, whole[DRAINING] > 0
    now, service, runs_since = real[NOW], real[SERVICE], real[RUNS_SINCE]
    busy_since, busy_area = real[BUSY_SINCE], real[BUSY_AREA]
    small_head, large_head = heads[0], heads[1]
    mark = warm + (batch + 1) * (arrivals - warm) // sums.shape[0]
    since_small, since_large = real[SMALL_SINCE], real[LARGE_SINCE]
    area_small, area_large = areas[small], areas[large]
    sum_small = sum_large = 0.0
    done_small = done_large = 0
    came_small, came_large = came[small], came[large]
    if batch >= 0:
        sum_small, sum_large = sums[batch, small], sums[batch, large]
        done_small, done_large = counts[batch, small], counts[batch, large]
    while number < arrivals:
        if number >= whole[PAUSE]:
            break
        if smalls + DRAWN_AHEAD > small_end or larges + DRAWN_AHEAD > large_end:
            whole[FULL] = 1
            break
        exponentials(when, gaps)
        uniforms(draw, picks)
        for i in range(DRAWN_AHEAD):
            rate = service + total
            now += gaps[i] / rate
            pick = picks[i] * rate
            if pick < service:
                if busy:
                    busy_area += k * (now - busy_since)
                    busy_since = now
                    area_large += larges * (now - since_large)
                    since_large = now
                    larges -= 1
                    busy = False
                    service = 0.0
                    if runs_since >= 0.0:
                        response = now - runs_since
                        sum_large += response
                        done_large += 1
                        histogram[large, _bucket(response)] += 1
                else:
                    busy_area += running * (now - busy_since)
                    busy_since = now
                    if small == 0 and pick >= running * m1:  # rounding at the end of the range
                        pick -= running * m1
                    place = min(int(pick / m1), running - 1)
                    at = served[place]
                    running -= 1
                    served[place] = served[running]
                    area_small += smalls * (now - since_small)
                    since_small = now
                    smalls -= 1
                    service = service - m1 if running else 0.0
                    if at >= 0.0:
                        response = now - at
                        sum_small += response
                        done_small += 1
                        histogram[small, _bucket(response)] += 1
            else:
                comes_small = (pick - service < rates[0]) == (small == 0)
                if number == mark:
                    if batch < 0:
                        real[BEGAN] = busy_since = since_small = since_large = now
                        busy_area = area_small = area_large = 0.0
                        for p in range(phases.shape[1]):
                            phases[0, p] = phases[1, p] = 0.0
                        phases[0, phase] = -now
                    else:
                        sums[batch, small], sums[batch, large] = sum_small, sum_large
                        counts[batch, small], counts[batch, large] = done_small, done_large
                    sum_small = sum_large = 0.0
                    done_small = done_large = 0
                    batch += 1
                    mark = warm + (batch + 1) * (arrivals - warm) // sums.shape[0]
                    levels[batch, small] = smalls + comes_small
                    levels[batch, large] = larges + (not comes_small)
                at = now if batch >= 0 else -max(now, TINY)
                number += 1
                if comes_small:
                    area_small += smalls * (now - since_small)
                    since_small = now
                    small_line[(small_head + smalls - running) & small_end] = at
                    smalls += 1
                    came_small += batch >= 0
                else:
                    area_large += larges * (now - since_large)
                    since_large = now
                    large_line[(large_head + larges - busy) & large_end] = at
                    larges += 1
                    came_large += batch >= 0
                most = max(most, smalls + larges)
            if not busy:
                starts = 0
                if running == 0:
                    if larges:
                        runs_since = large_line[large_head]
                        large_head = (large_head + 1) & large_end
                        busy_since = now
                        busy = True
                        service = mk
                    else:
                        draining = not lazy and smalls <= threshold
                        starts = min(k, smalls)
                else:
                    if not draining and smalls <= threshold:
                        draining = larges > 0 or not lazy
                    if not draining:
                        starts = min(k, smalls) - running
                if starts > 0:
                    busy_area += running * (now - busy_since)
                    busy_since = now
                    for _ in range(starts):
                        served[running] = small_line[small_head]
                        small_head = (small_head + 1) & small_end
                        running += 1
                        service += m1
            if busy:
                new = 1
            elif not running:
                new = 0
            elif draining:
                new = 4
            else:
                new = 2 if phase != 3 and smalls >= k else 3
            if new != phase:
                phases[0, phase] += now
                phases[0, new] -= now
                phases[1, new] += 1
                phase = new
            if number == arrivals:
                break
    whole[NUMBER], whole[MOST], whole[BATCH], whole[PHASE] = number, most, batch, phase
    whole[SMALL], whole[LARGE], whole[RUNNING] = smalls, larges, running
    whole[BUSY], whole[DRAINING] = busy, draining
    real[NOW], real[SERVICE], real[RUNS_SINCE] = now, service, runs_since
    real[BUSY_SINCE], real[BUSY_AREA] = busy_since, busy_area
    heads[0], heads[1] = small_head, large_head
    real[SMALL_SINCE], real[LARGE_SINCE] = since_small, since_large
    areas[small], areas[large] = area_small, area_large
    came[small], came[large] = came_small, came_large
    if batch >= 0:
        sums[batch, small], sums[batch, large] = sum_small, sum_large
        counts[batch, small], counts[batch, large] = done_small, done_large


@compiled
def _bucket(response: float) -> int:
    """Return the place of a response time in the histogram."""
    place = int(np.float64(response).view(np.int64) >> 45) - LOWEST
    return min(max(place, 0), BUCKETS - 1)
