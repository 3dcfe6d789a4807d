"""HiGHS as a `MipSolver`; Ctrl-C ends a run and keeps the incumbent."""

from functools import cache
from typing import Any

import highspy
import numpy as np

from schedopt.solvers.mip import TOLERANCE, Answer, Matrix, MatrixRun, Start
from schedopt.solvers.result import Limits, Termination

_STOPPED: dict[Any, Termination] = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kModelEmpty: "optimal",
    highspy.HighsModelStatus.kTimeLimit: "time-limit",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "unbounded",
    highspy.HighsModelStatus.kInterrupt: "interrupted",
}


@cache
def version() -> str:
    """Return the version of HiGHS."""
    return str(highspy.Highs().version())


def load_highs(
    cost: Any,
    rows: tuple[Any, Any],
    columns: tuple[Any, Any],
    entries: tuple[Any, Any, Any],
    *,
    by_rows: bool = True,
    integer: Any | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Return HiGHS with a minimization model, ready to run.

    Parameters
    ----------
    cost : ndarray, shape (columns,)
    rows, columns : pair of ndarray
        Lower and upper bounds.
    entries : tuple of ndarray
        Starts, indices and values, by rows or by columns.
    by_rows : bool
    integer : ndarray, optional
        1 for integer columns, 0 for continuous ones; by default all are continuous.
    options : dict, optional
        Options of HiGHS.
    """
    engine = highspy.Highs()
    engine.silent()
    for name, value in (options or {}).items():
        engine.setOptionValue(name, value)
    starts, indices, values = entries
    engine.passModel(
        len(cost),
        len(rows[0]),
        len(values),
        int(highspy.MatrixFormat.kRowwise if by_rows else highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost,
        *columns,
        *rows,
        starts.astype(np.int32),
        indices.astype(np.int32),
        values,
        np.zeros(len(cost), np.int32) if integer is None else integer,
    )
    return engine


class Highs:
    """HiGHS as a `MipSolver`."""

    name = "highs"
    title = "HiGHS"

    def version(self) -> str:
        """Return the version of HiGHS."""
        return version()

    def run(self, run: MatrixRun, limits: Limits, start: Start | None, presolve: bool) -> Answer:
        """Solve the run's matrix until the end, the time limit or an interruption."""
        engine = _load(run.matrix, limits)
        if not presolve:
            engine.setOptionValue("presolve", "off")
        if start is not None:
            engine.setSolution(len(start[0]), *start)

        def note_progress(event: Any) -> None:
            best, bound = event.data_out.mip_primal_bound, event.data_out.mip_dual_bound
            run.note_progress(_finite(best), _finite(bound))

        engine.HandleUserInterrupt = True
        engine.cbMipLogging += note_progress
        engine.cbMipImprovingSolution += note_progress
        run.in_thread(engine.run, engine.cancelSolve)
        engine.HandleUserInterrupt = False
        return _answer(engine, run)


ENGINE = Highs()


def _answer(engine: Any, run: MatrixRun) -> Answer:
    status, info = engine.getModelStatus(), engine.getInfo()
    stopped: Termination = _STOPPED.get(status, "error")
    if run.interrupted and stopped != "optimal":
        stopped = "interrupted"
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = None
    if feasible or status == highspy.HighsModelStatus.kModelEmpty:
        values = np.asarray(engine.getSolution().col_value, dtype=float)
    bound = run.model_value(_finite(info.mip_dual_bound))
    return Answer(
        stopped,
        values,
        None if stopped in ("infeasible", "unbounded") else bound,
        engine.modelStatusToString(status) if stopped == "error" else "",
    )


def _finite(value: float) -> float | None:
    return value if abs(value) < highspy.kHighsInf else None


def _load(matrix: Matrix, limits: Limits, most_symmetric: int = 10_000) -> Any:
    """Return HiGHS with the matrix and the options, ready to run.

    Symmetry is detected for at most ``most_symmetric`` columns, since that ignores the time limit.
    """
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
        highspy.Highs.resetGlobalScheduler(True)  # else the number of threads cannot change
        options["threads"] = limits.threads
    if len(matrix.cost) > most_symmetric:
        options["mip_detect_symmetry"] = False
    if len(matrix.rows) == 1:
        options["presolve"] = "off"  # slower than the search for a single row
    engine = load_highs(
        matrix.cost,
        (matrix.row_lower, matrix.row_upper),
        (matrix.column_lower, matrix.column_upper),
        (matrix.starts, matrix.indices, matrix.values),
        integer=matrix.integer,
        options=options,
    )
    engine.changeObjectiveOffset(matrix.offset * matrix.cost_scale)
    if matrix.maximize:
        engine.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return engine
