"""Each job's cheapest start at given prices of servers, and the use of servers, compiled.

All numbers are integers, and no sum overflows: `prices.PriceSearch` ensures this.
"""

from typing import Any, NamedTuple

from schedopt.solvers.compiling import kernel
from schedopt.solvers.kernels import last_at_most


class LogJobs(NamedTuple):
    """Jobs of a log in whole ticks, arrays of shape (jobs,)."""

    submit: Any
    need: Any
    run: Any
    weight: Any


def cell(grid: Any, time: int) -> int:
    """Return the last cell of the grid that begins no later than a time."""
    return last_at_most(grid, 0, grid.size, time)


@kernel()
def find_cheapest_starts(
    jobs: LogJobs, unit: int, grid: Any, prices: Any, paid: Any, costs: Any, starts: Any
) -> Any:
    """Find the start of each job at which response time and payment cost least.

    A start S costs unit·weight·(S + run - submit) + need·(price integral from S to S + run). The
    cost is piecewise linear, with breaks where S or S + run is a grid time. So one of these or the
    submit is optimal; the earliest one is taken among equals.

    Parameters
    ----------
    jobs : LogJobs
        In order of submit; no submit is before the grid.
    unit : int
        Cost of one tick of waiting at weight 1, in the unit of the prices.
    grid : ndarray of int, shape (cells + 1,)
        Times at which prices change, in ticks.
    prices : ndarray of int, shape (cells + 1,)
        Price of a server for one tick from each grid time on; the last one is 0.
    paid : ndarray of int, shape (cells + 1,)
        Price integral from the first grid time to each.
    costs, starts : ndarray of int, shape (jobs,)
        Filled with the least cost and the start of each job.

    Returns
    -------
    int
        The number of starts compared.
    """
    submit, need, run, weight = jobs
    cells = grid.size - 1
    begin = seen = 0
    for job in range(submit.size):
        while begin < cells and grid[begin + 1] <= submit[job]:
            begin += 1
        first, length, start = begin, run[job], submit[job]
        last = last_at_most(grid, begin, cells + 1, start + length)
        rate = unit * weight[job]
        waited = rate * length
        rent = paid[last] + prices[last] * (start + length - grid[last])
        rent -= paid[first] + prices[first] * (start - grid[first])
        cost = waited + need[job] * rent
        best, at = cost, start
        while first < cells and waited < best:
            step = grid[first + 1] - start
            if last < cells:
                step = min(step, grid[last + 1] - start - length)
            cost += step * (rate + need[job] * (prices[last] - prices[first]))
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


@kernel()
def add_usage(starts: Any, need: Any, run: Any, grid: Any, used: Any) -> None:
    """Fill ``used`` with the server-time used in each cell, and after the grid."""
    cells = grid.size - 1
    used[:] = 0.0
    whole = used.copy()  # servers that become busy (or idle, negative) at the start of each cell
    for job in range(starts.size):
        start, end = starts[job], starts[job] + run[job]
        first, last = cell(grid, start), cell(grid, end)
        # Full cells from the first to the last; the parts of the two outer cells are corrected.
        whole[first] += need[job]
        whole[last] -= need[job]
        used[first] -= need[job] * (start - grid[first])
        used[last] += need[job] * (end - grid[last])
    running = 0.0
    for i in range(cells):
        running += whole[i]
        used[i] += running * (grid[i + 1] - grid[i])
