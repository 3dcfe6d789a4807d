"""The exact knapsack algorithm for formulations that are a plain knapsack.

The algorithm itself is a policy (`policies.dssp.core`) and is handed in: solvers know formulations
only by their protocol.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from formulations.protocol import Formulation, Knapsack
from solvers.driving import Search, drive, version
from solvers.result import Limits, Result, Seconds
from solvers.running import Run, make_result


class Algorithm(Search, Protocol):
    """An exact knapsack algorithm that can be stopped: see `policies.dssp.core.Core`."""

    def chosen(self) -> NDArray[np.bool_]:
        """Return the best selection so far, shape (n,)."""
        ...


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
    stopped, message = drive(search, run)
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
