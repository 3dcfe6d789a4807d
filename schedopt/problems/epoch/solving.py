"""Solve epochs: the bound, the paper's heuristics, then CP-SAT where the two do not meet."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import msgspec

from instances.epoch import Rectangle, Scheduled
from solvers.result import Limits, Result

STARTS = {"partition": ("heuristic-epoch", "equi-epoch"), "rectangles": ("buddy-star",)}
"""For each formulation, policies whose schedules are of its kind."""

PATIENCE, LONGEST = 0.5, 30.0
"""The part of the time limit, and the seconds, that the question whether the bound can be met may
take before the fewest epochs are searched for."""


def solve(model: Any, limits: Limits) -> Result:
    """Solve a `Partition` or `Rectangles`.

    Where a heuristic meets the bound nothing is searched. Where none does, the optimum still mostly
    is the bound: so it is asked first whether it can be met, which is easier than to optimize.

    Parameters
    ----------
    model : Partition or Rectangles
        The formulation.
    limits : Limits
        When to stop.
    """
    from solvers import cpsat

    began = time.perf_counter()
    bound, start = model.bound(), _start(model)
    interrupted = False
    met = start is not None and model.instance.objective_of(start) <= bound
    if not met and not model.native and hasattr(model, "within"):
        question = model.within(round(bound) // model.instance.nodes)
        if question is not None:
            answer = cpsat.solve(question, _patience(limits, began), bound=bound)
            if answer.proven:
                return _timed(answer, limits, began, model)
            interrupted = answer.termination == "interrupted"
            if answer.termination == "infeasible":
                bound += model.instance.nodes
    left = replace(limits, time_limit=0.0) if interrupted else _left(limits, began)
    result = cpsat.solve(model, left, hint=start, bound=bound)
    if interrupted and not result.proven:
        result = msgspec.structs.replace(result, termination="interrupted")
    return _timed(result, limits, began, model)


def _start(model: Any) -> Any | None:
    """Return the best heuristic schedule that keeps all side constraints, None if there is none."""
    from policies.registry import NotApplicableError, registered
    from validation.epoch.jobs import check_constraints
    from validation.report import Report

    instance, best = model.instance, None
    rules = [*instance.constraints, *model.added]
    for name in STARTS[model.name]:
        try:
            found = registered("epoch")[name].run(instance)
        except NotApplicableError:
            found = _rotation(instance)
        report = Report()
        if rules:
            epoch_of = {job: e for e, epoch in enumerate(found.epochs) for job in epoch.nodes}
            check_constraints(epoch_of, rules, report)
        if report.ok and (best is None or found.overhead < best.overhead):
            best = found
    return best


def _rotation(instance: Any) -> Scheduled:
    """Give each job the whole machine in turn: what is always possible (section 4)."""
    total, nodes = len(instance.jobs), instance.nodes
    return Scheduled(
        rectangles={
            job.name: Rectangle(nodes=nodes, start=i / total, end=(i + 1) / total)
            for i, job in enumerate(instance.jobs)
        }
    )


def _patience(limits: Limits, began: float) -> Limits:
    limit = limits.time_limit
    left = _left(limits, began).time_limit
    most = LONGEST if limit is None or left is None else min(LONGEST, left * PATIENCE)
    return replace(limits, time_limit=most, gap=0.0)


def _left(limits: Limits, began: float) -> Limits:
    if limits.time_limit is None:
        return limits
    spent = time.perf_counter() - began
    return replace(limits, time_limit=max(0.0, limits.time_limit - spent))


def _timed(result: Result, limits: Limits, began: float, model: Any) -> Result:
    """Say what all took: what is not building was solving."""
    build = model.seconds
    seconds = msgspec.structs.replace(
        result.seconds, build=build, solve=max(0.0, time.perf_counter() - began - build)
    )
    options = {**result.options, "gap": limits.gap, "time_limit": limits.time_limit}
    return msgspec.structs.replace(result, seconds=seconds, options=options)
