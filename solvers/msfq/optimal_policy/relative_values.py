"""Relative values on a box of waiting jobs and beyond it: what decisions they make, and prove.

Arrays of values have shape (J + 1, k + 2, I + 1), those of decisions (J + 1, k, I + 1): j large
jobs wait, c small ones (or, c = k + 1, a large one) are in service, i small ones wait.

They bound the cost of a policy for any number of waiting jobs. Beyond a box values go on as
`policy_iteration` says. For a given policy it suffices that what `upper_bound`
looks at does not rise in either number of jobs; ``top`` solves the equations of that policy with
endlessly many large jobs waiting.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy.equations import Decisions, Equations, Floats, pad_edge

TIE = 1e-13
"""Relative difference up to which decisions tie, and the old one stays."""
ROUNDING = 16 * 2.0**-53
"""What an expression of some ten terms may be wrong by, for each unit of its terms' magnitudes."""


SLACK = 1e-3
"""Relative safety margin of second differences."""


class Tail(NamedTuple):
    """How values go on beyond a box."""

    top: Floats  # increment for one large job more than J, (k + 2, I + 1)
    side: Floats  # increment for one small job more than I, (k + 2, J + 1)
    bends: tuple[float, float, float]
    """Second differences: in small jobs, in one of each, in large jobs."""


def extend_values(values: Floats, tail: Tail) -> Floats:
    """Extend values by 2 large and k + 3 small jobs beyond the box."""
    levels, layers, width = values.shape
    (w, both, e), j, i = tail.bends, np.arange(levels + 2), np.arange(width + layers + 1)
    at_j, at_i = np.minimum(j, levels - 1), np.minimum(i, width - 1)
    m, n = (j - at_j)[:, None, None], (i - at_i)[None, None, :]
    out = values[at_j][:, :, at_i] + m * tail.top[:, at_i] + n * tail.side.T[at_j][:, :, None]
    return np.asarray(out + e * (m * (m - 1) / 2) + w * (n * (n - 1) / 2) + both * (m * n))


def value_decisions(values: Floats, decisions: Decisions | None = None) -> Floats:
    """Return the values at events: of the best decision, or of a policy's, at its edge beyond."""
    best, k = values.copy(), values.shape[1] - 2
    rule = decisions
    if rule is not None:
        j, i = (np.minimum(np.arange(best.shape[a]), rule.shape[a] - 1) for a in (0, 2))
        rule = rule[j][:, :, i]
    for c in range(k - 1, -1, -1):
        stay, small = best[:, c, 1:], best[:, c + 1, :-1]
        best[:, c, 1:] = (
            np.minimum(stay, small) if rule is None else np.where(rule[:, c, 1:] == 1, small, stay)
        )
    stay, large = best[1:, 0], values[:-1, k + 1]
    best[1:, 0] = (
        np.minimum(stay, large) if rule is None else np.where(rule[1:, 0] == 2, large, stay)
    )
    return best


def residuals(process: Process, values: Floats, best: Floats) -> tuple[Floats, Floats]:
    """Return the cost per unit of time of each state and its first event, and its rounding error.

    In a solution all of them are the long-run cost. Values reach one level and one small job
    further than what is returned.
    """
    l1, lk, m1, mk = process.system.rates
    here, k = values[:-1, :, :-1], values.shape[1] - 2
    running = np.arange(k + 2.0)[:, None]
    large = running == k + 1
    running = np.where(large, 0.0, running)
    small_jobs = np.arange(here.shape[2]) + running
    large_jobs = np.arange(len(here))[:, None, None] + large
    out = process.small_cost * small_jobs + process.large_cost * large_jobs
    size = np.abs(out) + 0.0
    served = np.where(large, mk, running * m1)
    down = best[:-1, [0, *range(k), 0], :-1]
    for rate, after in ((l1, best[:-1, :, 1:]), (lk, best[1:, :, :-1]), (served, down)):
        out = out + rate * (after - here)
        size = size + rate * (np.abs(after) + np.abs(here))
    return out, ROUNDING * size


def box_residuals(
    process: Process, values: Floats, tail: Tail, decisions: Decisions | None
) -> Floats:
    """Return the residuals on the box itself, of a policy or of the best decisions."""
    every = extend_values(values, tail)
    levels, _, width = values.shape
    return residuals(process, every, value_decisions(every, decisions))[0][:levels, :, :width]


def lower_bound(process: Process, values: Floats, tail: Tail) -> float:
    """Return what every policy costs at least in the long run, by values, rounding taken off.

    With h the values and B(s) the value of the best decision at s, that is the least of
    c(s) + Σ rate·(B(s') - h(s)) over all states. Beyond the box values go on as second-degree
    polynomials in the waiting jobs, so that these are linear there but for the choice; a
    tail takes care of where they go.
    """
    every = extend_values(values, tail)
    out, error = residuals(process, every, value_decisions(every))
    return float((out - error).min())


def upper_bound(process: Process, values: Floats, tail: Tail, decisions: Decisions) -> float:
    """Return what a policy costs at most: the greatest of the same, where it can be.

    Beyond the box it is as at its edge, where small jobs are started.
    """
    every = extend_values(values, tail)
    out, error = residuals(process, every, value_decisions(every, decisions))
    out = out + error
    j, i = (np.minimum(np.arange(out.shape[a]), decisions.shape[a] - 1) for a in (0, 2))
    out[:, :-2][decisions[j][:, :, i] != 0] = -np.inf  # where it never stops
    return float(out.max())


def improve_decisions(values: Floats, tail: Tail, rule: Decisions) -> int:
    """Take the best decisions where they are better than those in force; return how many changed.

    The rule is padded by `pad_edge`. On empty servers a large job is not kept waiting for small
    ones that are not there, and the last small job that there is room for is not kept waiting:
    every policy then visits few states.
    """
    high, k, wide = rule.shape
    every = extend_values(values, tail)
    best = value_decisions(every)
    options = np.full((3, *rule.shape), np.inf)
    options[0] = every[:high, :k, :wide]
    options[0, 1:, 0, 0] = options[0, :, 0, -2] = np.inf
    options[1, :, :, 1:] = best[:high, 1 : k + 1, : wide - 1]
    options[2, 1:, 0] = every[: high - 1, k + 1, :wide]
    now = np.take_along_axis(options, rule[None].astype(np.intp), axis=0)[0]
    better = options.min(axis=0) < now - TIE * (1.0 + np.abs(now))
    rule[better] = options.argmin(axis=0)[better]
    return int(better.sum())


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
    best, equations = None, Equations(pad_edge(decisions), process.system)
    lifts, raised, short = np.zeros(2), np.zeros(2), np.zeros(2)
    values = np.zeros((levels, k + 2, width))
    for _ in range(LIFTS):
        tail = upper_tail(process, decisions, slopes, lifts)
        if tail is None:
            return None
        for _ in range(2):  # the second time takes out rounding errors of the first
            left = box_residuals(process, values, tail, decisions)
            values += equations.solve(left)[1]
            yield
        last, short = short, _shortfalls(values, tail, decisions)
        cost = upper_bound(process, values, tail, decisions)
        if best is None or cost < best.cost:
            best = PolicyCost(cost, values.copy())
        if not (short > 0.0).any():
            break
        closed = np.full(2, CLOSED)
        np.divide(last - short, raised, out=closed, where=raised > 0.0)
        raised = np.where(short > 0.0, MORE * short / np.clip(closed, 0.05, 1.0), 0.0)
        lifts = lifts + raised
    return best if best and np.isfinite(best.cost) else None


def _shortfalls(values: Floats, tail: Tail, decisions: Decisions) -> Floats:
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
    terms = _endless_queue_terms(process, decisions[-1])
    if terms is None:
        return None
    e, top = terms
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
