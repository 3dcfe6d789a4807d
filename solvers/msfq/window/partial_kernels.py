"""Partial schedules in order of time: which of them may still become the best, compiled.

A partial schedule is the jobs that have started by a time, at which some of them do. It goes on at
a later time at which a job ends or is submitted; who starts then is any set of jobs that fits. All
numbers are whole.

Four things keep their number small. A partial schedule is dropped
- where prices by need show that whatever it becomes is no better than what is known;
- where a job that is left out though it fits could have run to its end before anything else starts,
  or starts later although nobody has taken its place since;
- where another of the same jobs, with all that is still to start so much later that it fits, costs
  less; or no more without any delay;
- where of two jobs that are alike the later one starts first.
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
OPEN, DONE, DROPPED = 0, 1, 2
EXHAUSTED, FULL, GOING = 0, 1, 2
MOST_TRIED = 300_000
"""Sets that are looked at for one partial schedule, beyond which the search gives up."""


class Facts(NamedTuple):
    """What a search is about; arrays of int64.

    ``takes[k]`` is what jobs of kind k need; ``floors[j, i]`` the least that job j costs from its
    start ``corners[j, i]`` on, of ``many[j]``; ``earned[r, c]`` what room r earns at the most in
    cell c for a unit of time, and ``earnings`` the sums of it; ``value`` and ``values`` the same of
    the machine as a whole.
    """

    submit: Ints
    need: Ints
    takes: Ints
    run: Ints
    weight: Ints
    kind: Ints
    alike: Ints
    servers: int
    shared: int
    unit: int
    step: int
    grid: Ints
    prices: Ints
    paid: Ints
    earned: Ints
    earnings: Ints
    value: Ints
    values: Ints
    corners: Ints
    floors: Ints
    many: Ints


class Partials(NamedTuple):
    """Partial schedules, by number, and where they are found.

    The ends and kinds of the jobs that run after the last start are in ``ends`` and ``kinds``, by
    time, ``size`` from ``offset`` on. ``then`` is the next time at which anything may start. In the
    ``heap`` are those to go on with, by their last starts (``keys``).
    """

    started: Ints
    begun: Ints
    then: Ints
    cost: Ints
    bound: Ints
    parent: Ints
    link: Ints
    offset: Ints
    size: Ints
    state: Ints
    ends: Ints
    kinds: Ints
    keys: Ints
    heap: Ints
    table: Ints


class Tally(NamedTuple):
    """Numbers that change, each an array of one int64."""

    found: Ints
    held: Ints
    waiting: Ints
    known: Ints
    best: Ints


class Scratch(NamedTuple):
    """Room for one step."""

    since: Ints
    able: Ints
    choice: Ints
    sofar: Ints
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
    free: int,
    ends: Ints,
    kinds: Ints,
    first: int,
    stop: int,
) -> int:
    """Return a lower bound on a partial schedule if all other jobs start at a time or later.

    `started` are its jobs, as bits, with weighted starts `cost`; `free` servers are idle at the
    time; `ends` and `kinds` from ``first`` to ``stop`` are those of jobs that then run, by end.
    """
    grid, shared = facts.grid, facts.shared
    others = facts.unit * cost
    for job in range(facts.submit.size):
        if not (started >> job) & 1:
            others += cost_from(facts, job, time)
    horizon = grid[grid.size - 1]
    room, now, at, earned, rents = free, time, cell(grid, time), 0, 0
    whole = facts.values[at] + facts.value[at] * (time - grid[at])
    for i in range(first, stop + 1):
        until = horizon
        if i < stop:
            until = ends[i]
            kind = kinds[i]
            rents += paid_by(grid, facts.prices, facts.paid, kind, until)
            rents -= facts.paid[kind, at] + facts.prices[kind, at] * (time - grid[at])
        if until > now:
            a, b, fits = cell(grid, now), cell(grid, until), room // shared
            earned += facts.earnings[fits, b] + facts.earned[fits, b] * (until - grid[b])
            earned -= facts.earnings[fits, a] + facts.earned[fits, a] * (now - grid[a])
            now = until
        if i < stop:
            room += facts.takes[kind]
    return int(max(others - earned, others + rents - (facts.values[grid.size - 1] - whole)))


@compiled
def _delay(facts: Facts, found: Partials, a: int, b: int, most: int) -> int:
    """Return how much later what follows b must be, from then on, to fit where a runs.

    More than `most` need not be told apart.
    """
    ends, kinds, time = found.ends, found.kinds, found.then[b]
    first, at = found.offset[a], found.offset[b]
    stop, last = first + found.size[a], at + found.size[b]
    busy_a = busy_b = later = 0
    for i in range(first, stop):
        busy_a += facts.takes[kinds[i]]
    for i in range(at, last):
        busy_b += facts.takes[kinds[i]]
    since = time
    for i in range(first, stop):
        while busy_b >= busy_a and at < last:
            since = max(time, ends[at])
            busy_b -= facts.takes[kinds[at]]
            at += 1
        later = max(later, ends[i] - since)
        if later > most:
            break
        busy_a -= facts.takes[kinds[i]]
    return later


@compiled
def dominated(facts: Facts, found: Partials, new: int) -> bool:
    """Tell whether a partial schedule is dropped for another; drop others for it."""
    started, cost = found.started[new], found.cost[new]
    left = 0
    for job in range(facts.submit.size):
        if not (started >> job) & 1:
            left += facts.weight[job]
    slot = slot_of(found, started)
    other, before = found.table[slot], -1
    while other >= 0:
        then = found.link[other]
        if found.started[other] == started and found.state[other] != DROPPED:
            ahead = cost - found.cost[other]
            if ahead >= 0:
                later = _later(facts, found, other, new, ahead // left)
                if later * left < ahead or (later == 0 and ahead == 0):
                    return True
            elif found.state[other] == OPEN:
                later = _later(facts, found, new, other, -ahead // left)
                if later * left < -ahead:
                    found.state[other] = DROPPED
        if found.state[other] != DROPPED:
            before = other
        elif before >= 0:
            found.link[before] = then
        else:
            found.table[slot] = then
        other = then
    return False


@compiled
def _later(facts: Facts, found: Partials, a: int, b: int, most: int) -> int:
    """Return how much later what follows b must be to follow a."""
    least = max(0, found.begun[a] + 1 - found.then[b])
    if least > most:
        return int(least)
    return int(max(least, _delay(facts, found, a, b, most)))


@compiled
def slot_of(found: Partials, started: int) -> int:
    """Return where in the table partial schedules of these jobs begin."""
    mixed = np.uint64(started) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64(mixed >> np.uint64(40)) & (found.table.size - 1))


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
    first: int  # who runs: from here in ``found.ends`` on
    stop: int  # to here


@compiled
def search(of: Search, count: int) -> int:
    """Go on with so many partial schedules; tell what came of it.

    Returns ``EXHAUSTED`` where none is left, so that what is known is best; ``FULL`` where there is
    no room for more; and else ``GOING``.
    """
    facts, found, tally, _ = of
    for _ in range(count):
        if tally.waiting[0] == 0:
            return EXHAUSTED
        at = found.heap[0]
        tally.waiting[0] = pop(found.keys, found.heap, tally.waiting[0])
        if found.state[at] != OPEN:
            continue
        found.state[at] = DONE
        if found.bound[at] > facts.unit * (tally.known[0] - facts.step):
            continue
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
def _go_on(of: Search, at: int) -> bool:
    """Take one partial schedule from time to time; tell whether there was room for what follows."""
    facts, found, tally, scratch = of
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
        moment = Moment(at, started, time, able, first, stop)
        if able and not _choose(of, moment, free, bound):
            return False
        for i in range(able):
            since[scratch.able[i]] = time


@compiled
def _choose(of: Search, moment: Moment, free: int, bound: int) -> bool:
    """Try all sets of jobs that may start together; tell whether there was room for what follows.

    Jobs are decided on in turn, the shortest first: as soon as those decided on cost too much,
    whatever becomes of the others, they are given up.
    """
    facts, found, tally, scratch = of
    choice, sofar, able, time = scratch.choice, scratch.sofar, moment.able, moment.time
    _by_run(facts, scratch, able)
    i, cost, tried = 0, found.cost[moment.at], 0
    chosen = int(np.int64(0))  # as a literal it would be a type, and all compiled once more
    choice[0], sofar[0] = 0, bound
    while i >= 0:
        if i == able:
            if chosen and not _add(of, moment, free, chosen, cost):
                return False
            i -= 1
            continue
        job = scratch.able[i]
        bit, most = 1 << job, facts.unit * (tally.known[0] - facts.step)
        choice[i] += 1
        goes = False
        if choice[i] == 1 and _may_start(facts, job, time, free, moment.started | chosen):
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
            sofar[i + 1] = max(sofar[i], _decided(of, moment, i + 1, free, chosen, cost))
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
def _decided(of: Search, moment: Moment, decided: int, free: int, chosen: int, cost: int) -> int:
    """Return what it costs at least once the first few of those able are decided on.

    Who does not start now does not before the next job ends or is submitted.
    """
    facts, _, _, scratch = of
    time, started = moment.time, moment.started | chosen
    size = _merged(of, moment, decided, chosen)
    then = _next_submit(facts, started, time)
    if size:
        then = min(then, scratch.ends[0])
    if decided < moment.able:
        then = min(then, time + facts.run[scratch.able[decided]])
    begin = size - size  # as a literal it would be a type, and all compiled once more
    bound = bound_of(facts, started, cost, time, free, scratch.ends, scratch.kinds, begin, size)
    for i in range(decided):
        job = scratch.able[i]
        if not (chosen >> job) & 1:
            bound += cost_from(facts, job, then) - cost_from(facts, job, time)
    return bound


@compiled
def _merged(of: Search, moment: Moment, decided: int, chosen: int) -> int:
    """Put together who runs once these have started; return how many."""
    facts, found, _, scratch = of
    first, time = moment.first, moment.time
    ends, kinds, size = scratch.ends, scratch.kinds, moment.stop - first
    for i in range(size):
        ends[i], kinds[i] = found.ends[first + i], found.kinds[first + i]
    for i in range(decided):
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
def _add(of: Search, moment: Moment, free: int, chosen: int, cost: int) -> bool:
    """Add the partial schedule in which these jobs start, unless it is dropped."""
    facts, found, tally, scratch = of
    jobs, time = facts.submit.size, moment.time
    started, new = moment.started | chosen, tally.found[0]
    size = _merged(of, moment, moment.able, chosen)
    if new >= found.cost.size or tally.held[0] + size > found.ends.size:
        return False
    found.started[new], found.begun[new], found.cost[new] = started, time, cost
    found.parent[new] = moment.at
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
    ended = 0
    while ended < size and scratch.ends[ended] <= then:
        free += facts.takes[scratch.kinds[ended]]
        ended += 1
    bound = bound_of(facts, started, cost, then, free, scratch.ends, scratch.kinds, ended, size)
    if bound > facts.unit * (tally.known[0] - facts.step):
        return True
    offset = tally.held[0]
    for i in range(size):
        found.ends[offset + i], found.kinds[offset + i] = scratch.ends[i], scratch.kinds[i]
    found.then[new], found.bound[new], found.offset[new] = then, bound, offset
    found.size[new], found.state[new] = size, OPEN
    if not dominated(facts, found, new):
        slot = slot_of(found, started)
        found.link[new], found.table[slot] = found.table[slot], new
        tally.found[0] += 1
        tally.held[0] += size
        tally.waiting[0] = push(found.keys, found.heap, tally.waiting[0], time, new)
    return True
