"""Jobs that pay for servers: when each is best started, and how many servers that takes, compiled.

All numbers are whole, and no sum overflows: `prices.Priced` sees to it.
"""

from __future__ import annotations

from typing import Any

from schedopt.solvers.compiling import compiled, njit


@compiled
def cell(grid: Any, time: int) -> int:
    """Return the last cell that begins no later than a time."""
    low, high = 0, grid.size
    while high - low > 1:
        middle = (low + high) >> 1
        if grid[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, error_model="numpy")
def respond(
    submit: Any, need: Any, run: Any, weight: Any, unit: int, grid: Any, prices: Any, paid: Any,
    costs: Any, starts: Any,
) -> Any:  # fmt: skip
    """Find for each job the start at which response and rent together cost least.

    Returns how many starts were looked at.

    A start S costs unit·weight·(S + run - submit) + need·(what a server costs from S to S + run).
    That is linear between the times at which S or S + run meets the grid, so that one of those, or
    the submit itself, is best; of equals the earliest.

    Parameters
    ----------
    submit, need, run, weight : ndarray of int64, shape (jobs,)
        Submits in order, none before the grid.
    unit : int
        What a unit of time costs a job of weight 1, in the prices' unit.
    grid : ndarray of int64, shape (cells + 1,)
    prices : ndarray of int64, shape (cells + 1,)
        Of a server for a unit of time from ``grid[i]`` on; the last is 0.
    paid : ndarray of int64, shape (cells + 1,)
        What a server costs from the first time of the grid to ``grid[i]``.
    costs, starts : ndarray of int64, shape (jobs,)
        Taken for the answer.
    """
    cells = grid.size - 1
    begin = seen = 0
    for job in range(submit.size):
        while begin < cells and grid[begin + 1] <= submit[job]:
            begin += 1
        first, servers, length = begin, need[job], run[job]
        start = submit[job]
        low, last = begin, cells + 1
        while last - low > 1:
            middle = (low + last) >> 1
            if grid[middle] <= start + length:
                low = middle
            else:
                last = middle
        last = low
        rate = unit * weight[job]
        rent = paid[last] + prices[last] * (start + length - grid[last])
        rent -= paid[first] + prices[first] * (start - grid[first])
        cost = rate * length + servers * rent
        best, at, waited = cost, start, rate * length
        while first < cells and waited < best:
            step = grid[first + 1] - start
            if last < cells:
                step = min(step, grid[last + 1] - start - length)
            cost += step * (rate + servers * (prices[last] - prices[first]))
            start += step
            seen += 1
            waited += step * rate
            if grid[first + 1] == start:
                first += 1
            if last < cells and grid[last + 1] == start + length:
                last += 1
            if cost < best:
                best, at = cost, start
        costs[job], starts[job] = best, at
    return seen


@njit(cache=True, error_model="numpy")
def use(starts: Any, need: Any, run: Any, grid: Any, used: Any) -> None:
    """Add up the server-time that jobs use in each cell of the grid.

    Parameters
    ----------
    starts, need, run : ndarray of int64, shape (jobs,)
    grid : ndarray of int64, shape (cells + 1,)
    used : ndarray of float, shape (cells + 1,)
        Taken for the answer; the last is what is used beyond the grid.
    """
    cells = grid.size - 1
    used[:] = 0.0
    whole = used.copy()  # servers that come (and, negative, go) with each cell, in full
    for job in range(starts.size):
        start, end = starts[job], starts[job] + run[job]
        first, last = cell(grid, start), cell(grid, end)
        # From the beginning of the first cell to that of the last, without what comes before,
        # and with what comes after.
        whole[first] += need[job]
        whole[last] -= need[job]
        used[first] -= need[job] * (start - grid[first])
        used[last] += need[job] * (end - grid[last])
    running = 0.0
    for i in range(cells):
        running += whole[i]
        used[i] += running * (grid[i + 1] - grid[i])
