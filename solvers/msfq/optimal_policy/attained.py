"""The cost of a policy for any number of waiting jobs, and an upper bound on it."""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from schedopt.formulations.msfq.process import Process
from schedopt.solvers.msfq.optimal_policy import improvement, levels
from schedopt.solvers.msfq.optimal_policy.improvement import Box
from schedopt.solvers.msfq.optimal_policy.level_kernels import Decisions, Floats
from schedopt.solvers.msfq.optimal_policy.policy_iteration import APART
from schedopt.solvers.msfq.optimal_policy.tails import of_policy

MOST_STEPS = 20
"""Corrections of values at most."""
SMALL = 20_000
"""Decisions up to which equations are solved without interpolation."""
SWEEPS = 6
"""Sweeps after each correction: they smooth out interpolation errors."""
ROUGHLY = 1e-3
"""Relative accuracy of corrections before values are made steeper beyond the box."""
LIFTS = 8
"""How often a policy's values are made steeper beyond its box."""
CLOSED, MORE = 0.5, 1.2
"""First guess of how much shortfall one unit of extra slope closes, and the factor by which slopes
are then raised further than needed."""


@dataclass
class Attained:
    """An upper bound on a policy's long-run cost, and the relative values that prove it."""

    cost: float
    values: Floats


def attained(
    process: Process,
    decisions: Decisions,
    slopes: tuple[Floats, Floats],
    tolerance: float,
    start: Floats,
) -> Generator[None, None, Attained | None]:
    """Evaluate a policy on all states; None where nothing can be proven.

    Beyond the box the policy is what it is at its edge, where it must start small jobs. For
    `slopes` see `tails.of_policy`; the tolerance is relative; `start` holds values to start from.
    """
    values, found = start.copy(), None
    lifts, raised = np.zeros(2), np.zeros(2)
    short = np.zeros(2)
    for _ in range(LIFTS):
        tail = of_policy(process, decisions, slopes, lifts)
        if tail is None:
            return None
        box = Box.of(process, values, decisions, tail, free=False)
        yield from _settled(box, max(tolerance, ROUGHLY))
        last, short = short, _shortfalls(box)
        if (short <= 0.0).all() and tolerance < ROUGHLY:
            yield from _settled(box, tolerance)
            short = _shortfalls(box)
        _, highest = improvement.proven(box)
        if found is None or highest < found.cost:
            found = Attained(highest, values.copy())
        if (short <= 0.0).all():
            break
        closed = np.full(2, CLOSED)
        np.divide(last - short, raised, out=closed, where=raised > 0.0)
        raised = np.where(short > 0.0, MORE * short / np.clip(closed, 0.05, 1.0), 0.0)
        lifts = lifts + raised
    return found


def _shortfalls(box: Box) -> Floats:
    """Return how much steeper values rise below the top and side than is assumed beyond them."""
    values, decisions, tail = box.values, box.decisions, box.tail
    k, leads = decisions.shape[1], decisions[-1, 0] == 2
    top = values[-1, -1] - values[-2, -1] + tail.bends[2] - tail.top[-1]
    side = values[:, k, -1] - values[:, k, -2] + tail.bends[0] - tail.side[k]
    return np.array([top[leads].max(), side.max()])


def _settled(box: Box, tolerance: float) -> Generator[None, None, None]:
    """Correct a policy's values until they hardly change."""
    values, decisions, left = box.values, box.decisions, np.empty_like(box.values)
    before = np.inf
    apart = APART if decisions.size > SMALL else 1
    for step in range(MOST_STEPS):
        improvement.at_events(box)
        improvement.residuals(box, left)
        spread = float(np.ptp(left))
        if step and not tolerance * abs(float(left.mean())) < spread < 2.0 * before:
            break
        before = spread
        solved = yield from levels.solve(decisions, (left,), box.rates, apart)
        values += solved.values
        if apart == 1:
            continue
        improvement.at_events(box)
        for _ in range(SWEEPS):
            improvement.sweep(box, float(solved.gains[0]))
            yield


def slopes_of(process: Process, values: Floats) -> tuple[Floats, Floats]:
    """Return the increments of values at the top and side of a box: see `tails.of_policy`."""
    k = process.system.k
    return values[-1, -1] - values[-2, -1], values[:, k, -1] - values[:, k, -2]
