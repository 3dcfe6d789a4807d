"""Relative values on a box of waiting jobs and beyond it, and the bounds that they prove.

Arrays of values have shape (J + 1, k + 2, I + 1), those of decisions (J + 1, k, I + 1): j large
jobs wait, c small jobs (or, for c = k + 1, a large one) are in service, i small jobs wait. The
symbols are those of `policy_iteration`.

The bounds hold for any number of waiting jobs. Beyond the box the values continue as second-degree
polynomials. For a given policy it suffices that the expression that `upper_bound` maximizes does
not increase in either number of jobs; the increments ``top`` solve the equations of that policy
with infinitely many large jobs waiting.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy.equations import Decisions, Equations, Floats, pad_edge

ROUNDING = 16 * 2.0**-53
"""Relative rounding error of a sum of some ten terms, to the sum of their magnitudes."""


@dataclass(frozen=True)
class ValueParams:
    """Parameters of relative values beyond a box.

    Attributes
    ----------
    tie : float
        The relative difference up to which two decisions tie, and the one in force stays.
    slack : float
        The relative safety margin of second differences.
    most_lifts : int
        The most times that the values of a policy are made steeper beyond its box.
    first_effect : float
        The first guess of how much shortfall one unit of additional slope removes.
    lift : float
        The factor by which slopes are raised further than the shortfall requires.
    """

    tie: float = 1e-13
    slack: float = 1e-3
    most_lifts: int = 8
    first_effect: float = 0.5
    lift: float = 1.2


DEFAULTS = ValueParams()


class Tail(NamedTuple):
    """An extrapolation of relative values to states beyond a box of job counts."""

    top: Floats  # increments of one more large job than J, (k + 2, I + 1)
    side: Floats  # increments of one more small job than I, (k + 2, J + 1)
    bends: tuple[float, float, float]
    """Second differences w, β and e."""


def extend_values(values: Floats, tail: Tail) -> Floats:
    """Return the values extended by 2 large and k + 3 small jobs beyond the box."""
    levels, layers, width = values.shape
    (w, both, e), j, i = tail.bends, np.arange(levels + 2), np.arange(width + layers + 1)
    at_j, at_i = np.minimum(j, levels - 1), np.minimum(i, width - 1)
    m, n = (j - at_j)[:, None, None], (i - at_i)[None, None, :]
    out = values[at_j][:, :, at_i] + m * tail.top[:, at_i] + n * tail.side.T[at_j][:, :, None]
    return np.asarray(out + e * (m * (m - 1) / 2) + w * (n * (n - 1) / 2) + both * (m * n))


def value_decisions(values: Floats, decisions: Decisions | None = None) -> Floats:
    """Return the value after the best decision in each state, or after a policy's decision.

    Beyond its box the policy decides as at its edge.
    """
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
    """Return the cost rate plus expected change of value in each state, and its rounding error.

    For a solution of the equations this is the long-run cost in every state. The values reach one
    level and one column further than the results.
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
    """Return a lower bound on the long-run cost of every policy, less the rounding error.

    With the values h, and the value B(s) of the best decision in s, it is the least of c(s) + Σ
    rate·(B(s') - h(s)) over all states. Beyond the box these are linear but for the decision, and
    the tail ensures that they do not decrease.
    """
    every = extend_values(values, tail)
    out, error = residuals(process, every, value_decisions(every))
    return float((out - error).min())


def upper_bound(process: Process, values: Floats, tail: Tail, decisions: Decisions) -> float:
    """Return an upper bound on the long-run cost of a policy: the largest residual of its states.

    Beyond the box the policy decides as at its edge, where it must start small jobs.
    """
    every = extend_values(values, tail)
    out, error = residuals(process, every, value_decisions(every, decisions))
    out = out + error
    j, i = (np.minimum(np.arange(out.shape[a]), decisions.shape[a] - 1) for a in (0, 2))
    out[:, :-2][decisions[j][:, :, i] != 0] = -np.inf  # the policy never stays here
    return float(out.max())


def improve_decisions(values: Floats, tail: Tail, rule: Decisions) -> int:
    """Replace decisions by better ones, and return how many changed.

    The rule is padded by `pad_edge`. On empty servers a large job never waits for small jobs that
    are not there, and the last column never keeps a small job waiting: so every policy visits few
    states.
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
    better = options.min(axis=0) < now - DEFAULTS.tie * (1.0 + np.abs(now))
    rule[better] = options.argmin(axis=0)[better]
    return int(better.sum())


@dataclass
class PolicyCost:
    """An upper bound on a policy's long-run cost, and the relative values that prove it."""

    cost: float
    values: Floats


def bound_policy_cost(
    process: Process, decisions: Decisions, slopes: tuple[Floats, Floats]
) -> Generator[None, None, PolicyCost | None]:
    """Return an upper bound on the cost of a policy on all states; None if nothing can be proven.

    Beyond the box the policy decides as at its edge, where it must start small jobs. For `slopes`
    see `upper_tail`.
    """
    levels, k, width = decisions.shape
    best, equations = None, Equations(pad_edge(decisions), process.system)
    lifts, raised, short = np.zeros(2), np.zeros(2), np.zeros(2)
    values = np.zeros((levels, k + 2, width))
    for _ in range(DEFAULTS.most_lifts):
        tail = upper_tail(process, decisions, slopes, lifts)
        if tail is None:
            return None
        for _ in range(2):  # the second pass removes rounding errors of the first
            left = box_residuals(process, values, tail, decisions)
            values += equations.solve(left)[1]
            yield
        last, short = short, _shortfalls(values, tail, decisions)
        cost = upper_bound(process, values, tail, decisions)
        if best is None or cost < best.cost:
            best = PolicyCost(cost, values.copy())
        if not (short > 0.0).any():
            break
        closed = np.full(2, DEFAULTS.first_effect)
        np.divide(last - short, raised, out=closed, where=raised > 0.0)
        raised = np.where(short > 0.0, DEFAULTS.lift * short / np.clip(closed, 0.05, 1.0), 0.0)
        lifts = lifts + raised
    return best if best and np.isfinite(best.cost) else None


def _shortfalls(values: Floats, tail: Tail, decisions: Decisions) -> Floats:
    """Return by how much the slopes of the values at the box's edges exceed those of the tail.

    The two numbers are for the top (large jobs) and the side (small jobs). The upper bound of the
    policy's cost does not hold beyond an edge where the number is positive.
    """
    k, leads = decisions.shape[1], decisions[-1, 0] == 2
    top = values[-1, -1] - values[-2, -1] + tail.bends[2] - tail.top[-1]
    side = values[:, k, -1] - values[:, k, -2] + tail.bends[0] - tail.side[k]
    return np.array([top[leads].max(), side.max()])


def edge_slopes(values: Floats) -> tuple[Floats, Floats]:
    """Return the slopes of the values at the top and the side of a box; see `upper_tail`."""
    return values[-1, -1] - values[-2, -1], values[:, -2, -1] - values[:, -2, -2]


def upper_tail(
    process: Process, decisions: Decisions, slopes: tuple[Floats, Floats], lifts: Floats
) -> Tail | None:
    """Return a continuation of values that bounds a policy from above; None if it is unstable.

    With I small jobs waiting the policy must start small jobs.

    Parameters
    ----------
    process : Process
        The decision process.
    decisions : ndarray, shape (J + 1, k, I + 1)
        The policy.
    slopes : tuple of ndarray, shapes (I + 1,) and (J + 1,)
        The known increments of values at the top with a large job in service, and at the side with
        all servers busy with small jobs.
    lifts : ndarray, shape (2,)
        Added to the increments of one large job above the top, and of one small job beyond the
        side.
    """
    k, l1, lk, m1, mk = process.system
    more = 1.0 + DEFAULTS.slack
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
    """Return e, and the increments of a large job, with infinitely many large jobs waiting.

    Both solve large_cost + Σ rate·(top(s') - top(s)) + e·(λ_k - rate of starting a large job) = 0,
    for a slightly larger cost.
    """
    k, l1, lk, m1, _ = process.system
    if not (decisions[0] == 2).any():
        return None
    equations = Equations(pad_edge(decisions[None]), process.system, endless=True)
    cost, grows = np.full(equations.shape, process.large_cost), equations.leads - lk
    beyond = l1 / (k * m1 - l1)  # large jobs' share of one more small job at the side
    cost[:, :, -1] += (1.0 + DEFAULTS.slack) * beyond * process.large_cost
    grows[:, :, -1] -= (1.0 + DEFAULTS.slack) * beyond * lk
    equations.gains = grows
    e, values = equations.solve((1.0 + DEFAULTS.slack) * cost)
    return (e, values[0]) if 0.0 <= e < np.inf else None
