"""Parts of Pyomo models: linear expressions, rows, and the detection of changes by users."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from schedopt.instances.rows import Number, Row


def weighted_sum(coefficients: Sequence[Number], variables: Sequence[Any]) -> LinearExpression:
    """Return the sum of coefficient·variable; it is built at once, which is fast."""
    return LinearExpression(
        constant=0.0, linear_coefs=list(map(float, coefficients)), linear_vars=list(variables)
    )


def bounded(row: Row, x: Sequence[Any], relaxed: Any = 0.0) -> tuple[float | None, Any, Any]:
    """Return a row over variables as Pyomo takes it: lower bound, body, upper bound."""
    body = weighted_sum(row.coefficients, [x[i] for i in row.columns])
    lower, upper = (float(b) if isfinite(b) else None for b in (row.lower, row.upper))
    return lower, body + relaxed if row.unless else body, upper


def add_side_rows(
    model: pyo.ConcreteModel, x: Sequence[Any], rows: Iterable[tuple[str, Row]]
) -> None:
    """Add rows of side constraints, each under the name of its side constraint.

    A binary variable waives a row that can be waived; it is at most the sum of each set of columns
    of which one must be 1.
    """
    for name, row in rows:
        waived: Any = 0.0
        if row.unless:
            lifted = model.lifted[name, row.what]
            for columns in row.unless:
                run = weighted_sum([1.0] * len(columns), [x[i] for i in columns])
                model.side[name, row.what, columns[0]] = (None, lifted - run, 0.0)
            least = fsum(float(c) for c in row.coefficients if c < 0)
            waived = min(0.0, least - float(row.lower)) * -lifted  # the most that is missing
        model.side[name, row.what] = bounded(row, x, waived)


class Watch:
    """Detects changes of a Pyomo model by comparing its parts with the declared ones.

    Expressions of Pyomo are immutable, so that they are compared by identity.
    """

    def __init__(self, model: pyo.ConcreteModel) -> None:
        self.model = model
        self.accept()

    def accept(self) -> None:
        """Treat the present state of the model as the declared one."""
        self._rows, self._goal = list(self._row_parts()), list(self._goal_parts())

    def changed(self) -> bool:
        """Return True if anything differs from what was declared."""
        return self.goal_changed() or not _same(self._rows, self._row_parts())

    def goal_changed(self) -> bool:
        """Return True if the objective differs."""
        return not _same(self._goal, self._goal_parts())

    def _row_parts(self) -> Iterator[object]:
        """Yield every component, row, bound and domain."""
        for part in self.model.component_objects():
            if part.ctype is not pyo.Objective:
                yield from (part, part.active)
        for row in self.model.component_data_objects(pyo.Constraint, active=True):
            yield from (row, row.expr)
        for x in self.model.component_data_objects(pyo.Var):
            yield from (x, x.domain, x.lb, x.ub, x.value if x.fixed else None)

    def _goal_parts(self) -> Iterator[object]:
        """Yield the active objectives."""
        for goal in self.model.component_data_objects(pyo.Objective, active=True):
            yield from (goal, goal.expr, goal.sense)


def _same(known: Sequence[object], parts: Iterator[object]) -> bool:
    """Return True if parts are the known ones: the same objects, or equal numbers."""
    for before in known:
        part = next(parts, _END)
        if part is not before and not (isinstance(part, int | float) and part == before):
            return False
    return next(parts, _END) is _END


_END = object()
