"""The exact knapsack algorithm for formulations that are a plain knapsack.

The algorithm itself is a policy (`policies.dssp.core`) and is handed in: solvers know formulations
only by their protocol.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from formulations.protocol import Formulation, Knapsack
from solvers.result import NOISE, Limits, Result, Seconds, Termination, gap
from solvers.running import Run, make_result

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
    search = algorithm(knapsack.rewards, knapsack.demands, knapsack.room)
    run = Run(limits)
    stopped, message = _drive(search, run)
    selected = formulation.selected(  # type: ignore[attr-defined]
        knapsack.positions[search.chosen()]
    )
    result = make_result(
        formulation,
        run,
        solver="core",
        version=version(),
        stopped=stopped,
        solution=selected,
        bound=search.bound,
        options={},
        message=message,
    )
    seconds = Seconds(build=formulation.seconds, solve=time.perf_counter() - began)
    return msgspec.structs.replace(result, seconds=seconds)


def _drive(search: Algorithm, run: Run) -> tuple[Termination, str]:
    """Advance until proven, near enough, out of time or memory, or interrupted."""
    limits = run.limits
    try:
        while True:
            spent = time.perf_counter() - run.began
            left = STEP if limits.time_limit is None else min(STEP, limits.time_limit - spent)
            if search.advance(max(left, 0.0)):
                return "optimal", ""
            spent = time.perf_counter() - run.began
            run.note(search.value, search.bound)
            if limits.watch:
                limits.watch(spent, search.value, search.bound)
            if (gap(search.value, search.bound) or 0.0) <= max(limits.gap, NOISE):
                return "optimal", ""
            if limits.time_limit is not None and spent >= limits.time_limit:
                return "time-limit", ""
    except KeyboardInterrupt:
        return "interrupted", ""
    except MemoryError as error:
        return "error", str(error)
