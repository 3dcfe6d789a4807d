"""Solve epochs: a bound, a schedule to start from, then CP-SAT where the two do not meet."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import msgspec

from formulations.epoch.partition import Partition
from formulations.epoch.rectangles import Rectangles
from formulations.epoch.writing import Form
from instances.epoch import Partitioned, Scheduled
from solvers import cpsat
from solvers.epochs.bounding import least_overhead
from solvers.epochs.forms import question, written
from solvers.result import Limits, Result

PATIENCE, LONGEST = 0.5, 30.0
"""The part of the time limit, and the seconds, that the question whether the bound can be met may
take before the fewest epochs are searched for."""


def solve(
    model: Partition | Rectangles, limits: Limits, start: Partitioned | Scheduled | None = None
) -> Result:
    """Solve a `Partition` or `Rectangles`.

    Where the start meets the bound nothing is searched. Where it does not, the optimum still mostly
    is the bound: so it is asked first whether it can be met, which is easier than to optimize.

    Parameters
    ----------
    model : Partition or Rectangles
        The formulation.
    limits : Limits
        When to stop.
    start : Partitioned or Scheduled, optional
        A schedule of the formulation's kind that keeps all side constraints.

    Returns
    -------
    Result
        Not yet checked.
    """
    clock = _Clock(limits)
    if isinstance(model, Rectangles):
        least = float(max(sum(model.narrowest), model.instance.nodes))
        if start is None or model.instance.objective_of(start) > least:
            model.in_order()
        result = cpsat.solve(model, clock.left(), hint=start, bound=least)
        return clock.timed(result, model.seconds)
    return _partition(model, clock, start)


def _partition(model: Partition, clock: _Clock, start: Partitioned | Scheduled | None) -> Result:
    bound = least_overhead(model.instance)
    met = start is not None and model.instance.objective_of(start) <= bound
    form: Form | Partition = model
    interrupted = False
    if not met and not model.native:
        form = written(model)
        asked = question(model, form, round(bound) // model.instance.nodes)
        if asked is not None:
            answer = cpsat.solve(asked, clock.patience(), bound=bound)
            if answer.proven:
                return clock.timed(answer, asked.seconds)
            interrupted = answer.termination == "interrupted"
            if answer.termination == "infeasible":
                bound += model.instance.nodes
    left = clock.left() if not interrupted else replace(clock.limits, time_limit=0.0)
    result = cpsat.solve(form, left, hint=start, bound=bound)
    if interrupted and not result.proven:
        result = msgspec.structs.replace(result, termination="interrupted")
    return clock.timed(result, form.seconds)


@dataclass
class _Clock:
    """What is left of the time limit."""

    limits: Limits
    began: float = field(default_factory=time.perf_counter)

    def left(self) -> Limits:
        """Return the limits for what remains."""
        limit = self.limits.time_limit
        if limit is None:
            return self.limits
        spent = time.perf_counter() - self.began
        return replace(self.limits, time_limit=max(0.0, limit - spent))

    def patience(self) -> Limits:
        """Return the limits for the question whether the bound can be met."""
        left = self.left().time_limit
        most = LONGEST if left is None else min(LONGEST, left * PATIENCE)
        return replace(self.limits, time_limit=most, gap=0.0)

    def timed(self, result: Result, build: float) -> Result:
        """Say what all took: what is not building was solving."""
        spent = time.perf_counter() - self.began
        seconds = msgspec.structs.replace(
            result.seconds, build=build, solve=max(0.0, spent - build)
        )
        options = {
            **result.options,
            "gap": self.limits.gap,
            "time_limit": self.limits.time_limit,
        }
        return msgspec.structs.replace(result, seconds=seconds, options=options)
