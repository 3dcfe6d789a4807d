"""Engines of the threshold of MSFQ: the analysis of the paper, and Markov chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, EngineTask, Partial

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
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

    def solve(self, model: Threshold, task: EngineTask) -> Result | Partial:
        """Evaluate every threshold."""
        from schedopt.solvers.msfq.threshold.exact import solve

        return solve(model, task)


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

    def solve(self, model: Threshold, task: EngineTask) -> Result | Partial:
        """Evaluate every threshold by its chain."""
        from schedopt.solvers.msfq.threshold.chain import solve

        return solve(model, task)


ENGINES = (AnalysisEngine(), ChainEngine())
