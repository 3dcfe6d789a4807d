"""Compiled kernels of `lagrangian`: the least cost of one job under decreasing rents."""

from math import exp, inf, log, sqrt
from typing import NamedTuple

from schedopt.solvers.compiling import kernel
from schedopt.solvers.hesrpt.speedup_kernels import (
    POWER,
    TABLE,
    Curves,
    Floats,
    Ints,
    demand,
    slope,
    speed,
)

STEPS, CROSSINGS = 80, 40
"""Most steps of the search for a price, and for the price at which two ends have equal costs."""
ROUNDING, CANCELLED = 1e-12, 2e-14
"""Relative rounding error of a sum over cells, and of terms that may cancel."""
DEEP = 128
"""Depth of the stack of spans; halving never needs as much."""


class Path(NamedTuple):
    """A server rent that decreases over time, with cumulative sums.

    After the last cell the rent is 0. The sums hold, for each exponent p, the integral of
    (m/m_E)^(-p/(1-p)).
    """

    times: Floats  # where cells begin and end, from 0, (E + 1,)
    rents: Floats  # positive, never rising, (E,)
    bills: Floats  # the integral of the rent until each time, (E + 1,)
    roots: Floats  # that of its square root, (E + 1,)
    sums: Floats  # (P, E + 1)
    rows: Ints  # each job's row of sums, (M,)


class Demand(NamedTuple):
    """The jobs' best responses to a server rent: completion times, work prices, server use."""

    ends: Floats  # completions, (M,)
    prices: Floats  # of a unit of work, (M,)
    use: Floats  # servers times time in each cell, (E,)


class Renter(NamedTuple):
    """A job that pays rent for its servers."""

    c: Curves
    path: Path
    job: int
    size: float
    cost: float  # of a unit of time until it completes


def first_below(rents: Floats, value: float) -> int:
    """Return the first cell whose rent is below a value, or E."""
    low, high = 0, len(rents)
    while low < high:
        middle = (low + high) // 2
        if rents[middle] < value:
            high = middle
        else:
            low = middle + 1
    return low


def gain_and_work(one: Renter, lam: float, n: int) -> tuple[float, float]:
    """Return the gain of a job in the first n cells at a work price, and the work that it does.

    In a cell with rent m it uses the k servers within its limits that maximize lam s(k) - m k.
    Rents decrease, so it uses its least number first, then more, then its most.
    """
    c, path, j = one.c, one.path, one.job
    times, rents, bills = path.times, path.rents, path.bills
    gain, work = 0.0, 0.0
    if c.kinds[j] == TABLE:
        e = 0
        while e < n:
            k = demand(c, j, lam, rents[e])
            end = n
            if k < c.mosts[j]:
                end = min(max(first_below(rents, lam * slope(c, j, k)), e + 1), n)
            long, s = times[end] - times[e], speed(c, j, k)
            work += s * long
            gain += lam * s * long - k * (bills[end] - bills[e])
            e = end
        return gain, work
    least, most, par = float(c.leasts[j]), float(c.mosts[j]), float(c.pars[j])
    a = min(first_below(rents, lam * slope(c, j, least)), n)
    b = min(max(first_below(rents, lam * slope(c, j, most)), a), n)
    if a > 0 and least > 0.0:
        s = speed(c, j, least)
        work += s * times[a]
        gain += lam * s * times[a] - least * bills[a]
    if b > a and c.kinds[j] == POWER:
        row = path.rows[j]
        rest = path.sums[row, b] - path.sums[row, a]
        if rest > 0.0:
            done = exp(par / (1.0 - par) * log(par * lam / rents[-1]) + log(rest))
            work += done
            gain += lam * (1.0 - par) * done
    elif b > a:
        long, root = times[b] - times[a], path.roots[b] - path.roots[a]
        work += max(long - sqrt(par / lam) * root, 0.0) / (1.0 - par)
        both = lam * long + par * (bills[b] - bills[a]) - 2.0 * sqrt(lam * par) * root
        gain += max(both, 0.0) / (1.0 - par)
    if n > b:
        s, long = speed(c, j, most), times[n] - times[b]
        work += s * long
        gain += lam * s * long - most * (bills[n] - bills[b])
    return gain, work


def cost_until(one: Renter, lam: float, n: int) -> tuple[float, float]:
    """Return a lower bound on a job's cost if it completes after n cells, and its work.

    The bound holds at every price. It is lowered by the rounding errors: some hundred units in the
    last place for powers and roots, two for sums; with Amdahl's law the terms may be far larger
    than their difference.
    """
    c, path, j = one.c, one.path, one.job
    gain, work = gain_and_work(one, lam, n)
    paid = one.cost * path.times[n] + lam * one.size
    off = ROUNDING * (paid + abs(gain))
    if c.kinds[j] != POWER and c.kinds[j] != TABLE and c.pars[j] < 1.0:
        par = c.pars[j]
        off += CANCELLED * (lam * path.times[n] + par * path.bills[n]) / (1.0 - par)
    return paid - gain - off, work


def price_until(one: Renter, n: int, start: float) -> float:
    """Return approximately the work price at which a job completes in n cells, or infinity.

    The work increases with the price: a secant method in logarithms with a bracket.
    """
    c, j, size, time = one.c, one.job, one.size, one.path.times[n]
    if speed(c, j, c.mosts[j]) * time <= size:
        return inf
    if c.leasts[j] > 0.0 and speed(c, j, c.leasts[j]) * time >= size:
        return 0.0
    low, high, below, above = -inf, inf, 0.0, 0.0
    u, step = log(start), 0.25
    for turn in range(STEPS):
        _, work = gain_and_work(one, exp(u), n)
        excess = log(work / size) if work > 0.0 else -50.0
        if abs(excess) < 1e-9:
            break
        if excess < 0.0:
            low, below = u, excess
        else:
            high, above = u, excess
        if low == -inf or high == inf:
            u += step if excess < 0.0 else -step
            step *= 2.0
            continue
        if high - low < 1e-9:
            break
        u = low - below * (high - low) / (above - below)
        if turn % 3 == 2 or not low + 0.01 * (high - low) < u < high - 0.01 * (high - low):
            u = 0.5 * (low + high)
    return exp(u)


def least_cost_between(
    one: Renter, a: int, b: int, most: float, least: float, goal: float, out: Floats
) -> float:
    """Return a lower bound on a job's cost if it completes between the ends of cells a and b.

    For a fixed price the cost is concave over time, since rents decrease, so it is least at an end.
    The best price makes both ends equal, or is that of an end: ``most`` is the price at a,
    ``least`` that at b. The search ends once the bound reaches ``goal``. ``out[2]`` is the price,
    and ``out[3]`` the time between the ends at which the work is done.
    """
    size, times = one.size, one.path.times
    lam = least
    early, _ = cost_until(one, lam, a)
    late, _ = cost_until(one, lam, b)
    out[2], out[3] = lam, times[b]
    if late <= early:
        return late
    best, step = early, 2.0
    low, high = log(lam), log(most) if most < inf else inf
    below, above = late - early, 0.0
    u = low
    for turn in range(CROSSINGS):
        if high == inf:
            u, step = low + log(step), step * step
        elif above < 0.0 and turn % 3 != 2:
            u = low + below / (below - above) * (high - low)
        else:
            u = 0.5 * (low + high)
        lam = exp(u)
        early, before = cost_until(one, lam, a)
        late, done = cost_until(one, lam, b)
        if min(early, late) > best:
            best, out[2] = min(early, late), lam
            part = (size - before) / (done - before) if done > before else 0.0
            part = min(max(part, 0.0), 1.0)
            out[3] = times[a] + part * (times[b] - times[a])
        if late > early:
            low, below = u, late - early
        else:
            high, above = u, late - early
        if best >= goal or (high < inf and high - low < 1e-11):
            break
        if abs(late - early) <= 1e-11 * early or (b > a + 1 and max(early, late) < goal):
            break  # both ends rise and fall so that no price shows the goal
    return best


def least_cost(one: Renter, part: float, stack: Floats, out: Floats) -> float:
    """Return a lower bound on the cost of a job alone, for any completion time.

    Spans of cells on ``stack`` are halved until a price proves that no end in them is cheaper than
    the best by the fraction ``part``. ``out[0]`` is the completion time and ``out[1]`` the price.
    """
    c, j, size = one.c, one.job, one.size
    n, t = len(one.path.rents), one.path.times
    top = one.cost / speed(c, j, c.mosts[j])
    last = price_until(one, n, top)
    lam = min(last, top)  # after the last cell servers are free: it takes all it may
    best, work = cost_until(one, lam, n)
    least = best
    out[0], out[1] = t[n] + max(size - work, 0.0) / speed(c, j, c.mosts[j]), lam
    stack[0, 0], stack[1, 0], stack[2, 0], stack[3, 0] = 0, n, inf, last
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a, b = int(stack[0, waiting]), int(stack[1, waiting])
        high, low = stack[2, waiting], stack[3, waiting]
        if low == inf:  # it cannot be done by then
            continue
        goal = best * (1.0 - part)
        value = least_cost_between(one, a, b, high, max(low, 1e-300), goal, out)
        if value >= goal or b == a + 1:
            least = min(least, value)
            if value < best:
                best, out[0], out[1] = value, out[3], out[2]
            continue
        half = (a + b) // 2
        start = sqrt(low) * sqrt(high) if high < inf and low > 0.0 else max(low, top * 1e-9)
        price = price_until(one, half, start)
        if price < inf:
            value, _ = cost_until(one, max(price, 1e-300), half)
            if value < best:
                best, out[0], out[1] = value, t[half], max(price, 1e-300)
        stack[0, waiting], stack[1, waiting] = a, half
        stack[2, waiting], stack[3, waiting] = high, price
        waiting += 1
        stack[0, waiting], stack[1, waiting] = half, b
        stack[2, waiting], stack[3, waiting] = price, low
        waiting += 1
    return min(least, best)


@kernel()
def least_costs(
    c: Curves,
    path: Path,
    sizes: Floats,
    costs: Floats,
    jobs: Ints,
    part: float,
    found: Demand,
    room: tuple[Floats, Floats],
) -> float:
    """Return the sum of the single-job costs of some jobs, and add their demand to ``found``.

    ``room`` is workspace.
    """
    total, out = 0.0, room[1]
    for i in range(len(jobs)):
        j = jobs[i]
        one = Renter(c, path, j, sizes[j], costs[j])
        total += least_cost(one, part, room[0], out)
        found.ends[j], found.prices[j] = out[0], out[1]
        for e in range(len(found.use)):
            if path.times[e] >= out[0]:
                break
            long = min(path.times[e + 1], out[0]) - path.times[e]
            found.use[e] += long * demand(c, j, out[1], path.rents[e])
    return total


@kernel()
def costs_by_completion(
    c: Curves, path: Path, sizes: Floats, costs: Floats, jobs: Ints, scratch: Floats, out: Floats
) -> None:
    """Store in ``out``, shape (M, E + 1), lower bounds on the single-job costs by completion cell.

    The bound is infinite if a job cannot complete by the end of the cell. The last column is for
    completions after all cells.
    """
    n = len(path.rents)
    for j in jobs:
        one = Renter(c, path, j, sizes[j], costs[j])
        top = one.cost / speed(c, j, c.mosts[j])
        start, before = top, inf
        for e in range(n):
            price = price_until(one, e + 1, start)
            out[j, e] = inf
            if price < inf:
                start = max(price, 1e-300)
                out[j, e] = least_cost_between(one, e, e + 1, before, start, inf, scratch)
                before = price
        out[j, n], _ = cost_until(one, min(before, top), n)
