"""Runs of engines: interruption, progress, and the result."""

import platform
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

import msgspec
import numpy as np

from schedopt.formulations.protocol import Formulation
from schedopt.solvers.clock import now
from schedopt.solvers.result import (
    NOISE,
    Limits,
    Result,
    SolutionStatus,
    Termination,
    better,
    gap,
    snap_bound,
)
from schedopt.solvers.stopping import stopped


@dataclass
class Run:
    """A run of an engine: its clock, its progress, and whether it was interrupted.

    ``trace`` has [seconds, incumbent, bound] for each improvement of either.
    """

    limits: Limits
    trace: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    interrupted: bool = False
    began: float = field(default_factory=now)

    def in_thread(self, work: Callable[[], None], stop: Callable[[], Any]) -> None:
        """Run ``work`` in a thread, so that Python handles Ctrl-C while an engine works.

        At the first Ctrl-C, or if the run must end, ``stop`` is called. A second Ctrl-C raises
        `KeyboardInterrupt`.
        """
        self.began = now()
        ended = threading.Event()  # Thread.join may return early if it is interrupted

        def run() -> None:
            try:
                work()
            finally:
                ended.set()

        worker = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
        worker.start()
        while not ended.is_set():
            try:
                ended.wait(0.2)
                if self.limits.watch and self.trace:
                    self.limits.watch(now() - self.began, *self.trace[-1][1:])
            except KeyboardInterrupt:
                if self.interrupted:
                    raise
                stopping = True
            else:
                stopping = stopped() and not self.interrupted
            if stopping:
                self.interrupted = True
                stop()
        worker.join()

    def note(self, best: float | None, bound: float | None) -> None:
        """Add the incumbent and the bound to the trace if one of them is new."""
        best, bound = (None if value is None else float(value) for value in (best, bound))
        if not self.trace or self.trace[-1][1:] != (best, bound):
            self.trace.append((round(now() - self.began, 6), best, bound))


def make_result(
    formulation: Formulation,
    run: Run,
    *,
    solver: str,
    version: str,
    stopped: Termination,
    solution: Any | None = None,
    bound: float | None = None,
    options: Mapping[str, Any] | None = None,
    message: str = "",
) -> Result[Any]:
    """Return the result of a run, not yet checked.

    Parameters
    ----------
    formulation : Formulation
    run : Run
    solver, version : str
        The engine and its version.
    stopped : str
        Why the run stopped.
    solution : solution record, optional
    bound : float, optional
    options : mapping, optional
        Options of the engine, beside those of the formulation, the gap and the time limit.
    message : str
    """
    objective = None if solution is None else value_of(formulation, solution)
    if objective is None and solution is not None:
        solution, message = None, message or "the solver's answer is infeasible by rounding"
    limits = run.limits
    result: Result[Any] = Result(
        instance=formulation.instance.name,
        problem=formulation.problem,
        formulation=formulation.name,
        solver=solver,
        version={"solver": version},
        termination=stopped,
        solution_status="none",
        sense=formulation.sense,
        objective=objective,
        bound=None if bound is None else float(bound),
        seed=limits.seed,
        options={
            **formulation.options,
            "gap": limits.gap,
            "time_limit": limits.time_limit,
            **(options or {}),
        },
        constraints=tuple(formulation.added),
        message=message or msgspec.UNSET,
        solution=solution,
    )
    result = with_status(formulation, result)
    if result.gap is not None:
        run.trace.append((round(now() - run.began, 6), objective, result.bound))
    return result.with_details(trace=tuple(run.trace))


def with_objective_of_model(
    formulation: Formulation, result: Result[Any], value: float | None
) -> Result[Any]:
    """Return the result with the value of the native objective if the user changed it."""
    if value is None or result.solution is None or not formulation.goal_changed:
        return result
    return result.with_details(objective_of_model=value)


def value_of(formulation: Formulation, solution: Any) -> float | None:
    """Return the objective of a solution, or None if the formulation does not allow it."""
    worth = getattr(formulation, "value_of", formulation.instance.objective_of)(solution)
    return None if worth is None else float(worth)


def with_status(formulation: Formulation, result: Result[Any]) -> Result[Any]:
    """Return the result with the gap and the status that follow from objective and bound.

    A solution is optimal if it meets the bound within the formulation's tolerance. A bound that the
    solution beats is kept, so that the portfolio raises the alarm.
    """
    objective, bound, message = result.objective, result.bound, result.message
    if formulation.goal_changed:
        bound = None
        message = message or "the model's own objective was optimized; this is the instance's"
    bound = snap_bound(objective, bound)
    near: float = getattr(formulation, "tolerance", 0.0)
    if objective is not None and bound is not None and better(formulation.sense, objective, bound):
        far = (gap(objective, bound) or 0.0) > near
        if formulation.changed or not far:
            bound = None
            message = message or "the solution beats the claimed bound: no bound is reported"
    distance = gap(objective, bound)
    status: SolutionStatus = "none" if result.solution is None else "feasible"
    if distance is not None and distance <= near:
        status = "optimal"
    return msgspec.structs.replace(
        result, bound=bound, gap=distance, solution_status=status, message=message
    )


STEP = 0.1
"""Seconds between two checks of the clock and of interruptions."""


class Search(Protocol):
    """A search that works in short steps and can be interrupted between them."""

    @property
    def value(self) -> float | None:
        """The best objective so far."""

    @property
    def bound(self) -> float | None:
        """The best valid bound so far."""

    def advance(self, seconds: float) -> bool:
        """Search for about so many seconds; return True if the search has ended."""


@cache
def version() -> str:
    """Return the versions of numba, if it is installed, and of Python."""
    from importlib.metadata import version as installed

    from schedopt.solvers.compiling import COMPILES

    python = f"Python {platform.python_version()}"
    return f"numba {installed('numba')}, {python}" if COMPILES else python


def plain_version() -> str:
    """Return the versions of numpy and of Python, for searches without compiled code."""
    return f"numpy {np.__version__}, Python {platform.python_version()}"


def drive(search: Search, run: Run, *, noise: float = NOISE) -> tuple[Termination, str]:
    """Advance a search until it ends, reaches the gap or the time limit, or is interrupted.

    Parameters
    ----------
    search : Search
    run : Run
    noise : float
        The relative gap that counts as closed; 0 for a search without rounding.

    Returns
    -------
    termination : str
        ``optimal`` if the gap is closed, or if the search ended without a solution or without a
        bound; ``completed`` if it ended with a gap.
    message : str
        The error if memory ran out, else empty.
    """
    limits = run.limits
    try:
        while True:
            spent = now() - run.began
            remaining = STEP if limits.time_limit is None else min(STEP, limits.time_limit - spent)
            done = search.advance(max(remaining, 0.0))
            spent = now() - run.began
            value, bound = search.value, search.bound
            run.note(value, bound)
            if limits.watch:
                limits.watch(spent, value, bound)
            distance = gap(value, bound)
            if distance is not None and distance <= max(limits.gap, noise):
                return "optimal", ""
            if done:
                return "optimal" if distance is None else "completed", ""
            if stopped():
                return "interrupted", ""
            if limits.time_limit is not None and spent >= limits.time_limit:
                return "time-limit", ""
    except KeyboardInterrupt:
        return "interrupted", ""
    except MemoryError as error:
        return "error", str(error)


def remaining_limits(limits: Limits, began: float) -> Limits:
    """Return the limits with the time that is left, for a run that began at a moment of `now`."""
    if limits.time_limit is None:
        return limits
    spent = now() - began
    return replace(limits, time_limit=max(0.0, limits.time_limit - spent))
