"""HiGHS for Pyomo models: proven optima, incumbents under a time limit, Ctrl-C that keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import highspy
import msgspec
import numpy as np

from formulations.protocol import Formulation
from solvers.conflict import ConflictNotReducedError, smallest_conflict
from solvers.matrix import Matrix
from solvers.result import NOISE, Limits, Result, Seconds, Termination
from solvers.running import Run, make_result

TOLERANCE = 1e-8
"""Feasibility and integrality, on rows that sum to about a million at most: see `matrix`."""

_STOPPED: dict[Any, Termination] = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kModelEmpty: "optimal",
    highspy.HighsModelStatus.kTimeLimit: "time-limit",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "unbounded",
    highspy.HighsModelStatus.kInterrupt: "interrupted",
}


def version() -> str:
    """Return the engine's version."""
    return str(highspy.Highs().version())


def solve(
    formulation: Formulation, limits: Limits | None = None, *, hint: Any | None = None
) -> Result:
    """Solve a formulation whose model is Pyomo's.

    Parameters
    ----------
    formulation : Formulation
        With a linear model.
    limits : Limits, optional
        When to stop; by default with a proof.
    hint : object, optional
        A solution record to start from.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the incumbent.
    """
    limits = limits or Limits()
    began = time.perf_counter()
    from solvers.translating import translate

    matrix = translate(formulation.model)
    engine = started(matrix, limits)
    if hint is not None:
        _start_from(engine, matrix, formulation.hint(hint))
    built = formulation.seconds + time.perf_counter() - began
    run = MatrixRun(limits, matrix=matrix)
    began = time.perf_counter()
    run.go(engine)
    result = _result(formulation, engine, matrix, run)
    if result.termination == "infeasible":
        result = _explained(result, formulation, matrix, limits, began)
    seconds = Seconds(build=built, solve=time.perf_counter() - began)
    return msgspec.structs.replace(result, seconds=seconds)


@dataclass
class MatrixRun(Run):
    """A run of HiGHS, whose objective is scaled as the matrix is."""

    matrix: Matrix = field(kw_only=True)

    def go(self, engine: Any) -> None:
        """Run to the end, or to the limit, or to an interruption."""
        engine.HandleUserInterrupt = True
        engine.cbMipLogging += self._seen
        engine.cbMipImprovingSolution += self._seen
        self.in_thread(engine.run, engine.cancelSolve)
        engine.HandleUserInterrupt = False

    def _seen(self, event: Any) -> None:
        """Note incumbent and bound whenever one of them is new."""
        data = event.data_out
        last = self.trace[-1][1:] if self.trace else (None, None)
        up = 1.0 if self.matrix.maximize else -1.0
        best = _further(last[0], self.real(data.mip_primal_bound), up)
        bound = _further(last[1], self.real(data.mip_dual_bound), -up)
        self.note(best, bound)

    def real(self, value: float) -> float | None:
        """Return the engine's objective in the model's own unit; None where it is infinite."""
        return value / self.matrix.cost_scale + 0.0 if abs(value) < highspy.kHighsInf else None


def _further(last: float | None, new: float | None, sign: float) -> float | None:
    """Return the new value if it is further in the direction of the sign by more than noise."""
    if last is None or new is None:
        return new if last is None else last
    return new if sign * (new - last) > NOISE * abs(last) else last


def started(matrix: Matrix, limits: Limits) -> Any:
    """Return an engine that holds a model and its options, ready to run."""
    engine = highspy.Highs()
    engine.silent()
    options: dict[str, Any] = {
        "mip_rel_gap": limits.gap,
        "mip_abs_gap": 0.0,
        "random_seed": limits.seed,
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
    }
    if limits.time_limit is not None:
        options["time_limit"] = float(limits.time_limit)
    if limits.threads is not None:
        highspy.Highs.resetGlobalScheduler(True)  # else the first run's number of threads stays
        options["threads"] = limits.threads
    if len(matrix.rows) == 1:
        options["presolve"] = "off"  # on a knapsack row it costs more than it saves
    for key, value in options.items():
        engine.setOptionValue(key, value)
    engine.passModel(
        len(matrix.columns),
        len(matrix.rows),
        len(matrix.values),
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMaximize if matrix.maximize else highspy.ObjSense.kMinimize),
        matrix.offset * matrix.cost_scale,
        matrix.cost,
        matrix.column_lower,
        matrix.column_upper,
        matrix.row_lower,
        matrix.row_upper,
        matrix.starts,
        matrix.indices,
        matrix.values,
        matrix.integer,
    )
    return engine


def _start_from(engine: Any, matrix: Matrix, hint: Iterable[tuple[Any, float]]) -> None:
    given = {id(variable): value for variable, value in hint}
    columns = [i for i, v in enumerate(matrix.columns) if id(v) in given]
    values = [given[id(matrix.columns[i])] for i in columns]
    engine.setSolution(len(columns), np.array(columns, np.int32), np.array(values, float))


def termination(engine: Any, run: MatrixRun) -> Termination:
    """Return why a run ended."""
    stopped: Termination = _STOPPED.get(engine.getModelStatus(), "error")
    return "interrupted" if run.interrupted and stopped != "optimal" else stopped


def in_hand(engine: Any) -> bool:
    """Tell whether a run has found a solution."""
    status = engine.getInfo().primal_solution_status
    return bool(status == highspy.SolutionStatus.kSolutionStatusFeasible)


def _result(formulation: Formulation, engine: Any, matrix: Matrix, run: MatrixRun) -> Result:
    status, info = engine.getModelStatus(), engine.getInfo()
    stopped = termination(engine, run)
    bound = None if stopped in ("infeasible", "unbounded") else run.real(info.mip_dual_bound)
    solution = None
    if in_hand(engine) or status == highspy.HighsModelStatus.kModelEmpty:
        values = engine.getSolution().col_value
        by_id = {id(v): values[i] for i, v in enumerate(matrix.columns)}
        solution = formulation.decode(lambda v: by_id.get(id(v), v.value))
        if status == highspy.HighsModelStatus.kModelEmpty:
            bound = formulation.instance.objective_of(solution)
    return make_result(
        formulation,
        run,
        solver="highs",
        version=version(),
        stopped=stopped,
        solution=solution,
        bound=bound,
        options={"threads": run.limits.threads},
        message=engine.modelStatusToString(status) if stopped == "error" else "",
    )


def _explained(
    result: Result, formulation: Formulation, matrix: Matrix, limits: Limits, began: float
) -> Result:
    """Add the side constraints that cannot hold together with the model itself."""
    side = formulation.side()
    try:
        names = smallest_conflict(list(side), _asker(side, matrix, limits, began))
    except ConflictNotReducedError as error:
        message = f"the conflict may not be the smallest: {error.why}"
        return msgspec.structs.replace(result, conflict=tuple(error.conflict), message=message)
    return msgspec.structs.replace(result, conflict=tuple(names))


def _asker(
    side: dict[str, list[Any]], matrix: Matrix, limits: Limits, began: float
) -> Callable[[frozenset[str]], bool]:
    """Return a function that tells whether some side constraints can hold together."""
    place = {id(row): i for i, row in enumerate(matrix.rows)}
    groups = {name: [place[id(r)] for r in rows if id(r) in place] for name, rows in side.items()}
    engine = started(matrix, Limits(seed=limits.seed, threads=limits.threads))
    engine.setOptionValue("presolve", "choose")
    zeros = np.zeros(len(matrix.columns))
    engine.changeColsCost(len(zeros), np.arange(len(zeros), dtype=np.int32), zeros)

    def holds(names: frozenset[str]) -> bool:
        for name, rows in groups.items():
            asked = name in names
            for i in rows:
                low = matrix.row_lower[i] if asked else -highspy.kHighsInf
                high = matrix.row_upper[i] if asked else highspy.kHighsInf
                engine.changeRowBounds(i, float(low), float(high))
        engine.clearSolver()
        if limits.time_limit is not None:
            left = began + limits.time_limit - time.perf_counter()
            if left <= 0:
                raise TimeoutError
            engine.setOptionValue("time_limit", engine.getRunTime() + left)
        engine.run()
        stopped = _STOPPED.get(engine.getModelStatus(), "error")
        if stopped not in ("optimal", "infeasible"):
            raise TimeoutError
        return stopped == "optimal"

    return holds
