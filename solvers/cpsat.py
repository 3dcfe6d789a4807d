"""CP-SAT: incumbents under a time limit, Ctrl-C that keeps them, bounds that hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import floor
from typing import Any

import msgspec
from ortools.sat.python import cp_model

from schedopt.formulations.protocol import CpSatFormulation
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.result import Limits, Result, Seconds, Termination, gap, snap_bound
from schedopt.solvers.running import Run, make_result

_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)


@cache
def version() -> str:
    """Return the engine's version."""
    from importlib.metadata import version as installed

    return installed("ortools")


def solve(
    formulation: CpSatFormulation,
    limits: Limits | None = None,
    *,
    hint: Any | None = None,
    bound: float | None = None,
    search: bool = True,
) -> Result:
    """Solve a formulation whose model is CP-SAT's.

    Parameters
    ----------
    formulation : Formulation
        Its objective is in units of 1/``reward_scale``, of which ``loss`` may be lost to rounding;
        unless ``exact``, CP-SAT's own bound is not one for the formulation.
    limits : Limits, optional
        When to stop; by default with a proof.
    hint : object, optional
        A solution record to start from.
    bound : float, optional
        A bound that is known to hold.
    search : bool
        Whether to search at all; else the result is what is known already.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the incumbent.
    """
    limits = limits or Limits()
    began = now()
    scale: float = formulation.reward_scale
    sign = 1 if formulation.sense == "maximize" else -1
    run = _Run(limits, scale=scale, known=bound, sign=sign)
    met = None if hint is None or formulation.native else formulation.instance.objective_of(hint)
    if gap(met, snap_bound(met, bound)) == 0.0:
        status, solution = cp_model.OPTIMAL, hint
        built = formulation.seconds + now() - began
        began = now()
    elif not search:
        status, solution = cp_model.UNKNOWN, hint
        built = formulation.seconds + now() - began
        began = now()
    else:
        _prepared(formulation, hint, bound, sign)
        built = formulation.seconds + now() - began
        began = now()
        status = run.go(formulation.model)
        solution = formulation.decode(run.solver.value) if status in _FOUND else None
        if met is not None and status != cp_model.INFEASIBLE:  # a start is an incumbent
            worse = (
                solution is None or sign * formulation.instance.objective_of(solution) < sign * met
            )
            solution = hint if worse else solution
    result = _result(formulation, run, status, solution)
    if result.termination == "infeasible" and formulation.asked:
        result = _explained(result, formulation, limits, began)
    seconds = Seconds(build=built, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds)


def _prepared(
    formulation: CpSatFormulation, hint: Any | None, bound: float | None, sign: int
) -> None:
    """State the bound and the start in the model."""
    if (
        bound is not None and formulation.model.has_objective()
    ):  # maximization is stored as minimization of the negative
        scaled = sign * bound * formulation.reward_scale
        most = floor(scaled + 1e-9 * abs(scaled)) + 1
        domain = formulation.model.proto.objective.domain
        del domain[:]
        domain.extend([-most, 2**62])
    formulation.model.clear_hints()
    for variable, value in () if hint is None else formulation.hint(hint):
        formulation.model.add_hint(variable, round(value))


@dataclass
class _Run(Run):
    """A run of CP-SAT, whose objective is in units of 1/scale; and a bound known before it.

    ``sign`` is 1 where the objective is maximized, -1 where it is minimized.
    """

    scale: float = 1.0
    known: float | None = None
    sign: int = 1
    solver: cp_model.CpSolver = field(default_factory=cp_model.CpSolver)
    status: Any = None

    def go(self, model: cp_model.CpModel) -> Any:
        """Run to the end, or to the limit, or to an interruption."""
        _configured(self.solver, self.limits)
        self.solver.best_bound_callback = lambda bound: self._seen(None, bound)

        watcher = _Watcher(self._seen) if model.has_objective() else None

        def work() -> None:
            self.status = self.solver.solve(model, watcher)

        self.in_thread(work, self.solver.stop_search)
        return self.status

    def bound(self, formulation: CpSatFormulation) -> float | None:
        """Return the best bound: the known one, or CP-SAT's where that holds."""
        if not formulation.exact or self.status not in _FOUND:  # else its bound may not even be set
            return self.known
        proven = float(self.solver.best_objective_bound + self.sign * formulation.loss) / self.scale
        return proven if self.known is None else self._tighter(self.known, proven)

    def _tighter(self, a: float, b: float) -> float:
        return min(a, b) if self.sign > 0 else max(a, b)

    def _seen(self, objective: float | None, bound: float | None) -> None:
        """Note incumbent and bound whenever one of them is new."""
        last = self.trace[-1][1:] if self.trace else (None, self.known)
        best = last[0] if objective is None else objective / self.scale
        least = last[1] if bound is None else bound / self.scale
        if self.known is not None and least is not None:
            least = self._tighter(least, self.known)
        self.note(best, least)


class _Watcher(cp_model.CpSolverSolutionCallback):
    def __init__(self, seen: Callable[[float | None, float | None], None]) -> None:
        super().__init__()
        self._tell = seen

    def on_solution_callback(self) -> None:
        """Pass on what is known whenever a solution is found."""
        self._tell(self.objective_value, self.best_objective_bound)


def _configured(solver: cp_model.CpSolver, limits: Limits) -> None:
    parameters = solver.parameters
    parameters.num_workers = workers(limits)
    parameters.random_seed = limits.seed
    parameters.relative_gap_limit = limits.gap
    parameters.catch_sigint_signal = False  # Ctrl-C is ours: see `_Run.go`
    if limits.time_limit is not None:
        parameters.max_time_in_seconds = max(float(limits.time_limit), 1e-3)


def workers(limits: Limits) -> int:
    """Return how many workers search; with several the answer may differ from run to run."""
    return limits.threads or min(8, os.cpu_count() or 1)


def _result(formulation: CpSatFormulation, run: _Run, status: Any, solution: Any) -> Result:
    objective = None if solution is None else formulation.instance.objective_of(solution)
    stopped: Termination = "time-limit" if not run.interrupted else "interrupted"
    if status in (cp_model.OPTIMAL, cp_model.INFEASIBLE):
        stopped = "optimal" if status == cp_model.OPTIMAL else "infeasible"
    elif status == cp_model.MODEL_INVALID:
        stopped = "error"
    message = ""
    if stopped == "infeasible" and not formulation.exact:
        stopped, message = "error", f"no solution {formulation.inexact}; there may be one"
    elif stopped == "optimal" and run.status is None:
        message = "the given schedule meets the given bound: nothing was searched"
    elif (
        stopped == "optimal"
        and not formulation.exact
        and snap_bound(objective, run.known) != objective
    ):
        message = f"optimal {formulation.inexact}"
    return make_result(
        formulation,
        run,
        solver="cp-sat",
        version=version(),
        stopped=stopped,
        solution=solution,
        bound=None if status == cp_model.INFEASIBLE else run.bound(formulation),
        options={
            "workers": workers(run.limits),
            "deterministic": workers(run.limits) == 1,
            "relaxation": run.known,
        },
        message=message,
    )


def infeasible(
    formulation: CpSatFormulation, limits: Limits, conflict: tuple[str, ...], seconds: Seconds
) -> Result:
    """Return the result where a relaxation has shown already that there is no solution."""
    run = _Run(limits)
    result = _result(formulation, run, cp_model.INFEASIBLE, None)
    return msgspec.structs.replace(
        result, termination="infeasible", conflict=conflict, seconds=seconds, message=msgspec.UNSET
    )


def _explained(
    result: Result, formulation: CpSatFormulation, limits: Limits, began: float
) -> Result:
    """Add the side constraints that cannot hold together with the model itself."""
    names = list(formulation.asked)
    if formulation.model.has_objective():  # the bound may rest on side constraints
        del formulation.model.proto.objective.domain[:]

    def holds(wanted: frozenset[str]) -> bool:
        for name in names:
            formulation.ask(name, name in wanted)
        solver = cp_model.CpSolver()
        left = None if limits.time_limit is None else began + limits.time_limit - now()
        if left is not None and left <= 0:
            raise TimeoutError
        _configured(solver, Limits(time_limit=left, threads=limits.threads, seed=limits.seed))
        solver.parameters.stop_after_first_solution = True
        status: Any = solver.solve(formulation.model)
        if status == cp_model.UNKNOWN:
            raise TimeoutError
        return status in _FOUND

    try:
        conflict, message = smallest_conflict(names, holds), ""
    except ConflictNotReducedError as error:
        conflict, message = error.conflict, f"the conflict may not be the smallest: {error.why}"
    finally:
        for name in names:
            formulation.ask(name, True)
    return msgspec.structs.replace(
        result, conflict=tuple(conflict), message=message or result.message
    )
