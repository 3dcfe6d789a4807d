"""Solve a schedule: the bound of a selection, a search over dispatch orders, then CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.formulations.dssp.base import integer_program
from schedopt.instances.constraints import Require
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Scheduled, bounding, bounding_rules
from schedopt.solvers import portfolio
from schedopt.solvers.clock import now
from schedopt.solvers.dssp.greedy import greedy_solution
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Limits, Result, Termination, threads
from schedopt.solvers.running import Run, make_result, version

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule, Selection
    from schedopt.instances.dssp import Instance
    from schedopt.instances.dssp.planned import Floats
    from schedopt.solvers.dssp.schedule.dispatch_orders import JobMask


FILLS = (1.0, 0.99, 0.98, 0.97, 0.96, 0.94, 0.92, 0.9, 0.85, 0.8, 0.7, 0.5)
"""Planned utilizations of the selections from which the search starts."""
BOUND_SHARE, BOUND_SECONDS = 0.25, 20.0
"""The fraction of the time limit for the bound, and the seconds without a time limit."""
SECONDS_PER_TASK = 3e-4
"""Seconds for each task that it takes to build the model for CP-SAT."""
SEARCH_SHARE = 0.3
"""The fraction of the time limit for the search if CP-SAT follows, and for building its model."""
MOVES, MOVES_PER_TASK, LEAST_MOVES = 8_000, 40, 200
"""CP-SAT follows after so many moves in a row without improvement."""
PYTHON_MOVES = 60_000
"""Moves times tasks that run as plain Python before CP-SAT follows, about a second."""
PACKED_TASKS = 2_000
"""Most tasks that bin completion packs."""
PACKING_NODES = 10_000
"""Nodes of bin completion in one attempt, for each second of the time limit."""


def search(model: Schedule, task: EngineTask) -> Result | Partial:
    """Search for a schedule; the bound is the optimum of the selection.

    The optimum is nearly always close to that bound, and a schedule that meets it is optimal.
    Otherwise CP-SAT follows if there is time to build its model.
    """
    began, limits, tasks = now(), task.limits, len(model.instance.tasks.lengths)
    run = Run(limits)
    relaxed = solve_relaxation(model, limits)
    if relaxed.termination == "infeasible":  # then schedules are too
        result = _result(model, run, None, None, "infeasible")
        return result.with_details(conflict=relaxed.conflict)
    known = task.heuristic()  # such as a plan that is continued
    if known is not None and relaxed.bound is not None:
        result = _result(model, run, known, relaxed.bound, "optimal")
        if result.gap is not None and result.gap <= limits.gap:
            return result
    cpsat_follows = _has_time_for_cpsat(tasks, limits)
    seconds = None
    if limits.time_limit is not None:
        written = 0.05 + 3e-6 * tasks  # seconds for writing the result
        remaining = limits.time_limit - (now() - began) - written
        seconds = max(
            0.0,
            min(remaining, SEARCH_SHARE * limits.time_limit) if cpsat_follows else remaining,
        )
    until = None if seconds is None else now() + seconds
    best = _best_dispatched(model, run, relaxed, until, cpsat_follows=cpsat_follows, known=known)
    result = _result(model, run, best, relaxed.bound, "completed")
    value, bound = result.objective, result.bound
    beaten = value is not None and bound is not None and value > bound  # for the portfolio's alarm
    if beaten or (result.gap is not None and result.gap <= limits.gap):
        return msgspec.structs.replace(result, termination="optimal")
    if run.interrupted:
        return msgspec.structs.replace(result, termination="interrupted")
    late = limits.time_limit is not None and now() - began >= limits.time_limit
    if late or not cpsat_follows:
        return msgspec.structs.replace(result, termination="time-limit")
    return Partial(result, relaxed.bound)


def _has_time_for_cpsat(tasks: int, limits: Limits) -> bool:
    """Return True if CP-SAT's model is built within the search's share of the time limit."""
    limit = limits.time_limit
    return limit is None or SECONDS_PER_TASK * tasks <= SEARCH_SHARE * limit


def by_cpsat(model: Schedule, task: EngineTask) -> Result:
    """Solve with CP-SAT, from the incumbent and the bound."""
    from schedopt.solvers import cpsat

    bound = None if task.bound is None else float(task.bound)
    hint = task.incumbent if task.incumbent is not None else task.heuristic()
    return cpsat.solve(model, task.limits, hint=hint, bound=bound)


def _result(
    model: Schedule, run: Run, best: Scheduled | None, bound: float | None, stopped: Termination
) -> Result:
    """Return the result of the search with the bound of the selection."""
    workers = threads(run.limits)
    options = {"workers": workers, "deterministic": workers == 1, "relaxation": bound}
    return make_result(
        model,
        run,
        solver="search",
        version=version(),
        stopped=stopped,
        solution=best,
        bound=bound,
        options=options,
    )


def bounding_selection(model: Schedule) -> Selection:
    """Return the selection whose optimum bounds every schedule.

    It has the side constraints, unless predicted values differ from those of the schedule; then it
    has the seats only.
    """
    from schedopt.formulations.dssp import Selection

    added = bounding_rules(model.instance, model.added)
    return Selection(bounding(model.instance)).add(*added)


def solve_relaxation(model: Schedule, limits: Limits) -> Result:
    """Solve the selection that bounds every schedule."""
    selection = bounding_selection(model)
    seconds = BOUND_SECONDS
    if limits.time_limit is not None:
        seconds = BOUND_SHARE * limits.time_limit
    limits = replace(limits, time_limit=seconds, gap=0.0, watch=None)
    return portfolio.solve(selection, limits, fallback=lambda: greedy_solution(selection))


def _best_dispatched(
    model: Schedule,
    run: Run,
    relaxed: Result,
    until: float | None,
    *,
    cpsat_follows: bool,
    known: Scheduled | None = None,
) -> Scheduled | None:
    """Return the best schedule that dispatching finds, or the known one if it is as good.

    If CP-SAT follows, the search stops after fewer moves without improvement.
    """
    from schedopt.solvers.dssp.schedule.dispatch_orders import DispatchOrders
    from schedopt.solvers.dssp.schedule.dispatch_search import search as by_dispatching

    night, limits = model.instance, run.limits
    if not night.jobs:
        return None
    packed = _pack_selection(model, relaxed, limits)
    if packed is not None:
        return packed
    required = _required_jobs(model)
    starts = [*_shrinking_selections(model, relaxed)]
    keys = None if known is None else starts_of_tasks(night, known)
    if known is not None:
        starts.insert(0, np.isin(night.names, known.selected))
    best = by_dispatching(
        DispatchOrders(
            night,
            model.seats,
            worthless=bool(model.side_rows),
            starts=keys,
            required=required,
        ),
        run,
        starts=starts,
        required=required,
        satisfies_rules=rule_checker(model),
        target=None if relaxed.bound is None else relaxed.bound / (1 + limits.gap),
        seconds=None if until is None else max(0.0, until - now()),
        patience=_patience(len(night.tasks.lengths)) if cpsat_follows else 10**9,
        workers=threads(limits),
    )
    if best is None or best.simulated is None:
        return known
    found = best.simulated.schedule(night, np.flatnonzero(best.jobs).tolist())
    better = known is None or night.objective_of(found) > night.objective_of(known)
    return found if better else known


def _patience(tasks: int) -> int:
    """Return the moves without improvement after which CP-SAT follows; fewer in plain Python."""
    from schedopt.solvers.dssp.schedule.machine_arrays import MOST_IN_PYTHON

    moves = max(LEAST_MOVES, MOVES_PER_TASK * tasks)
    if tasks <= MOST_IN_PYTHON:
        moves = min(moves, PYTHON_MOVES // tasks)
    return min(MOVES, moves)


def starts_of_tasks(night: Instance, known: Scheduled) -> Floats:
    """Return the start of each task in a schedule; the makespan for tasks that are not run."""
    starts = np.full(len(night.tasks.lengths), known.makespan)
    for task in known.tasks:
        stage = night.tasks.first_stage[night.index[task.job]] + task.stage
        starts[night.tasks.first_task[stage] + task.task] = task.start
    return starts


def _required_jobs(model: Schedule) -> JobMask:
    """Return the jobs that a side constraint requires."""
    rules = (rule for rule in model.rules.values() if isinstance(rule, Require))
    return np.isin(model.instance.names, [name for rule in rules for name in rule.jobs])


def _pack_selection(model: Schedule, relaxed: Result, limits: Limits) -> Scheduled | None:
    """Return a schedule of the best selection by bin completion, or None if none is found.

    Only jobs of one stage on identical processors without releases are packed: their schedules are
    packings of the tasks into bins.
    """
    from schedopt.solvers.dssp.schedule.bin_completion import BinCompletionParams, pack

    night, grid = model.instance, model.grid
    plain = grid.exact and not model.seats and not night.features.keys() - {"end"}
    if relaxed.solution is None or not plain:
        return None
    jobs = [night.index[name] for name in relaxed.solution.selected]
    due = {int(min(grid.deadlines[j], grid.horizons[j])) for j in jobs}
    tasks = np.flatnonzero(np.isin(night.tasks.job_of, jobs) & (grid.lengths > 0)).tolist()
    stages = np.unique(night.tasks.stage_of[tasks])
    several = len(stages) > len(np.unique(night.tasks.job_of_stage[stages]))
    if len(due) != 1 or several or grid.releases[jobs].any() or not 0 < len(tasks) <= PACKED_TASKS:
        return None
    if not rule_checker(model)(np.isin(np.arange(len(night.jobs)), jobs)):
        return None
    step = int(np.gcd.reduce(grid.lengths[tasks]))
    params = BinCompletionParams()
    if limits.time_limit is not None:
        nodes = PACKING_NODES * limits.time_limit
        params = replace(
            params, attempts=[n for n in params.attempts if n <= nodes] or [int(nodes)]
        )
    sizes = [int(grid.lengths[i]) // step for i in tasks]
    bins = pack(sizes, due.pop() // step, night.processors, seed=limits.seed, params=params)
    if bins is None:
        return None
    begin, on = [0] * len(grid.lengths), dict[int, tuple[int]]()
    for processor, items in enumerate(bins):
        start = 0
        for item in items:
            begin[tasks[item]], on[tasks[item]] = start, (processor,)
            start += sizes[item] * step
    return model.schedule_at(jobs, begin, on)


def _shrinking_selections(model: Schedule, relaxed: Result) -> Iterator[JobMask]:
    """Yield the best selection, with more and more of its jobs of lowest ratio removed."""
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


def rule_checker(model: Schedule) -> Callable[[JobMask], bool]:
    """Return a function that tests whether jobs satisfy all side constraints except seats."""
    if not model.side_rows:  # the dispatcher satisfies seats
        return lambda jobs: True
    night = model.instance
    every = np.ones(len(night.jobs), dtype=np.bool_)
    program = integer_program([*night.index], night.rewards, every, model.side_rows)

    def satisfies_rules(jobs: JobMask) -> bool:
        return program.satisfied_by(program.point(np.flatnonzero(jobs).tolist()))

    return satisfies_rules
