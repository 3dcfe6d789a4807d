"""Logs: bounds on what any schedule could have got, and the best schedules of windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.formulations.msfq import LogBound
from schedopt.instances.msfq import Bracketed
from schedopt.instances.options import Options
from schedopt.solvers.clock import now
from schedopt.solvers.driving import drive, version
from schedopt.solvers.result import Limits, Result, Seconds
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.solvers.msfq.log_bound.prices import PriceSearch


def solve(model: LogBound, limits: Limits | None = None, hint: Bracketed | None = None) -> Result:
    """Bound what any schedule of a log could have got, beside what the best policy gets.

    The model is left with the prices that prove the most.

    Parameters
    ----------
    model : LogBound
    limits : Limits, optional
        When to stop; by default after the model's rounds.
    hint : Bracketed, optional
        The best policy of several, whose bounds are still to be found. Without one there is a bound
        and no solution.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    began = now()
    run, search = Run(limits or Limits()), BoundSearch(model, hint)
    stopped, message = drive(search, run)
    found = search.bounds
    solution = None if hint is None else msgspec.structs.replace(hint, bounds=found)
    best = max(found, key=lambda name: found[name]) if found else None
    options: Options = {"best_bound": best}
    result = make_result(
        model,
        run,
        solver="server-prices",
        version=version(),
        stopped="completed" if solution is None and stopped == "optimal" else stopped,
        solution=solution,
        bound=search.bound,
        options=options,
        message=message,
    )
    seconds = Seconds(build=model.seconds, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds)


class BoundSearch:
    """The search for a bound on a log: relaxations at once, then prices.

    Attributes
    ----------
    value : float or None
        What the best policy gets.
    bounds : dict of str to float
        By name, all that are known by now.
    """

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
        from schedopt.solvers.msfq.log_bound.relaxations import relaxed

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
        from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of

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
