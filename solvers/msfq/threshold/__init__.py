"""Engines of the threshold of MSFQ: the analysis of the paper, and Markov chains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schedopt.formulations.msfq import Threshold
from schedopt.instances.msfq import Thresholded
from schedopt.solvers.engine import Engine, EngineTask
from schedopt.solvers.msfq import QueueSearch, run_search
from schedopt.solvers.msfq.threshold import approximation, chain
from schedopt.solvers.msfq.threshold.exact import exact
from schedopt.solvers.result import Result

LIGHT = {2: 0.9, 4: 0.8, 8: 0.6, 16: 0.5, 32: 0.3}
"""Servers, and the largest load at which their chains take some minutes at most."""


class AnalysisEngine(Engine["Threshold"]):
    """Response times at every threshold by the method that the model names."""

    name = "queues"
    description = "any threshold, by the method of the model"
    proves = "the minimum of the curve: every threshold is evaluated, by the method asked for"
    certificate = "not needed: the checker recomputes exact curves"
    confirmed_by = "model"

    def solve(self, model: Threshold, task: EngineTask) -> Result:
        """Evaluate every threshold."""
        return run_search(model, Enumeration(model, evaluate_stages(model)), task.limits)


class ChainEngine(Engine["Threshold"]):
    """Response times at every threshold by the stationary distribution of a Markov chain."""

    name = "model"
    description = "exact curves of few servers at a low load: " + ", ".join(
        f"{k} up to load {load}" for k, load in LIGHT.items()
    )
    proves = (
        "the minimum of the curve, from Markov chains in which at most 1e-12 of all arrivals are "
        "lost"
    )
    needs = "scipy"

    def accepts(self, model: Threshold) -> bool:
        """Return True for exact curves whose chains are small."""
        k, load = model.system.k, round(model.system.load, 9)
        short = any(k <= few and load <= most for few, most in LIGHT.items())
        return short and model.method == "exact"

    def solve(self, model: Threshold, task: EngineTask) -> Result:
        """Evaluate every threshold by its chain."""
        return run_search(model, Enumeration(model, chain_stages(model)), task.limits)


ENGINES = (AnalysisEngine(), ChainEngine())


class Enumeration(QueueSearch):
    """Evaluation of all thresholds one after the other; it can be stopped after each."""

    def __init__(self, formulation: Threshold, stages: Iterator[int]) -> None:
        self._formulation, self._stages = formulation, stages
        formulation.model.small[:] = formulation.model.large[:] = np.nan

    @property
    def value(self) -> float | None:
        """The best objective so far, None before the first feasible threshold."""
        best = self._formulation.best()
        return None if best is None else float(self._formulation.curve[best])

    @property
    def bound(self) -> float | None:
        """The best objective once all thresholds are evaluated."""
        return self.value if self._done else None

    @property
    def infeasible(self) -> bool:
        """Whether all thresholds are evaluated and each violates a side constraint."""
        return self._done and self.value is None

    def solution(self) -> Thresholded | None:
        """Return the best threshold so far, None before the first feasible one."""
        best = self._formulation.best()
        return None if best is None else self._formulation.solution(best)

    def holds(self, names: frozenset[str]) -> bool:
        """Return True if a threshold satisfies these side constraints."""
        return bool(self._formulation.kept_thresholds(names).any())


def evaluate_stages(formulation: Threshold) -> Iterator[int]:
    """Evaluate all thresholds, the most promising first, and yield each."""
    model, system = formulation.model, formulation.system
    quick = approximation.paper if formulation.method == "paper" else approximation.area
    curve = quick(system)
    if formulation.method != "exact":
        model.small[:], model.large[:], model.assumption_ok[:] = curve
        yield system.k - 1
        return
    likely = np.argsort(formulation.objective(curve.small, curve.large), kind="stable")
    for l in likely.tolist():
        model.small[l], model.large[l] = exact(system, l)
        yield l


def chain_stages(formulation: Threshold) -> Iterator[int]:
    """Evaluate all thresholds by their Markov chains, and yield each."""
    model, system = formulation.model, formulation.system
    for l in range(system.k):
        model.small[l], model.large[l] = chain.response_times(system, l)
        yield l
