"""The exact knapsack algorithm for formulations that are a plain knapsack.

The algorithm itself is a policy (`policies.dssp.core`) and is handed in: solvers know formulations
only by their protocol.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from formulations.protocol import Formulation, Knapsack
from solvers.result import (
    NOISE,
    Limits,
    Result,
    Seconds,
    SolutionStatus,
    Termination,
    as_document,
    gap,
    settled,
)

STEP = 0.1
"""Seconds between two looks at the clock, and between two chances for Ctrl-C."""


class Algorithm(Protocol):
    """An exact knapsack algorithm that can be stopped: see `policies.dssp.core.Core`."""

    @property
    def value(self) -> float:
        """The best total reward so far."""
        ...

    @property
    def bound(self) -> float:
        """A valid upper bound so far."""
        ...

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether the optimum is proven."""
        ...

    def chosen(self) -> NDArray[np.bool_]:
        """Return the best selection so far, shape (n,)."""
        ...


def version() -> str:
    """Return the engine's version: numba's, which compiles it."""
    from importlib.metadata import version as installed

    return f"numba {installed('numba')}, Python {platform.python_version()}"


def solve(
    formulation: Formulation,
    knapsack: Knapsack,
    algorithm: Callable[..., Algorithm],
    limits: Limits | None = None,
) -> Result:
    """Solve a formulation that is a plain knapsack.

    Parameters
    ----------
    formulation : Formulation
        It.
    knapsack : Knapsack
        Its rewards, demands and room.
    algorithm : callable
        Builds the algorithm from these three.
    limits : Limits, optional
        When to stop; by default with a proof.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    limits = limits or Limits()
    began = time.perf_counter()
    run = algorithm(knapsack.rewards, knapsack.demands, knapsack.room)
    trace: list[tuple[float, float | None, float | None]] = []
    stopped, message = _drive(run, limits, began, trace)
    solution: Any = formulation.selected(knapsack.positions[run.chosen()])  # type: ignore[attr-defined]
    objective = formulation.instance.objective_of(solution)
    bound = settled(objective, run.bound)
    distance = gap(objective, bound)
    quality: SolutionStatus = "optimal" if distance == 0.0 else "feasible"
    spent = time.perf_counter() - began
    trace.append((round(spent, 6), objective, bound))
    return Result(
        instance=formulation.instance.name,
        problem=formulation.problem,
        formulation=formulation.name,
        solver="core",
        version={"solver": version()},
        termination=stopped,
        solution_status=quality,
        sense=formulation.sense,
        objective=objective,
        bound=bound,
        gap=distance,
        seconds=Seconds(build=formulation.seconds, solve=spent),
        seed=limits.seed,
        options={**formulation.options, "gap": limits.gap, "time_limit": limits.time_limit},
        trace=tuple(trace),
        message=message or msgspec.UNSET,
        solution=as_document(solution),
    )


def _drive(
    run: Algorithm,
    limits: Limits,
    began: float,
    trace: list[tuple[float, float | None, float | None]],
) -> tuple[Termination, str]:
    """Advance until proven, near enough, out of time or memory, or interrupted."""
    try:
        while True:
            spent = time.perf_counter() - began
            left = STEP if limits.time_limit is None else min(STEP, limits.time_limit - spent)
            if run.advance(max(left, 0.0)):
                return "optimal", ""
            spent = time.perf_counter() - began
            if not trace or trace[-1][1:] != (run.value, run.bound):
                trace.append((round(spent, 6), run.value, run.bound))
            if limits.watch:
                limits.watch(spent, run.value, run.bound)
            if (gap(run.value, run.bound) or 0.0) <= max(limits.gap, NOISE):
                return "optimal", ""
            if limits.time_limit is not None and spent >= limits.time_limit:
                return "time-limit", ""
    except KeyboardInterrupt:
        return "interrupted", ""
    except MemoryError as error:
        return "error", str(error)
