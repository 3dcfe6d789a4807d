"""The cost of a policy for any number of waiting jobs, and an upper bound on it."""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy import relative_values as on
from schedopt.solvers.msfq.optimal_policy.equations import Equations, Floats, pad_edge
from schedopt.solvers.msfq.optimal_policy.tables import Decisions
from schedopt.solvers.msfq.optimal_policy.tails import upper_tail

LIFTS = 8
"""How often a policy's values are made steeper beyond its box."""
CLOSED, MORE = 0.5, 1.2
"""First guess of how much shortfall one unit of extra slope closes, and the factor by which slopes
are then raised further than needed."""


@dataclass
class PolicyCost:
    """An upper bound on a policy's long-run cost, and the relative values that prove it."""

    cost: float
    values: Floats


def bound_policy_cost(
    process: Process, decisions: Decisions, slopes: tuple[Floats, Floats]
) -> Generator[None, None, PolicyCost | None]:
    """Evaluate a policy on all states; None where nothing can be proven.

    Beyond the box the policy is what it is at its edge, where it must start small jobs. For
    `slopes` see `tails.upper_tail`.
    """
    levels, k, width = decisions.shape
    found, equations = None, Equations(pad_edge(decisions), process.system)
    lifts, raised, short = np.zeros(2), np.zeros(2), np.zeros(2)
    values = np.zeros((levels, k + 2, width))
    for _ in range(LIFTS):
        tail = upper_tail(process, decisions, slopes, lifts)
        if tail is None:
            return None
        for _ in range(2):  # the second time takes out rounding errors of the first
            left = on.box_residuals(process, values, tail, decisions)
            values += equations.solve(left)[1]
            yield
        last, short = short, _shortfalls(values, tail, decisions)
        cost = on.upper_bound(process, values, tail, decisions)
        if found is None or cost < found.cost:
            found = PolicyCost(cost, values.copy())
        if not (short > 0.0).any():
            break
        closed = np.full(2, CLOSED)
        np.divide(last - short, raised, out=closed, where=raised > 0.0)
        raised = np.where(short > 0.0, MORE * short / np.clip(closed, 0.05, 1.0), 0.0)
        lifts = lifts + raised
    return found if found and np.isfinite(found.cost) else None


def _shortfalls(values: Floats, tail: on.Tail, decisions: Decisions) -> Floats:
    """Return how much steeper values rise below the top and side than is assumed beyond them."""
    k, leads = decisions.shape[1], decisions[-1, 0] == 2
    top = values[-1, -1] - values[-2, -1] + tail.bends[2] - tail.top[-1]
    side = values[:, k, -1] - values[:, k, -2] + tail.bends[0] - tail.side[k]
    return np.array([top[leads].max(), side.max()])


def edge_slopes(values: Floats) -> tuple[Floats, Floats]:
    """Return the increments of values at the top and side of a box: see `tails.upper_tail`."""
    return values[-1, -1] - values[-2, -1], values[:, -2, -1] - values[:, -2, -2]
