"""Orders of few jobs, improved by simulated annealing: schedules that are hard to beat.

An order stands for the schedule in which each job in turn has the earliest start that there is.
Some order stands for a best schedule (Sprecher, Kolisch and Drexl, EJOR 80, 1995).
"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.log_bound import Ticks, Ticks64
from schedopt.solvers.clock import now
from schedopt.solvers.msfq.window.annealing_kernels import anneal

ROUNDS = 40_000
MANY = 64
"""Jobs beyond which there are fewer rounds, since each takes time by the square of the jobs."""
MOST_RUNS, AGREE = 6, 2
"""Runs at most; less where the best was found so often."""
WARM, COLD = 2.0, 0.002
"""The first and last temperature, as parts of the mean run time."""
Order = NDArray[np.int64]


def improved(
    ticks: Ticks,
    orders: list[Order],
    least: int,
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
    until: float = inf,
) -> tuple[int, Ticks64]:
    """Return the least sum of weighted starts that was found, in exact ticks, and the starts.

    Runs of `rounds` orders at most start from `orders` in turn; a schedule that reaches the lower
    bound `least` ends the search, and no run is begun after ``until``, a moment of `now`.
    """
    rounds = min(rounds, max(1, rounds * MANY**2 // len(ticks.run) ** 2))
    mean = float(ticks.run.mean()) * float(ticks.weight.mean())
    found: list[tuple[int, Ticks64]] = []
    for number in range(MOST_RUNS):
        start = orders[number % len(orders)]
        starts, best = np.zeros_like(ticks.run), start.copy()
        value = anneal(
            start,
            ticks.submit,
            ticks.need,
            ticks.run,
            ticks.weight,
            ticks.servers,
            rounds,
            WARM * mean,
            COLD * mean,
            (seed * MOST_RUNS + number) % 2**32,
            best,
            starts,
        )
        found.append((int(value), starts))
        values = [one[0] for one in found]
        if min(values) <= least or values.count(min(values)) >= AGREE or now() >= until:
            break
    return min(found, key=lambda one: one[0])
