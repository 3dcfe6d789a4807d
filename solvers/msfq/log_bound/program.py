"""The bound on a log as the time-indexed linear program, in HiGHS: the best that prices prove.

A column is the fraction of a job that starts at a time. Each job starts once, and at each time the
jobs that run need no more servers than there are. The dual values of the latter rows are the best
prices; the bound is what these prove in integers.

Source: Dyer and Wolsey, Discrete Applied Mathematics 26, 1990.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.msfq.log_bound import Prices, Ticks, Ticks64
from schedopt.instances.msfq import Bracketed
from schedopt.solvers.msfq.log_bound.bracket import bracket_result
from schedopt.solvers.msfq.log_bound.relaxations import rounded_down
from schedopt.solvers.msfq.searching import solve_program
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, plain_version

if TYPE_CHECKING:
    from schedopt.formulations.msfq import LogBound
    from schedopt.solvers.engine import EngineTask

UNIT = 2**30
"""The cost of a tick of waiting for a job of weight 1."""


def solve(model: LogBound, task: EngineTask) -> Result:
    """Bound the mean response time of a log; the model keeps the best prices.

    The objective of the best policy is reported, but not used.
    """
    from scipy.sparse import csc_array

    run, ticks = Run(task.limits), model.parts[0].ticks["servers"]
    last = max(1, int(ticks.submit[-1]) + int(ticks.run.sum()))
    costs: list[int] = []
    busy: list[tuple[int, int, int]] = []  # time, column and servers
    once: list[tuple[int, int]] = []
    for job, (submit, need, length, weight) in enumerate(_jobs(ticks)):
        for start in range(submit, last - length + 1):
            busy += [(time, len(costs), need) for time in range(start, start + length)]
            once.append((job, len(costs)))
            costs.append(weight * (start + length - submit))
    rows, columns, needs = np.array(busy, np.int64).reshape(-1, 3).T
    jobs, starts = np.array(once).T
    stopped, found = solve_program(
        run,
        run.began,
        c=np.array(costs, np.float64),
        A_ub=csc_array((needs.astype(float), (rows, columns)), shape=(last, len(costs))),
        b_ub=np.full(last, ticks.servers),
        A_eq=csc_array((np.ones(len(jobs)), (jobs, starts))),
        b_eq=np.ones(len(ticks.run)),
    )
    hint: Bracketed | None = task.incumbent or task.heuristic()
    bounds = {} if hint is None else dict(hint.bounds)
    if stopped == "optimal":
        worth = np.rint(-found.ineqlin.marginals * UNIT).astype(np.int64)
        prices = Prices(np.arange(last + 1), np.maximum(worth, 0), UNIT)
        bound, stopped = rounded_down(bound_of_prices(ticks, prices) + model.delay), "completed"
        if bound > bounds.get("prices", 0.0):
            bounds["prices"], model.parts[0].prices = bound, prices
    return bracket_result(model, run, hint, bounds, stopped, by=plain_version())


def bound_of_prices(ticks: Ticks, prices: Prices) -> Fraction:
    """Return the bound on the mean response time that prices for each tick prove."""
    paid = np.append(0, np.cumsum(prices.prices))
    last = len(prices.prices)
    total = -ticks.servers * int(paid[-1])
    for submit, need, length, weight in _jobs(ticks):
        starts: Ticks64 = np.arange(submit, last - length + 1)
        rents = need * (paid[starts + length] - paid[starts])
        total += int((prices.unit * weight * (starts + length - submit) + rents).min())
    return ticks.mean_response_bound(Fraction(total, prices.unit))


def _jobs(ticks: Ticks) -> list[tuple[int, int, int, int]]:
    """Return the submit, need, run time and weight of each job, in ticks."""
    columns = (ticks.submit, ticks.need, ticks.run, ticks.weight)
    return list(zip(*(column.tolist() for column in columns), strict=True))
