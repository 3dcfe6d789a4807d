"""The linear relaxation of a few rows over many columns, by HiGHS.

maximize cost·x subject to rows·x <= room, 0 <= x <= most. Prices that come of it are floats and
need not be right: whatever they are, `whole` makes of them a bound that holds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
OPTIONS = {"presolve": "off", "solver": "simplex"}


class Relaxed(NamedTuple):
    """The solution of a relaxation, or a proof that nothing is feasible."""

    prices: Floats  # at least 0; a ray that proves infeasibility where nothing is feasible, (rows,)
    values: Floats  # (columns,)
    feasible: bool


def relax(cost: Floats, rows: Floats, room: Floats, most: Floats, *, seconds: float) -> Relaxed:
    """Solve a relaxation; where HiGHS does not know in so many seconds, all prices are 0."""
    import highspy

    from schedopt.solvers.mip.passing import passed

    m, n = rows.shape
    if not m:
        return Relaxed(np.zeros(0), np.where(cost > 0, most, 0.0), True)
    size = np.maximum(np.abs(rows).max(axis=1, initial=0), np.abs(room))
    size[size == 0] = 1.0
    top = float(np.abs(cost).max(initial=0)) or 1.0
    engine = passed(
        -cost / top,
        (np.full(m, -highspy.kHighsInf), room / size),
        (np.zeros(n), most),
        (np.arange(n) * m, np.tile(np.arange(m), n), (rows / size[:, None]).T.ravel()),
        by_rows=False,
        options=OPTIONS | {"time_limit": seconds},
    )
    engine.run()
    status = engine.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        _, has, ray = engine.getDualRay()
        prices = np.abs(np.asarray(ray)) / size if has else np.zeros(m)
        return Relaxed(prices, np.zeros(n), False)
    solution = engine.getSolution()
    if status != highspy.HighsModelStatus.kOptimal:
        return Relaxed(np.zeros(m), np.zeros(n), True)
    prices = np.maximum(-np.asarray(solution.row_dual), 0.0) * top / size
    return Relaxed(prices, np.asarray(solution.col_value), True)
