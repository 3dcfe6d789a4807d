"""Logs: bounds on any schedule's objective, beside that of the best policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.instances.msfq import Bracketed
from schedopt.solvers.driving import drive, version
from schedopt.solvers.engine import HandOn
from schedopt.solvers.msfq.log_bound import FEW, has_few_starts
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of
from schedopt.solvers.msfq.log_bound.relaxations import relaxed
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.formulations.msfq import LogBound
    from schedopt.solvers.engine import Certificate, Given


def solve(model: LogBound, given: Given) -> Result | HandOn:
    """Bound the objective of any schedule; the model keeps the prices that prove most.

    Prices start from the schedule of the best policy; without one there is no solution.
    """
    run, hint = Run(given.limits), given.start()
    search = BoundSearch(model, hint)
    stopped, message = drive(search, run)
    result = bracketed(model, run, hint, search.bounds, stopped, by=version(), message=message)
    more = result.termination == "completed" and has_few_starts(model, FEW)
    return HandOn(result, result.bound) if more else result


def bracketed(
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
    if result.options.get("best_bound") == "busy-dates" and model.instance.objective == "mean":
        return None  # prices show less, and the checker knows no other way to it
    return model.certificate()


class BoundSearch:
    """The search for a bound on a log: relaxations, then prices; `bounds` has all by name."""

    def __init__(self, model: LogBound, hint: Bracketed | None) -> None:
        self.value = None if hint is None else model.instance.objective_of(hint)
        self.bounds: dict[str, float] = {}
        self._model, self._hint = model, hint
        self._prices: PriceSearch | None = None

    @property
    def bound(self) -> float | None:
        """The greatest bound so far."""
        return max(self.bounds.values(), default=None)

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing left to do."""
        if not self.bounds:
            weighted = self._model.instance.objective == "weighted"
            self.bounds = relaxed(self._model.ticks, weighted=weighted)
            return False
        search = self._prices = self._prices or self._opened()
        done = search.advance(seconds)
        if search.bound is not None:
            self.bounds["prices"] = max(search.bound, 0.0)
            self._model.model = search.best
        return done

    def _opened(self) -> PriceSearch:
        ticks, jobs = self._model.ticks, self._model.instance.jobs
        starts = ticks.submit.astype(np.float64)
        if self._hint is not None:
            starts = (self._hint.starts - jobs.submit[0]) * float(ticks.scale)
        response = np.maximum(starts - ticks.submit, 0) + ticks.run + 1.0
        target = float(response @ ticks.weight)
        if self._hint is None:  # one after the other
            target = float(ticks.weight.sum()) * float(ticks.submit[-1] + ticks.run.sum())
        grid = grid_of(ticks, starts, self._model.cells)
        return PriceSearch(ticks, target, grid, rounds=self._model.rounds)
