"""Engines of bounds on logs: prices of servers over time, and the linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schedopt.solvers.engine import Engine, EngineTask, Partial

if TYPE_CHECKING:
    from schedopt.formulations.msfq import LogBound
    from schedopt.solvers.result import Result


@dataclass(frozen=True)
class StartLimits:
    """Limits on the size of the time-indexed linear program, in starts times ticks of run time.

    Attributes
    ----------
    accepted : int
        The largest program that is solved on request.
    quick : int
        The largest program that is solved after the search for prices without a request.
    """

    accepted: int = 200_000
    quick: int = 20_000


DEFAULTS = StartLimits()


def has_few_starts(model: LogBound, most: int = DEFAULTS.accepted) -> bool:
    """Return True if the time-indexed linear program of a log has at most ``most`` entries."""
    if model.several:
        return False
    ticks = model.parts[0].ticks["servers"]
    last = int(ticks.submit[-1]) + int(ticks.run.sum())
    pairs = zip(ticks.submit.tolist(), ticks.run.tolist(), strict=True)
    return ticks.exact and sum((last - submit) * (run + 1) for submit, run in pairs) <= most


class ServerPriceEngine(Engine["LogBound"]):
    """A bound by prices of servers over time, and the best policy."""

    name = "server-prices"
    description = "any log; the linear program follows where it is small"
    proves = "a lower bound on every nonpreemptive schedule; the solution is the best policy's"
    certificate = "server-prices"

    def solve(self, model: LogBound, task: EngineTask) -> Result | Partial:
        """Improve the prices, and replay the policies."""
        from schedopt.solvers.msfq.log_bound.bracket import solve

        return solve(model, task)


class DeclaredBound(Engine["LogBound"]):
    """The linear program with a column for each start."""

    name = "model"
    description = f"logs with at most {DEFAULTS.accepted:,} ticks of run time over all starts"
    proves = "the optimum of the linear program with a column for each start"
    needs = "scipy"
    certificate = "server-prices"

    def accepts(self, model: LogBound) -> bool:
        """Return True for a short log."""
        return has_few_starts(model)

    def solve(self, model: LogBound, task: EngineTask) -> Result | Partial:
        """Solve the linear program with HiGHS."""
        from schedopt.solvers.msfq.log_bound.program import solve

        return solve(model, task)


ENGINES = (ServerPriceEngine(), DeclaredBound())
