"""Lagrangian bound on the cost of all completion orders, for many jobs.

Symbols: w and x are the weight and size of a job, C its completion time, N the number of servers,
m(t) >= 0 the rent of a server at time t (the Lagrange multiplier of the capacity), and lambda the
price of a unit of a job's work.

For any rents every policy costs at least what the jobs would cost alone if they paid rent, minus
the rent of all servers:

    sum over jobs of min_C (w C + least rent of the work of the job until C) - N integral of m.

For the least rent any lambda gives a lower bound: lambda x minus what the job gains at that price
until C. Only rents that never rise need to be considered: all jobs are present from the start, so
sorting the rents in decreasing order makes no job pay less. The gap decreases with the number of
jobs (Shapley and Folkman). Subgradient ascent raises rents where demand exceeds the capacity, and
lowers them elsewhere.
"""

from collections.abc import Generator, Iterator
from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Rules
from schedopt.instances.hesrpt import Allocated, Amdahl, Instance, Power
from schedopt.solvers.clock import now
from schedopt.solvers.compiling import kernel
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.hesrpt.attempt import Attempt, run_attempt
from schedopt.solvers.hesrpt.feasibility import MOST_JOBS
from schedopt.solvers.hesrpt.order_search import OrderSearch
from schedopt.solvers.hesrpt.price_kernels import (
    POWER,
    TABLE,
    Curves,
    Floats,
    Ints,
    capped_jobs,
    demand,
    slope,
    speed,
)
from schedopt.solvers.result import Result, Termination

STEEPEST_POWER = 0.97
"""Larger powers below 1 are not supported: the exponent -p/(1-p) would overflow."""
LARGEST_PARALLEL_PART = 1.0 - 1e-8
"""Larger parallel parts f below 1 are not supported: 1/(1-f) would lose too many digits."""
LEAST_RENT = 1e-6
"""Least rent as a fraction of the highest, so that powers of rents stay finite."""
MOMENTUM = 0.4
"""Weight of the previous direction of the ascent in the next one."""
STEP_DECAY, STALL_LIMIT = 0.6, 3
"""The step is multiplied by the first after so many steps without a better bound."""
MOST_STEPS, LEAST_STEP = 60, 0.03
"""An ascent ends after so many steps, or at a shorter step; at first it is 1."""
CELLS = 400
"""Number of cells of constant rent."""
IMPROVEMENT = 1e-5
"""Ascents and replays go on while each improves the gap by more than this fraction of the cost."""
ACCURACY = 1e-5
"""Relative accuracy of the single-job costs during the ascent."""
WORK = 20_000
"""Cells times jobs between two checks of the clock."""
STEPS, CROSSINGS = 80, 40
"""Most steps of the search for a price, and for the price at which two ends have equal costs."""
ROUNDING, CANCELLED = 1e-12, 2e-14
"""Relative rounding error of a sum over cells or jobs, and of terms that may cancel."""
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
    c: Curves, path: Path, sizes: Floats, costs: Floats, scratch: Floats, out: Floats
) -> None:
    """Store in ``out``, shape (M, E + 1), lower bounds on the single-job costs by completion cell.

    The bound is infinite if a job cannot complete by the end of the cell. The last column is for
    completions after all cells.
    """
    n = len(path.rents)
    for j in range(len(sizes)):
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


def is_steep(instance: Instance) -> bool:
    """Return True if sums over cells would overflow or cancel for some speedup below linear."""
    return any(
        STEEPEST_POWER < of.p < 1.0
        if isinstance(of, Power)
        else isinstance(of, Amdahl) and LARGEST_PARALLEL_PART < of.parallel < 1.0
        for of in instance.speedups
    )


class LagrangianBound:
    """The best rents so far, in cells between ``times``, and the ``bound`` that they prove.

    Of the limits of teams, only the cap of each single job is taken into account. ``prices`` and
    ``ends`` are work prices and completion times under the rents evaluated last.
    """

    def __init__(self, curves: Curves, sizes: Floats, costs: Floats) -> None:
        self.curves, self.sizes, self.costs = capped_jobs(curves), sizes, costs
        powers = (curves.kinds == POWER) & (curves.pars < 1.0)
        self._powers, rows = np.unique(curves.pars[powers], return_inverse=True)
        self._rows = np.zeros(len(sizes), dtype=np.int64)
        self._rows[powers] = rows
        self.bound = 0.0
        self.times, self.rents = np.zeros(1), np.zeros(0)
        self.prices, self.ends = np.zeros(len(sizes)), np.zeros(len(sizes))
        self._workspace = np.zeros((4, DEEP)), np.zeros(4)

    def _path(self, times: Floats, rents: Floats) -> Path:
        exponents = -self._powers / (1.0 - self._powers)
        parts = (rents / rents[-1]) ** exponents[:, None]
        heights = np.vstack([rents, np.sqrt(rents), parts])
        sums = np.cumsum(heights * np.diff(times), axis=1)
        sums = np.hstack([np.zeros((len(sums), 1)), sums])
        return Path(times, rents, sums[0], sums[1], sums[2:], self._rows)

    def evaluate(self, times: Floats, rents: Floats) -> Generator[bool, None, tuple[float, Floats]]:
        """Return the bound of rents, and demand minus capacity in each cell, servers times time.

        Yields regularly so that the caller can check the clock.
        """
        total, jobs = 0.0, np.arange(len(self.sizes))
        what = self.curves, self._path(times, rents), self.sizes, self.costs
        found = Demand(self.ends, self.prices, np.zeros(len(rents)))
        chunk = max(1, WORK // len(rents))
        for first in range(0, len(jobs), chunk):
            part = jobs[first : first + chunk]
            total += least_costs(*what, part, ACCURACY, found, self._workspace)
            yield False
        bound = self._bound_of(total, times, rents)
        if bound > self.bound:
            self.bound, self.times, self.rents = bound, times, rents
        return bound, found.use - self.curves.servers * np.diff(times)

    def _bound_of(self, total: float, times: Floats, rents: Floats) -> float:
        """Return the Lagrangian bound from the total of the single-job costs."""
        bill = self.curves.servers * float(rents @ np.diff(times))
        return total - bill - ROUNDING * (total + bill)

    def precedences(self, value: float) -> Ints:
        """Return, as bit masks, the jobs after each job in every solution cheaper than ``value``.

        If job i completes after job j, there is a cell such that j completes up to it and i from it
        on. The additional costs of both are added to the bound; if the sum exceeds ``value`` for
        every cell, the order is excluded (reduced-cost fixing).
        """
        if not len(self.rents):
            return np.zeros(len(self.sizes), dtype=np.int64)
        path, scratch = self._path(self.times, self.rents), self._workspace[1]
        alone = np.full((len(self.sizes), len(self.rents) + 1), np.inf)
        costs_by_completion(self.curves, path, self.sizes, self.costs, scratch, alone)
        least = alone.min(axis=1)
        beyond = alone - least[:, None]
        until = np.minimum.accumulate(beyond, axis=1)
        since = np.minimum.accumulate(beyond[:, ::-1], axis=1)[:, ::-1]
        slack = value - self._bound_of(float(least.sum()), self.times, self.rents)
        never = [(until + row).min(axis=1) > slack for row in since]  # job i after each
        bits = np.array(never) * (1 << np.arange(len(never)))
        return np.asarray(bits.sum(axis=1) - np.diag(bits))

    def ascend(self, times: Floats, rents: Floats, value: float) -> Iterator[bool]:
        """Subgradient ascent from some rents to where the bound would meet the cost ``value``.

        Yields regularly; True if ``prices`` are those of a step.
        """
        lengths, step, stalled, highest = np.diff(times), 1.0, 0, 0.0
        rents = best = nearest_nonincreasing(rents, lengths)
        direction = np.zeros(len(rents))
        for _ in range(MOST_STEPS):
            bound, excess = yield from self.evaluate(times, rents)
            yield True
            if bound > highest * (1.0 + 1e-8):
                highest, best, stalled = bound, rents, 0
            else:
                stalled += 1
            if stalled >= STALL_LIMIT:
                step, stalled, rents = step * STEP_DECAY, 0, best
                direction[:] = 0.0
            if step < LEAST_STEP:
                return
            direction = MOMENTUM * direction + (1.0 - MOMENTUM) * excess
            scale = best / lengths
            rise = float((direction * scale * direction).sum())
            if rise > 0.0:
                far = step * max(value - bound, 1e-6 * value) / rise
                rents = nearest_nonincreasing(rents + far * scale * direction, lengths)


def nearest_nonincreasing(rents: Floats, lengths: Floats) -> Floats:
    """Return the nearest positive rents that never rise, by pooling adjacent violators."""
    pools: list[tuple[float, float, int]] = []
    for rent, length in zip(rents.tolist(), lengths.tolist(), strict=True):
        mean, long, cells = rent, length, 1
        while pools and pools[-1][0] <= mean:
            before, more, some = pools.pop()
            mean = (before * more + mean * long) / (more + long)
            long, cells = long + more, cells + some
        pools.append((mean, long, cells))
    pooled = np.repeat([mean for mean, _, _ in pools], [cells for _, _, cells in pools])
    return np.asarray(np.maximum(pooled, max(pooled[0], 1e-200) * LEAST_RENT))


def resample(
    times: Floats, rents: Floats, cells: int, shortest: float = 1e-12
) -> tuple[Floats, Floats]:
    """Return rents with about ``cells`` cells: merged with their mean rent, or divided equally.

    The path of a few jobs has few cells, in which the rent is constant, and proves a weak bound.
    Cells shorter than the fraction ``shortest`` of the horizon are rounding errors and removed.
    """
    long = np.diff(times) > shortest * times[-1]
    times, rents = np.append(0.0, times[1:][long]), rents[..., long]
    present = rents.shape[-1]
    parts = cells // max(present, 1)
    if parts > 1:
        at = np.arange(present * parts + 1) / parts
        return np.interp(at, np.arange(present + 1), times), np.repeat(rents, parts, axis=-1)
    kept = np.unique(np.linspace(0, present, min(cells, present) + 1).round().astype(np.int64))
    bills = np.insert(np.cumsum(rents * np.diff(times), axis=-1), 0, 0.0, axis=-1)
    return times[kept], np.diff(bills[..., kept]) / np.diff(times[kept])


class LagrangianSearch(OrderSearch):
    """Find a good order of many jobs, and rents that bound the cost of all orders.

    An order has prices, and simulating the policy of these prices completes jobs in another,
    usually better order, which is tried next. The rents of the best simulation start the ascent,
    and the work prices that the ascent finds are simulated too. The search can be interrupted.
    """

    name = "lagrangian"

    def __init__(self, instance: Instance, rules: Rules | None = None) -> None:
        super().__init__(instance, rules or Rules(instance))
        self.rents = LagrangianBound(self.curves, self.sizes, self.costs)
        self.bound = self._alone = self.cost_each_alone()
        self._steps = self._search()

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; return True when the search has ended."""
        until = now() + seconds
        ended = all(now() < until for _ in self._steps)
        self.bound = min(max(self.rents.bound, self._alone), self.value)
        return ended

    def _search(self) -> Iterator[None]:
        smiths = self.order
        for prices in (self.costs / self.tops, self.prices(smiths)):
            self.try_prices(prices)
            yield
        gap = inf
        while self.value - self.rents.bound < gap - IMPROVEMENT * self.value:
            gap = self.value - self.rents.bound
            times, rents = np.append(0.0, self.best.times), self.best.rents
            if not rents.any():  # the jobs cannot use all servers
                return
            for stepped in self.rents.ascend(*resample(times, rents, CELLS), self.value):
                yield
                if stepped:
                    self.try_prices(self.rents.prices)
            yield from self.replay(self.order, IMPROVEMENT)


def solve(model: Allocation, task: EngineTask) -> Result[Allocated] | Partial:
    """Solve an allocation of many jobs, with a bound on all orders.

    Up to `MOST_JOBS` jobs branch and bound continues from the result.
    """
    many, after = len(model.instance.jobs), None

    def work(attempt: Attempt) -> Termination:
        search = LagrangianSearch(model.instance, model.rules)
        nonlocal after
        ended = attempt.run_search(search)
        if ended and search.value < inf and many <= MOST_JOBS:
            after = search.rents.precedences(search.value)
        attempt.message = "the Lagrangian bound leaves a gap, and orders were not searched"
        return attempt.end_status() if ended else "time-limit"

    result = run_attempt(model, task, "lagrangian", work)
    goes_on = result.termination == "completed" and many <= MOST_JOBS and not task.alone
    return Partial(result, result.bound, after) if goes_on else result
