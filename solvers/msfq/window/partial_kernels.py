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
    """Partial schedules, by number, and where they are found; arrays of int64.

    The ends and kinds of the jobs that run after the last start are in ``ends`` and ``kinds``, by
    time, ``size`` from ``offset`` on. ``then`` is the next time at which anything may start.
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
    heap: Ints
    table: Ints


class Tally(NamedTuple):
    """Numbers that change, each an array of one int64."""

    found: Ints
    held: Ints
    waiting: Ints
    known: Ints
    best: Ints
    tried: Ints


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
def delay(
    facts: Facts,
    ends: Ints,
    kinds: Ints,
    a: int,
    a_stop: int,
    b: int,
    b_stop: int,
    time: int,
    most: int,
) -> int:
    """Return how much later what follows b must be, from a time on, to fit where a runs.

    The running jobs of a are those from ``a`` to ``a_stop``, those of b from ``b`` to ``b_stop``,
    by end. More than `most` need not be told apart.
    """
    busy_a = busy_b = later = 0
    for i in range(a, a_stop):
        busy_a += facts.takes[kinds[i]]
    for i in range(b, b_stop):
        busy_b += facts.takes[kinds[i]]
    since = time
    for i in range(a, a_stop):
        while busy_b >= busy_a and b < b_stop:
            since = max(time, ends[b])
            busy_b -= facts.takes[kinds[b]]
            b += 1
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
    start, other = found.offset[a], found.offset[b]
    later = delay(
        facts,
        found.ends,
        found.kinds,
        start,
        start + found.size[a],
        other,
        other + found.size[b],
        found.then[b],
        most,
    )
    return int(max(least, later))


@compiled
def slot_of(found: Partials, started: int) -> int:
    """Return where in the table partial schedules of these jobs begin."""
    mixed = np.uint64(started) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64(mixed >> np.uint64(40)) & (found.table.size - 1))
