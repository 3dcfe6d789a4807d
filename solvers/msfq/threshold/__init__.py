"""The threshold of MSFQ: exact response times at each, and what approximates them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedopt.solvers.engine import Engine, EngineTask, Partial, anything

if TYPE_CHECKING:
    from schedopt.formulations.msfq import Threshold
    from schedopt.solvers.result import Result

LIGHT = {2: 0.9, 4: 0.8, 8: 0.6, 16: 0.5, 32: 0.3}
"""Servers, and the load up to which the chains of as few take some minutes at most."""


def has_short_queues(model: Threshold) -> bool:
    """Tell whether the chain is small, of an exact curve."""
    k, load = model.system.k, round(model.system.load, 9)
    short = any(k <= few and load <= most for few, most in LIGHT.items())
    return short and model.method == "exact"


def _solve_by_exact(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.msfq.threshold.exact import solve

    return solve(model, task)


def _solve_by_chain(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.msfq.threshold.chain import solve

    return solve(model, task)


ENGINES = (
    Engine(
        "queues",
        solve=_solve_by_exact,
        accepts=anything,
        description="any threshold, by the method that it names; those that the model "
        "rules out are not "
        "chosen",
        proves="the least of the curve, since every threshold is evaluated; of an approximation "
        "the least of that",
        certificate="none is needed: the checker recomputes an exact curve, and so confirms it "
        "where `model` does not take it",
        confirmed_by="model",
    ),
    Engine(
        "model",
        solve=_solve_by_chain,
        accepts=has_short_queues,
        description="exact curves of few servers that are not busy: "
        + ", ".join(f"{k} to a load of {load}" for k, load in LIGHT.items()),
        proves="the least of the curve, each value from the Markov chain with so much room that "
        "there is none for at most 1e-12 of all time",
        needs="scipy",
    ),
)
"""Read from the top: the first that accepts a threshold, and is worth trying, answers."""
