"""The search over partial schedules, compiled: see `partial_kernels`."""

import numpy as np

from schedopt.solvers.compiling import compiled
from schedopt.solvers.msfq.window.partial_kernels import (
    DONE,
    EXHAUSTED,
    FULL,
    GOING,
    MOST_TRIED,
    NEVER,
    OPEN,
    Facts,
    Partials,
    Scratch,
    Tally,
    bound_of,
    cost_from,
    dominated,
    slot_of,
)


@compiled
def _sooner(found: Partials, a: int, b: int) -> bool:
    if found.begun[a] != found.begun[b]:
        return bool(found.begun[a] < found.begun[b])
    return bool(found.bound[a] < found.bound[b])


@compiled
def _push(found: Partials, tally: Tally, new: int) -> None:
    heap, at = found.heap, tally.waiting[0]
    tally.waiting[0] += 1
    while at > 0 and _sooner(found, new, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = new


@compiled
def _pop(found: Partials, tally: Tally) -> int:
    heap = found.heap
    tally.waiting[0] -= 1
    size, first, last = tally.waiting[0], heap[0], heap[tally.waiting[0]]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _sooner(found, heap[child + 1], heap[child]):
            child += 1
        if not _sooner(found, heap[child], last):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return int(first)


@compiled
def search(facts: Facts, found: Partials, tally: Tally, scratch: Scratch, count: int) -> int:
    """Go on with so many partial schedules; tell what came of it.

    Returns ``EXHAUSTED`` where none is left, so that what is known is best; ``FULL`` where there is
    no room for more; and else ``GOING``.
    """
    for _ in range(count):
        if tally.waiting[0] == 0:
            return EXHAUSTED
        at = _pop(found, tally)
        if found.state[at] != OPEN:
            continue
        found.state[at] = DONE
        if found.bound[at] > facts.unit * (tally.known[0] - facts.step):
            continue
        if not _go_on(facts, found, tally, scratch, at):
            return FULL
    return GOING


@compiled
def _next_submit(facts: Facts, started: int, time: int) -> int:
    """Return when the next of the other jobs is submitted after a time."""
    least = NEVER
    for job in range(facts.submit.size):
        if not (started >> job) & 1 and time < facts.submit[job] < least:
            least = facts.submit[job]
    return least


@compiled
def _able(facts: Facts, scratch: Scratch, started: int, time: int, free: int) -> int:
    """List who may start; return how many, or -1 where one left out could have run meanwhile."""
    able = 0
    for job in range(facts.submit.size):
        if (started >> job) & 1:
            continue
        if 0 <= scratch.since[job] <= time - facts.run[job]:
            return -1
        if facts.submit[job] <= time and scratch.since[job] < 0 and facts.need[job] <= free:
            scratch.able[able] = job
            able += 1
    return able


@compiled
def _go_on(facts: Facts, found: Partials, tally: Tally, scratch: Scratch, at: int) -> bool:
    """Take one partial schedule from time to time; tell whether there was room for what follows."""
    started, time, cost = found.started[at], found.begun[at], found.cost[at]
    first, stop = found.offset[at], found.offset[at] + found.size[at]
    jobs, free, since = facts.submit.size, facts.servers, scratch.since
    for i in range(first, stop):
        free -= facts.takes[found.kinds[i]]
    for job in range(jobs):  # who fits and has been left out waits until somebody takes its place
        waits = facts.submit[job] <= time and facts.need[job] <= free
        since[job] = time if waits else -1
    while True:
        time = _next_submit(facts, started, time)
        if first < stop:
            time = min(time, found.ends[first])
        if time == NEVER:
            return True
        while first < stop and found.ends[first] <= time:
            free += facts.takes[found.kinds[first]]
            first += 1
        able = _able(facts, scratch, started, time, free)
        if able < 0:
            return True
        bound = bound_of(facts, started, cost, time, free, found.ends, found.kinds, first, stop)
        if bound > facts.unit * (tally.known[0] - facts.step):
            return True
        if able and not _choose(
            facts, found, tally, scratch, at, able, time, free, bound, first, stop
        ):
            return False
        for i in range(able):
            since[scratch.able[i]] = time


@compiled
def _choose(
    facts: Facts,
    found: Partials,
    tally: Tally,
    scratch: Scratch,
    at: int,
    able: int,
    time: int,
    free: int,
    bound: int,
    first: int,
    stop: int,
) -> bool:
    """Try all sets of jobs that may start together; tell whether there was room for what follows.

    Jobs are decided on in turn, the shortest first: as soon as those decided on cost too much,
    whatever becomes of the others, they are given up.
    """
    choice, sofar, started = scratch.choice, scratch.sofar, found.started[at]
    _by_run(facts, scratch, able)
    i, cost, tried = 0, found.cost[at], 0
    chosen = int(np.int64(0))  # as a literal it would be a type, and all compiled once more
    choice[0], sofar[0] = 0, bound
    while i >= 0:
        if i == able:
            if chosen and not _add(
                facts, found, tally, scratch, at, able, time, free, first, stop, chosen, cost
            ):
                return False
            i -= 1
            continue
        job = scratch.able[i]
        bit, most = 1 << job, facts.unit * (tally.known[0] - facts.step)
        choice[i] += 1
        goes = False
        if choice[i] == 1 and _may_start(facts, job, time, free, started | chosen):
            chosen |= bit
            free -= facts.need[job]
            cost += facts.weight[job] * time
            goes = True
        elif choice[i] == 2:
            if chosen & bit:
                chosen ^= bit
                free += facts.need[job]
                cost -= facts.weight[job] * time
            goes = True
        elif choice[i] > 2:
            i -= 1
        if goes:
            tried += 1
            if tried > MOST_TRIED:
                return False
            sofar[i + 1] = max(
                sofar[i],
                _decided(
                    facts,
                    found,
                    scratch,
                    able,
                    i + 1,
                    time,
                    free,
                    first,
                    stop,
                    started,
                    chosen,
                    cost,
                ),
            )
            if sofar[i + 1] <= most:
                i += 1
                choice[i] = 0
    return True


@compiled
def _by_run(facts: Facts, scratch: Scratch, able: int) -> None:
    """Sort who may start by run time; of those alike the first submitted stays first."""
    jobs = scratch.able
    for i in range(1, able):
        job, at = jobs[i], i
        while at > 0 and facts.run[jobs[at - 1]] > facts.run[job]:
            jobs[at] = jobs[at - 1]
            at -= 1
        jobs[at] = job


@compiled
def _may_start(facts: Facts, job: int, time: int, free: int, started: int) -> bool:
    """Tell whether a job fits, may start at a time, and comes after those that it is alike."""
    before = facts.alike[job]
    if facts.need[job] > free or (before >= 0 and not (started >> before) & 1):
        return False
    first, last = facts.corners[job, 0], facts.corners[job, facts.many[job] - 1]
    return bool(first <= time <= last)


@compiled
def _decided(
    facts: Facts,
    found: Partials,
    scratch: Scratch,
    able: int,
    decided: int,
    time: int,
    free: int,
    first: int,
    stop: int,
    started: int,
    chosen: int,
    cost: int,
) -> int:
    """Return what it costs at least once the first few of those able are decided on.

    Who does not start now does not before the next job ends or is submitted.
    """
    size = _merged(facts, found, scratch, decided, time, first, stop, chosen)
    then = _next_submit(facts, started | chosen, time)
    if size:
        then = min(then, scratch.ends[0])
    if decided < able:
        then = min(then, time + facts.run[scratch.able[decided]])
    bound = bound_of(
        facts, started | chosen, cost, time, free, scratch.ends, scratch.kinds, size - size, size
    )
    for i in range(decided):
        job = scratch.able[i]
        if not (chosen >> job) & 1:
            bound += cost_from(facts, job, then) - cost_from(facts, job, time)
    return bound


@compiled
def _merged(
    facts: Facts,
    found: Partials,
    scratch: Scratch,
    able: int,
    time: int,
    first: int,
    stop: int,
    chosen: int,
) -> int:
    """Put together who runs once these have started; return how many."""
    ends, kinds, size = scratch.ends, scratch.kinds, stop - first
    for i in range(size):
        ends[i], kinds[i] = found.ends[first + i], found.kinds[first + i]
    for i in range(able):
        job = scratch.able[i]
        if not (chosen >> job) & 1:
            continue
        end, at = time + facts.run[job], size
        while at > 0 and ends[at - 1] > end:
            ends[at], kinds[at] = ends[at - 1], kinds[at - 1]
            at -= 1
        ends[at], kinds[at] = end, facts.kind[job]
        size += 1
    return size


@compiled
def _add(
    facts: Facts,
    found: Partials,
    tally: Tally,
    scratch: Scratch,
    at: int,
    able: int,
    time: int,
    free: int,
    first: int,
    stop: int,
    chosen: int,
    cost: int,
) -> bool:
    """Add the partial schedule in which these jobs start, unless it is dropped."""
    jobs = facts.submit.size
    started, new = found.started[at] | chosen, tally.found[0]
    size = _merged(facts, found, scratch, able, time, first, stop, chosen)
    if new >= found.cost.size or tally.held[0] + size > found.ends.size:
        return False
    found.started[new], found.begun[new], found.cost[new] = started, time, cost
    found.parent[new] = at
    if started == (np.int64(1) << jobs) - 1:
        if cost < tally.known[0]:
            tally.known[0], tally.best[0] = cost, new
            found.state[new] = DONE
            tally.found[0] += 1
        return True
    then = min(scratch.ends[0], _next_submit(facts, started, time))
    for job in range(jobs):
        if not (started >> job) & 1 and facts.submit[job] <= time and facts.need[job] <= free:
            fits = scratch.since[job] if scratch.since[job] >= 0 else time
            if fits + facts.run[job] <= then:
                return True
    bound = bound_of(
        facts,
        started,
        cost,
        then,
        _freed(facts, scratch, size, free, then),
        scratch.ends,
        scratch.kinds,
        _ended(scratch, size, then),
        size,
    )
    if bound > facts.unit * (tally.known[0] - facts.step):
        return True
    offset = tally.held[0]
    for i in range(size):
        found.ends[offset + i], found.kinds[offset + i] = scratch.ends[i], scratch.kinds[i]
    found.then[new], found.bound[new], found.offset[new] = then, bound, offset
    found.size[new], found.state[new] = size, OPEN
    tally.tried[0] += 1
    if not dominated(facts, found, new):
        slot = slot_of(found, started)
        found.link[new], found.table[slot] = found.table[slot], new
        tally.found[0] += 1
        tally.held[0] += size
        _push(found, tally, new)
    return True


@compiled
def _ended(scratch: Scratch, size: int, time: int) -> int:
    """Return how many jobs have ended by a time."""
    at = 0
    while at < size and scratch.ends[at] <= time:
        at += 1
    return at


@compiled
def _freed(facts: Facts, scratch: Scratch, size: int, free: int, time: int) -> int:
    """Return how many servers are free once those jobs have ended."""
    for i in range(_ended(scratch, size, time)):
        free += facts.takes[scratch.kinds[i]]
    return free
