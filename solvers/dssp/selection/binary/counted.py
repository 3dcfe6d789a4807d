"""A 0-1 program in CP-SAT, whose integer arithmetic is exact, where numbers are small enough."""

import numpy as np

from schedopt.formulations.dssp.grid import LARGEST, LARGEST_SUM
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, Values
from schedopt.solvers.result import Limits


def fits(arrays: Arrays) -> bool:
    """Tell whether all numbers are small enough for CP-SAT."""
    sizes = [abs(c) for c in arrays.coefficients.tolist()]
    sums = [arrays.reach(i) for i in range(len(arrays.keys))]
    sums.append(sum(abs(r) for r in arrays.rewards.tolist()))
    return max(sizes, default=0) <= LARGEST and max(sums) <= LARGEST_SUM


def maximized(
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
