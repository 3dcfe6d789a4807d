"""Relative values on a box of waiting jobs and beyond it: what decisions they make, and prove.

Arrays of values have shape (J + 1, k + 2, I + 1), those of decisions (J + 1, k, I + 1): j large
jobs wait, c small ones (or, c = k + 1, a large one) are in service, i small ones wait.
"""

from typing import NamedTuple

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy.equations import Floats
from schedopt.solvers.msfq.optimal_policy.tables import Decisions

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
