"""The cost of a given policy, for any number of waiting jobs."""

from collections.abc import Callable, Generator

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy.attained import Attained, attained, slopes_of
from schedopt.solvers.msfq.optimal_policy.level_kernels import Decisions

Rule = Callable[[int, int, int], int]
"""What to do with c small jobs in service while i small and j large ones wait: 0 nothing, 1 start a
small one, 2 start a large one (on empty servers)."""


def two_threshold(l: int, b0: float = np.inf, b1: float = 0.0, b2: float = np.inf) -> Rule:
    """Return the two-threshold rule; without bounds and for l <= k - 2 it is lazy MSFQ.

    While a large job waits no small one is started if at most l are in service, unless b2 of them
    wait. On empty servers a large job is started if fewer than b0 + b1·j small ones wait.
    """

    def rule(c: int, i: int, j: int) -> int:
        if c == 0 and j and (i == 0 or i < b0 + b1 * j):
            return 2
        if c and j and c <= l and i < b2:
            return 0
        return 1 if i else 0

    return rule


def decisions_of(rule: Rule, k: int, box: tuple[int, int]) -> Decisions:
    """Return a rule for k servers as decisions, shape (J + 1, k, I + 1), for a box (I, J).

    Beyond the box the decisions at its edge apply. Where I small jobs wait one is started, whatever
    the rule says.
    """
    out = np.zeros((box[1] + 1, k, box[0] + 1), np.int8)
    for j, c, i in np.ndindex(out.shape):
        wanted = 1 if i == box[0] else rule(c, i, j)
        if (wanted == 1 and i) or (wanted == 2 and c == 0 and j):
            out[j, c, i] = wanted
    return out


def cost_of(process: Process, decisions: Decisions, tolerance: float = 1e-9) -> float:
    """Return a policy's long-run cost per unit of time, infinite unless it is shown to be stable.

    The box must be so large that it is seldom left: what happens beyond is bounded, and adds to the
    cost. The tolerance is relative.
    """
    worth = _ended(evaluation(process, decisions, tolerance))
    return np.inf if worth is None else worth.cost


def evaluation(
    process: Process, decisions: Decisions, tolerance: float
) -> Generator[None, None, Attained | None]:
    """Evaluate a policy without known values, stoppable after each step."""
    levels, k, width = decisions.shape
    values = np.zeros((levels, k + 2, width))
    worth: Attained | None = None
    for _ in range(2):  # the first values tell how steep they are
        slopes = slopes_of(process, values)
        worth = yield from attained(process, decisions, slopes, tolerance, values)
        if worth is None:
            break
        values = worth.values
    return worth


def _ended(steps: Generator[None, None, Attained | None]) -> Attained | None:
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            found: Attained | None = ended.value
            return found
