"""Compiled branch and bound over completion orders, from the last job to complete."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.orders.kernels import Curves, Floats, Ints, next_price
from solvers.orders.prices import played, prices_of

Bools = NDArray[np.bool_]
DONE, PAUSED, FULL = 0, 1, 2
NEAR = 1e-10
"""Bounds within this part of the incumbent are not pursued."""


class Tree(NamedTuple):
    """Where a depth-first search stands; at depth d, d jobs are placed.

    Attributes
    ----------
    order : ndarray of int64
        The placed jobs, the last to complete first, shape (M,).
    base : ndarray
        The bound that the placed jobs contribute, by depth, shape (M + 1,).
    level : ndarray
        Their cost rate W, by depth, shape (M + 1,).
    price : ndarray
        ``price[d, j]`` is the price of job j if it is placed next, shape (M + 1, M).
    child, bound : ndarray
        The children of each depth by their bounds, shape (M + 1, M).
    ahead : ndarray
        ``ahead[d, i]`` are the prices below child i of depth d, shape (M + 1, M, M).
    children, at : ndarray of int64
        How many children a depth has, and which is next, shape (M + 1,).
    leaves, values : ndarray
        Orders whose bound nothing has met, and these bounds.
    numbers : ndarray
        [depth, leaves, nodes].
    best : ndarray
        [the incumbent's cost].
    found : ndarray of int64
        The incumbent's order, shape (M,).
    """

    order: Ints
    base: Floats
    level: Floats
    price: Floats
    child: Ints
    bound: Floats
    ahead: Floats
    children: Ints
    at: Ints
    leaves: Ints
    values: Floats
    numbers: Ints
    best: Floats
    found: Ints


def tree(count: int, most_leaves: int) -> Tree:
    """Return an empty tree for a number of jobs."""
    return Tree(
        order=np.zeros(count, dtype=np.int64),
        base=np.zeros(count + 1),
        level=np.zeros(count + 1),
        price=np.zeros((count + 1, count)),
        child=np.zeros((count + 1, count), dtype=np.int64),
        bound=np.zeros((count + 1, count)),
        ahead=np.zeros((count + 1, count, count)),
        children=np.full(count + 1, -1, dtype=np.int64),
        at=np.zeros(count + 1, dtype=np.int64),
        leaves=np.zeros((most_leaves, count), dtype=np.int64),
        values=np.zeros(most_leaves),
        numbers=np.zeros(3, dtype=np.int64),
        best=np.full(1, np.inf),
        found=np.zeros(count, dtype=np.int64),
    )


@njit(cache=True)
def _next_prices(
    c: Curves,
    t: Tree,
    costs: Floats,
    lam: Floats,
    placed: Bools,
    depth: int,
    level: float,
    out: Floats,
) -> None:
    """Put the price of each job that is not placed, if it is placed next, into ``out``."""
    for j in range(len(costs)):
        if not placed[j]:
            t.order[depth] = j
            out[j] = next_price(c, lam, t.order, depth + 1, level + costs[j])
            lam[j] = 0.0


@njit(cache=True)
def _branch(
    c: Curves,
    t: Tree,
    sizes: Floats,
    costs: Floats,
    classes: Ints,
    lam: Floats,
    placed: Bools,
    depth: int,
) -> None:
    """Compute the children of a node, and sort them by their bounds."""
    count = 0
    total = len(sizes)
    for j in range(total):
        if placed[j]:
            continue
        twin = False  # of jobs alike the last in the file completes last
        for i in range(j + 1, total):
            if not placed[i] and classes[i] == classes[j]:
                twin = True
        if twin:
            continue
        t.order[depth] = j
        lam[j] = t.price[depth, j]
        placed[j] = True
        value = t.base[depth] + lam[j] * sizes[j]
        ahead = t.ahead[depth, count]
        _next_prices(c, t, costs, lam, placed, depth + 1, t.level[depth] + costs[j], ahead)
        for i in range(total):
            if not placed[i]:
                value += ahead[i] * sizes[i]
        placed[j] = False
        lam[j] = 0.0
        t.child[depth, count] = j
        t.bound[depth, count] = value
        count += 1
    rank = np.argsort(t.bound[depth, :count])
    t.child[depth, :count] = t.child[depth, :count][rank]
    t.bound[depth, :count] = t.bound[depth, :count][rank]
    t.ahead[depth, :count] = t.ahead[depth, :count][rank]
    t.children[depth] = count
    t.at[depth] = 0


@njit(cache=True)
def _leaf(c: Curves, t: Tree, sizes: Floats, costs: Floats, lam: Floats, playable: bool) -> None:
    """Take a complete order: as incumbent if its prices are played out cheaper than the best."""
    value = t.base[len(sizes)]
    if value >= t.best[0] * (1.0 - NEAR):
        return
    cost = np.inf
    if playable:
        cost = np.dot(costs, played(c, sizes, lam, np.zeros((0, 0))))
    if cost < t.best[0]:
        t.best[0] = cost
        t.found[:] = t.order
    if value < cost * (1.0 - NEAR):
        at = t.numbers[1]
        t.leaves[at] = t.order
        t.values[at] = value
        t.numbers[1] = at + 1


@njit(cache=True)
def explore(
    c: Curves, t: Tree, sizes: Floats, costs: Floats, classes: Ints, playable: bool, budget: int
) -> int:
    """Search on for a number of nodes; tell whether the search is done, paused or full."""
    total = len(sizes)
    lam = np.zeros(total)
    placed = np.zeros(total, dtype=np.bool_)
    depth = t.numbers[0]
    for d in range(depth):
        j = t.order[d]
        placed[j] = True
        lam[j] = t.price[d, j]
    while True:
        if t.numbers[1] >= len(t.values):
            return FULL
        if budget <= 0:
            t.numbers[0] = depth
            return PAUSED
        if depth == total:
            _leaf(c, t, sizes, costs, lam, playable)
        else:
            if t.children[depth] < 0:
                if depth == 0:
                    _next_prices(c, t, costs, lam, placed, 0, 0.0, t.price[0])
                _branch(c, t, sizes, costs, classes, lam, placed, depth)
                t.numbers[2] += 1
                budget -= 1
            at = t.at[depth]
            if at < t.children[depth] and t.bound[depth, at] < t.best[0] * (1.0 - NEAR):
                j = t.child[depth, at]
                t.at[depth] = at + 1
                t.order[depth] = j
                lam[j] = t.price[depth, j]
                placed[j] = True
                t.base[depth + 1] = t.base[depth] + lam[j] * sizes[j]
                t.level[depth + 1] = t.level[depth] + costs[j]
                t.price[depth + 1] = t.ahead[depth, at]
                depth += 1
                if depth < total:
                    t.children[depth] = -1
                continue
            t.at[depth] = t.children[depth]  # the others' bounds are no better
        if depth == 0:
            t.numbers[0] = 0
            return DONE
        depth -= 1
        j = t.order[depth]
        placed[j] = False
        lam[j] = 0.0


@njit(cache=True)
def open_bound(t: Tree) -> float:
    """Return the least bound among what has not been explored."""
    least = np.inf
    for d in range(t.numbers[0] + 1):
        if d < len(t.order) and t.children[d] > 0 and t.at[d] < t.children[d]:
            least = min(least, t.bound[d, t.at[d]])
    return least


@njit(cache=True)
def insertion(
    c: Curves, sizes: Floats, costs: Floats, order: Ints, cost: float, move: int, moves: int
) -> tuple[float, int]:
    """Try moving single jobs, and keep what lowers the cost of playing the prices.

    Returns (cost, how many moves since the last that helped). ``order``, from the last job, is
    changed in place. Moves are numbered, a job at a to b as a·M + b: from ``move``, ``moves``.
    """
    total = len(order)
    trial = order.copy()
    levels = np.zeros(total)
    vain = 0
    for number in range(move, move + moves):
        a, b = (number // total) % total, number % total
        vain += 1
        if a == b:
            continue
        trial[:] = order
        j = trial[a]
        step = 1 if b > a else -1
        for i in range(a, b, step):
            trial[i] = trial[i + step]
        trial[b] = j
        level = 0.0
        for i in range(total):
            level += costs[trial[i]]
            levels[i] = level
        lam = prices_of(c, trial, levels)
        value = np.dot(costs, played(c, sizes, lam, np.zeros((0, 0))))
        if value < cost * (1.0 - 1e-12):
            cost = value
            order[:] = trial
            vain = 0
    return cost, vain
