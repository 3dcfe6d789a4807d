"""Mixed-integer programs: solves Pyomo formulations with HiGHS or SCIP.

A `MipSolver` gets a `Matrix` and returns an `Answer`; the rest is the same for all solvers.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.protocol import Formulation, Side
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import FeasibilityTest, with_conflict
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.result import NOISE, Limits, Result, Seconds, Termination
from schedopt.solvers.running import Run, make_result, remaining_limits, with_objective_of_model

Floats = NDArray[np.float64]
TOLERANCE = 1e-8
"""Tolerance of feasibility and integrality of HiGHS and SCIP; see `scale_of`."""
LARGEST_SUM = 2.0**20
LARGEST_BOUND = 1e19
"""HiGHS treats bounds from 1e20 on as infinite."""


@dataclass
class Matrix:
    """A mixed-integer program, lower <= A·x <= upper, with A stored by rows.

    ``columns`` and ``rows`` hold the variables and constraints of the model. Costs, but not the
    ``offset``, are multiplied by ``cost_scale``, a power of two. The columns of row i are
    ``indices[starts[i]:starts[i + 1]]``.
    """

    columns: list[Any]
    cost: Floats
    cost_scale: float
    offset: float
    maximize: bool
    column_lower: Floats
    column_upper: Floats
    integer: NDArray[np.int32]
    rows: list[Any]
    row_lower: Floats
    row_upper: Floats
    starts: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: Floats


def scale_of(coefficients: Floats) -> float:
    """Return the power of two by which a row is scaled, so that absolute tolerances suit it.

    HiGHS's tolerances are absolute. If coefficients sum to more than about a million, rounding
    errors come near the tolerance, and presolve may cut off optima. If they sum to much less, and
    are not whole numbers, the tolerance may allow violations.
    """
    largest = float(np.max(np.abs(coefficients), initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return 1.0
    total = float(np.abs(coefficients / largest).sum()) * largest
    whole = np.array_equal(coefficients, np.rint(coefficients))
    if whole and total <= LARGEST_SUM:
        return 1.0
    exponent = np.log2(LARGEST_SUM) - np.floor(np.log2(largest)) - np.ceil(np.log2(total / largest))
    return math.ldexp(1.0, max(-1000, min(1000, int(exponent))))


Start = tuple[NDArray[np.int32], Floats]
"""A warm start: columns and their values."""


@dataclass(frozen=True)
class Answer:
    """A solver's answer: why it stopped, the incumbent, the bound in the model's unit, a note."""

    stopped: Termination
    values: Floats | None
    bound: float | None
    message: str = ""


@dataclass
class MatrixRun(Run):
    """A run of a MIP solver; its objective is scaled by the matrix's ``cost_scale``."""

    matrix: Matrix = field(kw_only=True)

    def note_progress(self, best: float | None, bound: float | None) -> None:
        """Record an incumbent and a bound, in the matrix's unit, if one of them is new."""
        last = self.trace[-1][1:] if self.trace else (None, None)
        up = 1.0 if self.matrix.maximize else -1.0
        self.note(
            _better_value(last[0], self.model_value(best), up),
            _better_value(last[1], self.model_value(bound), -up),
        )

    def model_value(self, value: float | None) -> float | None:
        """Return an objective of the matrix in the model's own unit."""
        return None if value is None else value / self.matrix.cost_scale + 0.0


class MipSolver(Protocol):
    """A solver of mixed-integer programs."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def title(self) -> str:
        """The name in messages."""

    def version(self) -> str:
        """Return the version of the solver."""

    def run(self, run: MatrixRun, limits: Limits, start: Start | None, presolve: bool) -> Answer:
        """Solve the run's matrix until the end, the time limit or an interruption."""


def engine_of(name: str) -> MipSolver:
    """Return a solver, ``highs`` or ``scip``."""
    engine: MipSolver = import_module(f"{__name__}.{name}").ENGINE
    return engine


def as_declared(model: Formulation, task: EngineTask) -> Result:
    """Solve the native model with HiGHS."""
    return solve(engine_of("highs"), model, task.limits)


def solve(
    engine: MipSolver,
    formulation: Formulation,
    limits: Limits | None = None,
    *,
    hint: Any | None = None,
) -> Result:
    """Solve a formulation whose model is a linear Pyomo model.

    Parameters
    ----------
    engine : MipSolver
    formulation : Formulation
    limits : Limits, optional
    hint : solution record, optional
        A warm start.

    Returns
    -------
    Result
        Not yet checked. Ctrl-C ends the run and keeps the incumbent.
    """
    limits = limits or Limits()
    began = now()
    from schedopt.solvers.mip.translating import translate

    matrix = translate(formulation.model)
    start = None if hint is None else _start(matrix, formulation.hint(hint))
    built = formulation.seconds + now() - began
    run = MatrixRun(limits, matrix=matrix)
    began = now()
    answer = engine.run(run, limits, start, True)
    if answer.stopped == "infeasible":
        answer = _recheck_infeasible(engine, run, remaining_limits(limits, began))
    result = _result(formulation, engine, run, answer)
    if result.termination == "infeasible":
        side = formulation.side_constraints()
        result = with_conflict(result, list(side), _conflict_oracle(engine, side, run, began))
    seconds = Seconds(build=built, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds)


def _recheck_infeasible(engine: MipSolver, run: MatrixRun, limits: Limits) -> Answer:
    """Solve again without presolve, which may wrongly prove infeasibility because of rounding."""
    answer = engine.run(run, limits, None, False)
    if answer.stopped == "infeasible":
        return answer
    why = f"{engine.title} called the model infeasible, but not without presolve"
    return replace(answer, message=answer.message or why)


def _start(matrix: Matrix, hint: Iterable[tuple[Any, float]]) -> Start:
    value_of = {id(variable): value for variable, value in hint}
    columns = [i for i, v in enumerate(matrix.columns) if id(v) in value_of]
    values = [value_of[id(matrix.columns[i])] for i in columns]
    return np.array(columns, np.int32), np.array(values, float)


def _result(formulation: Formulation, engine: MipSolver, run: MatrixRun, answer: Answer) -> Result:
    solution, own = None, None
    if answer.values is not None:
        by_id = {id(v): x for v, x in zip(run.matrix.columns, answer.values.tolist(), strict=True)}
        solution = formulation.decode(lambda v: by_id.get(id(v), v.value))
        if formulation.changed:
            own = load_solution(formulation.model, run.matrix, answer.values)
    bound = answer.bound
    if solution is not None and not run.matrix.columns:
        bound = formulation.instance.objective_of(solution)
    result = make_result(
        formulation,
        run,
        solver=engine.name,
        version=engine.version(),
        stopped=answer.stopped,
        solution=solution,
        bound=bound,
        options={"threads": run.limits.threads},
        message=answer.message,
    )
    return with_objective_of_model(formulation, result, own)


def load_solution(model: Any, matrix: Matrix, values: Floats) -> float:
    """Load values into the variables of a Pyomo model; return the value of its objective."""
    import pyomo.environ as pyo

    rounded = np.where(matrix.integer != 0, np.rint(values), values)
    for variable, value in zip(matrix.columns, rounded.tolist(), strict=True):
        variable.set_value(value, skip_validation=True)
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    return float(pyo.value(objective))


def _conflict_oracle(
    engine: MipSolver, side: Side, run: MatrixRun, began: float
) -> FeasibilityTest:
    """Return a function that tells whether some side constraints can hold together."""
    matrix = run.matrix
    place = {id(row): i for i, row in enumerate(matrix.rows)}
    groups = {name: [place[id(r)] for r in rows if id(r) in place] for name, rows in side.items()}

    def holds(names: frozenset[str]) -> bool:
        free = [i for name, rows in groups.items() if name not in names for i in rows]
        lower, upper = matrix.row_lower.copy(), matrix.row_upper.copy()
        lower[free], upper[free] = -np.inf, np.inf
        asked = replace(matrix, cost=np.zeros_like(matrix.cost), row_lower=lower, row_upper=upper)
        limits = remaining_limits(replace(run.limits, gap=0.0, watch=None), began)
        if limits.time_limit == 0:
            raise TimeoutError
        answer = engine.run(MatrixRun(limits, matrix=asked), limits, None, False)
        if answer.stopped not in ("optimal", "infeasible"):
            raise KeyboardInterrupt if answer.stopped == "interrupted" else TimeoutError
        return answer.stopped == "optimal"

    return holds


def _better_value(last: float | None, new: float | None, sign: float) -> float | None:
    """Return ``new`` if it is greater (sign 1) or less (sign -1) than ``last``, else ``last``."""
    if last is None or new is None:
        return new if last is None else last
    return new if sign * (new - last) > NOISE * abs(last) else last
