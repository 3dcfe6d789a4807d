"""Solve a selection that is a plain knapsack with the exact core algorithm."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from solvers.driving import Search, drive, version
from solvers.knapsack.search import Core
from solvers.result import Limits, Result, Seconds
from solvers.running import Run, make_result

if TYPE_CHECKING:
    from formulations.dssp.selection import Selection

Floats = NDArray[np.float64]


class Algorithm(Search, Protocol):
    """An exact knapsack algorithm that can be stopped, such as `Core`."""

    def chosen(self) -> NDArray[np.bool_]:
        """Return the best selection so far, shape (n,)."""
        ...


Start = Callable[[Floats, Floats, float], Algorithm]
"""Starts an algorithm on rewards and demands, shape (n,) each, and room."""


class NotPlainError(ValueError):
    """The selection is no plain knapsack: something beside equations 1 and 2 is in it."""


def solve(model: Selection, limits: Limits | None = None, *, start: Start | None = None) -> Result:
    """Solve a selection that is a plain knapsack.

    Parameters
    ----------
    model : Selection
        With nothing but equations 1 and 2 in it.
    limits : Limits, optional
        When to stop; by default with a proof.
    start : callable, optional
        Starts the algorithm; by default `Core`, compiled before the clock runs.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.

    Raises
    ------
    NotPlainError
        If something else is in the model.
    """
    knapsack = model.plain()
    if knapsack is None:
        raise NotPlainError("the selection has side constraints or native changes")
    if start is None:
        _compile()
        start = Core
    began = time.perf_counter()
    search = start(knapsack.rewards, knapsack.demands, knapsack.room)
    run = Run(limits or Limits())
    stopped, message = drive(search, run)
    result = make_result(
        model,
        run,
        solver="core",
        version=version(),
        stopped=stopped,
        solution=model.selected(knapsack.positions[search.chosen()]),
        bound=search.bound,
        options={},
        message=message,
    )
    seconds = Seconds(build=model.seconds, solve=time.perf_counter() - began)
    return msgspec.structs.replace(result, seconds=seconds)


@cache
def _compile() -> None:
    """Run the algorithm once on next to nothing, so that compiling is not counted as solving."""
    Core([2.0, 1.0], [1.0, 1.0], 1.0).advance(0.0)
