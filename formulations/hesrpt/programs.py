"""The CVXPY program of an allocation, which users can change, and its rows of work.

Work is jointly concave in the duration and the share times duration. With a = (share) (duration)
and d = (duration), it is d s(N a/d), the perspective of a concave function.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import is_

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ConvexProgram(cp.Problem):  # type: ignore[misc]  # CVXPY's stubs are skipped
    """A CVXPY problem that can be changed in place, and knows what was declared.

    CVXPY's own class returns copies of its constraints, so that an appended constraint would be
    lost. Its expressions are immutable, so that a change is another object in their place.
    """

    def __init__(
        self,
        goal: cp.Minimize | cp.Maximize,
        rows: Sequence[cp.Constraint],
        declared: tuple[cp.Minimize, list[cp.Constraint]] | None = None,
    ) -> None:
        super().__init__(goal, rows)
        self.declared = declared or (goal, list(rows))

    @property
    def constraints(self) -> list[cp.Constraint]:
        """The constraints themselves, not a copy."""
        rows: list[cp.Constraint] = self._constraints
        return rows

    @property
    def objective(self) -> cp.Minimize | cp.Maximize:
        """The objective, which may be set."""
        return self._objective

    @objective.setter
    def objective(self, goal: cp.Minimize | cp.Maximize) -> None:
        self._objective = goal

    @property
    def changed(self) -> bool:
        """Whether the user has changed anything."""
        rows, own = self.constraints, self.declared[1]
        return self.goal_changed or len(rows) != len(own) or not all(map(is_, rows, own))

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the objective."""
        return self.objective is not self.declared[0]

    @property
    def added(self) -> list[cp.Constraint]:
        """The rows that the user added."""
        declared = set(map(id, self.declared[1]))
        return [row for row in self.constraints if id(row) not in declared]

    def state(self, rows: Sequence[cp.Constraint]) -> None:
        """Add declared rows."""
        changed = self.changed
        self.constraints.extend(rows)
        if not changed:
            self.declared = self.declared[0], list(self.constraints)

    def whole(self, side: Mapping[str, Sequence[cp.Constraint]]) -> set[str]:
        """Return the names of the side constraints whose rows are all present."""
        here = {id(row) for row in self.constraints}
        return {name for name, rows in side.items() if here.issuperset(map(id, rows))}

    def without(self, rows: Iterable[cp.Constraint], scale: float) -> cp.Problem:
        """Return a new program without some of the rows; its objective is divided by a scale."""
        gone = {id(row) for row in rows}
        kept = [row for row in self.constraints if id(row) not in gone]
        return cp.Problem(type(self.objective)(self.objective.args[0] / scale), kept)


def power_work(
    p: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= a^p d^(1-p), elementwise."""
    return [work <= a] if p == 1.0 else [cp.PowCone3D(a, d, work, p)]


def amdahl_work(
    f: float, typical: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= d s(a/d) for Amdahl's law; ``a`` is in servers times time.

    With U = d/(1 - f) and V = a/f, d s(a/d) = U V/(U + V), so U^2 <= (U + V)(U - work). Both
    factors are scaled to the same size at a typical number of servers, to keep digits.
    """
    if f == 1:
        return [work <= a]
    u, v = d / (1 - f), a / f
    scale = 1 + (1 - f) * typical / f
    x, y = (u + v) / scale, scale * (u - work)
    return [cp.SOC(x + y, cp.vstack([2 * u, x - y]), axis=0)]  # u^2 <= x y


def table_work(
    points: tuple[Floats, Floats], a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= d s(a/d) for a piecewise linear speedup, constant after its last point.

    The first point is (0, 0). ``a`` is in servers times time; there is one row for each segment.
    """
    k, s = points
    slopes = np.diff(s) / np.diff(k)
    lines = zip(slopes, s[:-1] - slopes * k[:-1], strict=True)
    return [work <= s[-1] * d, *(work <= level * d + slope * a for slope, level in lines)]
