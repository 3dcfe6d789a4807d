"""A solution by HiGHS, for the search to start from: nothing that it says is taken for proven."""

import highspy
import numpy as np

from schedopt.solvers.columns.whole import Columns, Integers
from schedopt.solvers.mip.passing import passed


def guess(columns: Columns, seconds: float) -> Integers | None:
    """Return what HiGHS finds within some seconds, rounded; None where it finds nothing."""
    m, n = columns.rows.shape
    size = np.maximum(np.abs(columns.rows).max(axis=1, initial=1), 1).astype(float)
    top = float(max(np.abs(columns.cost).max(initial=1), 1))
    values = (columns.rows / size[:, None]).ravel()
    engine = passed(
        columns.cost / top * 1000,
        (np.full(m, -np.inf), columns.room / size),
        (np.zeros(n), columns.most.astype(float)),
        (np.arange(m) * n, np.tile(np.arange(n), m), values),
        maximize=True,
        integer=np.ones(n, dtype=np.int32),
        options={"time_limit": seconds, "mip_rel_gap": 0.0, "threads": 1},
    )
    engine.run()
    feasible = highspy.SolutionStatus.kSolutionStatusFeasible
    if engine.getInfo().primal_solution_status != feasible:
        return None
    found: Integers = np.rint(np.asarray(engine.getSolution().col_value)).astype(np.int64)
    return found
