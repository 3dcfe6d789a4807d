"""Solvers of mixed-integer programs that Pyomo knows and this machine has: CBC, GLPK, Gurobi, ...

The matrix is handed over as a model that is minimized: of maximizations, Pyomo was seen to read
CBC's incumbent as its bound where the time had run out.
"""

from dataclasses import dataclass
from math import ceil, inf, isfinite
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError
from schedopt.solvers.clock import now
from schedopt.solvers.mip import Answer, MatrixRun, Start
from schedopt.solvers.mip.matrix import Matrix
from schedopt.solvers.result import Limits, Termination

KNOWN = {
    "cbc": ("CBC", "ratioGap", "threads"),
    "cplex": ("CPLEX", "mip_tolerances_mipgap", "threads"),
    "glpk": ("GLPK", "mipgap", ""),
    "gurobi": ("Gurobi", "MIPGap", "Threads"),
    "xpress": ("Xpress", "miprelstop", "threads"),
}
"""By Pyomo's names: how their makers write them, and what they call a relative gap and threads."""

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
        return KNOWN[self.name][0]

    def version(self) -> str:
        """Return its version; empty where it does not tell."""
        return ".".join(map(str, self._plugin().version() or ()))

    def run(self, run: MatrixRun, limits: Limits, start: Start | None, presolve: bool) -> Answer:
        """Optimize over a run's matrix, until its end or the limit; ``start`` is not used."""
        from pyomo.common.errors import ApplicationError

        plugin, model = self._plugin(), _as_pyomo(run.matrix)
        title, gap, threads = KNOWN[self.name]
        options: dict[str, float] = {gap: limits.gap}
        if threads and limits.threads is not None:
            options[threads] = limits.threads
        seconds = None if limits.time_limit is None else max(1, ceil(limits.time_limit))
        run.began = now()
        try:
            said = plugin.solve(model, timelimit=seconds, options=options, load_solutions=False)
        except KeyboardInterrupt:
            run.interrupted = True
            return Answer("interrupted", None, None)
        except (ApplicationError, ValueError, RuntimeError) as error:
            return Answer("error", None, None, f"{title}: {error}")
        stopped = _STOPPED.get(str(said.solver.termination_condition), "error")
        values, bound, lower = None, None, said.problem.lower_bound
        if len(said.solution):
            model.solutions.load_from(said)
            values = np.array([x.value or 0.0 for x in model.x.values()], dtype=float)
        known = isinstance(lower, float | int) and abs(lower) < 1e50
        if known and stopped not in ("infeasible", "unbounded"):
            signed = -float(lower) if run.matrix.maximize else float(lower)
            bound = run.model_value(signed + run.matrix.offset * run.matrix.cost_scale)
        return Answer(stopped, values, bound, str(said.solver.message) * (stopped == "error"))

    def _plugin(self) -> Any:
        import pyomo.environ as pyo

        plugin = pyo.SolverFactory(self.name)
        if not plugin.available(exception_flag=False):
            expected = f"{self.title} on this machine, with a licence where it needs one"
            raise InputError(expected, found="none", place=f"solver {self.name}")
        return plugin


ENGINES = {name: External(name) for name in KNOWN}


def _as_pyomo(matrix: Matrix) -> Any:
    """Return a matrix as a Pyomo model to be minimized."""
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(len(matrix.columns)))
    columns = list(model.x.values())
    for j, x in enumerate(columns):
        low, high = float(matrix.column_lower[j]), float(matrix.column_upper[j])
        x.setlb(low if isfinite(low) else None)
        x.setub(high if isfinite(high) else None)
        if matrix.integer[j]:
            x.domain = pyo.Integers

    def dot(coefficients: Any, indices: Any) -> Any:
        return LinearExpression(
            linear_coefs=coefficients.tolist(), linear_vars=[columns[j] for j in indices.tolist()]
        )

    def row(_: Any, i: int) -> Any:
        low, high = float(matrix.row_lower[i]), float(matrix.row_upper[i])
        span = slice(matrix.starts[i], matrix.starts[i + 1])
        if span.start == span.stop:  # no solver takes an empty row
            return pyo.Constraint.Skip if low <= 0 <= high else pyo.Constraint.Infeasible
        if low == -inf and high == inf:
            return pyo.Constraint.Skip
        body = dot(matrix.values[span], matrix.indices[span])
        if low == high:
            return body == low
        return low if low > -inf else None, body, high if high < inf else None

    cost = -matrix.cost if matrix.maximize else matrix.cost
    model.goal = pyo.Objective(expr=dot(cost, np.arange(len(columns))))
    model.rows = pyo.Constraint(range(len(matrix.rows)), rule=row)
    return model
