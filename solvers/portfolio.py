"""Solve a formulation by trying its engines in order.

``engines`` of a problem's folder in ``solvers`` returns the engines of a formulation. The first
engine that accepts the model runs. If it does not prove its solution, it may hand its incumbent and
bound to the next engine that accepts. The last engine, ``model``, is the declared native model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt.instances.errors import InputError, listing, quote
from schedopt.instances.extras import missing
from schedopt.instances.files import module_path
from schedopt.solvers.clock import now
from schedopt.solvers.engine import Certificate, Engine, EngineTask, Partial, Start
from schedopt.solvers.result import Limits, Result, Seconds, alarm, better, gap, with_alarm
from schedopt.solvers.running import (
    Run,
    make_result,
    plain_version,
    remaining_limits,
    value_of,
    with_status,
)
from schedopt.solvers.stopping import stopped

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation, Sense


FALLBACK = "trivial"
"""The name credited with a greedy solution or a bound without search."""


def engines(problem: str, formulation: str) -> tuple[Engine, ...]:
    """Return the engines of a formulation, in the order in which they are tried."""
    table: tuple[Engine, ...] = import_module(module_path("solvers", problem)).engines(formulation)
    return table


def solve(
    model: Formulation,
    limits: Limits | None = None,
    *,
    solver: str | None = None,
    start: Start = lambda: None,
    fallback: Callable[[], tuple[Any | None, float | None]] = lambda: (None, None),
) -> Result:
    """Solve a formulation with its engines in order, or with a named engine.

    Parameters
    ----------
    model : Formulation
    limits : Limits, optional
        Limits of all engines together; by default there is no time limit and the gap is 0.
    solver : str, optional
        The name of an engine, which then runs alone.
    start : callable, optional
        Returns a warm start or None; called if an engine needs one.
    fallback : callable, optional
        Returns a greedy solution and a bound, each of which may be None; called if the time limit
        is reached before an engine has found either.

    Returns
    -------
    Result
        Not yet checked. It is an alarm if a solution is better than a proven bound. Ctrl-C ends the
        run and keeps incumbent and bound.

    Raises
    ------
    InputError
        If there is no engine of that name, or it does not accept the model.
    """
    limits = limits or Limits()
    began = now()
    start = cache(start)
    partial: Partial | None = None
    result: Result | None = None
    if solver is None:
        candidates = _candidates(model, limits, began)
    else:
        candidates = iter([_by_name(model, solver)])
    for engine in candidates:
        own = remaining_limits(limits, began)
        task = EngineTask(own, start, name=engine.name, alone=solver is not None)
        if partial is not None:
            task = replace(
                task, incumbent=partial.result.solution, bound=partial.bound, fixed=partial.fixed
            )
        before = now() - began
        handed, last = _run(engine, model, task)
        asked_start = start() if start.cache_info().currsize else None
        credited = _with_credit(model, handed.result, engine.name, asked_start)
        result = credited if partial is None else _merge(model, partial.result, credited, before)
        if stopped() and not (result.proven or result.termination == "infeasible"):
            result = msgspec.structs.replace(result, termination="interrupted")
        alarmed = result.termination == "error" != credited.termination
        if last or alarmed or result.termination == "interrupted" or stopped():
            break
        partial = Partial(result, _tighter_bound(model, partial, handed), handed.fixed)
    if result is None:
        result = _out_of_time(model, limits)
    if result.termination == "completed" and remaining_limits(limits, began).time_limit == 0:
        result = msgspec.structs.replace(result, termination="time-limit")
    result = _with_fallback(model, result, fallback)
    if solver is not None:
        result = _with_new_name(model, solver, result)
    near: float = getattr(model, "tolerance", 0.0)
    return with_alarm(result, "" if model.changed else alarm(result, result, near))


def _with_new_name(model: Formulation, solver: str, result: Result) -> Result:
    """Return the result with a note if an old name of the engine was used."""
    for engine in engines(model.problem, model.name):
        if solver in engine.old_names:
            note = f"the engine {solver} is now called {engine.name}"
            note = f"{note}; {result.message}" if result.message else note
            return msgspec.structs.replace(result, message=note)
    return result


def _out_of_time(model: Formulation, limits: Limits) -> Result:
    """Return the result if no engine had time; `InputError` if one is not installed."""
    tried = [one for one in engines(model.problem, model.name) if one.worth_trying(model, limits)]
    if absent := [engine.needs for engine in tried if not engine.available]:
        raise missing(absent[0])
    return make_result(
        model,
        Run(limits),
        solver=FALLBACK,
        version=plain_version(),
        stopped="time-limit",
        message="the time limit was reached before the model could be built",
    )


def _with_fallback(
    model: Formulation, result: Result, fallback: Callable[[], tuple[Any | None, float | None]]
) -> Result:
    """Fill in a greedy solution and a bound if the time limit was reached without them."""
    late = result.termination in ("time-limit", "interrupted", "completed")
    if not late or model.changed or None not in (result.solution, result.bound):
        return result
    solution, bound = fallback()
    value = None if solution is None else value_of(model, solution)
    if result.solution is None and value is not None:
        result = msgspec.structs.replace(
            result, solution=solution, objective=value, solver=FALLBACK, found_by=FALLBACK
        )
    if result.bound is None and bound is not None:
        result = msgspec.structs.replace(result, bound=bound, bounded_by=FALLBACK)
    return with_status(model, result)


def confirm(model: Formulation, result: Result, limits: Limits) -> Result | None:
    """Solve a formulation again with another engine, to confirm the result of the first.

    If that engine does not accept the model, the engine that confirms it is tried, and so on.
    Returns None if there is none.
    """
    table = {engine.name: engine for engine in engines(model.problem, model.name)}
    by = str(result.proved_by or result.solver)
    if by not in table:  # a greedy solution
        by = next((engine.name for engine in table.values() if engine.accepts(model)), "")
    tried = {by}
    while by in table and (name := table[by].confirmed_by) and name not in tried:
        second = table[name]
        if second.available and second.accepts(model):
            task = EngineTask(limits, name=name, alone=True, confirming=True)
            credited = _with_credit(model, _run(second, model, task)[0].result, name, None)
            return msgspec.structs.replace(credited, solver=name)
        by = name
        tried.add(by)
    return None


def certificate(model: Formulation, result: Result, limits: Limits) -> Certificate | None:
    """Return a certificate of the bound of a result, or None if the formulation has none.

    It is made from the instance and the bound, whichever engine found it.

    Raises
    ------
    NoCertificateError
        If there is no certificate, and the reason is known.
    """
    row = import_module(module_path("solvers", model.problem))
    maker: Callable[..., Certificate | None] | None = getattr(row, "certify", None)
    return None if maker is None else maker(model, result, limits)


def _run(engine: Engine, model: Formulation, task: EngineTask) -> tuple[Partial, bool]:
    """Return an engine's result with its seconds, and whether no other engine should follow."""
    began = now()
    answer = engine.solve(model, task)
    handed = answer if isinstance(answer, Partial) else Partial(answer)
    if handed.result.seconds == Seconds():
        seconds = Seconds(build=model.seconds, solve=now() - began)
        handed = replace(handed, result=msgspec.structs.replace(handed.result, seconds=seconds))
    return handed, not isinstance(answer, Partial)


def _candidates(model: Formulation, limits: Limits, began: float) -> Iterator[Engine]:
    """Yield the engines that accept a model, until the time limit."""
    some = False
    for engine in engines(model.problem, model.name):
        if some and remaining_limits(limits, began).time_limit == 0:
            return  # solving can take long, and so can the test whether an engine accepts
        if engine.available and engine.worth_trying(model, limits) and engine.accepts(model):
            some = True
            yield engine


def _by_name(model: Formulation, solver: str) -> Engine:
    """Return the engine of that name, which accepts the model."""
    table = engines(model.problem, model.name)
    engine = next((one for one in table if solver in (one.name, *one.old_names)), None)
    if engine is None:
        names = listing([engine.name for engine in table])
        raise InputError(
            f"a solver of {model.name}{names}", found=quote(solver), parameter="solver"
        )
    if not engine.available:
        raise missing(engine.needs)
    if not engine.accepts(model):
        others = listing([one.name for one in table if one.available and one.accepts(model)])
        rules = [*model.side_constraints(), *(["native changes"] if model.changed else [])]
        several = getattr(model, "ordered", False) is True  # of an allocation it is a method
        rules += ["several objectives"] if several else []
        expected = (
            f"a model that the engine accepts ({engine.description}), or another engine{others}"
        )
        found = f"this {model.name}" + (f" with {', '.join(rules)}" if rules else "")
        raise InputError(expected, found=found, parameter="solver", place=solver)
    return engine


def _with_credit(model: Formulation, result: Result, name: str, start: Any | None) -> Result:
    """Return the result with the engine credited for solution, bound and proof."""
    found_by = name if result.solution is not None else None
    if start is not None and result.objective is not None:
        value = model.instance.objective_of(start)
        if not better(model.sense, result.objective, value):
            found_by = None  # the policy of the warm start
    found_by = result.found_by or found_by
    proven = result.proven or result.termination in ("infeasible", "unbounded")
    proved_by = (result.proved_by or name) if proven else None
    return msgspec.structs.replace(
        result,
        found_by=found_by,
        bounded_by=result.bounded_by or (name if result.bound is not None else None),
        proved_by=proved_by,
        solver=found_by or proved_by or name,
    )


def _tighter_bound(
    model: Formulation, known: Partial | None, handed: Partial
) -> Fraction | float | None:
    before = None if known is None else known.bound
    if before is None or handed.bound is None:
        return handed.bound if before is None else before
    return max(before, handed.bound) if model.sense == "minimize" else min(before, handed.bound)


def _merge(model: Formulation, first: Result, second: Result, before: float) -> Result:
    """Combine the results of two engines: the better solution and the tighter bound."""
    result = second
    if second.termination == "infeasible":
        if what := alarm(first, second):
            return with_alarm(first, what)
    else:
        opposite: Sense = "minimize" if model.sense == "maximize" else "maximize"
        if first.objective is not None and (
            second.objective is None or not better(model.sense, second.objective, first.objective)
        ):
            same = second.objective == first.objective
            result = msgspec.structs.replace(
                result,
                solution=second.solution if same else first.solution,
                objective=first.objective,
                found_by=first.found_by,
            )
        if first.bound is not None and (
            second.bound is None or not better(opposite, second.bound, first.bound)
        ):
            result = msgspec.structs.replace(result, bound=first.bound, bounded_by=first.bounded_by)
    if (result.objective, result.bound) != (second.objective, second.bound):
        result = with_status(model, result)
    proved_by = result.proved_by or (result.bounded_by if result.proven else None)
    later = tuple((round(t + before, 6), value, bound) for t, value, bound in second.trace)
    result = msgspec.structs.replace(
        result,
        seconds=Seconds(
            build=max(first.seconds.build, second.seconds.build),
            solve=before + second.seconds.solve,
        ),
        options=second.options | {"time_limit": first.options.get("time_limit")},
        proved_by=proved_by,
        solver=result.found_by or proved_by or second.solver,
        gap=gap(result.objective, result.bound),
    )
    return result.with_details(trace=first.trace + later)
