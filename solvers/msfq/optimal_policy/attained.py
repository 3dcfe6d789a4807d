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
SMALL, LARGE = 20_000, 300_000
"""Decisions up to which equations are solved without interpolation, and from which on a box is
large."""
SWEEPS = 6
"""Sweeps after each correction: they smooth out interpolation errors."""
MEMORY = 4
"""Earlier steps that the acceleration uses."""
ROUGHLY = 1e-3
"""Relative accuracy of corrections before values are made steeper beyond the box."""
LIFTS = 8
"""How often a policy's values are made steeper beyond its box."""
CLOSED, LARGE_CLOSED = (0.5, 1.2), (0.25, 1.1)
"""First guess of how much shortfall one unit of extra slope closes, and the factor by which slopes
are then raised further than needed; for small boxes and for large ones."""


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
    start: Floats | None = None,
) -> Generator[None, None, Attained | None]:
    """Evaluate a policy on all states; None where nothing can be proven.

    Beyond the box the policy is what it is at its edge, where it must start small jobs. For
    `slopes` see `tails.of_policy`; the tolerance is relative; `start` holds values to start from.
    """
    values = np.zeros((len(decisions), process.system.k + 2, decisions.shape[2]))
    if start is not None:
        values[:] = start
    found = None
    lifts, raised = np.zeros(2), np.zeros(2)
    short = np.zeros(2)
    guess, more = LARGE_CLOSED if decisions.size > LARGE else CLOSED
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
        closed = np.full(2, guess)
        np.divide(last - short, raised, out=closed, where=raised > 0.0)
        raised = np.where(short > 0.0, more * short / np.clip(closed, 0.05, 1.0), 0.0)
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
    past: list[tuple[Floats, Floats]] = []
    for step in range(MOST_STEPS):
        improvement.at_events(box)
        improvement.residuals(box, left)
        spread = float(np.ptp(left))
        if step and not tolerance * abs(float(left.mean())) < spread < 2.0 * before:
            break
        before = spread
        solved = yield from levels.solve(decisions, (left,), box.rates, apart)
        start = values.copy()
        values += solved.values
        if apart == 1:
            continue
        improvement.at_events(box)
        for _ in range(SWEEPS):
            improvement.sweep(box, float(solved.gains[0]))
            yield
        _accelerated(start, values, past)


def _accelerated(start: Floats, values: Floats, past: list[tuple[Floats, Floats]]) -> None:
    """Improve `values`, the result of a step from `start`, by Anderson acceleration.

    Source: Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM Journal on
    Numerical Analysis 49, 2011. `past` holds what the last steps led to, and how far they went; it
    is added to.
    """
    past.append((values.copy(), values - start))
    del past[: -MEMORY - 1]
    if len(past) < 2:
        return
    ends, steps = zip(*past, strict=True)
    newest = steps[-1].ravel()
    changes = [newest - step.ravel() for step in steps[:-1]]
    gram = np.array([[a @ b for b in changes] for a in changes])
    gram += 1e-12 * np.trace(gram) * np.eye(len(gram))
    weights = np.linalg.solve(gram, np.array([a @ newest for a in changes]))
    for weight, end in zip(weights, ends[:-1], strict=True):
        values -= weight * (ends[-1] - end)


def slopes_of(process: Process, values: Floats) -> tuple[Floats, Floats]:
    """Return the increments of values at the top and side of a box: see `tails.of_policy`."""
    k = process.system.k
    return values[-1, -1] - values[-2, -1], values[:, k, -1] - values[:, k, -2]


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
