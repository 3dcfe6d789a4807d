"""Looks at every threshold of MSFQ, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from schedopt.instances.msfq import Thresholded
from schedopt.solvers.msfq.searching import QueueSearch, run_search
from schedopt.solvers.msfq.threshold import approximation
from schedopt.solvers.msfq.threshold.exact import exact

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
    from schedopt.solvers.engine import EngineTask
    from schedopt.solvers.result import Result


def solve(model: Threshold, task: EngineTask) -> Result:
    """Evaluate every threshold by the model's method, and take the best."""
    return run_search(model, Enumeration(model, evaluate_stages(model)), task.limits)


class Enumeration(QueueSearch):
    """Fill in a formulation's table anew, one threshold after the other; stoppable at any time."""

    def __init__(self, formulation: Threshold, stages: Iterator[int]) -> None:
        self._formulation, self._stages = formulation, stages
        formulation.model.small[:] = formulation.model.large[:] = np.nan

    @property
    def value(self) -> float | None:
        """The best objective so far."""
        best = self._formulation.best()
        return None if best is None else float(self._formulation.curve[best])

    @property
    def bound(self) -> float | None:
        """The best objective, once all thresholds are evaluated."""
        return self.value if self._done and not self._formulation.changed else None

    @property
    def infeasible(self) -> bool:
        """Whether every threshold was looked at, and none keeps the side constraints."""
        return self._done and self.value is None

    def solution(self) -> Thresholded | None:
        """Return the best so far."""
        best = self._formulation.best()
        return None if best is None else self._formulation.solution(best)

    def holds(self, names: frozenset[str]) -> bool:
        """Tell whether some threshold keeps these side constraints."""
        return bool(self._formulation.kept(names).any())


def evaluate_stages(formulation: Threshold) -> Iterator[int]:
    """Fill in the table, yielding the threshold after each step."""
    model, system = formulation.model, formulation.system
    quick = approximation.paper if formulation.method == "paper" else approximation.area
    curve = quick(system)
    if formulation.method != "exact":
        model.small[:], model.large[:], model.assumption_ok[:] = curve
        yield system.k - 1
        return
    likely = np.argsort(formulation.objective(curve.small, curve.large), kind="stable")
    for l in likely.tolist():
        model.small[l], model.large[l] = exact(system, l, formulation.variant)
        yield l
