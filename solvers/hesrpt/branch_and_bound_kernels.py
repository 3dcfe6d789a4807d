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


def spare_in_interval(
    c: Curves, data: TimelineData, lam: Floats, done: int, group: int
) -> tuple[float, float]:
    """Return weight minus value of work after an arrival, and the value, per unit of time."""
    jobs, own = np.zeros(len(lam), dtype=np.int64), np.zeros(len(c.team_leasts) + 1)
    n = present_jobs(data, done, group, jobs)
    earned = most_earned(c, lam, jobs, n, n, own) if n else 0.0
    return data.costs[jobs[:n]].sum() - earned, earned


def node_bound(
    c: Curves, data: TimelineData, lam: Floats, done: int, now: int, base: float
) -> float:
    """Return the bound of a node, with the least possible price of each job that is not placed.

    ``done`` are the placed jobs as a bit mask, and ``lam`` holds their prices. ``now`` is the
    arrival whose jobs must be placed before the next `ARRIVAL`. ``base`` no longer changes.
    """
    total, bound = len(data.sizes), base
    jobs, earned = np.zeros(total, dtype=np.int64), np.zeros(now + 1)
    own = np.zeros(len(c.team_leasts) + 1)
    for g in range(now + 1):
        spare, earned[g] = spare_in_interval(c, data, lam, done, g)
        if g < now:
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


class Search(NamedTuple):
    """A search, with the prices of the placed jobs."""

    c: Curves
    data: TimelineData
    tree: Tree
    lam: Floats  # (M,)


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


def _branch(s: Search, done: int, now: int, d: int) -> None:
    """Sort the children of a node by their bounds; none if the node's own bound is met."""
    c, data, t, lam = s
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


def _bound_with_earnings(s: Search, d: int, done: int, now: int, at: float) -> float:
    """Return the bound at depth d if the value of work in the interval there rises by ``at``.

    The prices of the jobs that complete in the interval are chosen again.
    """
    c, data, t, lam = s
    first, everyone = d, done
    while first > 0 and t.placed[first - 1] != ARRIVAL:
        first -= 1
        done &= ~(1 << t.placed[first])
    if first == d:
        return node_bound(c, data, lam, done, now, t.base[d])
    jobs, own = np.zeros(len(lam), dtype=np.int64), np.zeros(len(c.team_leasts) + 1)
    n = present_jobs(data, done, now, jobs)
    level, worth = at, 0.0
    if n:
        level += most_earned(c, lam, jobs, n, n, own)
    for i in range(first, d):
        j = t.placed[i]
        jobs[n] = j
        n += 1
        level += data.costs[j]
        price = next_price(c, lam, jobs, n, level, data.costs[j], n, own)
        lam[j] = t.prices[j] = min(price, t.caps[j])
        worth += lam[j] * data.sizes[j]
    t.base[d] = t.base[first] + worth - at * (data.starts[now + 1] - data.starts[now])
    return node_bound(c, data, lam, everyone, now, t.base[d])


def _bound_at(s: Search, d: int, done: int, now: int, at: float, placing: bool) -> float:
    """Return the bound if the placed job's price, or the raised value of work, is ``at``."""
    c, data, t, lam = s
    if not placing:
        return _bound_with_earnings(s, d, done, now, at)
    j = t.placed[d]
    lam[j] = at
    return node_bound(c, data, lam, done, now, t.base[d] + at * data.sizes[j])


def _golden_section(
    s: Search,
    d: int,
    done: int,
    now: int,
    span: tuple[float, float, float],
    value: float,
    placing: bool,
) -> tuple[float, float]:
    """Return about where the bound is highest, and the bound there.

    ``span`` are two ends and the best point, whose bound is ``value``. It ends if a bound is met.
    """
    t = s.tree
    low, middle, high = span
    for _ in range(GOLDEN):
        if middle - low > high - middle:
            at = middle - 0.382 * (middle - low)
        else:
            at = middle + 0.382 * (high - middle)
        trial = _bound_at(s, d, done, now, at, placing)
        if trial > value:
            value = trial
            low, middle, high = (middle, at, high) if at > middle else (low, at, middle)
            if not value < t.best[0] * (1.0 - NEAR):
                break
        elif at > middle:
            high = at
        else:
            low = at
    return middle, value


def _best_earnings(s: Search, d: int, done: int, now: int) -> float:
    """Increase the value of work in an interval while the bound increases, and keep the best."""
    data, t = s.data, s.tree
    limit = t.best[0] * (1.0 - NEAR)
    value = _bound_with_earnings(s, d, done, now, 0.0)
    low, middle, high, most = 0.0, 0.0, data.costs.sum() * 1e-4, data.costs.sum() * 1e6
    while value < limit and high < most:
        trial = _bound_with_earnings(s, d, done, now, high)
        if trial <= value:
            break
        low, middle, value = middle, high, trial
        high *= 3.0
    if middle > 0.0 and value < limit:
        span = (low, middle, high)
        middle, value = _golden_section(s, d, done, now, span, value, False)
    if not value < limit:
        return value
    return _bound_with_earnings(s, d, done, now, middle)


def _place_job(s: Search, d: int, done: int, now: int, price: float) -> float:
    """Place a job at its price, or at a lower price if that proves more; return the bound.

    A lower price helps if the job would complete earlier: its work is less than the work that it
    would receive in the known time.
    """
    data, t, lam = s.data, s.tree, s.lam
    j = t.placed[d]
    limit = t.best[0] * (1.0 - NEAR)
    if now == 0 and not t.base[d] + price * data.sizes[j] < limit:
        return inf
    t.caps[j] = inf
    value = _bound_at(s, d, done, now, price, True)
    if value < limit and data.groups[j] < now:
        best = price
        if _bound_at(s, d, done, now, price * (1.0 - STEP), True) > value:
            span = (0.0, price, price)
            best, value = _golden_section(s, d, done, now, span, value, True)
        lam[j] = best
        if best < price:
            t.caps[j] = best
    t.prices[j] = lam[j]
    t.base[d + 1] = t.base[d] + lam[j] * data.sizes[j]
    return value


def _take_leaf(s: Search) -> None:
    """Keep a complete timeline as the incumbent if its simulated prices are cheaper."""
    c, data, t, lam = s
    depth, limit = len(t.placed), t.best[0] * (1.0 - NEAR)
    value = t.base[depth]
    if len(data.starts) > 1:
        value = _best_earnings(s, depth, (1 << len(lam)) - 1, 0)
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
        _bound_with_earnings(s, depth, (1 << len(lam)) - 1, 0, 0.0)


def _place_child(s: Search, d: int, done: int, now: int) -> bool:
    """Place the next child; return True if its bound leaves it open."""
    c, data, t, lam = s
    at, limit = t.at[d] - 1, t.best[0] * (1.0 - NEAR)
    j = t.child[d, at]
    t.placed[d] = j
    if j == ARRIVAL:
        if now < len(data.starts) - 1 and not _best_earnings(s, d, done, now) < limit:
            _bound_with_earnings(s, d, done, now, 0.0)
            return False
        spare, t.level[d + 1] = spare_in_interval(c, data, lam, done, now - 1)
        length = data.starts[now] - data.starts[now - 1]
        t.base[d + 1], t.proven[d + 1] = t.base[d] + spare * length, -inf
        return True
    t.level[d + 1] = t.level[d] + data.costs[j]
    jobs = np.zeros(len(lam), dtype=np.int64)
    n = present_jobs(data, done, now, jobs)
    jobs[n] = j
    own = np.zeros(len(c.team_leasts) + 1)
    price = next_price(c, lam, jobs, n + 1, t.level[d + 1], data.costs[j], n + 1, own)
    if price < inf:  # else the others must have all servers: it was done before
        value = _place_job(s, d, done | (1 << j), now, price)
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
    s = Search(c, data, t, lam)
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
            _take_leaf(s)
        else:
            if t.children[depth] < 0:
                _branch(s, done, now, depth)
                t.numbers[2] += 1
                budget -= 1
            at = t.at[depth]
            limit = t.best[0] * (1.0 - NEAR)
            if at < t.children[depth] and t.bound[depth, at] < limit:
                j = t.child[depth, at]
                t.at[depth] = at + 1
                if not _place_child(s, depth, done, now):
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
                _bound_with_earnings(s, depth, done, now, 0.0)
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
