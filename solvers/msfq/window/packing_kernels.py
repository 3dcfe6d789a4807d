"""Prices of servers that depend on the job's need: what jobs pay, and what the machine can earn.

All numbers are whole, and no sum overflows: `packing.Packing` sees to it.
"""

from typing import Any

import numpy as np

from schedopt.solvers.compiling import compiled, njit
from schedopt.solvers.msfq.log_bound.price_kernels import cell


@compiled
def paid_by(grid: Any, prices: Any, paid: Any, kind: int, time: int) -> int:
    """Return what a job of a kind pays from the first time of the grid to another.

    `prices` are per unit of time from each grid time on, the last 0; `paid` their sums; both have
    shape (kinds, cells + 1).
    """
    at = cell(grid, time)
    return int(paid[kind, at] + prices[kind, at] * (time - grid[at]))


@njit(cache=True)
def respond(
    first: Any,
    last: Any,
    run: Any,
    rate: Any,
    kind: Any,
    grid: Any,
    prices: Any,
    paid: Any,
    most: Any,
    costs: Any,
    starts: Any,
    kept: Any,
) -> None:
    """Find for each job the start with the least cost of waiting and rent.

    A start S costs rate·S + (what the kind pays from S to S + run). That is linear between the
    times at which S or S + run meets the grid. All starts from ``first`` to ``last`` are allowed.
    `costs` and `starts` take the cheapest, the earliest of equals; `kept`, shape (jobs, 2), takes
    the first and last start that costs no more than `most`, -1 where there is none. For prices see
    `paid_by`.
    """
    cells = grid.size - 1
    for job in range(first.size):
        own, length, start = kind[job], run[job], first[job]
        low, high = cell(grid, start), cell(grid, start + length)
        cost = rate[job] * start
        cost += paid[own, high] + prices[own, high] * (start + length - grid[high])
        cost -= paid[own, low] + prices[own, low] * (start - grid[low])
        best, at = cost, start
        kept[job] = -1
        if cost <= most[job]:
            kept[job] = start
        while start < last[job]:
            step = last[job] - start
            if low < cells:
                step = min(step, grid[low + 1] - start)
            if high < cells:
                step = min(step, grid[high + 1] - start - length)
            slope = rate[job] + prices[own, high] - prices[own, low]
            then = cost + step * slope
            if then <= most[job]:
                if cost > most[job] and kept[job, 0] < 0:
                    kept[job, 0] = start + (cost - most[job] - slope - 1) // -slope
                kept[job, 1] = start + step
            elif cost <= most[job]:
                kept[job, 1] = start + (most[job] - cost) // slope
            cost = then
            start += step
            if low < cells and grid[low + 1] == start:
                low += 1
            if high < cells and grid[high + 1] == start + length:
                high += 1
            if cost < best:
                best, at = cost, start
        costs[job], starts[job] = best, at


@njit(cache=True)
def use(starts: Any, run: Any, kind: Any, grid: Any, used: Any) -> None:
    """Add up how many jobs of each kind run in each cell of the grid, on average over the cell."""
    used[:] = 0.0
    for job in range(starts.size):
        start, end = starts[job], starts[job] + run[job]
        at = cell(grid, start)
        while at < grid.size - 1 and grid[at] < end:
            within = min(end, grid[at + 1]) - max(start, grid[at])
            used[kind[job], at] += within / (grid[at + 1] - grid[at])
            at += 1


@njit(cache=True)
def pack(prices: Any, size: Any, room: int, most: Any, must: Any, chosen: Any, values: Any) -> None:
    """Find for each cell the jobs that fit side by side and pay most, by kind.

    Between `must` and `most` jobs of each kind run in a cell, and their sizes add up to `room` at
    most. `values` are what they pay, -1 where those that must run do not fit.
    """
    kinds, cells = most.shape
    value, new = np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64)
    taken = np.zeros((kinds, room + 1), np.int64)
    for c in range(cells):
        left, base = room, 0
        for k in range(kinds):
            left -= must[k, c] * size[k]
            base += must[k, c] * prices[k, c]
        if left < 0:
            values[c] = -1
            continue
        value[:] = 0
        for k in range(kinds):
            _one_more_kind(
                value, new, taken[k], left, prices[k, c], size[k], most[k, c] - must[k, c]
            )
        values[c] = base + value[left]
        for k in range(kinds - 1, -1, -1):
            chosen[k, c] = must[k, c] + taken[k, left]
            left -= taken[k, left] * size[k]


@njit(cache=True)
def _one_more_kind(
    value: Any, new: Any, taken: Any, room: int, price: int, size: int, most: int
) -> None:
    """Add one more kind to the best packing of each room."""
    if price <= 0 or most <= 0:
        taken[:] = 0
        return
    for space in range(room + 1):
        best, count = value[space], 0
        for number in range(1, min(most, space // size) + 1):
            then = value[space - number * size] + number * price
            if then > best:
                best, count = then, number
        new[space], taken[space] = best, count
    for space in range(room + 1):
        value[space] = new[space]
