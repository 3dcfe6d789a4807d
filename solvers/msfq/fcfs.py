"""FCFS exactly: mean response times by class, and where it is stable, for exponential sizes.

With n jobs behind a blocked head the phases move as in `solvers.msfq.fcfs_phases`: arrivals raise
n by 1 and leave the phase, and each job that is drawn lowers n by 1. From n to n + 1 the stationary
law goes over by a matrix R: π_{n+1} = π_n·R, where R = λ·(-stay - λ·G)^-1 and G tells in which
phase n is first reached from n + 1 (Latouche and Ramaswami, Introduction to Matrix Analytic Methods
in Stochastic Modeling, SIAM 1999, chapters 6 and 8; G by their logarithmic reduction). The states
in which nobody waits behind a head, finitely many, are solved as they are. Little's law then gives
the times: of the jobs behind the head each is of a class with the odds of the arrivals.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.solvers.msfq.fcfs_phases import Floats, Phases, phases

MOST_PHASES = 2500
"""Phases up to which matrices are solved: those of some 1,200 servers, one-or-all, in a minute."""
STEPS = 64
"""Doublings of logarithmic reduction at most: beyond, the load cannot be told from 1."""
NEAR = 1e-9
"""Relative: what mean numbers in service may be off by, which are known beforehand."""


class UnsettledError(ArithmeticError):
    """So near to the limit of stability that floating point cannot tell."""


class Fcfs(NamedTuple):
    """What FCFS gets.

    Attributes
    ----------
    times : ndarray, shape (C,)
        Mean response time by class.
    numbers : ndarray, shape (C,)
        Mean number in the system by class.
    """

    times: Floats
    numbers: Floats


def fcfs(queue: Instance, most: int = MOST_PHASES) -> Fcfs:
    """Return the exact mean response times of FCFS.

    Parameters
    ----------
    queue : Instance
        Of exponential sizes, and stable under FCFS.
    most : int
        How many phases there may be.

    Raises
    ------
    TooManyPhasesError
        If there are more.
    UnsettledError
        If floating point cannot tell.
    """
    found = phases(queue, most)
    rates = np.array([job.arrival_rate for job in queue.classes])
    sizes = 1.0 / np.array([job.service_rate for job in queue.classes])
    rate = float(rates.sum())
    first = _first_passage(found, rate)
    count = len(found.blocked)
    leaving = -(found.stay - rate * np.eye(count)) - rate * first[:, :count]
    free, blocked = _boundary(queue, found, rate, first)
    # Σ_n π_n = π_0·(I - R)^-1 =: a, and Σ_n n·π_n = a·R·(I - R)^-1, with R = λ·leaving^-1
    drift = leaving - rate * np.eye(count)
    total = np.linalg.solve(drift.T, leaving.T @ blocked)
    behind = np.linalg.solve(drift.T, rate * total)
    mass = free.sum() + total.sum()
    served = np.array(found.free).T @ free + np.array([now for now, _ in found.blocked]).T @ total
    heads = np.bincount([head for _, head in found.blocked], total, len(rates))
    if not (
        np.isfinite(behind).all()
        and min(free.min(), total.min(), behind.min()) > -NEAR * mass
        and np.allclose(served / mass, rates * sizes, rtol=NEAR, atol=0.0)
    ):
        raise UnsettledError("FCFS is too near to the limit of stability to be told from it")
    waiting = (heads + found.shares * behind.sum()) / mass
    times = waiting / rates + sizes
    return Fcfs(times, rates * times)


def _first_passage(found: Phases, rate: float) -> Floats:
    """Return G, shape (M, M + P): the odds of the phase in which a level is first left downwards.

    From a blocked phase; by logarithmic reduction of the jump chain, in which passing phases are
    states like others that always go down.
    """
    count, passing = found.start.shape
    size = count + passing
    leave = rate - found.stay.diagonal()
    local = np.eye(size)
    local[:count, :count] -= (found.stay - np.diag(found.stay.diagonal())) / leave[:, None]
    local[:count, count:] = -found.start / leave[:, None]
    up, down = np.zeros((size, size)), np.zeros((size, size))
    up[np.arange(count), np.arange(count)] = rate / leave
    down[count:, :count], down[count:, count:] = found.drawn, found.passed
    # the shift of He, Meini and Rhee: 1 is no eigenvalue of G - Q, Q = 1·1ᵀ/size
    sums = down.sum(axis=1, keepdims=True) / size
    local -= up.sum(axis=1, keepdims=True) / size
    both = np.linalg.solve(local, np.hstack([down - sums, up]))
    lower, higher = both[:, :size], both[:, size:]
    first, reached = lower.copy(), higher.copy()
    for _ in range(STEPS):
        turned = np.eye(size) - higher @ lower - lower @ higher
        both = np.linalg.solve(turned, np.hstack([lower @ lower, higher @ higher]))
        lower, higher = both[:, :size], both[:, size:]
        more = reached @ lower
        first += more
        reached = reached @ higher
        if np.abs(more).max() < 1e-17:
            return np.asarray(first[:count] + 1.0 / size)
    raise UnsettledError("FCFS is too near to the limit of stability to be told from it")


def _boundary(queue: Instance, found: Phases, rate: float, first: Floats) -> tuple[Floats, Floats]:
    """Return the law, but for a factor, of what is free, and of what is blocked with none behind.

    What happens while there are more behind is left out: it ends in a phase that G tells.
    """
    where = {now: i for i, now in enumerate(found.free)}
    heads = {phase: i for i, phase in enumerate(found.blocked)}
    size, count = len(found.free), len(found.blocked)
    generator = np.zeros((size + count, size + count))
    for i, now in enumerate(found.free):
        for c, job in enumerate(queue.classes):
            more = (*now[:c], now[c] + 1, *now[c + 1 :])
            j = where.get(more)
            generator[i, size + heads[now, c] if j is None else j] += job.arrival_rate
            if now[c]:
                less = (*now[:c], now[c] - 1, *now[c + 1 :])
                generator[i, where[less]] += now[c] * job.service_rate
    begun = [where[now] for now in found.passing]
    generator[size:, size:] = found.stay + rate * first[:, :count]
    generator[size:, begun] += found.start + rate * first[:, count:]
    diagonal = np.arange(size + count)
    generator[diagonal, diagonal] = 0.0
    generator[diagonal, diagonal] = -generator.sum(axis=1)
    generator[:, 0] = 1.0  # one balance equation gives way to Σ π = 1
    right = np.zeros(size + count)
    right[0] = 1.0
    law: Floats = np.asarray(np.linalg.solve(generator.T, right), dtype=np.float64)
    return law[:size], law[size:]


def saturated_rate(queue: Instance, most: int = MOST_PHASES) -> float:
    """Return how many jobs leave in a unit of time where jobs wait at all times.

    FCFS is stable where fewer arrive, and unstable where more do (Baccelli and Foss, On the
    saturation rule for the stability of queues, 1995).

    Parameters
    ----------
    queue : Instance
        Of exponential sizes; of its arrival rates the proportions count.
    most : int
        How many phases there may be.

    Raises
    ------
    TooManyPhasesError
        If there are more.
    """
    classes = tuple((j.need, j.arrival_rate, j.service_rate) for j in queue.classes)
    return _saturated(queue.servers, classes, most)


@lru_cache(maxsize=64)
def _saturated(servers: int, classes: tuple[tuple[int, float, float], ...], most: int) -> float:
    from schedopt.instances.msfq import JobClass

    jobs = tuple(JobClass(need=n, arrival_rate=a, service_rate=s) for n, a, s in classes)
    found = phases(Instance(name="saturated", servers=servers, classes=jobs), most)
    count, passing = found.start.shape
    # where the drawing ends, and how many are drawn until then
    ends = np.column_stack([found.drawn, np.ones(passing)])
    ends = np.linalg.solve(np.eye(passing) - found.passed, ends)
    generator = found.stay + found.start @ ends[:, :count]
    generator[:, 0] = 1.0
    right = np.zeros(count)
    right[0] = 1.0
    law = np.linalg.solve(generator.T, right)
    return float(law @ found.start @ ends[:, count])
