"""SCIP as a `MipSolver`, from the extra ``scip`` (PySCIPOpt)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedopt.instances.extras import require
from schedopt.solvers.mip import TOLERANCE, Answer, Matrix, MatrixRun, Start
from schedopt.solvers.result import Limits, Termination

if TYPE_CHECKING:
    import pyscipopt


_STOPPED: dict[str, Termination] = {
    "optimal": "optimal",
    "gaplimit": "optimal",
    "timelimit": "time-limit",
    "infeasible": "infeasible",
    "unbounded": "unbounded",
    "inforunbd": "unbounded",
    "userinterrupt": "interrupted",
}


class Scip:
    """SCIP as a `MipSolver`."""

    name = "scip"
    title = "SCIP"

    def version(self) -> str:
        """Return the version of SCIP."""
        scip = _import_scip().Model()
        return f"{scip.getMajorVersion()}.{scip.getMinorVersion()}.{scip.getTechVersion()}"

    def run(self, run: MatrixRun, limits: Limits, start: Start | None, presolve: bool) -> Answer:
        """Solve the run's matrix in one thread until the end, the time limit or Ctrl-C."""
        scip = _import_scip().Model()
        scip.hideOutput()
        scip.setParams(_parameters(limits))
        if not presolve:
            scip.setIntParam("presolving/maxrounds", 0)
        columns = _state(scip, run.matrix)
        if start is not None:
            partial = scip.createPartialSol()
            for column, value in zip(start[0].tolist(), start[1].tolist(), strict=True):
                scip.setSolVal(partial, columns[column], value)
            scip.addSol(partial)
        scip.attachEventHandlerCallback(
            lambda model, _event: run.note_progress(
                _finite(model, model.getPrimalbound()), _finite(model, model.getDualbound())
            ),
            [_import_scip().SCIP_EVENTTYPE.BESTSOLFOUND],
            name="incumbents",
        )
        run.in_thread(scip.optimizeNogil, scip.interruptSolve)
        return _answer(scip, columns, run)


ENGINE = Scip()


def _import_scip() -> Any:
    """Import PySCIPOpt; raise `MissingExtraError` if it is not installed."""
    require("pyscipopt", "solver scip")
    import pyscipopt

    return pyscipopt


def _parameters(limits: Limits) -> dict[str, float | int | bool]:
    parameters: dict[str, float | int | bool] = {
        "misc/catchctrlc": False,  # `Run.in_thread` handles Ctrl-C
        "numerics/feastol": TOLERANCE,
        "limits/gap": limits.gap,
        "randomization/randomseedshift": limits.seed,
    }
    if limits.time_limit is not None:
        parameters["limits/time"] = max(0.0, float(limits.time_limit))
    return parameters


def _state(scip: pyscipopt.Model, matrix: Matrix) -> list[Any]:
    """Add a matrix to a SCIP model; return its variables."""
    quicksum = _import_scip().quicksum
    bounds = zip(matrix.column_lower.tolist(), matrix.column_upper.tolist(), strict=True)
    columns = [
        scip.addVar(
            vtype="I" if whole else "C",
            lb=None if low == -float("inf") else low,
            ub=None if high == float("inf") else high,
            obj=cost,
        )
        for (low, high), cost, whole in zip(
            bounds, matrix.cost.tolist(), matrix.integer.tolist(), strict=True
        )
    ]
    scip.addObjoffset(matrix.offset * matrix.cost_scale)
    (scip.setMaximize if matrix.maximize else scip.setMinimize)()
    starts, indices, values = (a.tolist() for a in (matrix.starts, matrix.indices, matrix.values))
    for i in range(len(matrix.rows)):
        low, high = float(matrix.row_lower[i]), float(matrix.row_upper[i])
        entries = range(starts[i], starts[i + 1])
        body = quicksum(values[k] * columns[indices[k]] for k in entries)
        if low == high:
            scip.addCons(body == low)
            continue
        if low > -float("inf"):
            scip.addCons(body >= low)
        if high < float("inf"):
            scip.addCons(body <= high)
    return columns


def _answer(scip: pyscipopt.Model, columns: list[Any], run: MatrixRun) -> Answer:
    import numpy as np

    said = scip.getStatus()
    stopped = _STOPPED.get(said, "error")
    values = None
    if scip.getNSols():
        best = scip.getBestSol()
        values = np.array([scip.getSolVal(best, column) for column in columns], dtype=float)
    bound = run.model_value(_finite(scip, scip.getDualbound()))
    return Answer(
        stopped,
        values,
        None if stopped in ("infeasible", "unbounded") else bound,
        said if stopped == "error" else "",
    )


def _finite(scip: pyscipopt.Model, value: float) -> float | None:
    return None if scip.isInfinity(abs(value)) else float(value)
