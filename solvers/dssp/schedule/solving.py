"""Solve a schedule: the knapsack bound, a search that dispatches again and again, then CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from schedopt.formulations.dssp.declared import selection_program
from schedopt.formulations.dssp.rows import Choice
from schedopt.instances.constraints import Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Scheduled, bounding
from schedopt.solvers import door
from schedopt.solvers.alarm import alarm, with_alarm
from schedopt.solvers.clock import now
from schedopt.solvers.driving import version
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import ProgramArrays
from schedopt.solvers.dssp.trivial import trivial
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Limits, Result, Termination, threads
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule, Selection
    from schedopt.solvers.dssp.schedule.dispatch_orders import JobMask

FILLS = (1.0, 0.99, 0.98, 0.97, 0.96, 0.94, 0.92, 0.9, 0.85, 0.8, 0.7, 0.5)
"""Planned utilizations from which the search starts."""

RULED_FILLS = (0.97, 0.94, 0.88, 0.75)
"""The same under side constraints, where each is a solve of its own."""

RULED = 2.0
"""Most seconds for each of these solves."""

PATIENCE = 0.25
"""Share of the time limit for the bound."""

LONGEST = 20.0
"""Seconds for the bound where there is no limit."""

WRITING = 3e-4
"""Seconds that writing the model for CP-SAT takes for each task."""

SHARE = 0.3
"""The part of the time limit that the search may take where CP-SAT follows, and writing for it."""


def search(model: Schedule, task: EngineTask) -> Result | Partial:
    """Search for a schedule, bounded by the selection that no schedule is better than.

    In nearly every case the optimum is near that bound: where a schedule meets it, nothing is left
    to search. CP-SAT goes on where there is time to write its model.
    """
    began, limits = now(), task.limits
    relaxed = solve_relaxation(model, limits)
    if relaxed.termination == "infeasible":  # then schedules are too, unless one refutes it
        best, _ = _run_search(model, limits, relaxed, seconds=None, patience=0, target=None)
        result = msgspec.structs.replace(relaxed, proved_by="search")
        what = alarm(_result(model, limits, best, None, "completed"), result)
        result = _result(model, limits, best if what else None, None, "infeasible")
        if what:
            return with_alarm(result, what)
        return msgspec.structs.replace(result, conflict=relaxed.conflict)
    tasks = len(model.instance.tasks.lengths)
    few = limits.time_limit is None or WRITING * tasks <= SHARE * limits.time_limit
    best, interrupted = _run_search(
        model,
        limits,
        relaxed,
        seconds=search_seconds(model, limits, began, few=few),
        patience=min(8_000, max(200, 40 * tasks)) if few else 10**9,
        target=None if relaxed.bound is None else relaxed.bound / (1 + limits.gap),
    )
    result = _result(model, limits, best, relaxed.bound, "completed")
    if what := alarm(result, result):
        return with_alarm(result, what)
    enough = result.gap is not None and result.gap <= limits.gap
    late = limits.time_limit is not None and now() - began >= limits.time_limit
    if enough or interrupted:
        return msgspec.structs.replace(
            result, termination="interrupted" if interrupted and not enough else "optimal"
        )
    if late or not few:
        return msgspec.structs.replace(result, termination="time-limit")
    return Partial(result, relaxed.bound)


def by_cpsat(model: Schedule, task: EngineTask) -> Result:
    """Let CP-SAT search from the best schedule and the bound that are known."""
    from schedopt.solvers import cpsat

    bound = None if task.bound is None else float(task.bound)
    hint = task.incumbent if task.incumbent is not None else task.heuristic()
    return cpsat.solve(model, task.limits, hint=hint, bound=bound)


def certify(
    model: Schedule, result: Result, limits: Limits, holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Return a certificate of the bound of the selection that bounds every schedule.

    A lower bound from CP-SAT is believed.
    """
    from schedopt.formulations.dssp import Selection
    from schedopt.solvers.dssp.selection.branch_and_bound.certificate import certify as branched

    night = bounding(model.instance)
    added = model.added if night is model.instance else ()
    return branched(Selection(night).add(*added), result, limits, holds)


def _result(
    model: Schedule,
    limits: Limits,
    best: Scheduled | None,
    bound: float | None,
    stopped: Termination,
) -> Result:
    """Return the result of a search, whose bound is the selection's."""
    result: Result = make_result(
        model,
        Run(limits),
        solver="search",
        version=version(),
        stopped=stopped,
        solution=best,
        bound=bound,
        options={
            "workers": threads(limits),
            "deterministic": threads(limits) == 1,
            "relaxation": bound,
        },
    )
    return msgspec.structs.replace(
        result,
        found_by=None if best is None else "search",
        bounded_by=None if bound is None else "search",
    )


def bounding_selection(model: Schedule) -> Selection:
    """Return the selection that bounds every schedule, with the side constraints where they hold.

    What was predicted does not bound what happens: then seats alone are taken over.
    """
    from schedopt.formulations.dssp import Selection

    night = bounding(model.instance)
    same = night is model.instance
    added = [rule for rule in model.added if same or isinstance(rule, Seats)]
    return Selection(night).add(*added)


def solve_relaxation(model: Schedule, limits: Limits) -> Result:
    """Solve the selection that bounds every schedule."""
    from schedopt.formulations.dssp import Selection

    selection = bounding_selection(model)
    seconds = LONGEST if limits.time_limit is None else PATIENCE * limits.time_limit
    limits = replace(limits, time_limit=seconds, gap=0.0, watch=None)
    result = door.solve(selection, limits)
    if result.bound is None and result.termination == "time-limit":  # without rules it is quick
        bare = msgspec.structs.replace(selection.instance, constraints=())
        free = door.solve(Selection(bare), limits)
        result = msgspec.structs.replace(result, bound=free.bound)
    if result.bound is None and result.termination != "infeasible":
        result = msgspec.structs.replace(result, bound=trivial(selection)[1])
    return result


def search_seconds(model: Schedule, limits: Limits, began: float, *, few: bool) -> float | None:
    """Return the seconds for the search: a share of those left where CP-SAT follows."""
    if limits.time_limit is None:
        return None
    written = 0.05 + 3e-6 * len(model.instance.tasks.lengths)  # what writing the result takes
    left = limits.time_limit - (now() - began) - written
    return max(0.0, min(left, SHARE * limits.time_limit) if few else left)


def _run_search(
    model: Schedule,
    limits: Limits,
    relaxed: Result,
    *,
    seconds: float | None,
    patience: int,
    target: float | None,
) -> tuple[Scheduled | None, bool]:
    """Return the best schedule that the search finds, and whether Ctrl-C ended it."""
    from schedopt.solvers.dssp.schedule.dispatch_orders import DispatchOrders
    from schedopt.solvers.dssp.schedule.dispatch_search import search as by_dispatching

    if not model.instance.jobs:
        return None, False
    run = Run(limits)
    orders = DispatchOrders(model.instance, model.seats, worthless=bool(model.ruled))
    best = by_dispatching(
        orders,
        run,
        starts=[*_shrinking_selections(model, relaxed), *_ruled_selections(model, limits)],
        keeps=_rule_checker(model),
        caps=_capped_sums(model),
        target=target,
        seconds=seconds,
        patience=patience,
        workers=threads(limits),
    )
    if best is None:
        return None, run.interrupted
    return best.played.schedule(model.instance, best.jobs.tolist()), run.interrupted


def _shrinking_selections(model: Schedule, relaxed: Result) -> Iterator[JobMask]:
    """Yield the best selection, with ever more of its least efficient jobs removed."""
    night = model.instance
    if relaxed.solution is None:
        yield night.in_time.copy()
        return
    chosen = np.array([night.index[name] for name in relaxed.solution.selected], dtype=np.int64)
    demands = night.tasks.demands * [job.processors for job in night.jobs]
    room = float(night.machine.total.until(as_written(night.horizon)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.nan_to_num(night.rewards / demands, nan=np.inf, posinf=np.inf)
    by_ratio = chosen[np.argsort(-ratio[chosen], kind="stable")]
    filled = np.cumsum(demands[by_ratio])
    last = -1
    for fill in FILLS:
        count = int(np.searchsorted(filled, fill * room * (1 + 1e-12), side="right"))
        if count != last:
            mask = np.zeros(len(night.jobs), dtype=np.bool_)
            mask[by_ratio[:count]] = True
            last = count
            yield mask


def _ruled_selections(model: Schedule, limits: Limits) -> Iterator[JobMask]:
    """Yield the best selections for reduced capacities, where there are side constraints."""
    from schedopt.formulations.dssp import Selection

    night = model.instance
    if not model.ruled:
        return
    limit = RULED if limits.time_limit is None else min(RULED, max(0.25, 0.04 * limits.time_limit))
    for fill in RULED_FILLS:
        selection = Selection(night, fill=fill).add(*model.added)
        result = door.solve(selection, Limits(time_limit=limit, gap=1e-3, seed=limits.seed))
        if result.solution is not None:
            mask = np.zeros(len(night.jobs), dtype=np.bool_)
            mask[[night.index[name] for name in result.solution.selected]] = True
            yield mask


def _rule_checker(model: Schedule) -> Callable[[JobMask], bool]:
    """Return a function that tells whether jobs keep all side constraints but seats."""
    if not model.ruled:  # the dispatcher keeps seats
        return lambda jobs: True
    night = model.instance
    names, every = list(night.index), [True] * len(night.jobs)
    program = selection_program(Choice(names, night.rewards.tolist(), (), every, model.ruled))
    rows = ProgramArrays.of(program)

    def keeps(jobs: JobMask) -> bool:
        chosen = np.zeros(len(program.columns), dtype=np.int8)
        chosen[program.completed(np.flatnonzero(jobs).tolist())] = 1
        return not rows.hopeless and rows.cut_off(chosen) is None

    return keeps


def _capped_sums(model: Schedule) -> list[tuple[np.ndarray, float]]:
    """Return the sums over jobs that side constraints bound from above."""
    caps = []
    for _, row in model.ruled:
        upper = float(row.upper)
        if upper < float("inf") and not row.unless_all and all(c >= 0 for c in row.coefficients):
            amounts = np.zeros(len(model.instance.jobs))
            np.add.at(amounts, list(row.jobs), list(map(float, row.coefficients)))
            caps.append((amounts, upper))
    return caps
