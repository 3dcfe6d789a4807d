"""The simulator: arrivals and completions, one after the other, and a response time for each job.

With exponential sizes nothing need be remembered of a job but when it came: which one of a class
completes next is drawn. Otherwise sizes come with the jobs, and a heap holds when they end; then
jobs are the same for every policy under one seed (common random numbers).

Memory grows with the queue, not with the number of arrivals.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from schedopt.policies.msfq.admission_kernels import ANY, NONE, ask_the_rule, fcfs
from schedopt.policies.msfq.compiling import compiled, digest, ready, specialized
from schedopt.policies.msfq.random_kernels import exponential, exponentials, more, size_of
from schedopt.policies.msfq.rule import Twin

BUCKETS = 96 * 128
"""Of the histogram: 128 to each power of two, from 2^-40 to 2^56."""
LOWEST = (1023 - 40) * 128
OWN = tuple(
    f"schedopt.policies.msfq.{name}" for name in ("kernels", "random_kernels", "admission_kernels")
)

NUMBER, IN_SYSTEM, MOST, BATCH, FREE, HEAP, SPARE, COUNTING, TICK, PHASE, DONE, FAULT = range(12)
GAPS_USED, PICKS_USED, PAUSE = 12, 13, 14
"""Places in ``whole``: jobs so far, in the system, the most ever, ...; after which job to pause."""
DRAWN_AHEAD = 512
"""Random numbers that are drawn at a time: a loop of nothing else overlaps their latencies."""
NOW, NEXT_ARRIVAL, NEXT_TURN, BEGAN, BUSY_SINCE, BUSY_AREA, SERVICE = range(7)
"""Places in ``real``."""
NATURAL = 2**63 - 1
"""A mask that tells the compiler that a place is no negative one, counted from the end: each look
at an array is then three instructions shorter."""
ARRIVAL, COMPLETION, TURN = range(3)
CAME_AT, TAKES, WHICH, AFTER = range(4)
"""Of a job in the pool: when it came, how long it takes, its number, and who is next in line."""


next_start, after_arrival, NOTE_PHASES, LEAN = fcfs, ask_the_rule, False, False
"""What stands here for a rule's twin: `advance_by` puts the rule's own in their place."""


@cache
def advance_by(twin: Twin, lean: bool = False) -> Any:
    """Return `advance` compiled for a rule, the rule a constant in it.

    Where it is lean, it is for exponential sizes that are drawn as jobs complete, and knows neither
    traces nor each job's own response time nor samples at given times.
    """
    module = import_module(twin.module)
    after = getattr(module, twin.after_arrival) if twin.after_arrival else ask_the_rule
    words = ("advance", twin.next_start, twin.after_arrival, "phases" * twin.phases,
             "lean" * lean)  # fmt: skip
    parts = {
        "next_start": ready(getattr(module, twin.next_start)),
        "after_arrival": ready(after),
        "NOTE_PHASES": twin.phases,
        "LEAN": lean,
    }
    name = "_".join(filter(None, (*words, digest(twin.module, *OWN))))
    return specialized(advance, name, parts, nogil=True)


def advance(  # noqa: PLR0915 - in pieces it is half as fast
    k: int, total_rate: float, needs: Any, rates: Any, services: Any, shapes: Any, values: Any,
    starts: Any, memory: Any, numbers: Any, slots: Any, by_need: Any, holding: Any,
    arrivals: int, warm: int, sized: bool, to_the_end: bool,
    trace_times: Any, trace_classes: Any, trace_sizes: Any,
    whole: Any, real: Any, draw: Any, when: Any, turn: Any, gaps: Any, picks: Any,
    waiting: Any, running: Any, first: Any, last: Any, head: Any, since: Any,
    pool: Any, of_class: Any,
    base: Any, served: Any, ends: Any, ended: Any,
    sums: Any, counts: Any, levels: Any, areas: Any, came: Any,
    histogram: Any, bits_in: Any, bits: Any, phases: Any, responses: Any, grid: Any, samples: Any,
) -> None:  # fmt: skip
    """Play a policy until all has happened, until the pool of jobs is full, or until a pause.

    Everything is in the arrays, so that it can be called again once the pool has grown, or after a
    pause. No array is made in here: counting references would cost more than all the rest.

    Parameters
    ----------
    shapes, values, starts : ndarray
        Size distributions: code and numbers by class, shape (C, 4); empirical values laid end to
        end, and where each class's begin.
    memory, numbers, slots, by_need : ndarray
        What the admission rule knows: see `admission_kernels`.
    holding : ndarray, shape (C,)
        How long nMSR holds each class's schedule.
    arrivals, warm : int
        Jobs in all, and those before anything is counted.
    sized, to_the_end : bool
        Whether sizes come with the jobs; whether to go on until every job is complete.
    trace_times, trace_classes, trace_sizes : ndarray
        A trace to play in place of random jobs; empty for none.
    whole, real : ndarray
        The state, see `NUMBER` and `NOW`.
    draw, when, turn : ndarray
        Streams of random numbers.
    gaps, picks : ndarray
        What was drawn ahead from ``when``, exponential, and from ``draw``.
    waiting, running, first, last, head, since : ndarray, shape (C,)
        The queues: how many, their ends in the pool, who leads; when they changed last.
    pool, of_class : ndarray, shape (P, 4) and (P,)
        The jobs in the system, see `CAME_AT`; each lies together, since they come in any order.
    base, served, ends, ended : ndarray
        Who runs, by class; or when they end, as a heap.
    sums, counts, levels, areas, came, histogram, phases, responses, samples : ndarray
        What is found: see `simulation.Played`.
    """
    count = needs.size
    sized = not LEAN and sized
    traced = not LEAN and trace_times.size > 0
    each = not LEAN and responses.size > 0
    sampled = not LEAN and grid.size > 0
    number, in_system, batch, free = whole[NUMBER], whole[IN_SYSTEM], whole[BATCH], whole[FREE]
    heap, spare, counting = whole[HEAP], whole[SPARE], whole[COUNTING] > 0
    batch_ends = warm + (batch + 1) * (arrivals - warm) // sums.shape[0]
    now, service = real[NOW], real[SERVICE]
    busy_area, busy_since, most, phase = (
        real[BUSY_AREA],
        real[BUSY_SINCE],
        whole[MOST],
        whole[PHASE],
    )
    gap_at, pick_at = whole[GAPS_USED], whole[PICKS_USED]
    next_arrival, next_turn = real[NEXT_ARRIVAL], real[NEXT_TURN]
    while spare >= 0:
        if gap_at == DRAWN_AHEAD:
            if number >= whole[PAUSE]:  # asked here, where it costs nothing
                break
            gap_at = 0
            exponentials(when, gaps)
        if pick_at > DRAWN_AHEAD - 3:
            pick_at = more(draw, picks, pick_at)
        kind, c, pick = ARRIVAL, 0, 0.0
        if sized:
            at = next_arrival if number < arrivals else np.inf
            if heap and ends[1] <= at:
                at, kind = ends[1], COMPLETION
        else:
            rate = service + (total_rate if number < arrivals else 0.0)
            at = now + gaps[gap_at] / rate if rate > 0.0 else np.inf
            pick = picks[pick_at] * rate
            gap_at += rate > 0.0
            pick_at += 1
            if pick < service:
                kind = COMPLETION
            else:
                pick -= service
        if next_turn < at:
            at, kind = next_turn, TURN
        if at == np.inf or (number >= arrivals and (in_system == 0 or not to_the_end)):
            whole[DONE] = 1
            break
        while sampled and whole[TICK] < grid.size and grid[whole[TICK]] < at:
            for i in range(count):
                samples[whole[TICK], i] = waiting[i] + running[i]
            whole[TICK] += 1
        now = at
        if kind == ARRIVAL:
            if number == warm:
                counting = True
                real[BEGAN], busy_since, busy_area = now, now, 0.0
                _begin(now, since, areas, phases, phase)
            if traced:
                c = trace_classes[number]
            else:
                if sized:
                    pick = picks[pick_at] * total_rate
                    pick_at += 1
                while c < count - 1 and pick >= rates[c]:
                    pick -= rates[c]
                    c += 1
            c &= NATURAL
            job = spare & NATURAL
            spare = int(pool[job, AFTER])
            pool[job, CAME_AT], pool[job, WHICH] = now, number
            if sized:
                of_class[job] = c
                if traced:
                    pool[job, TAKES] = trace_sizes[number]
                else:
                    u, v = picks[pick_at], picks[pick_at + 1]
                    pick_at += 2
                    pool[job, TAKES] = size_of(u, v, shapes, c, values, starts) / services[c]
            areas[c] += (waiting[c] + running[c]) * (now - since[c])
            since[c] = now
            pool[job, AFTER] = -1
            if waiting[c]:
                pool[last[c] & NATURAL, AFTER] = job
            else:
                first[c], head[c] = job, number
            last[c] = job
            waiting[c] += 1
            in_system += 1
            most = max(most, in_system)
            if counting:
                came[c] += 1
                if number == batch_ends:
                    batch += 1
                    batch_ends = warm + (batch + 1) * (arrivals - warm) // sums.shape[0]
                    for i in range(count):
                        levels[batch, i] = waiting[i] + running[i]
            number += 1
            if sized and number < arrivals:
                next_arrival = trace_times[number] if traced else now + gaps[gap_at] / total_rate
                gap_at += 1
        elif kind == COMPLETION:
            if sized:
                job = ended[1] & NATURAL
                heap = _pop(ends, ended, heap, pool)
                c = of_class[job] & NATURAL
            else:
                while c < count - 1 and pick >= running[c] * services[c]:
                    pick -= running[c] * services[c]
                    c += 1
                while running[c] == 0:  # rounding at the very end of the range
                    c -= 1
                c &= NATURAL
                place = (base[c] + min(int(pick / services[c]), running[c] - 1)) & NATURAL
                job = served[place] & NATURAL
                served[place] = served[(base[c] + running[c] - 1) & NATURAL]
            areas[c] += (waiting[c] + running[c]) * (now - since[c])
            since[c] = now
            busy_area += (k - free) * (now - busy_since)
            busy_since = now
            running[c] -= 1
            free += needs[c]
            service = service - services[c] if free < k else 0.0
            in_system -= 1
            response = now - pool[job, CAME_AT]
            if counting and pool[job, WHICH] >= warm:
                sums[batch & NATURAL, c] += response
                counts[batch & NATURAL, c] += 1
                bits_in[0] = response
                histogram[c, min(max((bits[0] >> 45) - LOWEST, 0), BUCKETS - 1)] += 1
            if each:
                responses[int(pool[job, WHICH])] = response
            pool[job, AFTER] = spare
            spare = job
        else:
            memory[0] = (memory[0] + 1) % count
            next_turn = now + exponential(turn) * holding[memory[0]]
        only = ANY
        if kind == ARRIVAL:
            only = after_arrival(memory, needs, waiting, running, free, c)
        while only != NONE:
            c = only
            if only == ANY:
                c = next_start(
                    memory, numbers, needs, slots, by_need, waiting, running, free, head
                )  # fmt: skip
            else:
                only = NONE
            if c < 0:
                break
            if c >= count or not waiting[c] or needs[c] > free:
                whole[DONE], whole[FAULT] = 1, c
                return
            c &= NATURAL
            job = first[c] & NATURAL
            first[c] = int(pool[job, AFTER])
            waiting[c] -= 1
            if waiting[c]:
                head[c] = pool[first[c] & NATURAL, WHICH]
            busy_area += (k - free) * (now - busy_since)
            busy_since = now
            free -= needs[c]
            if sized:
                heap = _push(ends, ended, heap, now + pool[job, TAKES], job, pool)
            else:
                served[(base[c] + running[c]) & NATURAL] = job
                service += services[c]
            running[c] += 1
        if NOTE_PHASES:
            phase = _note_phase(memory, waiting, running, k, phase, now, phases)
    whole[NUMBER], whole[IN_SYSTEM], whole[BATCH], whole[FREE] = number, in_system, batch, free
    whole[HEAP], whole[SPARE], whole[COUNTING] = heap, spare, counting
    whole[MOST], whole[PHASE] = most, phase
    whole[GAPS_USED], whole[PICKS_USED] = gap_at, pick_at
    real[NOW], real[SERVICE] = now, service
    real[BUSY_AREA], real[BUSY_SINCE] = busy_area, busy_since
    real[NEXT_ARRIVAL], real[NEXT_TURN] = next_arrival, next_turn


@compiled
def _begin(now: float, since: Any, areas: Any, phases: Any, phase: int) -> None:
    """Begin to count: forget what the warm-up has left."""
    for c in range(since.size):
        since[c], areas[c] = now, 0.0
    for p in range(phases.shape[1]):
        phases[0, p] = phases[1, p] = 0.0
    phases[0, phase] = -now


@compiled
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


@compiled
def _push(ends: Any, ended: Any, heap: int, at: float, job: int, pool: Any) -> int:
    """Add a completion to the heap, whose root is place 1; of two at a time the older job leads."""
    heap += 1
    i = heap
    number = pool[job, WHICH]
    while i > 1:
        above = i >> 1
        if ends[above] < at or (ends[above] == at and pool[ended[above], WHICH] < number):
            break
        ends[i], ended[i] = ends[above], ended[above]
        i = above
    ends[i], ended[i] = at, job
    return heap


@compiled
def _pop(ends: Any, ended: Any, heap: int, pool: Any) -> int:
    """Remove the root of the heap."""
    at, job = ends[heap], ended[heap]
    number = pool[job, WHICH]
    heap -= 1
    i = 1
    while 2 * i <= heap:
        child = 2 * i
        if child < heap and (
            ends[child + 1] < ends[child]
            or (
                ends[child + 1] == ends[child]
                and pool[ended[child + 1], WHICH] < pool[ended[child], WHICH]
            )
        ):
            child += 1
        if at < ends[child] or (at == ends[child] and number < pool[ended[child], WHICH]):
            break
        ends[i], ended[i] = ends[child], ended[child]
        i = child
    ends[i], ended[i] = at, job
    return heap
