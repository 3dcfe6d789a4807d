"""Formulations that bring their own numerical search: enumeration, value iteration."""

from __future__ import annotations

import time
from typing import Any, Protocol

import msgspec

from formulations.protocol import Formulation
from solvers.conflict import smallest_conflict
from solvers.driving import Search, drive, version
from solvers.result import Limits, Result, Seconds
from solvers.running import Run, make_result


class Enumerating(Search, Protocol):
    """A search that knows side constraints: what `Formulation.search` returns."""

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that nothing keeps the side constraints."""
        ...

    def solution(self) -> Any | None:
        """Return the best solution so far."""
        ...

    def holds(self, names: frozenset[str]) -> bool:
        """Tell whether some side constraints can hold together, once the search is done."""
        ...


def solve(formulation: Formulation, limits: Limits | None = None) -> Result:
    """Solve a formulation that brings its own search.

    Parameters
    ----------
    formulation : Formulation
        With a method ``search``.
    limits : Limits, optional
        When to stop; by default at the end of the search.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    limits = limits or Limits()
    began = time.perf_counter()
    search: Enumerating = formulation.search()  # type: ignore[attr-defined]
    run = Run(limits)
    stopped, message = drive(search, run)
    conflict: tuple[str, ...] = ()
    if search.infeasible:
        stopped = "infeasible"
        conflict = tuple(smallest_conflict(list(formulation.side()), search.holds))
    result = make_result(
        formulation,
        run,
        solver="numeric",
        version=version(),
        stopped=stopped,
        solution=search.solution(),
        bound=search.bound,
        options={},
        message=message,
    )
    seconds = Seconds(build=formulation.seconds, solve=time.perf_counter() - began)
    return msgspec.structs.replace(result, seconds=seconds, conflict=conflict)
