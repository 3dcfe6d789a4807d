"""Prices of few rows over many columns, by HiGHS; and bounds in integers, valid at any prices.

For prices y >= 0 no x within 0 <= x <= most that keeps rows·x <= room is worth more than
room·y + Σ max(0, most_j·(cost_j - rows_j·y)). With prices that are whole multiples of 1/scale that
is counted without rounding. What a solution lacks of it is the sum of what each column loses that
is not where its sign says, and of the price of what is left of each row: so a column whose unit
loses more than there is to lose is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.arithmetic import exact_sum

Floats = NDArray[np.float64]
OPTIONS = {"presolve": "off", "solver": "simplex"}


class Relaxed(NamedTuple):
    """The solution of a relaxation, or a proof that nothing is feasible."""

    prices: Floats  # of the rows; a ray that proves infeasibility where nothing is feasible
    values: Floats  # (columns,)
    feasible: bool


def run_highs(engine: Any) -> Relaxed | None:
    """Solve the linear program that HiGHS holds, for its own signs; None where it does not know."""
    from highspy import HighsModelStatus

    engine.run()
    status, solution = engine.getModelStatus(), engine.getSolution()
    values = np.asarray(solution.col_value)
    if status == HighsModelStatus.kOptimal:
        return Relaxed(np.asarray(solution.row_dual), values, True)
    if status == HighsModelStatus.kInfeasible:
        _, has_ray, ray = engine.getDualRay()
        return Relaxed(np.asarray(ray), values, False) if has_ray else None
    return None


def relax(cost: Floats, rows: Floats, room: Floats, most: Floats, *, seconds: float) -> Relaxed:
    """Solve a relaxation; where HiGHS does not know in so many seconds, all prices are 0."""
    m, n = rows.shape
    if not m:
        return Relaxed(np.zeros(0), np.where(cost > 0, most, 0.0), True)
    from schedopt.solvers.mip.highs import load_highs

    size = np.maximum(np.abs(rows).max(axis=1, initial=0), np.abs(room))
    size[size == 0] = 1.0
    top = float(np.abs(cost).max(initial=0)) or 1.0
    engine = load_highs(
        -cost / top,
        (np.full(m, -np.inf), room / size),
        (np.zeros(n), most),
        (np.arange(n) * m, np.tile(np.arange(m), n), (rows / size[:, None]).T.ravel()),
        by_rows=False,
        options=OPTIONS | {"time_limit": seconds},
    )
    relaxed = run_highs(engine) or Relaxed(np.zeros(m), np.zeros(n), True)
    if not relaxed.feasible:
        return Relaxed(np.abs(relaxed.prices) / size, np.zeros(n), False)
    return relaxed._replace(prices=np.maximum(-relaxed.prices, 0.0) * top / size)


Integers = NDArray[np.int64]
BITS = 61
"""Bits of integers that are used: one is the sign, one is left for a sum of two."""
FINEST = 2.0**40
"""Finest useful resolution: units in a price of 1."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Maximize cost·x subject to rows·x <= room, 0 <= x <= most, x whole."""

    cost: Integers  # (columns,)
    rows: Integers  # (rows, columns)
    room: Integers  # (rows,)
    most: Integers  # (columns,)

    def take(self, at: NDArray[np.intp], base: Integers, most: Integers) -> Columns:
        """Return some of the columns, with what the solution ``base`` leaves of the rows."""
        return Columns(self.cost[at], self.rows.take(at, axis=1), self.slack(base), most)

    def slack(self, x: Integers) -> Integers:
        """Return what a solution leaves of each row."""
        some = np.flatnonzero(x)
        return np.asarray(self.room - self.rows[:, some] @ x[some])

    def worth(self, x: Integers) -> int:
        """Return what a solution is worth."""
        some = np.flatnonzero(x)
        return int(self.cost[some] @ x[some])


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound, and what each column loses where it differs from the bound's own solution."""

    total: int  # in units of 1/scale
    scale: int
    prices: Integers  # (rows,)
    reduced: Integers  # (columns,)

    @property
    def value(self) -> int:
        """The bound, rounded down to an integer."""
        return self.total // self.scale

    def at(self, most: Integers) -> Integers:
        """Return the solution of the bound, which need not keep the rows."""
        return np.where(self.reduced > 0, most, 0)

    def slack_above(self, target: int) -> int:
        """Return the slack of the bound to a solution of that value."""
        return self.total - self.scale * target


def bound_of(columns: Columns, prices: Floats) -> Bound:
    """Return the bound at some prices."""
    rows, most = columns.rows, columns.most
    widest = np.maximum(rows.max(axis=1, initial=0), -rows.min(axis=1, initial=0)).astype(float)
    prices = np.where((prices > 0) & (widest > 0), prices, 0.0)
    often = float(most.max(initial=1))
    dearest = max(int(columns.cost.max(initial=0)), -int(columns.cost.min(initial=0)))
    reach = dearest + float(prices @ widest)
    size = max(reach * often, float(prices @ np.abs(columns.room).astype(float)), 1.0)
    scale = int(min(FINEST, 2.0 ** max(0, BITS - 2 - frexp(size)[1])))
    whole = np.rint(prices * scale).astype(np.int64)
    reduced = columns.cost * scale
    for i in np.flatnonzero(whole):
        reduced -= whole[i] * rows[i]
    fixed = sum(int(y) * int(b) for y, b in zip(whole, columns.room, strict=True))
    gained = np.flatnonzero(reduced > 0)
    return Bound(fixed + exact_sum(reduced[gained] * most[gained]), scale, whole, reduced)
