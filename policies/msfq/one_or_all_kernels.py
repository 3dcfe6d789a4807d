"""MSFQ on a one-or-all system with exponential sizes: a simulator for it alone, twice as fast.

It draws what `kernels.advance` draws, and adds in the same order: what it finds is the same to the
bit. What makes it faster is that either small jobs run or one large job does: numbers in the system
stand in registers, and jobs of a class, which come and start in turn, in a ring.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.compiled import SLICE, given_of, nothing_yet
from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.kernels import DRAWN_AHEAD, Given, bucket
from schedopt.policies.msfq.one_or_all import Msfq
from schedopt.policies.msfq.played import Found, Played, Run
from schedopt.policies.msfq.random_kernels import exponential, exponentials, stream, uniforms

NUMBER, MOST, BATCH, PHASE, SMALL, LARGE, RUNNING, BUSY, DRAINING, PAUSE, FULL = range(11)
"""Places in ``whole``: jobs so far, the most in the system ever, ..., small and large jobs in the
system, small ones that run, whether a large one does; after which job to pause."""
NOW, SERVICE, BEGAN, BUSY_SINCE, BUSY_AREA, RUNS_SINCE, SMALL_SINCE, LARGE_SINCE = range(8)
"""Places in ``real``: when the large job that runs came, and when the numbers changed last."""
TINY = 5e-324
PLACES = 8 * DRAWN_AHEAD
"""Of each line to begin with; doubled whenever that may be too few."""


class Kept(NamedTuple):
    """The state of the simulator from one call to the next; see `kernels.Kept`.

    Here all numbers that were drawn ahead are used. ``heads`` are where the lines of small and of
    large jobs begin, ``served``, shape (k,), when the running small jobs came.
    """

    whole: Any
    real: Any
    draw: Any
    when: Any
    gaps: Any
    picks: Any
    heads: Any
    served: Any


@partial(compiled, nogil=True)  # for replications side by side
def advance(  # noqa: PLR0915 - in pieces it is slower
    threshold: int, lazy: bool, small: int, given: Given, kept: Kept, found: Found,
    small_line: Any, large_line: Any,
) -> None:  # fmt: skip
    """Play until all jobs have come, until a line may become full, or until a pause.

    ``small`` is the class that needs one server. Both lines are rings of 2^n places that hold when
    the waiting jobs came, below 0 for a job of the warm-up, which is not counted.
    """
    large = 1 - small
    k, total = given.k, given.rates[0] + given.rates[1]
    m1, mk = given.services[small], given.services[large]
    small_end, large_end = small_line.size - 1, large_line.size - 1
    number, most = kept.whole[NUMBER], kept.whole[MOST]
    batch, phase = kept.whole[BATCH], kept.whole[PHASE]
    smalls, larges, running = kept.whole[SMALL], kept.whole[LARGE], kept.whole[RUNNING]
    busy, draining = kept.whole[BUSY] > 0, kept.whole[DRAINING] > 0
    now, service, runs_since = kept.real[NOW], kept.real[SERVICE], kept.real[RUNS_SINCE]
    busy_since, busy_area = kept.real[BUSY_SINCE], kept.real[BUSY_AREA]
    small_head, large_head = kept.heads[0], kept.heads[1]
    mark = given.warm + (batch + 1) * (given.arrivals - given.warm) // found.sums.shape[0]
    since_small, since_large = kept.real[SMALL_SINCE], kept.real[LARGE_SINCE]
    area_small, area_large = found.areas[small], found.areas[large]
    sum_small = sum_large = 0.0
    done_small = done_large = 0
    came_small, came_large = found.came[small], found.came[large]
    if batch >= 0:
        sum_small, sum_large = found.sums[batch, small], found.sums[batch, large]
        done_small, done_large = found.counts[batch, small], found.counts[batch, large]
    while number < given.arrivals:
        if number >= kept.whole[PAUSE]:
            break
        if smalls + DRAWN_AHEAD > small_end or larges + DRAWN_AHEAD > large_end:
            kept.whole[FULL] = 1
            break
        exponentials(kept.when, kept.gaps)
        uniforms(kept.draw, kept.picks)
        for i in range(DRAWN_AHEAD):
            rate = service + total
            now += kept.gaps[i] / rate
            pick = kept.picks[i] * rate
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
                        found.histogram[large, bucket(response)] += 1
                else:
                    busy_area += running * (now - busy_since)
                    busy_since = now
                    if small == 0 and pick >= running * m1:  # rounding at the end of the range
                        pick -= running * m1
                    place = min(int(pick / m1), running - 1)
                    at = kept.served[place]
                    running -= 1
                    kept.served[place] = kept.served[running]
                    area_small += smalls * (now - since_small)
                    since_small = now
                    smalls -= 1
                    service = service - m1 if running else 0.0
                    if at >= 0.0:
                        response = now - at
                        sum_small += response
                        done_small += 1
                        found.histogram[small, bucket(response)] += 1
            else:
                comes_small = (pick - service < given.rates[0]) == (small == 0)
                if number == mark:
                    if batch < 0:
                        kept.real[BEGAN] = busy_since = since_small = since_large = now
                        busy_area = area_small = area_large = 0.0
                        for p in range(found.phases.shape[1]):
                            found.phases[0, p] = found.phases[1, p] = 0.0
                        found.phases[0, phase] = -now
                    else:
                        found.sums[batch, small], found.sums[batch, large] = sum_small, sum_large
                        found.counts[batch, small], found.counts[batch, large] = (
                            done_small,
                            done_large,
                        )
                    sum_small = sum_large = 0.0
                    done_small = done_large = 0
                    batch += 1
                    mark = (
                        given.warm
                        + (batch + 1) * (given.arrivals - given.warm) // found.sums.shape[0]
                    )
                    found.levels[batch, small] = smalls + comes_small
                    found.levels[batch, large] = larges + (not comes_small)
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
                        kept.served[running] = small_line[small_head]
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
                found.phases[0, phase] += now
                found.phases[0, new] -= now
                found.phases[1, new] += 1
                phase = new
            if number == given.arrivals:
                break
    kept.whole[NUMBER], kept.whole[MOST] = number, most
    kept.whole[BATCH], kept.whole[PHASE] = batch, phase
    kept.whole[SMALL], kept.whole[LARGE], kept.whole[RUNNING] = smalls, larges, running
    kept.whole[BUSY], kept.whole[DRAINING] = busy, draining
    kept.real[NOW], kept.real[SERVICE], kept.real[RUNS_SINCE] = now, service, runs_since
    kept.real[BUSY_SINCE], kept.real[BUSY_AREA] = busy_since, busy_area
    kept.heads[0], kept.heads[1] = small_head, large_head
    kept.real[SMALL_SINCE], kept.real[LARGE_SINCE] = since_small, since_large
    found.areas[small], found.areas[large] = area_small, area_large
    found.came[small], found.came[large] = came_small, came_large
    if batch >= 0:
        found.sums[batch, small], found.sums[batch, large] = sum_small, sum_large
        found.counts[batch, small], found.counts[batch, large] = done_small, done_large


def play_lean(queue: Instance, rule: Msfq, run: Run) -> Played:
    """Play MSFQ: see `simulation.play`."""
    small, large, k = rule.small, rule.large, queue.servers
    found, given = nothing_yet(run, 2), given_of(queue, rule, run)
    draw, when = (stream(run.seed, 8 * run.replication + number) for number in (1, 2))
    exponential(when)  # the general simulator draws a first gap, which sized jobs need
    whole, real, heads = np.zeros(11, np.int64), np.zeros(8), np.zeros(2, np.int64)
    whole[BATCH] = -1
    kept = Kept(
        whole, real, draw, when, np.zeros(DRAWN_AHEAD), np.zeros(DRAWN_AHEAD), heads, np.zeros(k)
    )
    lines = [np.zeros(PLACES), np.zeros(PLACES)]
    while True:
        whole[PAUSE] = whole[NUMBER] + SLICE
        advance(rule.most, rule.lazy, small, given, kept, found, *lines)
        if run.pace:
            run.pace(int(whole[NUMBER]))
        if whole[NUMBER] >= run.arrivals:
            break
        if whole[FULL]:
            lines = [
                np.tile(np.roll(line, -head), 2) for line, head in zip(lines, heads, strict=True)
            ]
            heads[:], whole[FULL] = 0, 0
    now, running, busy = real[NOW], whole[RUNNING], whole[BUSY]
    smalls, larges = whole[SMALL], whole[LARGE]
    found.areas[small] += smalls * (now - real[SMALL_SINCE])
    found.areas[large] += larges * (now - real[LARGE_SINCE])
    found.phases[0, whole[PHASE]] += now
    oldest = np.zeros(2)
    if smalls > running:
        oldest[small] = now - abs(lines[0][heads[0]])
    if larges > busy:
        oldest[large] = now - abs(lines[1][heads[1]])
    working = k if busy else running
    return Played(
        **found._asdict(), time=float(now - real[BEGAN]),
        busy=float(real[BUSY_AREA] + working * (now - real[BUSY_SINCE])),
        most=int(whole[MOST]), elapsed=float(now), oldest=oldest,
    )  # fmt: skip
