"""Jobs that pay for servers: each job's cheapest start, and the servers in use, compiled.

All numbers are whole, and no sum overflows: `prices.PriceSearch` sees to it.
"""

from typing import Any, NamedTuple

from schedopt.solvers.compiling import kernel, makes_no_arrays
from schedopt.solvers.kernels import last_at_most


class LogJobs(NamedTuple):
    """Jobs of a log in whole ticks, arrays of shape (jobs,)."""

    submit: Any
    need: Any
    run: Any
    weight: Any


@makes_no_arrays
def cell(grid: Any, time: int) -> int:
    """Return the last cell that begins no later than a time."""
    return last_at_most(grid, 0, grid.size, time)


@kernel()
def find_cheapest_starts(
    jobs: LogJobs, unit: int, grid: Any, prices: Any, paid: Any, costs: Any, starts: Any
) -> Any:
    """Find each job's cheapest start, by response and rent; return how many were looked at.

    A start S costs unit·weight·(S + run - submit) + need·(what one costs from S to S + run).
    That is linear between the times at which S or S + run meets the grid, so that one of those, or
    the submit itself, is best; of equals the earliest. Submits are in order, none before the grid;
    `unit` is the cost of a unit of time for weight 1, in the prices' unit; `prices`, shape
    (cells + 1,), per unit of time from each grid time on, end with 0; `paid` are their sums from
    the first time of the grid. `costs` and `starts` take the answer.
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
    """Put the server-time that jobs use in each cell, and beyond the grid, into `used`."""
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
