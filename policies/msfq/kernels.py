"""The event loop of the compiled simulator: arrivals, completions, and response times.

With exponential sizes only the arrival time of a job is stored; the job of a class that completes
next is drawn at random. Otherwise sizes are drawn on arrival, and a heap holds the completion
times; then all policies see the same jobs for the same seed (common random numbers).

Memory grows with the number of jobs in the system, not with the number of arrivals.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from schedopt.policies.msfq.experiment import Counters
from schedopt.policies.msfq.random_kernels import exponential, exponentials, refill, size_of
from schedopt.policies.msfq.rule import FlatState, NextStart
from schedopt.solvers.compiling import kernel, makes_no_arrays, specialized
from schedopt.solvers.kernels import pop, push

BUCKETS = 96 * 128
"""Buckets of the histogram: 128 for each power of two, from 2^-40 to 2^56."""
LOWEST = (1023 - 40) * 128
NUMBER, IN_SYSTEM, MOST, BATCH, FREE, HEAP, SPARE, COUNTING, TICK, PHASE, DONE, FAULT = range(12)
GAPS_USED, PICKS_USED, PAUSE = 12, 13, 14
"""Places in ``whole``: arrivals so far, jobs in the system, the most of them, ..., the pause."""
DRAWN_AHEAD = 512
"""Random numbers drawn at a time: in a separate loop their latencies overlap."""
NOW, NEXT_ARRIVAL, NEXT_TURN, BEGAN, BUSY_SINCE, BUSY_AREA, SERVICE = range(7)
"""Places in ``real``."""
ARRIVAL, COMPLETION, TURN = range(3)
CAME_AT, TAKES, WHICH, AFTER = range(4)
"""Columns of the pool: arrival time, size, number, and next job in line."""
PLACE_BITS = 26
"""Bits of a place in the pool: the heap packs a job's number and its place into one integer."""
PLACE = (1 << PLACE_BITS) - 1


class Inputs(NamedTuple):
    """The jobs and the settings of a simulation, in flat arrays of shape (C,) unless noted.

    ``shapes``, shape (C, 4), holds codes and parameters of size distributions; ``values`` holds
    empirical sizes, those of class c from ``starts[c]`` on. ``holding`` is the mean time for which
    nMSR keeps each class's schedule. The other fields are those of `Experiment`; the arrays of the
    trace are empty for random jobs.
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
    together: bool
    trace_times: Any
    trace_classes: Any
    trace_sizes: Any
    grid: Any


class Simulator(NamedTuple):
    """The state of the simulator between two calls.

    ``whole`` and ``real`` hold scalars, indexed by `NUMBER` and by `NOW` and the constants after
    these. ``draw``, ``when`` and ``turn`` are streams of random numbers; ``gaps`` (exponential) and
    ``picks`` (uniform) were drawn in advance from ``when`` and ``draw``. By class, ``first`` and
    ``last`` are the ends of its line in the pool, and ``since`` is the last change of its numbers
    of jobs. The running jobs of class c are the entries of ``served`` from ``base[c]`` on, as
    places in the pool. ``ends`` and ``ended`` are a heap of the completion times and jobs.
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


def next_start(state: FlatState, free: int) -> int:
    """Return the class that starts next; `advance_by` replaces this by a rule."""
    raise NotImplementedError


NOTE_PHASES = False


@cache
def advance_by(rule: NextStart, phases: bool) -> Any:
    """Return `advance` compiled for a rule, which is a constant in it.

    With ``phases``, the phases of MSFQ are recorded.
    """
    name = f"advance_{rule.__name__}"
    own = specialized(advance, name, next_start=makes_no_arrays(rule), NOTE_PHASES=phases)
    return kernel(makes_arrays=False)(own)


def advance(  # noqa: PLR0915 - in pieces it is half as fast
    inputs: Inputs,
    state: FlatState,
    sim: Simulator,
    pool: Any,
    of_class: Any,
    counters: Counters,
) -> None:
    """Simulate until all jobs are done, the pool of jobs is full, or a pause is due.

    All state is in the arrays, so the function can be called again after the pool has grown, or
    after a pause. It creates no arrays: their reference counts would cost more than the simulation.
    ``pool``, shape (P, 4), holds the jobs in the system in the columns from `CAME_AT` on, and
    ``of_class`` their classes.
    """
    count = len(state.needs)
    sized = inputs.sized
    traced = inputs.trace_times.size > 0
    each = counters.starts.size > 0
    sampled = inputs.grid.size > 0
    number, in_system = sim.whole[NUMBER], sim.whole[IN_SYSTEM]
    batch, free = sim.whole[BATCH], sim.whole[FREE]
    heap, spare, counting = (
        sim.whole[HEAP],
        sim.whole[SPARE],
        sim.whole[COUNTING] > 0,
    )
    batch_ends = (
        inputs.warm + (batch + 1) * (inputs.arrivals - inputs.warm) // counters.sums.shape[0]
    )
    now, service = sim.real[NOW], sim.real[SERVICE]
    busy_area, busy_since = sim.real[BUSY_AREA], sim.real[BUSY_SINCE]
    most, phase = sim.whole[MOST], sim.whole[PHASE]
    gap_at, pick_at = sim.whole[GAPS_USED], sim.whole[PICKS_USED]
    next_arrival, next_turn = sim.real[NEXT_ARRIVAL], sim.real[NEXT_TURN]
    while spare >= 0:
        if gap_at == DRAWN_AHEAD:
            if number >= sim.whole[PAUSE]:  # tested here, where it is cheap
                break
            gap_at = 0
            exponentials(sim.when, sim.gaps)
        if pick_at > DRAWN_AHEAD - 3:
            pick_at = refill(sim.draw, sim.picks, pick_at)
        kind, c, pick = ARRIVAL, 0, 0.0
        if sized:
            at = next_arrival if number < inputs.arrivals else np.inf
            if heap and sim.ends[0] <= at:
                at, kind = sim.ends[0], COMPLETION
        else:
            rate = service + (inputs.total_rate if number < inputs.arrivals else 0.0)
            at = now + sim.gaps[gap_at] / rate if rate > 0.0 else np.inf
            pick = sim.picks[pick_at] * rate
            gap_at += rate > 0.0
            pick_at += 1
            if pick < service:
                kind = COMPLETION
            else:
                pick -= service
        if next_turn < at:
            at, kind = next_turn, TURN
        if at == np.inf or (
            number >= inputs.arrivals and (in_system == 0 or not inputs.to_the_end)
        ):
            sim.whole[DONE] = 1
            break
        if sampled:
            while sim.whole[TICK] < inputs.grid.size and inputs.grid[sim.whole[TICK]] < at:
                for i in range(count):
                    counters.samples[sim.whole[TICK], i] = state.waiting[i] + state.running[i]
                sim.whole[TICK] += 1
        now = at
        if kind == ARRIVAL:
            if number == inputs.warm:
                counting = True
                sim.real[BEGAN], busy_since, busy_area = now, now, 0.0
                _begin_counting(now, sim.since, counters, phase)
            if traced:
                c = inputs.trace_classes[number]
            else:
                if sized:
                    pick = sim.picks[pick_at] * inputs.total_rate
                    pick_at += 1
                while c < count - 1 and pick >= inputs.rates[c]:
                    pick -= inputs.rates[c]
                    c += 1
            job = spare
            spare = int(pool[job, AFTER])
            pool[job, CAME_AT], pool[job, WHICH] = now, number
            if sized:
                of_class[job] = c
                if traced:
                    pool[job, TAKES] = inputs.trace_sizes[number]
                else:
                    u, v = sim.picks[pick_at], sim.picks[pick_at + 1]
                    pick_at += 2
                    pool[job, TAKES] = size_of(u, v, c, inputs) / inputs.services[c]
            counters.areas[c] += (state.waiting[c] + state.running[c]) * (now - sim.since[c])
            sim.since[c] = now
            pool[job, AFTER] = -1
            if state.waiting[c]:
                pool[sim.last[c], AFTER] = job
            else:
                sim.first[c], state.head[c] = job, number
            sim.last[c] = job
            state.waiting[c] += 1
            in_system += 1
            most = max(most, in_system)
            if counting:
                counters.came[c] += 1
                if number == batch_ends:
                    batch += 1
                    batch_ends = (
                        inputs.warm
                        + (batch + 1) * (inputs.arrivals - inputs.warm) // counters.sums.shape[0]
                    )
                    for i in range(count):
                        counters.levels[batch, i] = state.waiting[i] + state.running[i]
            number += 1
            if sized and number < inputs.arrivals:
                next_arrival = (
                    inputs.trace_times[number]
                    if traced
                    else now + sim.gaps[gap_at] / inputs.total_rate
                )
                gap_at += 1
        elif kind == COMPLETION:
            if sized:
                job = sim.ended[0] & PLACE
                heap = pop(sim.ends, sim.ended, heap)
                c = of_class[job]
            else:
                while c < count - 1 and pick >= state.running[c] * inputs.services[c]:
                    pick -= state.running[c] * inputs.services[c]
                    c += 1
                while state.running[c] == 0:  # rounding at the end of the range
                    c -= 1
                place = sim.base[c] + min(int(pick / inputs.services[c]), state.running[c] - 1)
                job = sim.served[place]
                sim.served[place] = sim.served[sim.base[c] + state.running[c] - 1]
            counters.areas[c] += (state.waiting[c] + state.running[c]) * (now - sim.since[c])
            sim.since[c] = now
            busy_area += (inputs.k - free) * (now - busy_since)
            busy_since = now
            state.running[c] -= 1
            free += state.needs[c]
            service = service - inputs.services[c] if free < inputs.k else 0.0
            in_system -= 1
            response = now - pool[job, CAME_AT]
            if counting and pool[job, WHICH] >= inputs.warm:
                counters.sums[batch, c] += response
                counters.counts[batch, c] += 1
                counters.histogram[c, bucket(response)] += 1
            pool[job, AFTER] = spare
            spare = job
        else:
            state.memory[0] = (state.memory[0] + 1) % count
            next_turn = now + exponential(sim.turn) * inputs.holding[state.memory[0]]
        if inputs.together:
            coming = next_arrival if number < inputs.arrivals else np.inf
            if coming == now or (heap and sim.ends[0] == now):
                continue
        while True:
            c = next_start(state, free)
            if c < 0:
                break
            if c >= count or not state.waiting[c] or state.needs[c] > free:
                sim.whole[DONE], sim.whole[FAULT] = 1, c
                return
            job = sim.first[c]
            sim.first[c] = int(pool[job, AFTER])
            state.waiting[c] -= 1
            if state.waiting[c]:
                state.head[c] = pool[sim.first[c], WHICH]
            busy_area += (inputs.k - free) * (now - busy_since)
            busy_since = now
            free -= state.needs[c]
            if each:
                counters.starts[int(pool[job, WHICH])] = now
            if sized:
                both = int(pool[job, WHICH]) << PLACE_BITS | job
                heap = push(sim.ends, sim.ended, heap, now + pool[job, TAKES], both)
            else:
                sim.served[sim.base[c] + state.running[c]] = job
                service += inputs.services[c]
            state.running[c] += 1
        if NOTE_PHASES:
            phase = _note_phase(state, inputs.k, phase, now, counters.phases)
    sim.whole[NUMBER], sim.whole[IN_SYSTEM] = number, in_system
    sim.whole[BATCH], sim.whole[FREE] = batch, free
    sim.whole[HEAP], sim.whole[SPARE], sim.whole[COUNTING] = heap, spare, counting
    sim.whole[MOST], sim.whole[PHASE] = most, phase
    sim.whole[GAPS_USED], sim.whole[PICKS_USED] = gap_at, pick_at
    sim.real[NOW], sim.real[SERVICE] = now, service
    sim.real[BUSY_AREA], sim.real[BUSY_SINCE] = busy_area, busy_since
    sim.real[NEXT_ARRIVAL], sim.real[NEXT_TURN] = next_arrival, next_turn


@makes_no_arrays
def _begin_counting(now: float, since: Any, counters: Counters, phase: int) -> None:
    """Reset the counters at the end of the warm-up."""
    for c in range(since.size):
        since[c], counters.areas[c] = now, 0.0
    for p in range(counters.phases.shape[1]):
        counters.phases[0, p] = counters.phases[1, p] = 0.0
    counters.phases[0, phase] = -now


@makes_no_arrays
def bucket(response: float) -> int:
    """Return the bucket of a response time in the histogram."""
    place = int(np.float64(response).view(np.int64) >> 45) - LOWEST
    return min(max(place, 0), BUCKETS - 1)


@makes_no_arrays
def _note_phase(state: FlatState, k: int, phase: int, now: float, phases: Any) -> int:
    """Record the time in each phase of section 4.2; phase 0 is an empty system."""
    small, large = state.memory[0], state.memory[1]
    inside = state.waiting[small] + state.running[small]
    if state.running[large]:
        new = 1
    elif not state.running[small]:
        new = 0
    elif state.memory[2]:
        new = 4
    else:
        new = 2 if phase != 3 and inside >= k else 3
    if new != phase:
        phases[0, phase] += now
        phases[0, new] -= now
        phases[1, new] += 1
    return new
