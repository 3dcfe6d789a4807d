"""Solve a schedule: the knapsack bound, the best two-phase schedule, then CP-SAT."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from instances.constraints import Seats
from instances.dssp import Scheduled, bounding
from solvers import selecting
from solvers.result import Limits, Result, Seconds

if TYPE_CHECKING:
    from formulations.dssp import Schedule
    from formulations.protocol import Formulation

POLICIES = ("selection+lcpf", "selection+cpa", "greedy+lcpf")
FILLS = (0.94, 0.9, 0.97, 1.0, 0.85, 0.8)
"""Two-phase schedules to start from, and how full they plan the machine, the likeliest first."""

PATIENCE = 0.25
"""The part of the time limit that the bound may take, and the part that the start may."""


def solve(model: Schedule, limits: Limits) -> Result:
    """Solve a `Schedule`.

    In nearly every case the optimum is the knapsack bound: where a two-phase schedule meets it,
    nothing is left to search.

    Parameters
    ----------
    model : Schedule
        The formulation.
    limits : Limits
        When to stop.
    """
    from solvers import cpsat

    began = time.perf_counter()
    relaxed = _relaxed(model, limits)
    if relaxed.termination == "infeasible":  # then schedules are too, for the same reason
        seconds = Seconds(build=model.seconds, solve=time.perf_counter() - began)
        return cpsat.infeasible(model, limits, relaxed.conflict, seconds)
    start, interrupted = _start(model, limits)
    spent = time.perf_counter() - began
    left = limits
    if interrupted:
        left = replace(limits, time_limit=0.0)
    elif limits.time_limit is not None:
        left = replace(limits, time_limit=max(0.0, limits.time_limit - spent))
    result = cpsat.solve(model, left, hint=start, bound=relaxed.bound)
    if interrupted and not result.proven:
        result = msgspec.structs.replace(result, termination="interrupted")
    seconds = msgspec.structs.replace(result.seconds, solve=result.seconds.solve + spent)
    options = {**result.options, "time_limit": limits.time_limit}
    return msgspec.structs.replace(result, seconds=seconds, options=options)


def _relaxed(model: Schedule, limits: Limits) -> Result:
    """Solve the knapsack that bounds every schedule, with the side constraints where they hold."""
    from formulations.dssp import Selection

    night = bounding(model.instance)
    same = night is model.instance
    added = [rule for rule in model.added if same or isinstance(rule, Seats)]
    selection = Selection(night).add(*added)
    if limits.time_limit is not None:
        limits = replace(limits, time_limit=PATIENCE * limits.time_limit)
    limits = replace(limits, gap=0.0, watch=None)
    return selecting.solve(selection, limits)


def _start(model: Schedule, limits: Limits) -> tuple[Scheduled | None, bool]:
    """Return the best two-phase schedule so far, and whether Ctrl-C ended the search for it."""
    began, worth = time.perf_counter(), model.instance.objective_of
    best: Scheduled | None = None
    try:
        for found in _starts(model):
            if best is None or worth(found) > worth(best):
                best = found
            spent = time.perf_counter() - began
            if limits.time_limit is not None and spent > PATIENCE * limits.time_limit:
                break
    except KeyboardInterrupt:
        return best, True
    return best, False


def _starts(model: Schedule) -> Iterator[Scheduled]:
    """Yield two-phase schedules that keep all rules, without the jobs that they complete late."""
    from policies.registry import NotApplicableError
    from schedopt.problems.dssp import RECORD

    plans = [(policy, {"fill": fill}) for fill in FILLS for policy in POLICIES]
    for name, options in [*plans, ("maxk", {})]:
        try:
            run = RECORD.policy(name, model.added).run(model.instance, **options)
        except NotApplicableError:
            continue
        found = model.adopt(run)
        if keeps(model, found.selected):
            yield found


def keeps(model: Formulation, selected: Sequence[str]) -> bool:
    """Tell whether jobs that are run keep all side constraints; of seats a schedule tells."""
    from validation.dssp.constraints import broken
    from validation.dssp.facts import Facts

    facts, names = Facts(model.instance, 1.0), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    return not any(broken(rule, facts, names) for rule in rules)


def sound(model: Formulation, selected: Sequence[str], fill: float = 1.0) -> bool:
    """Tell whether a selection fits, and keeps all side constraints."""
    from validation.dssp.constraints import unseated
    from validation.dssp.facts import Facts

    facts, names = Facts(model.instance, fill), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    full = any(facts.overfull({name: facts.demand[name] for name in names}, facts.rate))
    seats = any(unseated(rule, facts, names) for rule in rules if isinstance(rule, Seats))
    return not full and not seats and keeps(model, selected)
