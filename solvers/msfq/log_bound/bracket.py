"""Logs: bounds on any schedule's objective, beside that of the best policy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.instances.msfq import Bracketed
from schedopt.solvers.clock import now
from schedopt.solvers.driving import drive, version
from schedopt.solvers.engine import Partial
from schedopt.solvers.msfq.log_bound import FEW, has_few_starts
from schedopt.solvers.msfq.log_bound.prices import Floats, PriceSearch, grid_of
from schedopt.solvers.msfq.log_bound.relaxations import (
    OPENED,
    relaxation_bounds,
    rounded_down,
)
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.formulations.msfq import LogBound
    from schedopt.formulations.msfq.log_bound import Prices, Ticks
    from schedopt.solvers.engine import Certificate, EngineTask


def solve(model: LogBound, task: EngineTask) -> Result | Partial:
    """Bound the objective of any schedule; the model keeps the prices that prove most.

    Prices start from the schedule of the best policy; without one there is no solution.
    """
    run, hint = Run(task.limits), task.heuristic()
    search, limit = BoundSearch(model, hint), task.limits.time_limit
    if limit is not None:
        search.until = run.began + limit
    stopped, message = drive(search, run)
    if search.late and stopped == "completed":
        stopped, message = "time-limit", "there was no time for prices of so many jobs"
    result = bracket_result(model, run, hint, search.bounds, stopped, by=version(), message=message)
    more = result.termination == "completed" and has_few_starts(model, FEW)
    return Partial(result, result.bound) if more else result


def bracket_result(
    model: LogBound,
    run: Run,
    hint: Bracketed | None,
    bounds: dict[str, float],
    stopped: Termination,
    *,
    by: str,
    message: str = "",
) -> Result:
    """Return bounds by name beside what the best policy gets, if there is one."""
    result = make_result(
        model,
        run,
        solver="server-prices",
        version=by,
        stopped="completed" if hint is None and stopped == "optimal" else stopped,
        solution=None if hint is None else msgspec.structs.replace(hint, bounds=bounds),
        bound=max(bounds.values(), default=None),
        options={"best_bound": max(bounds, key=lambda name: bounds[name]) if bounds else None},
        message=message,
    )
    return msgspec.structs.replace(result, termination="optimal") if result.proven else result


def certify(
    model: LogBound, result: Result, limits: Limits, holds: Callable[[Certificate], bool]
) -> Certificate | None:
    """Return the model's prices, where these prove the bound."""
    return model.certificate()


class BoundSearch:
    """The search for a bound on a log: relaxations, then prices; `bounds` has all by name.

    Of several partitions the bounds are summed by name, of several resources the best counts, and
    ``parts`` is the sum of what is best in each partition, whatever it is called.
    """

    def __init__(self, model: LogBound, hint: Bracketed | None) -> None:
        self.value = None if hint is None else model.instance.objective_of(hint)
        self.bounds: dict[str, float] = {}
        self.until = inf
        self._model = model
        submit = model.instance.jobs.submit
        starts = None if hint is None else hint.starts
        self._parts: list[dict[str, _MachineSearch]] = []
        for part in model.parts:
            own = None if starts is None else starts[part.rows] - submit[part.rows][0]
            each = part.ticks.items()
            self._parts.append({name: _MachineSearch(model, one, own, name) for name, one in each})
        self._all = [one for part in self._parts for one in part.values()]

    @property
    def bound(self) -> float | None:
        """The greatest bound so far."""
        return max(self.bounds.values(), default=None)

    @property
    def late(self) -> bool:
        """Whether something was left out, since there was no time for it."""
        return any(one.late for one in self._all)

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing left to do."""
        fresh = [one for one in self._all if not one.bounds]
        for one in fresh:
            one.relax(self.until - now())
        if not fresh:
            undone = next(one for one in self._all if not one.done)
            undone.advance(seconds, self.until - now())
        self._sum_partitions()
        return not fresh and all(one.done for one in self._all)

    def _sum_partitions(self) -> None:
        """Add up what partitions show, and keep each one's best prices."""
        sums: dict[str, Fraction] = {}
        weight = sum((part.weight for part in self._model.parts), Fraction(0))
        for part, searches in zip(self._model.parts, self._parts, strict=True):
            best: dict[str, float] = {}
            for resource, one in searches.items():
                if one.best is not None and one.bounds["prices"] > best.get("prices", -1.0):
                    part.prices, part.priced = one.best, resource
                for name, value in one.bounds.items():
                    best[name] = max(value, best.get(name, 0.0))
            if self._model.several:
                best.setdefault("prices", 0.0)
                best["parts"] = max(best.values())
            for name, value in best.items():
                sums[name] = sums.get(name, Fraction(0)) + Fraction(value) * part.weight / weight
        self.bounds = {name: rounded_down(value) for name, value in sums.items()}


class _MachineSearch:
    """The search for a bound on a machine of one resource; ``starts`` are from its first submit."""

    def __init__(self, model: LogBound, ticks: Ticks, starts: Floats | None, resource: str) -> None:
        self.bounds: dict[str, float] = {}
        self.best: Prices | None = None
        self.done = self.late = False
        self._model, self._ticks, self._starts = model, ticks, starts
        self._resource = resource
        self._prices: PriceSearch | None = None

    def relax(self, seconds_left: float) -> None:
        """Bound by relaxations."""
        weighted = self._model.instance.objective == "weighted"
        self.bounds = relaxation_bounds(
            self._ticks, weighted=weighted, of=self._resource, seconds=seconds_left
        )

    def advance(self, seconds: float, seconds_left: float) -> None:
        """Improve prices for about that long."""
        if self._prices is None and len(self._ticks.run) > OPENED * seconds_left:
            self.done = self.late = True  # to have prices to start from takes longer
            return
        search = self._prices = self._prices or self._begin_price_search()
        self.done = search.advance(seconds)
        if search.bound is not None:
            self.bounds["prices"] = max(search.bound, 0.0)
            self.best = search.best

    def _begin_price_search(self) -> PriceSearch:
        """Return a search whose target is the weighted sum of responses that is in hand."""
        ticks, starts = self._ticks, self._ticks.submit.astype(np.float64)
        if self._starts is None:  # one after the other
            target = float(ticks.weight.sum()) * float(ticks.submit[-1] + ticks.run.sum())
        else:
            starts = self._starts * float(ticks.scale)
            response = np.maximum(starts - ticks.submit, 0) + ticks.run + 1.0
            target = float(response @ ticks.weight)
        grid = grid_of(ticks, starts, self._model.options["cells"])
        return PriceSearch(ticks, target, grid, rounds=self._model.options["rounds"])
