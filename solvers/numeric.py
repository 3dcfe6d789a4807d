"""Formulations that bring their own numerical search: enumeration, value iteration."""

from __future__ import annotations

import platform
import time
from typing import Any, Protocol

import msgspec

from formulations.protocol import Formulation
from solvers.conflict import smallest_conflict
from solvers.result import NOISE, Limits, Result, Seconds, Termination, gap
from solvers.running import Run, make_result

STEP = 0.1
"""Seconds between two looks at the clock, and between two chances for Ctrl-C."""


class Search(Protocol):
    """A search that can be stopped: what `Formulation.search` returns."""

    @property
    def value(self) -> float | None:
        """The best objective so far."""
        ...

    @property
    def bound(self) -> float | None:
        """A bound that holds so far."""
        ...

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that nothing keeps the side constraints."""
        ...

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing left to do."""
        ...

    def solution(self) -> Any | None:
        """Return the best solution so far."""
        ...

    def holds(self, names: frozenset[str]) -> bool:
        """Tell whether some side constraints can hold together, once the search is done."""
        ...


def version() -> str:
    """Return the engine's version: numba's, which compiles the searches."""
    from importlib.metadata import version as installed

    return f"numba {installed('numba')}, Python {platform.python_version()}"


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
    search: Search = formulation.search()  # type: ignore[attr-defined]
    run = Run(limits)
    stopped = _drive(search, run)
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
    )
    seconds = Seconds(build=formulation.seconds, solve=time.perf_counter() - began)
    return msgspec.structs.replace(result, seconds=seconds, conflict=conflict)


def _drive(search: Search, run: Run) -> Termination:
    """Advance until done, near enough, out of time, or interrupted."""
    limits = run.limits
    try:
        while True:
            spent = time.perf_counter() - run.began
            left = STEP if limits.time_limit is None else min(STEP, limits.time_limit - spent)
            done = search.advance(max(left, 0.0))
            spent = time.perf_counter() - run.began
            run.note(search.value, search.bound)
            if limits.watch:
                limits.watch(spent, search.value, search.bound)
            distance = gap(search.value, search.bound)
            if done or (distance is not None and distance <= max(limits.gap, NOISE)):
                return "optimal"
            if limits.time_limit is not None and spent >= limits.time_limit:
                return "time-limit"
    except KeyboardInterrupt:
        return "interrupted"
