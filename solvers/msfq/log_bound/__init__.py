"""Bounds on logs: relaxations, and prices of servers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedopt.solvers.engine import Engine, EngineTask, Partial, anything

if TYPE_CHECKING:
    from schedopt.formulations.msfq import LogBound
    from schedopt.solvers.result import Result

MOST, FEW = 200_000, 20_000
"""Starts, each as often as its job runs for a tick, up to which a column for each is written; and
up to which that takes so little time that it is done unasked."""


def has_few_starts(model: LogBound, most: int = MOST) -> bool:
    """Tell whether a log is so short, in ticks, that there can be a column for each start."""
    if model.several:
        return False
    ticks = model.parts[0].ticks["servers"]
    last = int(ticks.submit[-1]) + int(ticks.run.sum())
    pairs = zip(ticks.submit.tolist(), ticks.run.tolist(), strict=True)
    return ticks.exact and sum((last - submit) * (run + 1) for submit, run in pairs) <= most


def _solve_by_bracket(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.msfq.log_bound.bracket import solve

    return solve(model, task)


def _solve_by_program(model: Any, task: EngineTask) -> Result | Partial:
    from schedopt.solvers.msfq.log_bound.program import solve

    return solve(model, task)


ENGINES = (
    Engine(
        "server-prices",
        solve=_solve_by_bracket,
        accepts=anything,
        description=f"any log; the linear program follows up to {FEW:,} starts times ticks",
        proves="a bound on all schedules that preempt nobody, beside what the best policy gets",
        certificate="server-prices",
    ),
    Engine(
        "model",
        solve=_solve_by_program,
        accepts=has_few_starts,
        description=f"logs with at most {MOST:,} starts times ticks that their jobs then run",
        proves="the most that prices can prove, as a linear program with a column for each start",
        certificate="server-prices",
    ),
)
"""Read from the top: the first that accepts a log, and is worth trying, answers."""
