"""Translation of linear Pyomo models into matrices."""

from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr import LinearExpression
from pyomo.gdp import Disjunct
from pyomo.repn import generate_standard_repn

from schedopt.instances.errors import InputError
from schedopt.solvers.mip import LARGEST_BOUND, Floats, Matrix, scale_of

PLAIN = frozenset(
    (
        pyo.Var,
        pyo.Constraint,
        pyo.Objective,
        pyo.Param,
        pyo.Expression,
        pyo.Block,
        pyo.Set,
        pyo.RangeSet,
        pyo.SetOf,
        pyo.Suffix,
        pyo.BuildAction,
        pyo.BuildCheck,
    )
)
"""Components that are translated, or that have no meaning of their own."""


def refuse_others(model: pyo.ConcreteModel) -> None:
    """Raise `InputError` if a model has an active component that cannot be translated."""
    for part in model.component_objects(active=True, descend_into=(pyo.Block, Disjunct)):
        if part.ctype not in PLAIN:
            raise InputError(
                "only variables, linear constraints and one objective",
                found=f"{part.name}, a {part.ctype.__name__}",
                place="model",
            )


def translate(model: pyo.ConcreteModel) -> Matrix:
    """Return the matrix of a linear Pyomo model.

    Raises
    ------
    InputError
        If an expression is not linear, there is not exactly one objective, or the model has
        components that cannot be translated, such as SOS constraints.
    """
    refuse_others(model)
    columns = [v for v in model.component_data_objects(pyo.Var) if not v.fixed]
    place = {id(v): i for i, v in enumerate(columns)}
    bounds = [v.bounds for v in columns]
    column_lower = np.array([-np.inf if low is None else low for low, _ in bounds], dtype=float)
    column_upper = np.array([np.inf if high is None else high for _, high in bounds], dtype=float)
    # Columns fixed to 0 lose their coefficients, so that these do not determine the scale.
    dropped = (column_lower == 0) & (column_upper == 0)
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        raise InputError("one objective", found=str(len(objectives)), place="model")
    goal = _linear(objectives[0].expr, objectives[0].name, place)
    cost = np.zeros(len(columns))
    cost[goal.columns] = np.where(dropped[goal.columns], 0.0, goal.coefficients)
    cost_scale = scale_of(cost)

    rows: list[Any] = []
    lower: list[float] = []
    upper: list[float] = []
    starts, indices, values = [0], [np.zeros(0, np.int32)], [np.zeros(0)]
    for row in model.component_data_objects(pyo.Constraint, active=True):
        body = _linear(row.body, row.name, place)
        kept = ~dropped[body.columns]
        coefficients = body.coefficients[kept]
        scale = scale_of(coefficients)
        low, high = pyo.value(row.lower), pyo.value(row.upper)
        rows.append(row)
        lower.append(-np.inf if low is None else (low - body.constant) * scale)
        upper.append(np.inf if high is None else (high - body.constant) * scale)
        indices.append(body.columns[kept])
        values.append(coefficients * scale)
        starts.append(starts[-1] + len(coefficients))
    return Matrix(
        columns=columns,
        cost=cost * cost_scale,
        cost_scale=cost_scale,
        offset=float(goal.constant),
        maximize=objectives[0].sense == pyo.maximize,
        column_lower=column_lower,
        column_upper=column_upper,
        integer=np.array([not v.is_continuous() for v in columns], dtype=np.int32),
        rows=rows,
        row_lower=np.minimum(np.array(lower, dtype=float), LARGEST_BOUND),
        row_upper=np.maximum(np.array(upper, dtype=float), -LARGEST_BOUND),
        starts=np.array(starts, dtype=np.int32),
        indices=np.concatenate(indices),
        values=np.concatenate(values),
    )


class _Linear(NamedTuple):
    """The expression constant + coefficients·x, in which each column occurs once."""

    constant: float
    columns: NDArray[np.int32]
    coefficients: Floats


def _linear(expression: Any, name: str, place: dict[int, int]) -> _Linear:
    """Return a linear expression; ``place`` is the column of each variable by its id."""
    body: Any = expression
    ids: list[int] = []
    if isinstance(body, LinearExpression):  # four times as fast as `generate_standard_repn`
        ids = [id(v) for v in body.linear_vars]
    if not ids or len(set(ids)) < len(ids) or not all(map(place.__contains__, ids)):
        body = generate_standard_repn(expression)
        if not body.is_linear():
            raise InputError(
                "linear expressions: HiGHS solves linear models",
                found=f"{name} is not linear",
                place="model",
            )
        ids = [id(v) for v in body.linear_vars]
    return _Linear(
        constant=float(pyo.value(body.constant)),
        columns=np.array([place[i] for i in ids], dtype=np.int32),
        coefficients=np.array([pyo.value(c) for c in body.linear_coefs], dtype=np.float64),
    )
