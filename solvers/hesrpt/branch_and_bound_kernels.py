"""Compiled kernels of branch and bound over timelines: completion orders with arrivals.

A timeline is followed from its end. After the last arrival, prices are those of an order: each job
has the price at which the value of work of the present jobs equals their weight. Before an arrival
the time is known, and the difference of weight and value is part of the cost: the value may exceed
the weight, or be less, by the same amount in all epochs up to the arrival. This amount follows from
the epoch that ends with the arrival, in which all prices are known. So all prices follow one after
another, and prove their sum plus that difference for all known time. They are the dual optimum if
every epoch has a positive length. If all jobs are present from the start, timelines are completion
orders.

The value of the work of jobs that are not placed yet is smaller beside more others (it is
submodular), so the placed jobs that were present when a job arrived give it a price that is valid
in every epoch. A team's floor counts if one of its jobs is placed. A floor can make the value
larger beside others; then each interval in which a job may complete gives it a price, and the least
is used.
"""

from math import factorial, inf
from typing import NamedTuple

import numpy as np

from schedopt.solvers.compiling import kernel
from schedopt.solvers.hesrpt.price_kernels import (
    Curves,
    Floats,
    Ints,
    most_earned,
    next_price,
    simulate,
)

DONE, PAUSED, FULL = 0, 1, 2
NEAR = 1e-10
"""Relative difference to the incumbent at which nodes are pruned."""
GOLDEN, STEP = 12, 1e-5
"""Most steps of a golden-section search, and its first relative step."""
ARRIVAL = -1
"""Marks an arrival in a list of placed jobs."""


class Paths(NamedTuple):
    """The orders that a decision diagram leaves, as paths; empty without a diagram."""

    child: Ints  # node at the end of the edge that places a job, -1 for none, (n, M)
    costs: Floats  # what an edge adds to the bound, (n, M)
    rest: Floats  # least cost from a node to the end, (n,)


def no_paths(count: int) -> Paths:
    """Return empty paths: all orders of a number of jobs remain."""
    return Paths(np.zeros((0, count), dtype=np.int64), np.zeros((0, count)), np.zeros(0))


class TimelineData(NamedTuple):
    """Jobs with their arrivals, precedences and the remaining paths."""

    sizes: Floats  # (M,)
    costs: Floats  # (M,)
    starts: Floats  # arrival times, rising from 0, (R,)
    groups: Ints  # index of each job's arrival among these, (M,)
    after: Ints  # for each job the set of those that complete after it, as bits, (M,)
    feasible_shares: bool  # whether shares that follow the prices satisfy all side constraints
    paths: Paths  # the orders that are left, where all arrive at 0


def present_jobs(data: TimelineData, done: int, group: int, out: Ints) -> int:
    """Store the placed jobs that have arrived with a group in ``out``, and return their number."""
    count = 0
    for j in range(len(data.sizes)):
        if (done >> j) & 1 and data.groups[j] <= group:
            out[count] = j
            count += 1
    return count


def node_bound(
    c: Curves, data: TimelineData, lam: Floats, done: int, now: int, base: float
) -> float:
    """Return the bound of a node, with the least possible price of each job that is not placed.

    Parameters
    ----------
    done : int
        The placed jobs as a bit mask; ``lam`` holds their prices.
    now : int
        The arrival whose jobs must be placed before the next `ARRIVAL`.
    base : float
        The part of the bound that no longer changes.
    """
    total = len(data.sizes)
    jobs, earned = np.zeros(total, dtype=np.int64), np.zeros(now + 1)
    own = np.zeros(len(c.team_leasts) + 1)
    bound = base
    for g in range(now + 1):
        n = present_jobs(data, done, g, jobs)
        earned[g] = most_earned(c, lam, jobs, n, n, own) if n else 0.0
        for team in range(len(own)):
            own[team] = 0.0
        if g < now:
            spare = -earned[g]
            for i in range(n):
                spare += data.costs[jobs[i]]
            bound += spare * (data.starts[g + 1] - data.starts[g])
    for j in range(total):
        if (done >> j) & 1:
            continue
        price = inf
        for g in range(data.groups[j], now + 1 if len(own) > 1 else data.groups[j] + 1):
            n = present_jobs(data, done, g, jobs)
            jobs[n] = j
            goal = earned[g] + data.costs[j]
            price = min(price, next_price(c, lam, jobs, n + 1, goal, data.costs[j], n, own))
        lam[j] = 0.0
        bound += price * data.sizes[j]
    return bound


def spare_before_arrival(
    c: Curves, data: TimelineData, lam: Floats, done: int, now: int
) -> tuple[float, float]:
    """Return weight minus value of work in the interval before an arrival, and the value's rate."""
    jobs = np.zeros(len(data.sizes), dtype=np.int64)
    n = present_jobs(data, done, now - 1, jobs)
    own = np.zeros(len(c.team_leasts) + 1)
    earned = most_earned(c, lam, jobs, n, n, own) if n else 0.0
    spare = -earned
    for i in range(n):
        spare += data.costs[jobs[i]]
    return float(spare * (data.starts[now] - data.starts[now - 1])), float(earned)


class Tree(NamedTuple):
    """The state of a depth-first search; at depth d, d jobs and arrivals are placed."""

    placed: Ints  # jobs and `ARRIVAL`, from the end, (D,)
    base: Floats  # their part of the bound, by depth, (D + 1,)
    prices: Floats  # of the placed jobs, (M,)
    caps: Floats  # upper limits of these, (M,)
    level: Floats  # what may be earned in the interval, by depth, (D + 1,)
    node: Ints  # place in `Paths`, by depth, (D + 1,)
    way: Floats  # cost of the edges that lead there, (D + 1,)
    proven: Floats  # bound on all that begins so, by depth; minus infinity: not yet, (D + 1,)
    child: Ints  # children of each depth by their bounds, (D + 1, M + 1)
    bound: Floats
    children: Ints  # how many children a depth has, (D + 1,)
    at: Ints  # which child is next, (D + 1,)
    leaves: Ints  # timelines whose bound no solution has met
    values: Floats  # their bounds
    numbers: Ints  # depth, leaves, nodes
    best: Floats  # cost of the incumbent, (1,)
    incumbent: Floats  # its prices, (M,)
    course: Ints  # what it places, (D,)


def new_tree(jobs: int, starts: int, most_leaves: int) -> Tree:
    """Return an empty tree for a number of jobs and of arrival times."""
    depth = jobs + starts - 1
    return Tree(
        placed=np.zeros(depth, dtype=np.int64),
        base=np.zeros(depth + 1),
        prices=np.zeros(jobs),
        caps=np.full(jobs, np.inf),
        level=np.zeros(depth + 1),
        node=np.zeros(depth + 1, dtype=np.int64),
        way=np.zeros(depth + 1),
        proven=np.full(depth + 1, -np.inf),
        child=np.zeros((depth + 1, jobs + 1), dtype=np.int64),
        bound=np.zeros((depth + 1, jobs + 1)),
        children=np.full(depth + 1, -1, dtype=np.int64),
        at=np.zeros(depth + 1, dtype=np.int64),
        leaves=np.zeros((most_leaves, depth), dtype=np.int64),
        values=np.zeros(most_leaves),
        numbers=np.zeros(3, dtype=np.int64),
        best=np.full(1, np.inf),
        incumbent=np.zeros(jobs),
        course=np.zeros(depth, dtype=np.int64),
    )


def _branch(
    c: Curves, data: TimelineData, t: Tree, lam: Floats, done: int, now: int, d: int
) -> None:
    """Sort the children of a node by their bounds; none if the node's own bound is met."""
    limit, p = t.best[0] * (1.0 - NEAR), data.paths
    if t.proven[d] == -inf:
        t.proven[d] = node_bound(c, data, lam, done, now, t.base[d])
    t.at[d] = t.children[d] = 0
    if not t.proven[d] < limit:
        return
    open_here, count = False, 0
    for j in range(len(data.sizes)):
        open_here = open_here or (data.groups[j] == now and not (done >> j) & 1)
    if now > 0 and not open_here:
        t.child[d, 0], t.bound[d, 0] = ARRIVAL, t.proven[d]
        count = 1
    for j in range(len(data.sizes)):
        if (done >> j) & 1 or data.groups[j] > now or data.after[j] & ~done:
            continue
        bound = t.proven[d]
        if len(p.child):
            end = p.child[t.node[d], j]
            if end < 0:
                continue
            bound = max(bound, t.way[d] + p.costs[t.node[d], j] + p.rest[end])
            if not bound < limit:
                continue
        at = count
        while at > 0 and t.bound[d, at - 1] > bound:
            t.child[d, at], t.bound[d, at] = t.child[d, at - 1], t.bound[d, at - 1]
            at -= 1
        t.child[d, at], t.bound[d, at] = j, bound
        count += 1
    t.children[d] = count


def _price_interval(
    c: Curves,
    data: TimelineData,
    t: Tree,
    lam: Floats,
    first: int,
    last: int,
    done: int,
    raised: float,
) -> float:
    """Choose the prices of the jobs that complete in one interval; return their part of the bound.

    The jobs of the interval are placed from depth ``first`` to ``last``; ``done`` are the jobs that
    are present at its end. ``raised`` is the additional value of work in the interval.
    """
    total = len(data.sizes)
    jobs = np.zeros(total, dtype=np.int64)
    n = 0
    for j in range(total):
        if (done >> j) & 1:
            jobs[n] = j
            n += 1
    own = np.zeros(len(c.team_leasts) + 1)
    level = raised
    if n:
        level += most_earned(c, lam, jobs, n, n, own)
    worth = 0.0
    for d in range(first, last):
        j = t.placed[d]
        jobs[n] = j
        level += data.costs[j]
        price = next_price(c, lam, jobs, n + 1, level, data.costs[j], n + 1, own)
        lam[j] = min(price, t.caps[j])
        worth += lam[j] * data.sizes[j]
        n += 1
    return worth


def _bound_with_earnings(
    c: Curves, data: TimelineData, t: Tree, lam: Floats, d: int, done: int, now: int, at: float
) -> float:
    """Return the bound at depth d if the value of work in the interval there rises by ``at``."""
    first, everyone = d, done
    while first > 0 and t.placed[first - 1] != ARRIVAL:
        first -= 1
        done &= ~(1 << t.placed[first])
    if first == d:
        return node_bound(c, data, lam, done, now, t.base[d])
    here = 0
    for j in range(len(data.sizes)):
        if (done >> j) & 1 and data.groups[j] <= now:
            here |= 1 << j
    worth = _price_interval(c, data, t, lam, first, d, here, at)
    for i in range(first, d):
        t.prices[t.placed[i]] = lam[t.placed[i]]
    length = data.starts[now + 1] - data.starts[now]
    t.base[d] = t.base[first] + worth - at * length
    return node_bound(c, data, lam, everyone, now, t.base[d])


def _golden_point(low: float, middle: float, high: float) -> float:
    """Return the next point of a golden-section search for a maximum, in the longer part."""
    if middle - low > high - middle:
        return middle - 0.382 * (middle - low)
    return middle + 0.382 * (high - middle)


def _golden_bracket(
    low: float, middle: float, high: float, at: float, better: bool
) -> tuple[float, float, float]:
    """Return the bracket and its best point after another point was evaluated."""
    if better:
        return (middle, at, high) if at > middle else (low, at, middle)
    return (low, middle, at) if at > middle else (at, middle, high)


def _best_earnings(
    c: Curves, data: TimelineData, t: Tree, lam: Floats, d: int, done: int, now: int
) -> float:
    """Increase the value of work in an interval while the bound increases, and keep the best."""
    limit = t.best[0] * (1.0 - NEAR)
    value = _bound_with_earnings(c, data, t, lam, d, done, now, 0.0)
    if not value < limit:
        return value
    all_costs = 0.0
    for j in range(len(data.costs)):
        all_costs += data.costs[j]
    low, middle = 0.0, 0.0
    high = all_costs * 1e-4
    trial = _bound_with_earnings(c, data, t, lam, d, done, now, high)
    while trial > value and trial < limit and high < all_costs * 1e6:
        low, middle, value = middle, high, trial
        high *= 3.0
        trial = _bound_with_earnings(c, data, t, lam, d, done, now, high)
    if not trial < limit:
        return trial
    if middle > 0.0:
        for _ in range(GOLDEN):
            at = _golden_point(low, middle, high)
            trial = _bound_with_earnings(c, data, t, lam, d, done, now, at)
            low, middle, high = _golden_bracket(low, middle, high, at, trial > value)
            if trial > value:
                value = trial
                if not value < limit:
                    return value
    return _bound_with_earnings(c, data, t, lam, d, done, now, middle)


def _place_job(
    c: Curves, data: TimelineData, t: Tree, lam: Floats, d: int, done: int, now: int, price: float
) -> float:
    """Place a job at its price, or at a lower price if that proves more; return the bound.

    A lower price helps if the job would complete earlier: its work is less than the work that it
    would receive in the known time.
    """
    j = t.placed[d]
    limit = t.best[0] * (1.0 - NEAR)
    if now == 0 and not t.base[d] + price * data.sizes[j] < limit:
        return inf
    t.caps[j] = inf
    lam[j] = price
    value = node_bound(c, data, lam, done, now, t.base[d] + price * data.sizes[j])
    if value < limit and data.groups[j] < now:
        low, middle, high = 0.0, price, price
        lam[j] = price * (1.0 - STEP)
        if node_bound(c, data, lam, done, now, t.base[d] + lam[j] * data.sizes[j]) > value:
            for turn in range(GOLDEN):
                at = 0.618 * price if turn == 0 else _golden_point(low, middle, high)
                lam[j] = at
                trial = node_bound(c, data, lam, done, now, t.base[d] + at * data.sizes[j])
                low, middle, high = _golden_bracket(low, middle, high, at, trial > value)
                if trial > value:
                    value = trial
                    if not value < limit:
                        break
        lam[j] = middle
        if middle < price:
            t.caps[j] = middle
    t.prices[j] = lam[j]
    t.base[d + 1] = t.base[d] + lam[j] * data.sizes[j]
    return value


def _take_leaf(c: Curves, data: TimelineData, t: Tree, lam: Floats) -> None:
    """Keep a complete timeline as the incumbent if its simulated prices are cheaper."""
    depth, limit = len(t.placed), t.best[0] * (1.0 - NEAR)
    value = t.base[depth]
    if len(data.starts) > 1:
        value = _best_earnings(c, data, t, lam, depth, (1 << len(lam)) - 1, 0)
    if value < limit:
        cost = 0.0 if data.feasible_shares else inf
        if data.feasible_shares:
            ends = simulate(c, data.sizes, lam, data.starts, data.groups, np.zeros((0, 0))).ends
            for j in range(len(lam)):
                cost += data.costs[j] * (ends[j] - data.starts[data.groups[j]])
        if cost < t.best[0]:
            t.best[0], t.incumbent[:], t.course[:] = cost, lam, t.placed
        if value < cost * (1.0 - NEAR):
            at = t.numbers[1]
            t.leaves[at], t.values[at] = t.placed, value
            t.numbers[1] = at + 1
    if len(data.starts) > 1:
        _bound_with_earnings(c, data, t, lam, depth, (1 << len(lam)) - 1, 0, 0.0)


def _place_child(
    c: Curves, data: TimelineData, t: Tree, lam: Floats, d: int, done: int, now: int
) -> bool:
    """Place the next child; return True if its bound leaves it open."""
    at, limit = t.at[d] - 1, t.best[0] * (1.0 - NEAR)
    j = t.child[d, at]
    t.placed[d] = j
    if j == ARRIVAL:
        if now < len(data.starts) - 1 and not _best_earnings(c, data, t, lam, d, done, now) < limit:
            _bound_with_earnings(c, data, t, lam, d, done, now, 0.0)
            return False
        spare, level = spare_before_arrival(c, data, lam, done, now)
        t.base[d + 1], t.level[d + 1], t.proven[d + 1] = t.base[d] + spare, level, -inf
        return True
    t.level[d + 1] = t.level[d] + data.costs[j]
    jobs = np.zeros(len(lam), dtype=np.int64)
    n = present_jobs(data, done, now, jobs)
    jobs[n] = j
    own = np.zeros(len(c.team_leasts) + 1)
    price = next_price(c, lam, jobs, n + 1, t.level[d + 1], data.costs[j], n + 1, own)
    if price < inf:  # else the others must have all servers: it was done before
        value = _place_job(c, data, t, lam, d, done | (1 << j), now, price)
        if value < limit:
            t.proven[d + 1] = max(value, t.bound[d, at])
            if len(data.paths.child):
                node = t.node[d]
                t.node[d + 1] = data.paths.child[node, j]
                t.way[d + 1] = t.way[d] + data.paths.costs[node, j]
            return True
    lam[j] = 0.0
    return False


def _steps_of_search(c: Curves, data: TimelineData, t: Tree, budget: int) -> float:
    """Return about how many Python steps a search takes; with arrivals there are far more."""
    jobs, starts = len(data.sizes), len(data.starts)
    if starts == 1:
        return 0.25 * budget * jobs**3
    return 2.0 * min(budget, factorial(jobs)) * jobs**3 * starts


@kernel(python_up_to=500_000, size=_steps_of_search)
def advance_search(c: Curves, data: TimelineData, t: Tree, budget: int) -> int:
    """Search for a number of nodes; return whether the search has ended, paused, or is full."""
    total, last = len(data.sizes), len(data.starts) - 1
    lam = np.zeros(total)
    depth, done, now = t.numbers[0], 0, last
    for d in range(depth):
        j = t.placed[d]
        if j == ARRIVAL:
            now -= 1
        else:
            done |= 1 << j
            lam[j] = t.prices[j]
    while True:
        if t.numbers[1] >= len(t.values):
            t.numbers[0] = depth
            return FULL
        if budget <= 0:
            t.numbers[0] = depth
            return PAUSED
        if depth == len(t.placed):
            _take_leaf(c, data, t, lam)
        else:
            if t.children[depth] < 0:
                _branch(c, data, t, lam, done, now, depth)
                t.numbers[2] += 1
                budget -= 1
            at = t.at[depth]
            limit = t.best[0] * (1.0 - NEAR)
            if at < t.children[depth] and t.bound[depth, at] < limit:
                j = t.child[depth, at]
                t.at[depth] = at + 1
                if not _place_child(c, data, t, lam, depth, done, now):
                    continue
                if j == ARRIVAL:
                    now -= 1
                else:
                    done |= 1 << j
                depth += 1
                if depth < len(t.placed):
                    t.children[depth] = -1
                continue
            t.at[depth] = t.children[depth]  # the others' bounds are no better
        if depth == 0:
            t.numbers[0] = 0
            return DONE
        depth -= 1
        j = t.placed[depth]
        if j == ARRIVAL:
            now += 1
            if now < last:
                _bound_with_earnings(c, data, t, lam, depth, done, now, 0.0)
        else:
            done &= ~(1 << j)
            lam[j] = 0.0


@kernel(python_up_to=150_000)
def open_bound(t: Tree) -> float:
    """Return the least bound of the nodes that have not been explored."""
    depth, most, least = t.numbers[0], t.leaves.shape[1], np.inf
    for d in range(min(depth + 1, most)):
        if t.children[d] > 0 and t.at[d] < t.children[d]:
            least = min(least, t.bound[d, t.at[d]])
    if depth == most or t.children[depth] < 0:  # entered, and not looked at
        least = min(least, t.bound[depth - 1, t.at[depth - 1] - 1]) if depth > 0 else 0.0
    return least


def open_leaves(t: Tree, limit: float) -> list[tuple[float, Ints]]:
    """Return (bound, leaf) of the leaves whose bound is below a limit, in increasing order."""
    values = t.values[: int(t.numbers[1])]
    rank = [i for i in np.argsort(values, kind="stable") if values[i] < limit]
    return [(float(values[i]), t.leaves[i].copy()) for i in rank]
