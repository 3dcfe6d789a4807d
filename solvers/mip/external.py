"""Solvers of mixed-integer programs that Pyomo knows and this machine has: CBC, GLPK, Gurobi, ...

The matrix is handed over as a Pyomo model that is minimized: of maximizations, Pyomo was seen to
read CBC's incumbent as its bound where the time had run out. Most solvers run as a program of their
own, which Ctrl-C ends together with what it has found.
"""

import logging
from dataclasses import dataclass
from math import ceil, inf, isfinite
from typing import Any, NamedTuple

from schedopt.instances.errors import InputError
from schedopt.solvers.clock import now
from schedopt.solvers.mip import Answer, MatrixRun, Start
from schedopt.solvers.mip.matrix import Floats, Matrix
from schedopt.solvers.result import Limits, Termination


class SolverOptions(NamedTuple):
    """A solver's name as its makers write it, and what it calls a relative gap and threads."""

    title: str
    gap: str
    threads: str = ""


KNOWN = {
    "cbc": SolverOptions("CBC", "ratioGap", "threads"),
    "cplex": SolverOptions("CPLEX", "mip_tolerances_mipgap", "threads"),
    "glpk": SolverOptions("GLPK", "mipgap"),
    "gurobi": SolverOptions("Gurobi", "MIPGap", "Threads"),
    "xpress": SolverOptions("Xpress", "miprelstop", "threads"),
}
"""The solvers, by the names that Pyomo has for them."""

_STOPPED: dict[str, Termination] = {
    "optimal": "optimal",
    "maxTimeLimit": "time-limit",
    "feasible": "time-limit",  # so GLPK says
    "infeasible": "infeasible",
    "unbounded": "unbounded",
    "infeasibleOrUnbounded": "unbounded",
    "userInterrupt": "interrupted",
}


@dataclass(frozen=True)
class External:
    """A solver that Pyomo runs, as an engine: see `mip.Engine`."""

    name: str

    @property
    def title(self) -> str:
        """Its name as its makers write it."""
        return KNOWN[self.name].title

    def version(self) -> str:
        """Return its version; empty where it does not tell."""
        told = self._plugin().version()
        return ".".join(map(str, told)) if told else ""

    def run(self, run: MatrixRun, limits: Limits, start: Start | None, presolve: bool) -> Answer:
        """Optimize over a run's matrix, until its end or the limit; ``start`` is not used."""
        from pyomo.common.errors import ApplicationError
        from pyomo.common.log import LoggingIntercept
        from pyomo.common.tempfiles import TempfileManager

        plugin = self._plugin()
        model, columns = _as_pyomo(run.matrix)
        known = KNOWN[self.name]
        wanted = {known.gap: limits.gap, known.threads: limits.threads}
        options = {key: value for key, value in wanted.items() if key and value is not None}
        seconds = None if limits.time_limit is None else max(1, ceil(limits.time_limit))
        run.began = now()
        try:
            with (
                TempfileManager.new_context(),  # nothing is left behind, however it ends
                LoggingIntercept(module="pyomo", level=logging.WARNING),
            ):
                said = plugin.solve(model, timelimit=seconds, options=options, load_solutions=False)
                return _answer(said, model, columns, run)
        except KeyboardInterrupt:
            run.interrupted = True
            return Answer("interrupted", None, None)
        except (ApplicationError, ValueError, RuntimeError) as error:
            return Answer("error", None, None, f"{self.title}: {error}")

    def _plugin(self) -> Any:
        import pyomo.environ as pyo

        plugin = pyo.SolverFactory(self.name)
        if not plugin.available(exception_flag=False):
            expected = f"{self.title} on this machine, with a licence where it needs one"
            raise InputError(expected, found="none", place=f"solver {self.name}")
        return plugin


ENGINES = {name: External(name) for name in KNOWN}


def _as_pyomo(matrix: Matrix) -> tuple[Any, list[Any]]:
    """Return a matrix as a Pyomo model to be minimized, and its columns."""
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    def dot(coefficients: list[float], variables: list[Any]) -> Any:
        return LinearExpression(constant=0.0, linear_coefs=coefficients, linear_vars=variables)

    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(len(matrix.columns)))
    columns = list(model.x.values())
    lower, upper = matrix.column_lower.tolist(), matrix.column_upper.tolist()
    for x, low, high, whole in zip(columns, lower, upper, matrix.integer.tolist(), strict=True):
        x.setlb(low if isfinite(low) else None)
        x.setub(high if isfinite(high) else None)
        if whole:
            x.domain = pyo.Integers
    cost = -matrix.cost if matrix.maximize else matrix.cost
    model.goal = pyo.Objective(expr=dot(cost.tolist(), columns))
    model.rows = pyo.ConstraintList()
    starts, indices, values = (a.tolist() for a in (matrix.starts, matrix.indices, matrix.values))
    for i, (low, high) in enumerate(
        zip(matrix.row_lower.tolist(), matrix.row_upper.tolist(), strict=True)
    ):
        span = slice(starts[i], starts[i + 1])
        if span.start == span.stop and not low <= 0 <= high:  # no solver takes an empty row
            model.rows.add(pyo.Constraint.Infeasible)
        elif span.start < span.stop and (low > -inf or high < inf):
            body = dot(values[span], [columns[j] for j in indices[span]])
            sides = (low if low > -inf else None, high if high < inf else None)
            model.rows.add((sides[0], body, sides[1]) if low != high else body == low)
    return model, columns


def _answer(said: Any, model: Any, columns: list[Any], run: MatrixRun) -> Answer:
    import numpy as np

    stopped = _STOPPED.get(str(said.solver.termination_condition), "error")
    values: Floats | None = None
    if len(said.solution):
        model.solutions.load_from(said)
        values = np.array([0.0 if x.value is None else x.value for x in columns], dtype=float)
    lower, matrix = said.problem.lower_bound, run.matrix
    bound = None
    if isinstance(lower, float | int) and isfinite(lower) and abs(lower) < 1e50:
        signed = -float(lower) if matrix.maximize else float(lower)
        bound = run.model_value(signed + matrix.offset * matrix.cost_scale)
    return Answer(
        stopped,
        values,
        None if stopped in ("infeasible", "unbounded") else bound,
        str(said.solver.message) if stopped == "error" else "",
    )
