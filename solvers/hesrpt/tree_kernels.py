"""Compiled branch and bound over completion orders, from the last job to complete.

A node proves a bound by prices that the other jobs may have whatever comes beside them. Of jobs in
one class the last in the file completes last.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit, small
from schedopt.solvers.hesrpt.kernels import Curves, Floats, Ints
from schedopt.solvers.hesrpt.price_kernels import cost_of, next_price, played, prices_of

Bools = NDArray[np.bool_]
DONE, PAUSED, FULL = 0, 1, 2
NEAR = 1e-10
"""Nodes whose bounds come this near to the incumbent, relatively, are closed."""


class Search(NamedTuple):
    """What is searched."""

    sizes: Floats  # (M,)
    costs: Floats  # (M,)
    classes: Ints  # the same number for jobs that cannot be told apart, (M,)
    playable: bool  # whether shares that follow the prices satisfy all side constraints


class Paths(NamedTuple):
    """The orders that a diagram leaves, as paths from its first node; empty without a diagram."""

    child: Ints  # node at the end of the edge that places a job, -1 for none, (n, M)
    costs: Floats  # what an edge adds to the bound, (n, M)
    rest: Floats  # least cost from a node to the end, (n,)


class Tree(NamedTuple):
    """The state of a depth-first search; at depth d, d jobs are placed."""

    order: Ints  # placed jobs, the last to complete first, (M,)
    base: Floats  # their part of the bound, by depth, (M + 1,)
    level: Floats  # their cost rate W, by depth, (M + 1,)
    prices: Floats  # of the placed jobs, (M,)
    ahead: Floats  # prices that other jobs may have, by depth, (M + 1, M)
    node: Ints  # place in `Paths`, by depth, (M + 1,)
    way: Floats  # cost of the edges that lead there, (M + 1,)
    proven: Floats  # bound on all orders from there, by depth, (M + 1,)
    child: Ints  # children of each depth by their bounds, (M + 1, M)
    bound: Floats
    children: Ints  # how many children a depth has, (M + 1,)
    at: Ints  # which child is next, (M + 1,)
    leaves: Ints  # orders whose bound no solution has met
    values: Floats  # their bounds
    numbers: Ints  # depth, leaves, nodes
    best: Floats  # cost of the incumbent, (1,)
    found: Ints  # its order, (M,)


def tree(count: int, most_leaves: int) -> Tree:
    """Return an empty tree for a number of jobs."""
    return Tree(
        order=np.zeros(count, dtype=np.int64),
        base=np.zeros(count + 1),
        level=np.zeros(count + 1),
        prices=np.zeros(count),
        ahead=np.zeros((count + 1, count)),
        node=np.zeros(count + 1, dtype=np.int64),
        way=np.zeros(count + 1),
        proven=np.zeros(count + 1),
        child=np.zeros((count + 1, count), dtype=np.int64),
        bound=np.zeros((count + 1, count)),
        children=np.full(count + 1, -1, dtype=np.int64),
        at=np.zeros(count + 1, dtype=np.int64),
        leaves=np.zeros((most_leaves, count), dtype=np.int64),
        values=np.zeros(most_leaves),
        numbers=np.zeros(3, dtype=np.int64),
        best=np.full(1, np.inf),
        found=np.zeros(count, dtype=np.int64),
    )


def no_paths(count: int) -> Paths:
    """Return paths of no diagram: all orders of a number of jobs are left."""
    return Paths(np.zeros((0, count), dtype=np.int64), np.zeros((0, count)), np.zeros(0))


@njit(cache=True, plain=small(6000))
def look_ahead(
    c: Curves, costs: Floats, order: Ints, depth: int, level: float, lam: Floats, out: Floats
) -> None:
    """Put prices into ``out`` that jobs may have after ``depth`` placed ones, whatever the order.

    Jobs earn less beside more others (earnings are submodular in who is there), so each may have
    the price that it could have alone beside the placed ones: those of ``order`` with cost rate
    ``level``. Placed jobs get infinity. Floors of teams without a placed job are ignored; they
    would only lower what is earned.
    """
    placed = np.zeros(len(costs), dtype=np.bool_)
    for d in range(depth):
        placed[order[d]] = True
    for j in range(len(costs)):
        if placed[j]:
            out[j] = np.inf
            continue
        order[depth] = j
        out[j] = next_price(c, lam, order, depth + 1, level + costs[j], depth)
        lam[j] = 0.0


@njit(cache=True)
def _copy(source: Ints, target: Ints) -> None:
    """Copy one array into another; numba compiles a slice for four seconds, of messages mostly."""
    for i in range(len(source)):
        target[i] = source[i]


@njit(cache=True)
def _branch(s: Search, p: Paths, t: Tree, placed: Bools, depth: int) -> None:
    """Put the children of a node in order of their bounds."""
    total, limit = len(s.sizes), t.best[0] * (1.0 - NEAR)
    count = 0
    for j in range(total):
        twin = placed[j]  # of jobs alike the last in the file completes last
        for later in range(j + 1, total):
            if not placed[later] and s.classes[later] == s.classes[j]:
                twin = True
        if twin:
            continue
        bound = t.proven[depth]
        if len(p.child):
            end = p.child[t.node[depth], j]
            if end < 0:
                continue
            bound = max(bound, t.way[depth] + p.costs[t.node[depth], j] + p.rest[end])
        if not bound < limit:
            continue
        at = count
        while at > 0 and t.bound[depth, at - 1] > bound:
            t.child[depth, at], t.bound[depth, at] = t.child[depth, at - 1], t.bound[depth, at - 1]
            at -= 1
        t.child[depth, at], t.bound[depth, at] = j, bound
        count += 1
    t.children[depth] = count
    t.at[depth] = 0


@njit(cache=True)
def _prove(c: Curves, s: Search, t: Tree, lam: Floats, placed: Bools, depth: int) -> None:
    """Bound the cost of all orders from a node; infinite where side constraints rule them out."""
    t.proven[depth] = t.base[depth]
    if not t.base[depth] < t.best[0] * (1.0 - NEAR):
        return
    ahead = t.ahead[depth]
    look_ahead(c, s.costs, t.order, depth, t.level[depth], lam, ahead)
    bound = t.base[depth]
    for j in range(len(s.sizes)):
        if not placed[j]:
            bound += ahead[j] * s.sizes[j]
    t.proven[depth] = max(bound, t.proven[depth - 1]) if depth else bound


@njit(cache=True)
def _place(c: Curves, s: Search, p: Paths, t: Tree, lam: Floats, depth: int, j: int) -> None:
    """Place a job at a depth, at its price."""
    t.order[depth] = j
    t.level[depth + 1] = t.level[depth] + s.costs[j]
    t.prices[depth] = next_price(c, lam, t.order, depth + 1, t.level[depth + 1], depth + 1)
    lam[j] = t.prices[depth]
    t.base[depth + 1] = t.base[depth] + lam[j] * s.sizes[j]
    if len(p.child):
        at = t.node[depth]
        t.node[depth + 1] = p.child[at, j]
        t.way[depth + 1] = t.way[depth] + p.costs[at, j]
    if depth + 1 < len(s.sizes):
        t.children[depth + 1] = -1


@njit(cache=True)
def _leaf(c: Curves, s: Search, t: Tree, lam: Floats) -> None:
    """Take a complete order: as incumbent if its prices are played out cheaper than the best."""
    value = t.base[len(s.sizes)]
    if value >= t.best[0] * (1.0 - NEAR):
        return
    cost = np.inf
    if s.playable:
        cost = cost_of(s.costs, played(c, s.sizes, lam, np.zeros((0, 0))))
    if cost < t.best[0]:
        t.best[0] = cost
        _copy(t.order, t.found)
    if value < cost * (1.0 - NEAR):
        at = t.numbers[1]
        _copy(t.order, t.leaves[at])
        t.values[at] = value
        t.numbers[1] = at + 1


@njit(cache=True, plain=small(150_000))
def explore(c: Curves, s: Search, p: Paths, t: Tree, budget: int) -> int:
    """Search on for a number of nodes; tell whether the search is done, paused or full."""
    total = len(s.sizes)
    lam = np.zeros(total)
    placed = np.zeros(total, dtype=np.bool_)
    depth = t.numbers[0]
    for d in range(depth):
        j = t.order[d]
        placed[j] = True
        lam[j] = t.prices[d]
    while True:
        if t.numbers[1] >= len(t.values):
            t.numbers[0] = depth
            return FULL
        if budget <= 0:
            t.numbers[0] = depth
            return PAUSED
        if depth == total:
            _leaf(c, s, t, lam)
        else:
            if t.children[depth] < 0:
                _prove(c, s, t, lam, placed, depth)
                _branch(s, p, t, placed, depth)
                t.numbers[2] += 1
                budget -= 1
            at = t.at[depth]
            if at < t.children[depth] and t.bound[depth, at] < t.best[0] * (1.0 - NEAR):
                j = t.child[depth, at]
                t.at[depth] = at + 1
                _place(c, s, p, t, lam, depth, j)
                placed[j] = True
                depth += 1
                continue
            t.at[depth] = t.children[depth]  # the others' bounds are no better
        if depth == 0:
            t.numbers[0] = 0
            return DONE
        depth -= 1
        j = t.order[depth]
        placed[j] = False
        lam[j] = 0.0


@njit(cache=True, plain=small(150_000))
def open_bound(t: Any) -> float:
    """Return the least bound among what has not been explored, of orders or of timelines."""
    depth, most, least = t.numbers[0], t.leaves.shape[1], np.inf
    for d in range(min(depth + 1, most)):
        if t.children[d] > 0 and t.at[d] < t.children[d]:
            least = min(least, t.bound[d, t.at[d]])
    if depth == most or t.children[depth] < 0:  # entered, and not looked at
        least = min(least, t.bound[depth - 1, t.at[depth - 1] - 1]) if depth > 0 else 0.0
    return least


def open_leaves(t: Any, limit: float) -> list[tuple[float, Ints]]:
    """Return the bounds and leaves of a tree that are below a limit, the least bound first."""
    values = t.values[: int(t.numbers[1])]
    rank = [i for i in np.argsort(values, kind="stable") if values[i] < limit]
    return [(float(values[i]), t.leaves[i].copy()) for i in rank]


@njit(cache=True, plain=small(6000))
def insertion(
    c: Curves, s: Search, order: Ints, cost: float, move: int, moves: int
) -> tuple[float, int]:
    """Try moving single jobs, and keep moves that lower the cost of playing the prices.

    Returns the cost, and how many moves were tried since the last that helped. ``order``, from the
    last job, is changed in place. Moves are numbered: job at a to place b as a·M + b, tried from
    ``move`` on. An order whose prices prove that it costs as much is not played.
    """
    total = len(order)
    trial = order.copy()
    lam, vain = np.zeros(total), 0
    level = 0.0
    levels = np.zeros(total)
    for i in range(total):
        level += s.costs[order[i]]
        levels[i] = level
    own = prices_of(c, order, levels)
    for number in range(move, move + moves):
        a, b = (number // total) % total, number % total
        if vain >= total * total:
            break
        vain += 1
        if a == b:
            continue
        _copy(order, trial)
        j = trial[a]
        step = 1 if b > a else -1
        for i in range(a, b, step):
            trial[i] = trial[i + step]
        trial[b] = j
        same = min(a, b) if own[order[0]] < np.inf else 0  # jobs before it keep their prices
        level, bound = 0.0, 0.0
        lam[:] = 0.0
        for i in range(total):
            j = trial[i]
            level += s.costs[j]
            lam[j] = own[j]
            if i >= same:
                lam[j] = next_price(c, lam, trial, i + 1, level, i + 1)
            bound += lam[j] * s.sizes[j]
            if not bound < cost:
                break
        if not bound < cost:
            continue
        value = cost_of(s.costs, played(c, s.sizes, lam, np.zeros((0, 0))))
        if value < cost * (1.0 - 1e-12):
            cost = value
            _copy(trial, order)
            for i in range(total):
                own[i] = lam[i]
            vain = 0
    return cost, vain
