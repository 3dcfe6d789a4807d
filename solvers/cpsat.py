"""CP-SAT: solves formulations in CP-SAT, with valid bounds, and keeps the incumbent on Ctrl-C."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from math import floor
from typing import Any

import msgspec
from ortools.sat.python import cp_model

from schedopt.formulations.cp_sat import set_domain
from schedopt.formulations.protocol import CpSatFormulation
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import FeasibilityTest, with_conflict
from schedopt.solvers.result import Limits, Result, Seconds, Termination, gap, snap_bound, threads
from schedopt.solvers.running import (
    Run,
    make_result,
    remaining_limits,
    value_of,
    with_objective_of_model,
)

_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)


@cache
def version() -> str:
    """Return the version of OR-Tools."""
    from importlib.metadata import version as installed

    return installed("ortools")


def solve(
    formulation: CpSatFormulation,
    limits: Limits | None = None,
    *,
    hint: Any | None = None,
    bound: float | None = None,
    copy: cp_model.CpModel | None = None,
) -> Result:
    """Solve a copy of the CP-SAT model of a formulation.

    If the user has changed the model, the warm start and the known bound are ignored.

    Parameters
    ----------
    formulation : Formulation
        CP-SAT's bound is valid for it only if it is ``exact``.
    limits : Limits, optional
        By default the search ends with a proof.
    hint : solution record, optional
        A warm start.
    bound : float, optional
        A valid bound.
    copy : cp_model.CpModel, optional
        A copy of the model to solve (see `copy_model`) with additional constraints: valid
        inequalities or symmetry breaking.

    Returns
    -------
    Result
        Not yet checked.
    """
    limits = limits or Limits()
    began = now()
    if formulation.changed:
        hint, bound, copy = None, None, None
    scale: float = formulation.reward_scale
    sign = 1 if formulation.sense == "maximize" else -1
    run = _CpSatRun(limits, scale=scale, known=bound, sign=sign, silent=formulation.goal_changed)
    run.loss = formulation.loss if formulation.exact else None
    met = None if hint is None else value_of(formulation, hint)
    status, solution = cp_model.OPTIMAL, hint
    search = gap(met, snap_bound(met, bound)) != 0.0
    if search:
        copy = copy or copy_model(formulation)
        _add_bound_and_start(copy, formulation, hint, bound, sign)
    built = formulation.seconds + now() - began
    began = now()
    if copy is not None and search:
        status = run.go(copy)
        solution = formulation.decode(run.solver.value) if status in _FOUND else None
        if met is not None and status != cp_model.INFEASIBLE:  # the warm start is an incumbent
            worse = solution is None or sign * (value_of(formulation, solution) or 0.0) < sign * met
            solution = hint if worse else solution
    result = _result(formulation, run, status, solution)
    if result.termination == "infeasible" and formulation.literals:
        holds = _conflict_oracle(formulation, limits, began)
        result = with_conflict(result, list(formulation.literals), holds)
    seconds = Seconds(build=built, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds)


def copy_model(formulation: CpSatFormulation) -> cp_model.CpModel:
    """Return a copy of the model; the variables of the model also denote those of the copy."""
    return formulation.model.clone()


def _add_bound_and_start(
    model: cp_model.CpModel,
    formulation: CpSatFormulation,
    hint: Any | None,
    bound: float | None,
    sign: int,
) -> None:
    if bound is not None and model.has_objective():  # stored as minimization of the negative
        scaled = sign * bound * formulation.reward_scale
        most = floor(scaled + 1e-9 * abs(scaled)) + 1
        set_domain(model.proto.objective, [-most, 2**62])
    if hint is not None:
        model.clear_hints()
        for variable, value in formulation.hint(hint):
            model.add_hint(variable, round(value))


@dataclass
class _CpSatRun(Run):
    """A run of CP-SAT.

    Attributes
    ----------
    scale : float
        The objective of CP-SAT is in units of 1/scale.
    known : float or None
        A bound that is known before the run.
    sign : int
        1 if the objective is maximized, -1 if it is minimized.
    silent : bool
        Whether to report no progress, since the objective is not the instance's.
    loss : float or None
        The largest effect of rounding on the objective; None if the model is not exact, so that
        CP-SAT's bounds are not valid.
    """

    scale: float = 1.0
    known: float | None = None
    sign: int = 1
    silent: bool = False
    loss: float | None = 0.0
    solver: cp_model.CpSolver = field(default_factory=cp_model.CpSolver)
    status: Any = None
    called_bound: float | None = None  # the bound that CP-SAT has reported

    def go(self, model: cp_model.CpModel) -> Any:
        """Solve until the end, the time limit or an interruption; return CP-SAT's status."""
        _with_parameters(self.solver, self.limits)
        watcher = None
        if model.has_objective() and not self.silent:
            self.solver.best_bound_callback = self._bounded
            watcher = _Watcher()
            watcher.record = self._record_progress

        def work() -> None:
            self.status = self.solver.solve(model, watcher)

        self.in_thread(work, self.solver.stop_search)
        return self.status

    def bound(self) -> float | None:
        """Return the best valid bound."""
        bound = self.solver.best_objective_bound if self.status in _FOUND else self.called_bound
        if self.silent or self.loss is None or bound is None:
            return self.known  # CP-SAT's bound is invalid or not set
        proven = float(bound + self.sign * self.loss) / self.scale
        return proven if self.known is None else self._tighter(self.known, proven)

    def _bounded(self, bound: float) -> None:
        self.called_bound = bound
        self._record_progress(None, bound)

    def _tighter(self, a: float, b: float) -> float:
        return min(a, b) if self.sign > 0 else max(a, b)

    def _record_progress(self, objective: float | None, bound: float | None) -> None:
        """Record incumbent and bound whenever one of them improves."""
        last = self.trace[-1][1:] if self.trace else (None, self.known)
        best = last[0] if objective is None else objective / self.scale
        least = last[1]
        if bound is not None and self.loss is not None:
            least = float(bound + self.sign * self.loss) / self.scale
        if self.known is not None and least is not None:
            least = self._tighter(least, self.known)
        self.note(best, least)


class _Watcher(cp_model.CpSolverSolutionCallback):
    record: Callable[[float, float], None]

    def on_solution_callback(self) -> None:
        """Record the new solution."""
        self.record(self.objective_value, self.best_objective_bound)


def _with_parameters(solver: cp_model.CpSolver, limits: Limits) -> None:
    parameters = solver.parameters
    parameters.num_workers = threads(limits)
    parameters.random_seed = limits.seed
    parameters.relative_gap_limit = limits.gap
    parameters.catch_sigint_signal = False  # `Run.in_thread` handles Ctrl-C
    if limits.time_limit is not None:
        parameters.max_time_in_seconds = max(float(limits.time_limit), 1e-3)


def _result(formulation: CpSatFormulation, run: _CpSatRun, status: Any, solution: Any) -> Result:
    objective = None if solution is None else value_of(formulation, solution)
    exact = formulation.exact
    stopped: Termination = "interrupted" if run.interrupted else "time-limit"
    if status in (cp_model.OPTIMAL, cp_model.INFEASIBLE):
        stopped = "optimal" if status == cp_model.OPTIMAL else "infeasible"
    elif status == cp_model.MODEL_INVALID:
        stopped = "error"
    message = _notes_on_model(formulation, run, status)
    if stopped == "infeasible" and not exact:
        stopped, message = "error", f"no solution {formulation.inexact}; there may be one"
    elif stopped == "optimal" and run.status is None:
        message = "the warm start meets the known bound: CP-SAT was not run"
    bound = None if status == cp_model.INFEASIBLE else run.bound()
    if stopped == "optimal" and run.status is not None and not run.silent:
        if not exact and snap_bound(objective, run.known) != objective:
            stopped, message = "completed", f"optimal {formulation.inexact}"
        elif exact and formulation.loss:
            met = run.limits.gap >= (gap(objective, snap_bound(objective, bound)) or 0.0)
            if not met:
                stopped = "completed"
                message = "optimal within rounding; the bound is rounded outward and not met"
    result = make_result(
        formulation,
        run,
        solver="cp-sat",
        version=version(),
        stopped=stopped,
        solution=solution,
        bound=bound,
        options={
            "workers": threads(run.limits),
            "deterministic": threads(run.limits) == 1,
            "relaxation": run.known,
        },
        message=message,
    )
    found = run.status in _FOUND and formulation.model.has_objective()
    own = run.solver.objective_value if found else None
    return with_objective_of_model(formulation, result, own)


def _notes_on_model(formulation: CpSatFormulation, run: _CpSatRun, status: Any) -> str:
    """Return the notes on a model that a user has changed."""
    if status == cp_model.MODEL_INVALID:
        return f"CP-SAT rejects the changed model: {formulation.model.validate()}".strip()
    if not run.silent or status not in _FOUND:
        return ""
    if not formulation.model.has_objective():
        return "the changed model has no objective; the result is its first solution"
    value = run.solver.objective_value
    return f"the model's own objective was optimized, not the instance's: it is {value:.10g}"


def _conflict_oracle(
    formulation: CpSatFormulation, limits: Limits, began: float
) -> FeasibilityTest:
    """Return a function that tells whether some side constraints can hold together."""
    model = copy_model(formulation)  # without the bound, which may depend on side constraints
    asked = {name: model.proto.variables[x.index] for name, x in formulation.literals.items()}

    def holds(wanted: frozenset[str]) -> bool:
        for name, variable in asked.items():
            set_domain(variable, [int(name in wanted)] * 2)
        run = _CpSatRun(replace(remaining_limits(limits, began), gap=0.0), silent=True)
        if run.limits.time_limit == 0:
            raise TimeoutError
        run.solver.parameters.stop_after_first_solution = True
        status = run.go(model)
        if status == cp_model.UNKNOWN:
            raise KeyboardInterrupt if run.interrupted else TimeoutError
        return status in _FOUND

    return holds
