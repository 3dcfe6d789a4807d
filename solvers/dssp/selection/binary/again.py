"""Solve a selection or a season again by other means than those that solved it first.

CP-SAT takes the program where its numbers are small enough for it; else all subsets of a few
columns are tried; else the exact search does it by itself, without an engine that rounds.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from schedopt.formulations.dssp.grid import LARGEST, LARGEST_SUM
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, concluded
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, Values, closed_columns
from schedopt.solvers.dssp.selection.binary.tree import Tree, clock
from schedopt.solvers.result import Limits, Result, Seconds, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

PATIENCE = 60.0
"""Seconds that it may take where no time limit is given."""
FEW = 14
"""Columns of which all subsets are tried."""


def solve(model: Selection | Season, limits: Limits) -> Result[Any]:
    """Solve again, from nothing.

    Parameters
    ----------
    model : Selection or Season
        Without native changes.
    limits : Limits
        When to stop.

    Returns
    -------
    Result
        Not yet checked; its solver is ``cp-sat``, ``enumeration`` or ``branching``.
    """
    began, run = now(), Run(limits)
    program = model.program()
    whole, start = Arrays.of(program), closed_columns(program)
    if whole.hopeless or not whole.propagate(start)[1]:
        solver, decided = "rows", Decided("infeasible", None, None, proven=True)
    else:
        arrays = whole.without(start)
        seconds = PATIENCE if limits.time_limit is None else limits.time_limit
        if fits(arrays):
            solver, best, done = "cp-sat", *by_cpsat(arrays, start, limits, seconds)
        elif (start == FREE).sum() <= FEW:
            solver, best, done = "enumeration", _by_enumeration(arrays, start), True
        else:
            tree = Tree(arrays, start, stop=clock(seconds))
            solver, done, best = "branching", tree.run(), tree.best
        stopped: Termination = "optimal" if best is not None else "infeasible"
        stopped = stopped if done else "time-limit"
        worth = None if best is None else program.worth(np.flatnonzero(best == 1).tolist())
        bound = worth / program.scale if done and worth is not None else None
        decided = Decided(stopped, best, bound, proven=done)
    best = decided.best
    chosen = None if best is None else model.selected(np.flatnonzero(best[: model.width] == 1))
    result = make_result(
        model,
        run,
        solver=solver,
        version=_version() if solver == "cp-sat" else "",
        stopped=decided.stopped,
        solution=chosen,
        bound=None,
        options={},
    )
    spent = Seconds(build=model.seconds, solve=now() - began)
    return msgspec.structs.replace(concluded(result, decided, run), seconds=spent)


def fits(arrays: Arrays) -> bool:
    """Tell whether all numbers are small enough for CP-SAT."""
    sizes = [abs(c) for c in arrays.coefficients.tolist()]
    sums = [arrays.reach(i) for i in range(len(arrays.keys))]
    sums.append(sum(abs(r) for r in arrays.rewards.tolist()))
    return max(sizes, default=0) <= LARGEST and max(sums) <= LARGEST_SUM


def by_cpsat(
    arrays: Arrays, start: Values, limits: Limits, seconds: float
) -> tuple[Values | None, bool]:
    """Return the best selection of columns, and whether it is proven to be that."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_bool_var(str(j)) for j in range(len(start))]
    for j in np.flatnonzero(start != FREE).tolist():
        model.add(x[j] == int(start[j]))
    for i, (lower, upper) in enumerate(zip(arrays.lower, arrays.upper, strict=True)):
        at = arrays.row(i)
        columns = [x[j] for j in arrays.columns[at]]
        reach = arrays.reach(i) + 1
        body = cp_model.LinearExpr.weighted_sum(columns, arrays.coefficients[at].tolist())
        low = -reach if lower is None else max(-reach, min(reach, lower))
        high = reach if upper is None else max(-reach, min(reach, upper))
        model.add_linear_constraint(body, low, high)
    model.maximize(cp_model.LinearExpr.weighted_sum(x, arrays.rewards.tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = limits.threads or 1
    solver.parameters.random_seed = limits.seed
    ended = solver.status_name(solver.solve(model))
    if ended not in ("OPTIMAL", "FEASIBLE"):
        return None, ended == "INFEASIBLE"
    values = np.array([solver.value(v) for v in x], dtype=np.int8)
    # what CP-SAT calls a solution is one only if it keeps the rows in whole numbers
    kept = arrays.cut_off(values) is None
    return (values if kept else None), kept and ended == "OPTIMAL"


def _by_enumeration(arrays: Arrays, start: Values) -> Values | None:
    """Return the best of all subsets of the free columns; None where no subset keeps the rows."""
    best, most = None, -1
    free = np.flatnonzero(start == FREE)
    values = start.copy()
    for choice in product((0, 1), repeat=len(free)):
        values[free] = choice
        worth = sum(arrays.rewards[values == 1].tolist())
        if worth > most and arrays.cut_off(values) is None:
            best, most = values.copy(), worth
    return best


def _version() -> str:
    from schedopt.solvers.cpsat import version

    return version()
