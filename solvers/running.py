"""What the adapters share: a run that Ctrl-C reaches, and the result that it ends with."""

import platform
import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
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
    """A run of an engine: its clock, and whether it was interrupted.

    ``trace`` has [seconds, incumbent, bound] each time one of the two was new.
    """

    limits: Limits
    trace: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    interrupted: bool = False
    began: float = field(default_factory=now)

    def in_thread(self, work: Callable[[], None], stop: Callable[[], Any]) -> None:
        """Work in a thread of its own, so that Ctrl-C reaches us while an engine works.

        At the first Ctrl-C `stop` asks the engine to end; a second does not wait for it.
        """
        self.began = now()
        ended = threading.Event()  # an interrupted Thread.join may take a live thread for dead

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
                stopping = stopped() and not self.interrupted  # before this began, or unseen
            if stopping:
                self.interrupted = True
                stop()
        worker.join()

    def note(self, best: float | None, bound: float | None) -> None:
        """Add what is known by now to the trace, if it is new."""
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
    """Return the result of a run, not yet checked: `optimal` only where the bound is met.

    ``stopped`` says why it stopped, ``options`` are those beyond the formulation's own, the gap and
    the time limit.
    """
    objective = None if solution is None else value_of(formulation, solution)
    if objective is None and solution is not None:
        solution, message = None, message or "the solver's answer breaks what is asked, by rounding"
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
    """Return a result with the value of the native objective, where the user changed that."""
    if value is None or result.solution is None or not formulation.goal_changed:
        return result
    return result.with_details(objective_of_model=value)


def value_of(formulation: Formulation, solution: Any) -> float | None:
    """Return what a solution is worth to a formulation; None where it breaks what is asked."""
    worth = getattr(formulation, "value_of", formulation.instance.objective_of)(solution)
    return None if worth is None else float(worth)


def with_status(formulation: Formulation, result: Result[Any]) -> Result[Any]:
    """Return a result with the gap and the status that follow from its objective and bound.

    Optimal is what meets its bound, within what the formulation allows for rounding. A bound that
    the solution beats is kept for the alarm that the portfolio raises.
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
"""Seconds between two looks at the clock, and between two chances for Ctrl-C."""


class Search(Protocol):
    """A search that works in short steps and can be interrupted between them."""

    @property
    def value(self) -> float | None:
        """The best objective so far."""

    @property
    def bound(self) -> float | None:
        """The best valid bound so far."""

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether there is nothing left to do."""


@cache
def version() -> str:
    """Return the version of what compiles the searches, numba, and of Python."""
    from importlib.metadata import version as installed

    from schedopt.solvers.compiling import COMPILES

    python = f"Python {platform.python_version()}"
    return f"numba {installed('numba')}, {python}" if COMPILES else python


def plain_version() -> str:
    """Return the version of what searches without compiled code run on."""
    return f"numpy {np.__version__}, Python {platform.python_version()}"


def drive(search: Search, run: Run, *, noise: float = NOISE) -> tuple[Termination, str]:
    """Advance a search until it is done, near enough, out of time or memory, or interrupted.

    Returns why it stopped, and an error message or an empty one: ``optimal`` where the gap is
    closed as far as was asked, or where the search ended without a solution or a bound to compare;
    ``completed`` where it ended with a gap. ``noise`` is the relative gap that counts as none, 0
    for a search without rounding.
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
