"""Partial schedules in order of time: which of them may still become the best, compiled.

A partial schedule is the jobs that have started by a time, at which some of them do. It goes on at
a later time at which a job ends or is submitted; who starts then is any set of jobs that fits. All
numbers are whole.

Three things keep their number small. A partial schedule is dropped
- where prices by need show that whatever it becomes is no better than what is known;
- where a job left out though it fits starts later while nobody has taken its place since;
- where of two jobs that are alike the later one starts first.
Who runs is not kept with a partial schedule, but found again from those before it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import compiled
from schedopt.solvers.kernels.heap import pop, push
from schedopt.solvers.msfq.log_bound.price_kernels import cell
from schedopt.solvers.msfq.window.packing_kernels import paid_by

Ints = NDArray[np.int64]
NEVER = 2**62
TOO_LATE = 2**56
EXHAUSTED, FULL, GOING = 0, 1, 2
MOST_TRIED = 300_000
"""Sets that are looked at for one partial schedule, beyond which the search gives up."""


class Facts(NamedTuple):
    """What a search is about; arrays of int64.

    ``takes[k]`` is what jobs of kind k need; ``floors[j, i]`` the least that job j costs from its
    start ``corners[j, i]`` on, of ``many[j]``; ``value`` what the machine earns at the most in each
    cell for a unit of time, and ``values`` the sums of it.
    """

    submit: Ints
    need: Ints
    takes: Ints
    run: Ints
    weight: Ints
    kind: Ints
    alike: Ints
    servers: int
    unit: int
    step: int
    grid: Ints
    prices: Ints
    paid: Ints
    value: Ints
    values: Ints
    corners: Ints
    floors: Ints
    many: Ints


class Partials(NamedTuple):
    """Partial schedules, by number: who has started, as bits, when the last did, and what it cost.

    In the ``heap`` are those to go on with, by their last starts (``keys``).
    """

    started: Ints
    begun: Ints
    cost: Ints
    parent: Ints
    keys: Ints
    heap: Ints


class Tally(NamedTuple):
    """Numbers that change, each an array of one int64."""

    found: Ints
    waiting: Ints
    known: Ints
    best: Ints


class Scratch(NamedTuple):
    """Room for one step: ends and kinds are of who runs, by end, before a moment and after it."""

    waits: Ints
    able: Ints
    choice: Ints
    ends_before: Ints
    kinds_before: Ints
    ends: Ints
    kinds: Ints


@compiled
def cost_at(facts: Facts, job: int, start: int) -> int:
    """Return what a start costs a job, its rent with it."""
    grid, prices, paid, kind = facts.grid, facts.prices, facts.paid, facts.kind[job]
    rent = paid_by(grid, prices, paid, kind, start + facts.run[job])
    rent -= paid_by(grid, prices, paid, kind, start)
    return int(facts.unit * facts.weight[job] * start + rent)


@compiled
def cost_from(facts: Facts, job: int, time: int) -> int:
    """Return the least that a job costs that starts at a time or later."""
    corners, many = facts.corners, facts.many[job]
    if time <= corners[job, 0]:
        return int(facts.floors[job, 0])
    if time > corners[job, many - 1]:
        return TOO_LATE
    low, high = 0, many
    while high - low > 1:
        middle = (low + high) >> 1
        if corners[job, middle] < time:
            low = middle
        else:
            high = middle
    return min(cost_at(facts, job, time), int(facts.floors[job, high]))


@compiled
def bound_of(
    facts: Facts,
    started: int,
    cost: int,
    time: int,
    ends: Ints,
    kinds: Ints,
    first: int,
    stop: int,
) -> int:
    """Return a lower bound on a partial schedule if all other jobs start at a time or later.

    `started` are its jobs, as bits, with weighted starts `cost`; `ends` and `kinds` from ``first``
    to ``stop`` are those of jobs that then run, whose rents are for what the machine earns.
    """
    grid, at = facts.grid, cell(facts.grid, time)
    bound = facts.unit * cost
    for job in range(facts.submit.size):
        if not (started >> job) & 1:
            bound += cost_from(facts, job, time)
    for i in range(first, stop):
        bound += paid_by(grid, facts.prices, facts.paid, kinds[i], ends[i])
        bound -= paid_by(grid, facts.prices, facts.paid, kinds[i], time)
    earned = facts.values[grid.size - 1] - facts.values[at] - facts.value[at] * (time - grid[at])
    return int(bound - earned)


class Search(NamedTuple):
    """A search: what it is about, what it found, and room for a step."""

    facts: Facts
    found: Partials
    tally: Tally
    scratch: Scratch


class Moment(NamedTuple):
    """A partial schedule at a time at which some jobs may start."""

    at: int  # its number
    started: int  # its jobs, as bits
    time: int
    able: int  # how many may start: the first of ``scratch.able``
    first: int  # who runs: from here in ``scratch.ends_before`` on
    stop: int  # to here


@compiled
def search(of: Search, count: int) -> int:
    """Go on with so many partial schedules; tell what came of it.

    Returns ``EXHAUSTED`` where none is left, so that what is known is best; ``FULL`` where there is
    no room for more; and else ``GOING``.
    """
    found, tally = of.found, of.tally
    for _ in range(count):
        if tally.waiting[0] == 0:
            return EXHAUSTED
        at = found.heap[0]
        tally.waiting[0] = pop(found.keys, found.heap, tally.waiting[0])
        if not _go_on(of, at):
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
def _running(of: Search, at: int) -> int:
    """List who runs after the last start of a partial schedule; return how many."""
    facts, found, _, scratch = of
    size, one = 0, at
    while found.parent[one] >= 0:
        new = found.started[one] & ~found.started[found.parent[one]]
        for job in range(facts.submit.size):
            end = found.begun[one] + facts.run[job]
            if (new >> job) & 1 and (one == at or end > found.begun[at]):
                _insert(scratch.ends_before, scratch.kinds_before, size, end, facts.kind[job])
                size += 1
        one = found.parent[one]
    return size


@compiled
def _insert(ends: Ints, kinds: Ints, size: int, end: int, kind: int) -> None:
    """Insert one who runs among others, by end."""
    at = size
    while at > 0 and ends[at - 1] > end:
        ends[at], kinds[at] = ends[at - 1], kinds[at - 1]
        at -= 1
    ends[at], kinds[at] = end, kind


@compiled
def _able(facts: Facts, scratch: Scratch, started: int, time: int, free: int) -> int:
    """List who may start; return how many."""
    able = 0
    for job in range(facts.submit.size):
        came = facts.submit[job] <= time and not (started >> job) & 1
        if came and not scratch.waits[job] and facts.need[job] <= free:
            scratch.able[able] = job
            able += 1
    return able


@compiled
def _go_on(of: Search, at: int) -> bool:
    """Take one partial schedule from time to time; tell whether there was room for what follows."""
    facts, found, tally, scratch = of
    started, time, cost = found.started[at], found.begun[at], found.cost[at]
    ends, kinds, first, stop = scratch.ends_before, scratch.kinds_before, 0, _running(of, at)
    free = facts.servers
    for i in range(stop):
        free -= facts.takes[kinds[i]]
    for job in range(facts.submit.size):  # left out though it fits, until one takes its place
        scratch.waits[job] = facts.submit[job] <= time and facts.need[job] <= free
    while True:
        time = _next_submit(facts, started, time)
        if first < stop:
            time = min(time, ends[first])
        if time == NEVER:
            return True
        while first < stop and ends[first] <= time:
            free += facts.takes[kinds[first]]
            first += 1
        bound = bound_of(facts, started, cost, time, ends, kinds, first, stop)
        if bound > facts.unit * (tally.known[0] - facts.step):
            return True
        able = _able(facts, scratch, started, time, free)
        if able and not _choose(of, Moment(at, started, time, able, first, stop), free):
            return False
        for i in range(able):
            scratch.waits[scratch.able[i]] = 1


@compiled
def _choose(of: Search, moment: Moment, free: int) -> bool:
    """Try all sets of jobs that may start together; tell whether there was room for what follows.

    Of each job in turn both are tried: that it starts (1), and that it does not (2).
    """
    facts, found, _, scratch = of
    choice, able, time = scratch.choice, moment.able, moment.time
    i, cost, tried = 0, found.cost[moment.at], 0
    chosen = int(np.int64(0))  # as a literal it would be a type, and all compiled once more
    choice[0] = 0
    while i >= 0:
        if i == able:
            if chosen and not _add(of, moment, chosen, cost):
                return False
            i -= 1
            continue
        job = scratch.able[i]
        bit = 1 << job
        choice[i] += 1
        if choice[i] == 1 and _may_start(facts, job, time, free, moment.started | chosen):
            chosen |= bit
            free -= facts.need[job]
            cost += facts.weight[job] * time
        elif choice[i] <= 2:
            choice[i] = 2
            if chosen & bit:
                chosen ^= bit
                free += facts.need[job]
                cost -= facts.weight[job] * time
        else:
            i -= 1
            continue
        tried += 1
        if tried > MOST_TRIED:
            return False
        i += 1
        choice[i] = 0
    return True


@compiled
def _may_start(facts: Facts, job: int, time: int, free: int, started: int) -> bool:
    """Tell whether a job fits, may start at a time, and comes after those that it is alike."""
    before = facts.alike[job]
    if facts.need[job] > free or (before >= 0 and not (started >> before) & 1):
        return False
    first, last = facts.corners[job, 0], facts.corners[job, facts.many[job] - 1]
    return bool(first <= time <= last)


@compiled
def _merged(of: Search, moment: Moment, chosen: int) -> int:
    """Put together who runs once these have started; return how many."""
    facts, scratch = of.facts, of.scratch
    ends, kinds, size = scratch.ends, scratch.kinds, moment.stop - moment.first
    for i in range(size):
        ends[i] = scratch.ends_before[moment.first + i]
        kinds[i] = scratch.kinds_before[moment.first + i]
    for i in range(moment.able):
        job = scratch.able[i]
        if (chosen >> job) & 1:
            _insert(ends, kinds, size, moment.time + facts.run[job], facts.kind[job])
            size += 1
    return size


@compiled
def _add(of: Search, moment: Moment, chosen: int, cost: int) -> bool:
    """Add the partial schedule in which these jobs start, unless it is dropped."""
    facts, found, tally, scratch = of
    time = moment.time
    started, new = moment.started | chosen, tally.found[0]
    if new >= found.cost.size:
        return False
    found.started[new], found.begun[new], found.cost[new] = started, time, cost
    found.parent[new] = moment.at
    if started == (np.int64(1) << facts.submit.size) - 1:
        if cost < tally.known[0]:
            tally.known[0], tally.best[0] = cost, new
            tally.found[0] += 1
        return True
    size, ended = _merged(of, moment, chosen), 0
    then = min(scratch.ends[0], _next_submit(facts, started, time))
    while ended < size and scratch.ends[ended] <= then:
        ended += 1
    bound = bound_of(facts, started, cost, then, scratch.ends, scratch.kinds, ended, size)
    if bound <= facts.unit * (tally.known[0] - facts.step):
        tally.found[0] += 1
        tally.waiting[0] = push(found.keys, found.heap, tally.waiting[0], time, new)
    return True
