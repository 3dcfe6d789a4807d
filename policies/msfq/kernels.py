"""The simulator: arrivals and completions, one after the other, and a response time for each job.

With exponential sizes nothing need be remembered of a job but when it came: which one of a class
completes next is drawn. Otherwise sizes come with the jobs, and a heap holds when they end; then
jobs are the same for every policy under one seed (common random numbers).

Memory grows with the queue, not with the number of arrivals.
"""

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from schedopt.policies.msfq.compiling import NATURAL, compiled, digest, ready, specialized
from schedopt.policies.msfq.played import Counters
from schedopt.policies.msfq.random_kernels import exponential, exponentials, more, size_of
from schedopt.policies.msfq.rule import Seen, Twin
from schedopt.solvers.kernels.heap import pop, push

BUCKETS = 96 * 128
"""Of the histogram: 128 to each power of two, from 2^-40 to 2^56."""
LOWEST = (1023 - 40) * 128
NUMBER, IN_SYSTEM, MOST, BATCH, FREE, HEAP, SPARE, COUNTING, TICK, PHASE, DONE, FAULT = range(12)
GAPS_USED, PICKS_USED, PAUSE = 12, 13, 14
"""Places in ``whole``: jobs so far, in the system, the most ever, ...; after which job to pause."""
DRAWN_AHEAD = 512
"""Random numbers drawn at a time: in a loop of their own their latencies overlap."""
NOW, NEXT_ARRIVAL, NEXT_TURN, BEGAN, BUSY_SINCE, BUSY_AREA, SERVICE = range(7)
"""Places in ``real``."""
ARRIVAL, COMPLETION, TURN = range(3)
CAME_AT, TAKES, WHICH, AFTER = range(4)
"""Columns of the pool: arrival time, size, number, and next job in line."""


PLACE_BITS = 26
"""Bits of a place in the pool: the heap packs a job's number and its place into one integer."""
PLACE = (1 << PLACE_BITS) - 1


class Inputs(NamedTuple):
    """The jobs and the run to simulate, in flat arrays of shape (C,) unless said otherwise.

    ``shapes``, shape (C, 4), are codes and parameters of size distributions; ``values`` empirical
    sizes end to end, those of class c from ``starts[c]`` on. ``holding`` is for how long nMSR holds
    each class's schedule. ``warm`` arrivals are not counted. ``sized`` says that sizes come with
    the jobs, ``to_the_end`` that every job is to complete. The trace's arrays are empty where jobs
    are random; ``grid`` holds times at which numbers in the system are sampled.
    """

    k: int
    total_rate: float
    rates: Any
    services: Any
    shapes: Any
    values: Any
    starts: Any
    holding: Any
    arrivals: int
    warm: int
    sized: bool
    to_the_end: bool
    trace_times: Any
    trace_classes: Any
    trace_sizes: Any
    grid: Any


class SimulatorState(NamedTuple):
    """The state of the simulator from one call to the next.

    ``whole`` and ``real`` hold scalars at the places `NUMBER` and `NOW` begin. ``draw``, ``when``
    and ``turn`` are streams of random numbers; ``gaps`` (exponential) and ``picks`` were drawn
    ahead from ``when`` and ``draw``. By class, ``first`` and ``last`` are the ends of its line in
    the pool, ``since`` is when its numbers last changed, and its running jobs stand in ``served``
    from ``base`` on, as places in the pool. ``ends`` and ``ended`` are a heap of when running jobs
    end, and which.
    """

    whole: Any
    real: Any
    draw: Any
    when: Any
    turn: Any
    gaps: Any
    picks: Any
    first: Any
    last: Any
    since: Any
    base: Any
    served: Any
    ends: Any
    ended: Any


def next_start(seen: Seen, free: int) -> int:
    """Return the class that starts next: `advance_by` inserts the rule."""
    raise NotImplementedError


NOTE_PHASES, LEAN = False, False


@cache
def advance_by(twin: Twin, lean: bool = False) -> Any:
    """Return `advance` compiled for a rule, the rule a constant in it.

    Where it is lean, it is for exponential sizes that are drawn as jobs complete, and knows neither
    traces nor each job's own response time nor samples at given times.
    """
    words = ("advance", twin.next_start, "phases" * twin.phases, "lean" * lean)
    parts = {
        "next_start": ready(getattr(import_module(twin.module), twin.next_start)),
        "NOTE_PHASES": twin.phases,
        "LEAN": lean,
    }
    name = "_".join(filter(None, (*words, digest(twin.module))))
    return specialized(advance, name, parts, nogil=True)


def advance(  # noqa: PLR0915 - in pieces it is half as fast
    given: Inputs, seen: Seen, kept: SimulatorState, pool: Any, of_class: Any, found: Counters
) -> None:
    """Simulate a policy to the end, until the pool of jobs is full, or until a pause.

    All state is in the arrays, so that it can be called again once the pool has grown, or after a
    pause. No array is made in here: counting references would cost more than all the rest.
    ``pool``, shape (P, 4), holds the jobs in the system as `CAME_AT` says, ``of_class`` their
    classes.
    """
    count = len(seen.needs)
    sized = given.sized
    traced = given.trace_times.size > 0
    each = found.responses.size > 0
    sampled = given.grid.size > 0
    number, in_system = kept.whole[NUMBER], kept.whole[IN_SYSTEM]
    batch, free = kept.whole[BATCH], kept.whole[FREE]
    heap, spare, counting = kept.whole[HEAP], kept.whole[SPARE], kept.whole[COUNTING] > 0
    batch_ends = given.warm + (batch + 1) * (given.arrivals - given.warm) // found.sums.shape[0]
    now, service = kept.real[NOW], kept.real[SERVICE]
    busy_area, busy_since = kept.real[BUSY_AREA], kept.real[BUSY_SINCE]
    most, phase = kept.whole[MOST], kept.whole[PHASE]
    gap_at, pick_at = kept.whole[GAPS_USED], kept.whole[PICKS_USED]
    next_arrival, next_turn = kept.real[NEXT_ARRIVAL], kept.real[NEXT_TURN]
    while spare >= 0:
        if gap_at == DRAWN_AHEAD:
            if number >= kept.whole[PAUSE]:  # asked here, where it costs nothing
                break
            gap_at = 0
            exponentials(kept.when, kept.gaps)
        if pick_at > DRAWN_AHEAD - 3:
            pick_at = more(kept.draw, kept.picks, pick_at)
        kind, c, pick = ARRIVAL, 0, 0.0
        if not LEAN and sized:
            at = next_arrival if number < given.arrivals else np.inf
            if heap and kept.ends[0] <= at:
                at, kind = kept.ends[0], COMPLETION
        else:
            rate = service + (given.total_rate if number < given.arrivals else 0.0)
            at = now + kept.gaps[gap_at] / rate if rate > 0.0 else np.inf
            pick = kept.picks[pick_at] * rate
            gap_at += rate > 0.0
            pick_at += 1
            if pick < service:
                kind = COMPLETION
            else:
                pick -= service
        if next_turn < at:
            at, kind = next_turn, TURN
        if at == np.inf or (number >= given.arrivals and (in_system == 0 or not given.to_the_end)):
            kept.whole[DONE] = 1
            break
        if not LEAN and sampled:
            while kept.whole[TICK] < given.grid.size and given.grid[kept.whole[TICK]] < at:
                for i in range(count):
                    found.samples[kept.whole[TICK], i] = seen.waiting[i] + seen.running[i]
                kept.whole[TICK] += 1
        now = at
        if kind == ARRIVAL:
            if number == given.warm:
                counting = True
                kept.real[BEGAN], busy_since, busy_area = now, now, 0.0
                _begin(now, kept.since, found, phase)
            if not LEAN and traced:
                c = given.trace_classes[number]
            else:
                if not LEAN and sized:
                    pick = kept.picks[pick_at] * given.total_rate
                    pick_at += 1
                while c < count - 1 and pick >= given.rates[c]:
                    pick -= given.rates[c]
                    c += 1
            c &= NATURAL
            job = spare & NATURAL
            spare = int(pool[job, AFTER])
            pool[job, CAME_AT], pool[job, WHICH] = now, number
            if not LEAN and sized:
                of_class[job] = c
                if traced:
                    pool[job, TAKES] = given.trace_sizes[number]
                else:
                    u, v = kept.picks[pick_at], kept.picks[pick_at + 1]
                    pick_at += 2
                    pool[job, TAKES] = (
                        size_of(u, v, given.shapes, c, given.values, given.starts)
                        / given.services[c]
                    )
            found.areas[c] += (seen.waiting[c] + seen.running[c]) * (now - kept.since[c])
            kept.since[c] = now
            pool[job, AFTER] = -1
            if seen.waiting[c]:
                pool[kept.last[c] & NATURAL, AFTER] = job
            else:
                kept.first[c], seen.head[c] = job, number
            kept.last[c] = job
            seen.waiting[c] += 1
            in_system += 1
            most = max(most, in_system)
            if counting:
                found.came[c] += 1
                if number == batch_ends:
                    batch += 1
                    batch_ends = (
                        given.warm
                        + (batch + 1) * (given.arrivals - given.warm) // found.sums.shape[0]
                    )
                    for i in range(count):
                        found.levels[batch, i] = seen.waiting[i] + seen.running[i]
            number += 1
            if not LEAN and sized and number < given.arrivals:
                next_arrival = (
                    given.trace_times[number]
                    if traced
                    else now + kept.gaps[gap_at] / given.total_rate
                )
                gap_at += 1
        elif kind == COMPLETION:
            if not LEAN and sized:
                job = kept.ended[0] & PLACE
                heap = pop(kept.ends, kept.ended, heap)
                c = of_class[job] & NATURAL
            else:
                while c < count - 1 and pick >= seen.running[c] * given.services[c]:
                    pick -= seen.running[c] * given.services[c]
                    c += 1
                while seen.running[c] == 0:  # rounding at the very end of the range
                    c -= 1
                c &= NATURAL
                place = (
                    kept.base[c] + min(int(pick / given.services[c]), seen.running[c] - 1)
                ) & NATURAL
                job = kept.served[place] & NATURAL
                kept.served[place] = kept.served[(kept.base[c] + seen.running[c] - 1) & NATURAL]
            found.areas[c] += (seen.waiting[c] + seen.running[c]) * (now - kept.since[c])
            kept.since[c] = now
            busy_area += (given.k - free) * (now - busy_since)
            busy_since = now
            seen.running[c] -= 1
            free += seen.needs[c]
            service = service - given.services[c] if free < given.k else 0.0
            in_system -= 1
            response = now - pool[job, CAME_AT]
            if counting and pool[job, WHICH] >= given.warm:
                found.sums[batch & NATURAL, c] += response
                found.counts[batch & NATURAL, c] += 1
                found.histogram[c, bucket(response)] += 1
            if not LEAN and each:
                found.responses[int(pool[job, WHICH])] = response
            pool[job, AFTER] = spare
            spare = job
        else:
            seen.memory[0] = (seen.memory[0] + 1) % count
            next_turn = now + exponential(kept.turn) * given.holding[seen.memory[0]]
        while True:
            c = next_start(seen, free)
            if c < 0:
                break
            if c >= count or not seen.waiting[c] or seen.needs[c] > free:
                kept.whole[DONE], kept.whole[FAULT] = 1, c
                return
            c &= NATURAL
            job = kept.first[c] & NATURAL
            kept.first[c] = int(pool[job, AFTER])
            seen.waiting[c] -= 1
            if seen.waiting[c]:
                seen.head[c] = pool[kept.first[c] & NATURAL, WHICH]
            busy_area += (given.k - free) * (now - busy_since)
            busy_since = now
            free -= seen.needs[c]
            if not LEAN and sized:
                both = int(pool[job, WHICH]) << PLACE_BITS | job
                heap = push(kept.ends, kept.ended, heap, now + pool[job, TAKES], both)
            else:
                kept.served[(kept.base[c] + seen.running[c]) & NATURAL] = job
                service += given.services[c]
            seen.running[c] += 1
        if NOTE_PHASES:
            phase = _note_phase(seen, given.k, phase, now, found.phases)
    kept.whole[NUMBER], kept.whole[IN_SYSTEM] = number, in_system
    kept.whole[BATCH], kept.whole[FREE] = batch, free
    kept.whole[HEAP], kept.whole[SPARE], kept.whole[COUNTING] = heap, spare, counting
    kept.whole[MOST], kept.whole[PHASE] = most, phase
    kept.whole[GAPS_USED], kept.whole[PICKS_USED] = gap_at, pick_at
    kept.real[NOW], kept.real[SERVICE] = now, service
    kept.real[BUSY_AREA], kept.real[BUSY_SINCE] = busy_area, busy_since
    kept.real[NEXT_ARRIVAL], kept.real[NEXT_TURN] = next_arrival, next_turn


@compiled
def _begin(now: float, since: Any, found: Counters, phase: int) -> None:
    """Begin to count: discard what the warm-up counted."""
    for c in range(since.size):
        since[c], found.areas[c] = now, 0.0
    for p in range(found.phases.shape[1]):
        found.phases[0, p] = found.phases[1, p] = 0.0
    found.phases[0, phase] = -now


@compiled
def bucket(response: float) -> int:
    """Return the place of a response time in the histogram."""
    place = int(np.float64(response).view(np.int64) >> 45) - LOWEST
    return min(max(place, 0), BUCKETS - 1)


@compiled
def _note_phase(seen: Seen, k: int, phase: int, now: float, phases: Any) -> int:
    """Note the time in each of section 4.2's phases; 0 is an empty system."""
    small, large = seen.memory[0], seen.memory[1]
    inside = seen.waiting[small] + seen.running[small]
    if seen.running[large]:
        new = 1
    elif not seen.running[small]:
        new = 0
    elif seen.memory[2]:
        new = 4
    else:
        new = 2 if phase != 3 and inside >= k else 3
    if new != phase:
        phases[0, phase] += now
        phases[0, new] -= now
        phases[1, new] += 1
    return new
