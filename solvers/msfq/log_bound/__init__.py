"""Engines of bounds on logs: prices of servers over time, and the linear program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, EngineTask, Partial

if TYPE_CHECKING:
    from schedopt.formulations.msfq import LogBound
    from schedopt.solvers.result import Result

MOST, FEW = 200_000, 20_000
"""Most columns of the linear program, one for each start and tick; and most by default."""


def has_few_starts(model: LogBound, most: int = MOST) -> bool:
    """Return True if the linear program of a log has at most so many columns."""
    if model.several:
        return False
    ticks = model.parts[0].ticks["servers"]
    last = int(ticks.submit[-1]) + int(ticks.run.sum())
    pairs = zip(ticks.submit.tolist(), ticks.run.tolist(), strict=True)
    return ticks.exact and sum((last - submit) * (run + 1) for submit, run in pairs) <= most


class ServerPrices(Engine["LogBound"]):
    """A bound by prices of servers over time, and the best policy."""

    name = "server-prices"
    description = f"any log; the linear program follows up to {FEW:,} starts times ticks"
    proves = "a bound on all schedules that preempt nobody, beside what the best policy gets"
    certificate = "server-prices"

    def solve(self, model: LogBound, task: EngineTask) -> Result | Partial:
        """Improve the prices, and replay the policies."""
        from schedopt.solvers.msfq.log_bound.bracket import solve

        return solve(model, task)


class DeclaredModel(Engine["LogBound"]):
    """The linear program with a column for each start."""

    name = "model"
    description = f"logs with at most {MOST:,} starts times ticks that their jobs then run"
    proves = "the most that prices can prove, as a linear program with a column for each start"
    certificate = "server-prices"

    def accepts(self, model: LogBound) -> bool:
        """Accept short logs."""
        return has_few_starts(model)

    def solve(self, model: LogBound, task: EngineTask) -> Result | Partial:
        """Solve the linear program with HiGHS."""
        from schedopt.solvers.msfq.log_bound.program import solve

        return solve(model, task)


ENGINES = (ServerPrices(), DeclaredModel())
