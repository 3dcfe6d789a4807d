"""The cost of a policy for any number of waiting jobs: an upper bound from relative values.

Beyond a box values go on as `policy_iteration` says. For a given policy it suffices that what
`relative_values.upper_bound` looks at does not rise in either number of jobs; ``top`` solves the
equations of that policy with endlessly many large jobs waiting.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy import relative_values as on
from schedopt.solvers.msfq.optimal_policy.equations import Equations, Floats, pad_edge
from schedopt.solvers.msfq.optimal_policy.relative_values import SLACK, Tail
from schedopt.solvers.msfq.optimal_policy.tables import Decisions

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
    `slopes` see `upper_tail`.
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
    """Return the increments of values at the top and side of a box: see `upper_tail`."""
    return values[-1, -1] - values[-2, -1], values[:, -2, -1] - values[:, -2, -2]


def upper_tail(
    process: Process, decisions: Decisions, slopes: tuple[Floats, Floats], lifts: Floats
) -> Tail | None:
    """Return a tail that bounds a given policy from above; None where it is not stable there.

    Where I small jobs wait the policy must start small ones. `slopes`, shapes (I + 1,) and (J +
    1,), are the known increments of values at the top with a large job in service, and at the side
    with all servers busy on small ones; `lifts` are added to those of one large job above the top,
    and one small one beyond the side.
    """
    k, l1, lk, m1, mk = process.system
    more = 1.0 + SLACK
    found = _endless_queue_terms(process, decisions[-1])
    if found is None:
        return None
    e, top = found
    both = more * (process.large_cost + lk * e) / (k * m1 - l1)
    w = more * (process.small_cost + lk * both) / (k * m1 - l1)
    leads = decisions[-1, 0] == 2
    top += float((slopes[0] + e - top[-1])[leads].max()) + lifts[0]
    line = both * np.arange(len(decisions))
    line = line + max(float((slopes[1] + w - line).max()) + lifts[1], 0.0)
    side = np.tile(line, (k + 2, 1))
    side[-1] += more * (process.small_cost + l1 * w + lk * both) / mk - k * w
    return Tail(top, side, (w, both, e))


def _endless_queue_terms(process: Process, decisions: Decisions) -> tuple[float, Floats] | None:
    """Return e, and what a large job more adds to each state, with endlessly many waiting.

    Both solve large_cost + Σ rate·(top(s') - top(s)) + e·(λ_k - rate of starting a large job) = 0,
    with a little more than the cost.
    """
    k, l1, lk, m1, _ = process.system
    if not (decisions[0] == 2).any():
        return None
    equations = Equations(pad_edge(decisions[None]), process.system, endless=True)
    cost, grows = np.full(equations.shape, process.large_cost), equations.leads - lk
    beyond = l1 / (k * m1 - l1)  # a small job more at the side leaves by as much more to do
    cost[:, :, -1] += (1.0 + SLACK) * beyond * process.large_cost
    grows[:, :, -1] -= (1.0 + SLACK) * beyond * lk
    equations.gains = grows
    e, values = equations.solve((1.0 + SLACK) * cost)
    return (e, values[0]) if 0.0 <= e < np.inf else None
