"""Values of several classes, swept over a box of jobs in the system, and their policy simulated.

Values are laid out by jobs in the system, the last class fastest, and by what is in service, in
lexicographic order. Impossible states (more in service than in the system) are infinite.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import compiled

LOW, HIGH = 0, 1
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]
TIME, EVENTS, LOST, COST = 0, 1, 2, 3
SCALE = 1.0 / 2**53


class Box(NamedTuple):
    """Values on a box of jobs in the system, and the process that they are of."""

    values: Floats  # V beside the quadratic, (states, Q)
    most: Ints  # the most jobs of each class, (C,)
    strides: Ints  # how far apart states are of one job more, (C,)
    services: Ints  # all that may be in service, (Q, C)
    up: Ints  # what is in service after a start, -1 where that cannot be, (Q, C)
    down: Ints  # and after a completion, (Q, C)
    arrivals: Floats  # (C,)
    rates: Floats  # (C,)
    slopes: Floats  # the cost and the drift of the quadratic, by jobs, (Q, C)
    constants: Floats  # and where there are none, (Q,)
    leaving: Floats  # the rate of all events, (Q,)


class Play(NamedTuple):
    """A simulated system and what was seen of it."""

    draw: Seeds  # the state of the random numbers (SplitMix64), (1,)
    state: Ints  # what is in service, and which class has the servers, -1 for none
    jobs: Ints  # in the system, (C,)
    areas: Floats  # jobs in the system added up over time, (C,)
    came: Floats  # arrivals, (C,)
    clock: Floats  # time, events, whether there were too many jobs, and the cost


@compiled
def sweep(
    box: Box,
    gain: float,
    begin: int,
    end: int,
    backwards: bool,
    update: bool,
    here: Ints,
    fresh: Floats,
    found: Floats,
) -> None:
    """Correct values of some states one after the other, or look at what they leave open.

    With `update` the values of states `begin` to `end` are corrected in place; else the least cost
    and expected change goes to ``found[LOW]``, and the greatest, where nothing is started, to
    ``found[HIGH]``. `here` and `fresh` are work space.
    """
    values, most, strides, services, up, down, arrivals, rates, slopes, constants, leaving = box
    count, ways = most.size, leaving.size
    for step in range(begin, end):
        at = end - 1 - (step - begin) if backwards else step
        left = at
        for c in range(count):
            here[c] = left // strides[c]
            left -= here[c] * strides[c]
        for q in range(ways - 1, -1, -1):
            possible = True
            for c in range(count):
                possible = possible and services[q, c] <= here[c]
            if not possible:
                fresh[q] = np.inf
                continue
            total = constants[q]
            for c in range(count):
                n = here[c]
                total += slopes[q, c] * n
                on = at + strides[c] if n < most[c] else at
                total += arrivals[c] * values[on, q]
                if services[q, c]:
                    rate = services[q, c] * rates[c]
                    after = rate * values[at - strides[c], down[q, c]]
                    if n == most[c]:  # there, or anywhere beyond
                        after = min(after, rate * values[at, down[q, c]] + slopes[q, c])
                    total += after
            if update:
                fresh[q] = (total - gain) / leaving[q]
                for c in range(count):
                    if up[q, c] >= 0 and fresh[up[q, c]] < fresh[q]:
                        fresh[q] = fresh[up[q, c]]
                continue
            value = values[at, q]
            stays = True
            for c in range(count):
                if up[q, c] >= 0 and here[c] > services[q, c]:
                    stays = stays and values[at, up[q, c]] > value
            total -= leaving[q] * value
            found[LOW] = min(found[LOW], total)
            if stays:
                found[HIGH] = max(found[HIGH], total)
        if update:
            for q in range(ways):
                values[at, q] = fresh[q]


@compiled
def _uniform(z: np.uint64) -> float:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * SCALE


@compiled
def run(box: Box, play: Play, needs: Ints, events: int, too_many: int) -> None:
    """Run the policy that starts what leads to the least values, for some events.

    Where more jobs of a class are in the system than the box has room for, the one of most work
    beyond it has the servers until half as many are left, or none waits. The policy's cost is
    estimated by cost and expected change of its values in each state: the changes are 0 in the long
    run, and the sum hardly depends on the state.

    With more than `too_many` jobs in the system it is taken to be unstable.
    """
    values, most, strides, services, _, down, arrivals, rates, slopes, constants, leaving = box
    draw, state, jobs, areas, came, clock = play
    count, q = most.size, state[0]
    waits_at = 0.0
    for c in range(count):
        waits_at += arrivals[c]
    for _ in range(events):
        at = inside = 0
        rate = waits_at
        for c in range(count):
            at += min(jobs[c], most[c]) * strides[c]
            inside += jobs[c]
            rate += services[q, c] * rates[c]
        if inside > too_many:
            clock[LOST] = 1.0
            break
        total = constants[q] - leaving[q] * values[at, q]
        for c in range(count):
            areas[c] += jobs[c] / rate
            total += slopes[q, c] * jobs[c]
            on = at + strides[c] if jobs[c] < most[c] else at
            total += arrivals[c] * values[on, q]
            if services[q, c]:
                on = at - strides[c] if jobs[c] <= most[c] else at
                total += services[q, c] * rates[c] * values[on, down[q, c]]
        clock[COST] += total / rate
        clock[TIME] += 1.0 / rate
        clock[EVENTS] += 1.0
        draw[0] += np.uint64(0x9E3779B97F4A7C15)
        pick = _uniform(draw[0]) * rate
        chosen, last = -1, 0
        for c in range(count):
            if chosen < 0 and pick < arrivals[c]:
                chosen = c
            pick -= arrivals[c]
        if chosen >= 0:
            jobs[chosen] += 1
            came[chosen] += 1.0
            at += strides[chosen] if jobs[chosen] <= most[chosen] else 0
        else:
            for c in range(count):
                if services[q, c]:
                    last = c
                    if chosen < 0 and pick < services[q, c] * rates[c]:
                        chosen = c
                    pick -= services[q, c] * rates[c]
            chosen = last if chosen < 0 else chosen
            jobs[chosen] -= 1
            q = down[q, chosen]
            at -= strides[chosen] if jobs[chosen] < most[chosen] else 0
        best = _started(box, at, q, jobs)
        state[1] = _crowded(box, state[1], q, jobs, needs)
        q = best if state[1] < 0 else _filled(box, q, state[1], jobs)
        clock[COST] += values[at, q] - values[at, best]
    state[0] = q


@compiled
def _started(box: Box, at: int, q: int, jobs: Ints) -> int:
    """Return what is in service once everything that leads to the least values is started."""
    values, services, up, c = box.values, box.services, box.up, 0
    while c < jobs.size:
        other = up[q, c]
        if other >= 0 and jobs[c] > services[q, c] and values[at, other] <= values[at, q]:
            q, c = other, 0
        else:
            c += 1
    return q


@compiled
def _crowded(box: Box, last: int, q: int, jobs: Ints, needs: Ints) -> int:
    """Return the class that has the servers since too many of it are in the system, -1 for none."""
    if last >= 0 and jobs[last] > box.services[q, last] and 2 * jobs[last] > box.most[last]:
        return last
    chosen, most = -1, 0
    for c in range(jobs.size):
        work = (jobs[c] - box.most[c]) * needs[c]
        if work > most:
            chosen, most = c, work
    return chosen


@compiled
def _filled(box: Box, q: int, first: int, jobs: Ints) -> int:
    """Start one class, then, once it is alone and has no room for more, whatever fits beside it."""
    services, up = box.services, box.up
    while up[q, first] >= 0 and jobs[first] > services[q, first]:
        q = up[q, first]
    for c in range(jobs.size):
        if c != first and services[q, c]:
            return q
    for c in range(jobs.size):
        while up[q, c] >= 0 and jobs[c] > services[q, c]:
            q = up[q, c]
    return q
