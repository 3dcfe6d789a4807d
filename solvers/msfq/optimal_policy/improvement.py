"""Better decisions from values: sweeps of value iteration, greedy policies, and what they prove.

Arrays of values have shape (J + 1, k + 2, I + 1), those of decisions (J + 1, k, I + 1); see
`level_kernels`.
"""

from typing import NamedTuple, Self

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.compiling import compiled, njit
from schedopt.solvers.msfq.optimal_policy.level_kernels import Decisions, Floats, Rates

TIE = 1e-13
"""Relative difference up to which decisions tie, and the old one stays."""
ROUNDING = 16 * 2.0**-53
"""What an expression of some ten terms may be wrong by, for each unit of its terms' magnitudes."""


class Tail(NamedTuple):
    """How values go on beyond a box."""

    top: Floats  # increment for one large job more than J, (k + 2, I + 1)
    side: Floats  # increment for one small job more than I, (k + 2, J + 1)
    bends: tuple[float, float, float]
    """Second differences: in small jobs, in one of each, in large jobs."""


class Box(NamedTuple):
    """Values on a box of waiting jobs, and what they are values of."""

    values: Floats  # (J + 1, k + 2, I + 1)
    best: Floats  # values at events, before a decision, (J + 2, k + 2, I + 2)
    decisions: Decisions  # (J + 1, k, I + 1)
    free: bool  # whether the best decision is taken at events, not the one of `decisions`
    tail: Tail
    rates: Rates
    costs: tuple[float, float]  # of a small and of a large job, per unit of time

    @classmethod
    def of(
        cls, process: Process, values: Floats, decisions: Decisions, tail: Tail, *, free: bool
    ) -> Self:
        """Return a box of a process, whose `best` is still to be filled in."""
        best = np.zeros([size + more for size, more in zip(values.shape, (1, 0, 1), strict=True)])
        costs = float(process.small_cost), float(process.large_cost)
        return cls(values, best, decisions, free, tail, process.system.rates, costs)


@compiled
def _decided(box: Box, j: int, c: int, i: int, stay: float, large: float) -> float:  # noqa: PLR0917
    """Return the value of a state at an event.

    `stay` and `large` are the values of starting nothing, and of starting a large job where c = 0;
    ``best`` must be filled in where one more small job is in service.
    """
    best, decisions = box.best, box.decisions
    if c >= best.shape[1] - 2:
        return stay
    small = best[j, c + 1, i - 1] if i else np.inf
    large = large if c == 0 and j else np.inf
    if box.free:
        return min(stay, small, large)
    what = decisions[min(j, decisions.shape[0] - 1), c, min(i, decisions.shape[2] - 1)]
    return small if what == 1 else (large if what == 2 else stay)


@compiled
def at_events(box: Box) -> None:
    """Fill in the values at events, before a decision."""
    values, best, (top, side, _) = box.values, box.best, box.tail
    levels, layers, width = values.shape
    k = layers - 2
    for j in range(levels + 1):
        for c in range(k + 1, -1, -1):
            for i in range(width + (1 if j < levels else 0)):
                if j == levels:
                    stay = values[j - 1, c, i] + top[c, i]
                elif i == width:
                    stay = values[j, c, i - 1] + side[c, j]
                else:
                    stay = values[j, c, i]
                large = np.inf
                if j and i < width:
                    large = values[j - 1, k + 1, i]
                elif j:
                    large = values[j - 1, k + 1, i - 1] + side[k + 1, j - 1]
                best[j, c, i] = _decided(box, j, c, i, stay, large)


@compiled
def sweep(box: Box, gain: float) -> None:
    """Iterate values in place (Gauss-Seidel), from few jobs to many, at a long-run cost."""
    values, best, costs, (top, side, _) = box.values, box.best, box.costs, box.tail
    l1, lk, m1, mk = box.rates
    levels, layers, width = values.shape
    k = layers - 2
    for j in range(levels):
        for n in range(k + width):
            for c in range(min(k, n), max(-1, n - width), -1):
                i = n - c
                out = costs[0] * n + costs[1] * j - gain
                out += l1 * best[j, c, i + 1] + lk * best[j + 1, c, i]
                if c:
                    out += c * m1 * best[j, c - 1, i]
                out /= l1 + lk + c * m1
                values[j, c, i] = out
                large = values[j - 1, k + 1, i] if j else np.inf
                best[j, c, i] = _decided(box, j, c, i, out, large)
                if i + 1 == width:
                    stay = out + side[c, j]
                    far = large + side[k + 1, j - 1] if j else np.inf
                    best[j, c, i + 1] = _decided(box, j, c, i + 1, stay, far)
                if j + 1 == levels:
                    large = values[j, k + 1, i]
                    best[j + 1, c, i] = _decided(box, j + 1, c, i, out + top[c, i], large)
            if n < width:
                c = k + 1
                out = costs[0] * n + costs[1] * (j + 1) - gain + mk * best[j, 0, n]
                out += l1 * best[j, c, n + 1] + lk * best[j + 1, c, n]
                out /= l1 + lk + mk
                values[j, c, n] = best[j, c, n] = out
                if n + 1 == width:
                    best[j, c, n + 1] = out + side[c, j]
                if j + 1 == levels:
                    best[j + 1, c, n] = out + top[c, n]


@compiled
def residuals(box: Box, out: Floats) -> None:
    """Fill in the cost per unit of time of each state and its first event, by the values.

    In a solution all of them are the long-run cost.
    """
    values, best, costs = box.values, box.best, box.costs
    l1, lk, m1, mk = box.rates
    levels, layers, width = values.shape
    k = layers - 2
    for j in range(levels):
        for c in range(layers):
            large = c == k + 1
            served = mk if large else c * m1
            under = 0 if large else max(c - 1, 0)
            for i in range(width):
                now = values[j, c, i]
                change = l1 * (best[j, c, i + 1] - now) + lk * (best[j + 1, c, i] - now)
                change += served * (best[j, under, i] - now)
                jobs = costs[0] * (i if large else i + c) + costs[1] * (j + 1 if large else j)
                out[j, c, i] = jobs + change


@compiled
def improve(box: Box) -> int:
    """Take the best decisions where they are better than those in force; return how many changed.

    On empty servers a large job is not kept waiting for small ones that are not there, and the
    last small job that there is room for is not kept waiting: every policy then visits few states.
    """
    values, best, decisions = box.values, box.best, box.decisions
    levels, layers, width = values.shape
    k = layers - 2
    changed = 0
    for j in range(levels):
        for c in range(k):
            for i in range(width):
                stay, old = values[j, c, i], decisions[j, c, i]
                small = best[j, c + 1, i - 1] if i else np.inf
                large = values[j - 1, k + 1, i] if c == 0 and j else np.inf
                if c == 0 and ((j and i == 0) or i == width - 1):
                    stay = np.inf
                now = stay if old == 0 else (small if old == 1 else large)
                enough = now - TIE * (1.0 + abs(now))
                new = old
                if stay < enough and stay <= small and stay <= large:
                    new = 0
                elif large < enough and large <= small:
                    new = 2
                elif small < enough:
                    new = 1
                if new != old:
                    decisions[j, c, i] = new
                    changed += 1
    return changed


@compiled
def _beyond(values: Floats, j: int, tail: Tail, out: Floats) -> None:
    """Fill in the values of a level, or of one above the box, shape (k + 2, I + k + 4)."""
    top, side, (small, both, large) = tail
    highest, last = values.shape[0] - 1, values.shape[2] - 1
    m, level = max(j - highest, 0), min(j, highest)
    for c in range(values.shape[1]):
        for i in range(out.shape[1]):
            n, at = max(i - last, 0), min(i, last)
            out[c, i] = values[level, c, at] + m * top[c, at] + n * side[c, level]
            out[c, i] += 0.5 * large * m * (m - 1) + 0.5 * small * n * (n - 1) + both * m * n


@njit(cache=True)
def proven(box: Box) -> tuple[float, float]:
    """Return bounds on long-run costs that values prove, rounding taken off.

    With h the values and B(s) the value of the best decision at s, every policy costs at least the
    least of c(s) + Σ rate·(B(s') - h(s)) over all states. If B is the value of a given policy's
    decision, this policy costs at most the largest of these over the states that it can be in.
    Beyond the box values go on as second-degree polynomials in the waiting jobs, so that these are
    linear there but for the choice; see `tails`, which takes care of where they go.

    Unless ``free``, ``decisions`` is the policy; beyond the box it is as at its edge, where small
    jobs are started.
    """
    values, decisions, free, costs = box.values, box.decisions, box.free, box.costs
    l1, lk, m1, mk = box.rates
    levels, layers, width = values.shape
    k = layers - 2
    wide = width + k + 3
    least, most = np.inf, -np.inf
    now, best = np.empty((layers, wide)), np.empty((layers, wide))
    above, best_above = np.empty((layers, wide)), np.empty((layers, wide))
    for j in range(-1, levels + 2):
        now, above = above, now
        best, best_above = best_above, best
        _beyond(values, j + 1, box.tail, above)
        rule = decisions[min(j + 1, levels - 1)]
        best_above[k:] = above[k:]
        for c in range(k - 1, -1, -1):
            for i in range(wide):
                stay = above[c, i]
                small = best_above[c + 1, i - 1] if i else np.inf
                large = now[k + 1, i] if c == 0 and j >= 0 else np.inf
                what = rule[c, min(i, width - 1)] if i or j >= 0 else 0
                if free:
                    stay = min(stay, small, large)
                elif what == 1 and i:
                    stay = small
                elif what == 2:
                    stay = large
                best_above[c, i] = stay
        if j < 0:
            continue
        stops = decisions[min(j, levels - 1)]
        for c in range(layers):
            large = c == k + 1
            served = mk if large else c * m1
            under = 0 if large else max(c - 1, 0)
            for i in range(wide - 1):
                if not free and c < k and stops[c, min(i, width - 1)]:
                    continue
                here = now[c, i]
                cost = costs[0] * (i if large else i + c) + costs[1] * (j + 1 if large else j)
                up, right, down = best_above[c, i], best[c, i + 1], best[under, i]
                change = l1 * (right - here) + lk * (up - here) + served * (down - here)
                size = l1 * abs(right) + lk * abs(up) + served * abs(down)
                size = ROUNDING * (size + cost + (l1 + lk + served) * abs(here))
                least = min(least, cost + change - size)
                most = max(most, cost + change + size)
    return least, most
