"""Values of several classes, swept over a box of jobs in the system, and their policy simulated.

Values are laid out by jobs in the system, the last class fastest, and by what is in service, in
lexicographic order. Impossible states (more in service than in the system) are infinite.
"""

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import compiled

LOW, HIGH = 0, 1
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]
TIME, EVENTS, LOST, COST = 0, 1, 2, 3
SCALE = 1.0 / 2**53


@compiled
def sweep(
    values: Floats,
    box: Ints,
    strides: Ints,
    services: Ints,
    up: Ints,
    down: Ints,
    arrivals: Floats,
    rates: Floats,
    slopes: Floats,
    constants: Floats,
    leaving: Floats,
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

    `values`, shape (states, Q), are V beside the quadratic, whose cost and drift are in `slopes`,
    (Q, C), and `constants`, (Q,); `leaving` is the rate of all events. `strides` are the distances
    of values of one job more; `up` and `down`, (Q, C), what is in service after a start and after a
    completion, -1 where that cannot be. With `update` the values of states `begin` to `end` are
    corrected in place; else the least cost and expected change goes to ``found[LOW]``, and the
    greatest, where nothing is started, to ``found[HIGH]``. `here` and `fresh` are work space.
    """
    count, ways = box.size, leaving.size
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
                on = at + strides[c] if n < box[c] else at
                total += arrivals[c] * values[on, q]
                if services[q, c]:
                    rate = services[q, c] * rates[c]
                    after = rate * values[at - strides[c], down[q, c]]
                    if n == box[c]:  # there, or anywhere beyond
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
def run(
    values: Floats,
    box: Ints,
    strides: Ints,
    services: Ints,
    up: Ints,
    down: Ints,
    arrivals: Floats,
    rates: Floats,
    slopes: Floats,
    constants: Floats,
    leaving: Floats,
    events: int,
    most: int,
    draw: Seeds,
    needs: Ints,
    state: Ints,
    jobs: Ints,
    areas: Floats,
    came: Floats,
    clock: Floats,
) -> None:
    """Run the policy that starts what leads to the least values, for some events.

    Where more jobs of a class are in the system than the box has room for, the one of most work
    beyond it has the servers until half as many are left, or none waits. The policy's cost is
    estimated by cost and expected change of its values in each state: the changes are 0 in the long
    run, and the sum hardly depends on the state.

    From `most` jobs in the system on it is taken to be unstable. `draw` is the state of the random
    numbers (SplitMix64). `state` is what is in service and which class has the servers, -1 for
    none; `areas` and `came` add up jobs in the system over time, and arrivals, by class; `clock`
    has time and events so far, whether there were too many jobs, and the cost.
    """
    count = box.size
    q = state[0]
    waits_at = 0.0
    for c in range(count):
        waits_at += arrivals[c]
    for _ in range(events):
        at = inside = 0
        rate = waits_at
        for c in range(count):
            at += min(jobs[c], box[c]) * strides[c]
            inside += jobs[c]
            rate += services[q, c] * rates[c]
        if inside > most:
            clock[LOST] = 1.0
            break
        total = constants[q] - leaving[q] * values[at, q]
        for c in range(count):
            areas[c] += jobs[c] / rate
            total += slopes[q, c] * jobs[c]
            on = at + strides[c] if jobs[c] < box[c] else at
            total += arrivals[c] * values[on, q]
            if services[q, c]:
                on = at - strides[c] if jobs[c] <= box[c] else at
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
            at += strides[chosen] if jobs[chosen] <= box[chosen] else 0
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
            at -= strides[chosen] if jobs[chosen] < box[chosen] else 0
        best = _started(values, at, q, services, up, jobs)
        state[1] = _crowded(state[1], q, box, services, jobs, needs)
        q = best if state[1] < 0 else _filled(q, state[1], services, up, jobs)
        clock[COST] += values[at, q] - values[at, best]
    state[0] = q


@compiled
def _started(values: Floats, at: int, q: int, services: Ints, up: Ints, jobs: Ints) -> int:
    """Return what is in service once everything that leads to the least values is started."""
    c = 0
    while c < jobs.size:
        other = up[q, c]
        if other >= 0 and jobs[c] > services[q, c] and values[at, other] <= values[at, q]:
            q, c = other, 0
        else:
            c += 1
    return q


@compiled
def _crowded(last: int, q: int, box: Ints, services: Ints, jobs: Ints, needs: Ints) -> int:
    """Return the class that has the servers since too many of it are in the system, -1 for none."""
    if last >= 0 and jobs[last] > services[q, last] and 2 * jobs[last] > box[last]:
        return last
    chosen, most = -1, 0
    for c in range(box.size):
        work = (jobs[c] - box[c]) * needs[c]
        if work > most:
            chosen, most = c, work
    return chosen


@compiled
def _filled(q: int, first: int, services: Ints, up: Ints, jobs: Ints) -> int:
    """Start one class, then, once it is alone and has no room for more, whatever fits beside it."""
    while up[q, first] >= 0 and jobs[first] > services[q, first]:
        q = up[q, first]
    for c in range(jobs.size):
        if c != first and services[q, c]:
            return q
    for c in range(jobs.size):
        while up[q, c] >= 0 and jobs[c] > services[q, c]:
            q = up[q, c]
    return q
