"""Solve a schedule: the knapsack bound, a search that dispatches again and again, then CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Scheduled, bounding
from schedopt.solvers.clock import now
from schedopt.solvers.dssp import selecting
from schedopt.solvers.result import Limits, Result, Seconds, gap, snap_bound

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule
    from schedopt.formulations.protocol import Formulation
    from schedopt.solvers.dssp.schedule.trial import Mask

FILLS = (1.0, 0.99, 0.98, 0.97, 0.96, 0.94, 0.92, 0.9, 0.85, 0.8, 0.7, 0.5)
"""How full the machine is planned to be at the start of the search."""

RULED_FILLS = (0.97, 0.94, 0.88, 0.75)
"""The same where side constraints must be kept, each of which is solved for."""

RULED = 2.0
"""Seconds that each of these may take."""

PATIENCE = 0.25
"""The part of the time limit that the bound may take."""

MANY = 5_000
"""Tasks beyond which, under a time limit, CP-SAT does not get to search."""

SHARE = 0.3
"""The part of the time limit that the search may take where CP-SAT follows."""


def solve(model: Schedule, limits: Limits) -> Result:
    """Solve a `Schedule`.

    In nearly every case the optimum is near the knapsack bound: where a schedule meets it, nothing
    is left to search. CP-SAT comes last, and under a time limit only where there are few enough
    tasks; then the bound is the knapsack's.

    Parameters
    ----------
    model : Schedule
        The formulation.
    limits : Limits
        When to stop.
    """
    from schedopt.solvers import cpsat

    began = now()
    relaxed = _relaxed(model, limits)
    if relaxed.termination == "infeasible":  # then schedules are too, for the same reason
        seconds = Seconds(build=model.seconds, solve=now() - began)
        return cpsat.infeasible(model, limits, relaxed.conflict, seconds)
    few = len(model.instance.tasks.lengths) <= MANY
    start, interrupted = _searched(model, limits, relaxed, began, few)
    spent = now() - began
    left = limits
    if interrupted:
        left = replace(limits, time_limit=0.0)
    elif limits.time_limit is not None:
        left = replace(limits, time_limit=max(0.0, limits.time_limit - spent))
    exact = not interrupted and (few or limits.time_limit is None) and left.time_limit != 0.0
    exact = exact or model.native > 0
    if _near(model, start, relaxed.bound, limits.gap):
        exact = False
    result = cpsat.solve(model, left, hint=start, bound=relaxed.bound, search=exact)
    if interrupted and not result.proven:
        result = msgspec.structs.replace(result, termination="interrupted")
    elif not exact and result.gap is not None and 0 < result.gap <= limits.gap:
        result = msgspec.structs.replace(result, termination="optimal")
    seconds = msgspec.structs.replace(result.seconds, solve=result.seconds.solve + spent)
    options = {**result.options, "time_limit": limits.time_limit}
    return msgspec.structs.replace(result, seconds=seconds, options=options)


def _near(model: Schedule, start: Scheduled | None, bound: float | None, asked: float) -> bool:
    """Tell whether a start is as near to the bound as is asked for, if nearer than nothing is."""
    if start is None or not asked or model.native:
        return False
    worth = model.instance.objective_of(start)
    distance = gap(worth, snap_bound(worth, bound))
    return distance is not None and distance <= asked


def _relaxed(model: Schedule, limits: Limits) -> Result:
    """Solve the knapsack that bounds every schedule, with the side constraints where they hold."""
    from schedopt.formulations.dssp import Selection

    night = bounding(model.instance)
    same = night is model.instance
    added = [rule for rule in model.added if same or isinstance(rule, Seats)]
    selection = Selection(night).add(*added)
    if limits.time_limit is not None:
        limits = replace(limits, time_limit=PATIENCE * limits.time_limit)
    limits = replace(limits, gap=0.0, watch=None)
    found = selecting.solve(selection, limits)
    if found.bound is None and found.termination == "time-limit":  # without rules it is quick
        free = selecting.solve(Selection(msgspec.structs.replace(night, constraints=())), limits)
        found = msgspec.structs.replace(found, bound=free.bound)
    return found


def _searched(
    model: Schedule, limits: Limits, relaxed: Result, began: float, few: bool
) -> tuple[Scheduled | None, bool]:
    """Return the best schedule that the search finds, and whether Ctrl-C ended it."""
    from schedopt.solvers.cpsat import workers
    from schedopt.solvers.dssp.schedule import search
    from schedopt.solvers.running import Run

    night, seconds = model.instance, None
    if not night.jobs:
        return None, False
    if limits.time_limit is not None:
        written = 0.05 + 2e-5 * len(night.tasks.lengths)  # what writing the result takes
        left = limits.time_limit - (now() - began) - written
        seconds = max(0.0, min(left, SHARE * limits.time_limit) if few else left)
    target = None if relaxed.bound is None else relaxed.bound / (1 + limits.gap)
    run = Run(limits)
    found = search(
        night,
        run,
        starts=[*_starts(model, relaxed), *_ruled_starts(model, limits)],
        keeps=_keeper(model),
        caps=_caps(model),
        seats=model.seats,
        target=target,
        seconds=seconds,
        patience=min(8_000, max(200, 40 * len(night.tasks.lengths))) if few else 3_200,
        workers=workers(limits),
    )
    if found is None:
        return None, run.interrupted
    return model.replayed(found.jobs.tolist(), found.starts), run.interrupted


def _starts(model: Schedule, relaxed: Result) -> Iterator[Mask]:
    """Yield the jobs of the best selection without those of least reward for their demand."""
    night = model.instance
    if relaxed.solution is None:
        yield night.in_time.copy()
        return
    chosen = np.array([night.index[name] for name in relaxed.solution.selected], dtype=np.int64)
    demands, room = night.tasks.demands, night.processors * night.horizon
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


def _ruled_starts(model: Schedule, limits: Limits) -> Iterator[Mask]:
    """Yield the best selections that plan for less than there is, where there are rules to keep."""
    from schedopt.formulations.dssp import Selection

    night = model.instance
    if not model.ruled:
        return
    limit = RULED if limits.time_limit is None else min(RULED, 0.04 * limits.time_limit)
    for fill in RULED_FILLS:
        selection = Selection(night, fill=fill).add(*model.added)
        found = selecting.solve(selection, Limits(time_limit=limit, gap=1e-3, seed=limits.seed))
        if found.solution is not None:
            mask = np.zeros(len(night.jobs), dtype=np.bool_)
            mask[[night.index[name] for name in found.solution.selected]] = True
            yield mask


def _keeper(model: Schedule) -> Callable[[Mask], bool]:
    """Return what tells whether jobs that are run keep all side constraints but seats."""
    from schedopt.validation.dssp.constraints import UnknownKindError, broken
    from schedopt.validation.dssp.facts import Facts

    rules = [*model.instance.constraints, *model.added]
    if all(isinstance(rule, Seats) for rule in rules):  # which whoever dispatches keeps
        return lambda jobs: True
    facts, names = Facts(model.instance, 1.0), list(model.instance.index)

    def keeps(jobs: Mask) -> bool:
        chosen = frozenset(names[j] for j in np.flatnonzero(jobs))
        try:
            return not any(broken(rule, facts, chosen) for rule in rules)
        except UnknownKindError:  # of a kind of one's own CP-SAT alone knows what it means
            return False

    return keeps


def _caps(model: Schedule) -> list[tuple[np.ndarray, float]]:
    """Return the sums over jobs that side constraints bound from above."""
    found = []
    for _, row in model.ruled:
        upper = float(row.upper)
        if upper < float("inf") and not row.unless_all and all(c >= 0 for c in row.coefficients):
            amounts = np.zeros(len(model.instance.jobs))
            np.add.at(amounts, list(row.jobs), list(map(float, row.coefficients)))
            found.append((amounts, upper))
    return found


def keeps(model: Formulation, selected: Sequence[str]) -> bool:
    """Tell whether jobs that are run keep all side constraints; of seats a schedule tells."""
    from schedopt.validation.dssp.constraints import broken
    from schedopt.validation.dssp.facts import Facts

    facts, names = Facts(model.instance, 1.0), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    return not any(broken(rule, facts, names) for rule in rules)


def sound(model: Formulation, selected: Sequence[str], fill: float = 1.0) -> bool:
    """Tell whether a selection fits, and keeps all side constraints."""
    from schedopt.validation.dssp.constraints import unseated
    from schedopt.validation.dssp.facts import Facts

    facts, names = Facts(model.instance, fill), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    full = any(facts.overfull({name: facts.demand[name] for name in names}, facts.rate))
    seats = any(unseated(rule, facts, names) for rule in rules if isinstance(rule, Seats))
    return not full and not seats and keeps(model, selected)
