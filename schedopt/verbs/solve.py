"""Solve: build the formulation, choose the solver, run it, check what it says."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from math import inf, isnan
from pathlib import Path
from typing import Any

import msgspec

from instances.constraints import Constraint, label
from instances.errors import InputError, listing, shown
from instances.options import checked, most_at_once
from schedopt import __version__
from schedopt.problems import catalog
from solvers.result import Limits, Result, Watch


def solve(
    what: Any,
    *,
    formulation: str | None = None,
    solver: str | None = None,
    constraints: Iterable[Constraint] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Find the optimum of an instance or of a formulation, and check it.

    Parameters
    ----------
    what : Instance, Formulation, str or Path
        What to solve; a path is loaded.
    formulation : str, optional
        Which formulation to build from an instance; the problem's first by default.
    solver : str, optional
        Which solver; by default the one that suits.
    constraints : iterable of Constraint
        Side constraints beyond those of the instance.
    time_limit : float, optional
        Seconds of solving; the best so far is kept.
    gap : float
        The relative gap that is good enough; 0 asks for a proof.
    threads : int, optional
        Threads of the solver.
    seed : int
        The solver's seed.
    options : mapping, optional
        The formulation's own options, such as ``fill``.
    watch : callable, optional
        Called with seconds, incumbent and bound while the solver runs.

    Returns
    -------
    Result
        Checked; ``violations`` is empty unless solver and checker disagree.

    Raises
    ------
    InputError
        If something given is not right.
    """
    limits = _limits(time_limit, gap, threads, seed, watch)
    model = _modelled(what, formulation, options)
    model.add(*constraints)
    result = _run(model, solver, limits)
    began = time.perf_counter()
    report = _report(model, result)
    seconds = msgspec.structs.replace(result.seconds, check=time.perf_counter() - began)
    notes = [] if result.message is msgspec.UNSET else [str(result.message)]
    notes += [f"not checked: {what}" for what in report.unchecked]
    believed = not report.violations or result.solution_status != "optimal"
    return msgspec.structs.replace(
        result,
        solution_status=result.solution_status if believed else "feasible",
        seconds=seconds,
        version={"schedopt": __version__, **result.version},
        checked=not report.unchecked,
        violations=tuple(report.violations),
        message="; ".join(notes) or msgspec.UNSET,
    )


def _limits(
    time_limit: float | None, gap: float, threads: int | None, seed: int, watch: Watch | None
) -> Limits:
    if time_limit is not None and (isnan(time_limit) or time_limit < 0):
        raise InputError("seconds, 0 or more", found=shown(time_limit), place="time limit")
    if isnan(gap) or not 0 <= gap < inf:
        raise InputError("a number >= 0", found=shown(gap), place="gap")
    if threads is not None and not 1 <= threads <= most_at_once():
        expected = f"a whole number from 1 to {most_at_once()}"
        raise InputError(expected, found=shown(threads), place="threads")
    if not 0 <= seed < 2**31:
        raise InputError("a whole number from 0 to 2^31 - 1", found=shown(seed), place="seed")
    return Limits(time_limit=time_limit, gap=gap, threads=threads, seed=seed, watch=watch)


def _modelled(what: Any, formulation: str | None, options: Mapping[str, Any] | None) -> Any:
    """Return what is given as a formulation, building it where it is an instance or a file."""
    if isinstance(what, str | Path):
        from instances.files import load

        what = load(what)
    if hasattr(what, "known_options"):
        if formulation is not None or options:
            raise InputError("no formulation and no options beside a model that is built already")
        return what
    problem = str(type(what).__struct_config__.tag)
    kind = catalog.formulation_type(problem, formulation)
    return kind(what, **checked(options or {}, kind.known_options, kind.name))


def _run(model: Any, solver: str | None, limits: Limits) -> Result:
    suited = [name for name, s in catalog.SOLVERS.items() if s.engine == model.engine]
    if solver is not None and solver not in suited:
        raise InputError(f"a solver of {model.name}{listing(suited)}", found=shown(solver))
    if model.problem == "epoch":
        from schedopt.problems.epoch import solving as packing

        return packing.solve(model, limits)
    if model.engine == "numeric":
        from solvers import queues

        return queues.solve(model, limits)
    if model.engine == "cp-sat":
        from schedopt.problems.dssp import schedules as scheduling

        return scheduling.solve(model, limits)
    if model.engine == "cvxpy":
        from schedopt.problems.hesrpt import solving as allocating

        return allocating.solve(model, limits, solver)
    from solvers import selecting

    if not hasattr(model, "plain"):  # a Pyomo formulation of another kind
        from solvers import highs

        return highs.solve(model, limits, hint=_hint(model))
    return selecting.solve(model, limits, solver=solver, hint=lambda: _hint(model))


def _hint(model: Any) -> Any | None:
    """Return the best quick heuristic's solution that breaks nothing, to start a solver from."""
    from schedopt.verbs.evaluate import evaluate

    policies = catalog.HINTS.get(model.problem, ())
    if not policies or len(model.instance.index) < catalog.HINTS_FROM:
        return None
    found = evaluate(model.instance, policies, options=model.options, constraints=model.added)
    feasible = [result for result in found if result.solution and not result.violations]
    if not feasible:
        return None
    sign = 1.0 if model.sense == "maximize" else -1.0
    best = max(feasible, key=lambda result: sign * (result.objective or 0.0))
    return best.solution


def _report(model: Any, result: Result) -> Any:
    """Check a result; say what in the model no checker can see."""
    from validation.documents import check

    report = check(model.instance, result.document(), model.added)
    declared = [*model.instance.constraints, *model.added]
    names = {label(constraint, i) for i, constraint in enumerate(declared)}
    native = [name for name in model.side() if name not in names]
    if native and result.solution:
        report.unchecked.append(f"native constraints {', '.join(native)}")
    return report
