"""Lower bounds on every schedule of a log by prices of servers, and the best policy."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec
import numpy as np

from schedopt.formulations.msfq import LogBound
from schedopt.formulations.msfq.log_bound import PartitionTicks, Ticks
from schedopt.instances.msfq import Bracketed
from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.msfq.log_bound import relaxations
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, drive, make_result, version


class ServerPriceEngine(Engine["LogBound"]):
    """A bound by prices of servers over time, and the best policy."""

    name = "server-prices"
    description = "any log"
    proves = "a lower bound on every nonpreemptive schedule; the solution is the best policy's"
    certificate = "server-prices"

    def solve(self, model: LogBound, task: EngineTask) -> Result:
        """Improve the prices from the schedule of the best policy; the model keeps the best prices.

        Without a policy there is no solution.
        """
        run, hint = Run(task.limits), task.heuristic()
        search = BoundSearch(model, hint)
        stopped, message = drive(search, run)
        bounds = search.bounds
        result = make_result(
            model,
            run,
            solver=self.name,
            version=version(),
            stopped="completed" if hint is None and stopped == "optimal" else stopped,
            solution=None if hint is None else msgspec.structs.replace(hint, bounds=bounds),
            bound=search.bound,
            options={"best_bound": max(bounds, key=lambda name: bounds[name]) if bounds else None},
            message=message,
        )
        return msgspec.structs.replace(result, termination="optimal") if result.proven else result


ENGINES = (ServerPriceEngine(),)


class BoundSearch:
    """The search for a bound on a log: relaxations, then prices.

    Attributes
    ----------
    bounds : dict of str to float
        The bounds by name. Those of several partitions are summed by name; of several resources the
        best one counts. ``parts`` is the sum of the best bounds of the partitions.
    """

    def __init__(self, model: LogBound, hint: Bracketed | None) -> None:
        self.value = None if hint is None else model.instance.objective_of(hint)
        self.bounds: dict[str, float] = {}
        self._model, self._hint = model, hint
        self._found: list[dict[str, dict[str, float]]] = [{} for _ in model.parts]
        self._stages, self._seconds = self._work(), 0.0

    @property
    def bound(self) -> float | None:
        """The greatest bound so far."""
        return max(self.bounds.values(), default=None)

    def advance(self, seconds: float) -> bool:
        """Run for about so many seconds; return True if the search is complete."""
        self._seconds = seconds
        return next(self._stages, self) is self

    def _work(self) -> Iterator[None]:
        """Bound each resource of each partition by relaxations, then improve prices."""
        model, weighted = self._model, self._model.instance.objective == "weighted"
        each = [
            (part, bounds, name)
            for part, bounds in zip(model.parts, self._found, strict=True)
            for name in part.ticks
        ]
        for part, bounds, name in each:
            bounds[name] = relaxations.relaxation_bounds(
                part.ticks[name], weighted=weighted, of=name
            )
        self._sum_partitions()
        yield
        for part, bounds, name in each:
            search, done = self._price_search(part, part.ticks[name]), False
            while not done:
                done = search.advance(self._seconds)
                if search.bound is not None:
                    bounds[name]["prices"] = most = max(search.bound, 0.0)
                    if most >= max(one.get("prices", 0.0) for one in bounds.values()):
                        part.prices, part.priced = search.best, name
                self._sum_partitions()
                yield

    def _price_search(self, part: PartitionTicks, ticks: Ticks) -> PriceSearch:
        """Return a search for prices whose target is the objective of the known schedule."""
        options, starts = self._model.options, ticks.submit.astype(np.float64)
        if self._hint is None:  # one after the other
            target = float(ticks.weight.sum()) * float(ticks.submit[-1] + ticks.run.sum())
        else:
            release = self._model.instance.jobs.released[part.rows]
            starts = (self._hint.starts[part.rows] - release[0]) * float(ticks.scale)
            response = np.maximum(starts - ticks.submit, 0) + ticks.run + 1.0
            target = float(response @ ticks.weight)
        grid = grid_of(ticks, starts, options["cells"])
        return PriceSearch(ticks, target, grid, rounds=options["rounds"])

    def _sum_partitions(self) -> None:
        """Compute the bounds of the whole log from those of its partitions."""
        sums: dict[str, Fraction] = {}
        weight = sum((part.weight for part in self._model.parts), Fraction(0))
        for part, part_bounds in zip(self._model.parts, self._found, strict=True):
            best: dict[str, float] = {}
            for bounds in part_bounds.values():
                for name, value in bounds.items():
                    best[name] = max(value, best.get(name, 0.0))
            if self._model.several:
                best.setdefault("prices", 0.0)
                best["parts"] = max(best.values())
            for name, value in best.items():
                if name not in sums:
                    sums[name] = self._model.delay
                sums[name] += Fraction(value) * part.weight / weight
        self.bounds = {name: relaxations.rounded_down(value) for name, value in sums.items()}
