"""Solve rectangles: a bound and a start, our own search, then CP-SAT."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import msgspec

from schedopt.formulations.epoch.rectangles import MOST_PIECES, Rectangles
from schedopt.instances.constraints import Constraint, label
from schedopt.instances.epoch import Scheduled
from schedopt.solvers import cpsat
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.driving import STEP, drive
from schedopt.solvers.epoch.bounding import narrowest
from schedopt.solvers.epoch.clock import Clock
from schedopt.solvers.epoch.filling import Filling
from schedopt.solvers.epoch.items import items
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.running import Run, make_result

SEARCH = 0.75
"""Part of the time for our own search."""


def solve(
    model: Rectangles, clock: Clock, start: Scheduled | None, *, cpsat_alone: bool = False
) -> Result[Scheduled]:
    """Solve rectangles.

    Parameters
    ----------
    model : Rectangles
        The formulation.
    clock : Clock
        The limits.
    start : Scheduled, optional
        A schedule that keeps all side constraints.
    cpsat_alone : bool
        Leave our own search out.
    """
    least = float(narrowest(model))
    met = start is not None and model.instance.objective_of(start) <= least
    if not met and not cpsat_alone and not model.native:
        search = searching(model, start)
        if search is not None:
            result = _driven(model, search, clock, clock.part(SEARCH))
            if result.termination != "time-limit" or clock.left().time_limit == 0.0:
                return result
            start = search.solution
    pieces = len(model.widths) * len(model.instance.jobs)
    if not met and pieces <= MOST_PIECES:
        model.in_order()
    clock.build += model.seconds - clock.before
    if not met and pieces > MOST_PIECES:
        result = cpsat.solve(model, clock.limits, hint=start, bound=least, search=False)
        why = "too many jobs to search for rectangles"
        return msgspec.structs.replace(result, termination="completed", message=why)
    return cpsat.solve(model, clock.left(), hint=start, bound=least)


def alone(model: Rectangles, limits: Limits) -> Result[Scheduled] | None:
    """Solve by our own search alone, told no schedule; None where there is too much to search."""
    clock = Clock(limits)
    search = searching(model, None)
    return None if search is None else clock.timed(_driven(model, search, clock, limits))


def searching(
    model: Rectangles, start: Scheduled | None, rules: Sequence[Constraint] | None = None
) -> Filling | None:
    """Return our own search, perhaps under some of the rules; None where it does not apply."""
    packed = items(model.instance, model.rules if rules is None else rules)
    if model.native or packed is None or not Filling.fits(packed):
        return None
    return Filling(model, packed, start)


def _driven(model: Rectangles, search: Filling, clock: Clock, limits: Limits) -> Result[Scheduled]:
    """Search on our own, and say which side constraints no schedule keeps where there is none."""
    run = Run(limits)
    stopped, message = drive(search, run)
    conflict: list[str] = []
    if stopped == "optimal" and search.solution is None:
        stopped = "infeasible"
        conflict, message = _conflict(model, clock)
    result: Result[Scheduled] = make_result(
        model,
        run,
        solver="epochs",
        version=f"Python {platform.python_version()}",
        stopped=stopped,
        solution=search.solution,
        bound=None if stopped == "infeasible" else search.bound,
        options={"units": search.units if search.units < 1 << 53 else None, "exact": True},
        message=message,
    )
    return msgspec.structs.replace(result, conflict=tuple(conflict))


def _conflict(model: Rectangles, clock: Clock) -> tuple[list[str], str]:
    """Return a smallest set of side constraints that no schedule keeps, and what to say of it."""
    rules = {label(rule, position): rule for position, rule in enumerate(model.rules)}

    def holds(wanted: frozenset[str]) -> bool:
        search = searching(model, None, [rules[name] for name in rules if name in wanted])
        if search is None:  # without bundles there may be too many items
            raise TimeoutError("too many jobs to search")
        while search.solution is None and not search.advance(STEP):
            if clock.left().time_limit == 0.0:
                raise TimeoutError
        return search.solution is not None

    try:
        return smallest_conflict(list(rules), holds), ""
    except ConflictNotReducedError as error:
        return error.conflict, f"the conflict may not be the smallest: {error.why}"
