"""What a policy costs in the system without limits on how many jobs may wait, from above."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from formulations.msfq.process import Process
from solvers.queues import improvement, levels
from solvers.queues.level_kernels import Decisions, Floats
from solvers.queues.policy_iteration import APART
from solvers.queues.tails import Tail, of_policy

MOST_STEPS = 20
"""Corrections of values at most."""
SMALL = 300_000
"""Decisions up to which equations are solved without interpolation."""
LIFTS = 8
"""How often the values of a policy are taken to be steeper beyond its box."""
CLOSED, LARGE_CLOSED = (0.5, 1.2), (0.25, 1.1)
"""The part by which values fall short less where they are taken to be steeper, as a guess, and by
how much more they are; for small boxes and for large ones."""


@dataclass
class Attained:
    """What a policy costs in the long run, from above.

    Attributes
    ----------
    cost : float
        No more than this.
    values : ndarray
        Relative values that prove it.
    """

    cost: float
    values: Floats


def attained(
    process: Process,
    decisions: Decisions,
    slopes: tuple[Floats, Floats],
    tolerance: float,
    start: Floats | None = None,
) -> Generator[None, None, Attained | None]:
    """Evaluate a policy on all states; None where nothing can be said.

    Parameters
    ----------
    process : Process
    decisions : ndarray
        The policy: beyond the box what it is at its edge, where it must start small jobs.
    slopes : tuple of ndarray
        See `tails.of_policy`.
    tolerance : float
        Relative.
    start : ndarray, optional
        Values to start from.
    """
    values = np.zeros((len(decisions), process.system.k + 2, decisions.shape[2]))
    if start is not None:
        values[:] = start
    found = None
    lifts, raised = np.zeros(2), np.zeros(2)
    short = np.zeros(2)
    guess, more = LARGE_CLOSED if decisions.size > SMALL else CLOSED
    for _ in range(LIFTS):
        tail = of_policy(process, decisions, slopes, lifts)
        if tail is None:
            return None
        lowest, highest = yield from _settled(process, decisions, tail, values, tolerance)
        if found is None or highest < found.cost:
            found = Attained(highest, values.copy())
        if highest - lowest <= 10.0 * tolerance * highest:
            break
        last, short = short, _shortfalls(decisions, values, tail)
        if (short <= 0.0).all():
            break
        closed = np.where(raised > 0.0, (last - short) / np.maximum(raised, 1e-300), guess)
        raised = np.where(short > 0.0, more * short / np.clip(closed, 0.05, 1.0), 0.0)
        lifts = lifts + raised
    return found


def _shortfalls(decisions: Decisions, values: Floats, tail: Tail) -> Floats:
    """Return by how much values rise more below top and side than they are taken to do beyond."""
    k, leads = decisions.shape[1], decisions[-1, 0] == 2
    top = values[-1, -1] - values[-2, -1] + tail.bends[2] - tail.top[-1]
    side = values[:, k, -1] - values[:, k, -2] + tail.bends[0] - tail.side[k]
    return np.array([top[leads].max(), side.max()])


def _settled(
    process: Process, decisions: Decisions, tail: Tail, values: Floats, tolerance: float
) -> Generator[None, None, tuple[float, float]]:
    """Correct a policy's values until they change no more; return bounds on its cost."""
    rates = process.system.rates
    costs = (process.small_cost, process.large_cost)
    levels_, layers, width = values.shape
    best, left = np.zeros((levels_ + 1, layers, width + 1)), np.empty_like(values)
    before, gain = np.inf, 0.0
    apart = APART if decisions.size > SMALL else 1
    for step in range(MOST_STEPS):
        improvement.at_events(values, best, decisions, False, tail.top, tail.side)
        improvement.residuals(values, best, rates, costs, left)
        spread = float(np.ptp(left))
        if step and not tolerance * abs(gain) < spread < 0.9 * before:
            break
        before = spread
        solved = yield from levels.solve(decisions, (left,), rates, apart)
        values += solved.values
        gain = float(solved.gains[0])
    improvement.at_events(values, best, decisions, False, tail.top, tail.side)
    improvement.sweep(
        values, best, decisions, False, rates, costs, gain, tail.top, tail.side, 1
    )  # fmt: skip
    lowest, highest = improvement.proven(
        values, decisions, False, rates, costs, tail.top, tail.side, tail.bends
    )
    yield
    return lowest, highest


def slopes_of(process: Process, values: Floats) -> tuple[Floats, Floats]:
    """Return what values rise by at the top and at the side of a box: see `tails.of_policy`."""
    k = process.system.k
    return values[-1, -1] - values[-2, -1], values[:, k, -1] - values[:, k, -2]
