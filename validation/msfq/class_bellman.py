"""Re-prove a bound on every policy of several classes from relative values, without a solver.

Let h(s, n) be any numbers, with n jobs in the system by class and s of them in service, that grow
no faster than squares of the jobs, and B(s, n) the least h(s', n) of all that may be in service
after starts, s <= s' <= n. Then every nonpreemptive policy costs in the long run at least the least
of

    cost(n) + Σ λ_c·(B(s, n + e_c) - h(s, n)) + Σ s_c·μ_c·(B(s - e_c, n - e_c) - h(s, n))

over all states: along its path this sum of cost and expected change is nowhere less, and where the
mean number of jobs is finite, changes cancel (values cut off where many jobs are in the system
change by o(1) of that).

A certificate gives V on a box, s <= n <= N, with room for all that can be in service, and says

    h(s, n) = V(s, min(n, N)) + a·n + n·Q·n/2.

Starts leave n alone, so that beyond the box they choose as at its edge. For n_d > N_d nothing in
the sum but cost and quadratic depends on n_d, and these are linear in it with the slope
c_d + Σ_c (λ_c - s_c·μ_c)·Q_cd. It is looked at that no slope is below 0, and that the sum is large
enough for all n <= N + 1. What floating point may be wrong by is taken off.
"""

from itertools import product
from math import prod
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance
from schedopt.validation.msfq.packed import unpacked
from schedopt.validation.report import CertificateRecord

ROUNDING = 128 * 2.0**-53
"""Relative rounding error of a sum of some fifty terms, to the sum of their magnitudes."""
MOST_WAYS = 5_000
Floats = NDArray[np.float64]
Side = Annotated[int, msgspec.Meta(ge=1, le=10**6)]
Way = tuple[int, ...]


class ClassValues(CertificateRecord, frozen=True, tag="class-values"):
    """Relative values on a box of N jobs by class (``most``), and beyond it.

    ``prices`` are a, ``bends`` Q, symmetric. ``values`` are V by n, the last class fastest, and by
    s in lexicographic order, as doubles, least byte first, packed (zlib) and written in base 64;
    anything where s is not within n.
    """

    most: tuple[Side, ...]
    prices: tuple[float, ...]
    bends: tuple[tuple[float, ...], ...]
    values: str


def shown(queue: Instance, given: ClassValues) -> float:
    """Return the bound that follows from relative values; `ValueError` says why none does."""
    count = len(queue.classes)
    if not queue.memoryless:
        raise ValueError("relative values are for classes with exponential sizes")
    prices, bends = np.array(given.prices), np.array(given.bends)
    if len(given.most) != count or prices.shape != (count,) or bends.shape != (count, count):
        raise ValueError(f"not of {count} classes")
    if not (np.isfinite(prices).all() and np.isfinite(bends).all() and (bends == bends.T).all()):
        raise ValueError("prices and bends are not all numbers, or not symmetric")
    room = [queue.servers // job.need for job in queue.classes]
    if prod(r + 1 for r in room) > 20 * MOST_WAYS:
        raise ValueError("too many ways to fill the servers")
    ways = [
        s
        for s in product(*(range(r + 1) for r in room))
        if sum(a * job.need for a, job in zip(s, queue.classes, strict=True)) <= queue.servers
    ]
    if any(n < r for n, r in zip(given.most, room, strict=True)):
        raise ValueError("a box without room for all that can be in service")
    values = _by_way(given, ways)
    return _least(queue, values, given.most, (prices, bends), ways)


def _by_way(given: ClassValues, ways: list[Way]) -> dict[Way, Floats]:
    """Return V by s, each an array over n, infinite where s is not within n."""
    if len(ways) > MOST_WAYS:
        raise ValueError(f"more than {MOST_WAYS} ways to fill the servers")
    shape = tuple(n + 1 for n in given.most)
    laid = unpacked(given.values, (*shape, len(ways)))
    by_way = {}
    for q, s in enumerate(ways):
        values = np.full(shape, np.inf)
        within = tuple(slice(a, None) for a in s)
        values[within] = laid[..., q][within]
        by_way[s] = values
    return by_way


def _least(
    queue: Instance,
    values: dict[Way, Floats],
    most: tuple[int, ...],
    quadratic: tuple[Floats, Floats],
    ways: list[Way],
) -> float:
    """Return the least sum over all n <= N + 1."""
    count = len(most)
    arrivals = np.array([job.arrival_rate for job in queue.classes])
    rates = np.array([job.service_rate for job in queue.classes])
    costs = np.array(queue.weights()) / arrivals
    prices, bends = quadratic
    best: dict[Way, Floats] = {}
    for s in reversed(ways):
        least = values[s]
        for c in range(count):
            after = best.get(_moved(s, c, 1))
            least = least if after is None else np.minimum(least, after)
        best[s] = least
    numbers = np.meshgrid(*[np.arange(n + 2) for n in most], indexing="ij", sparse=True)
    inside = [np.minimum(np.arange(n + 2), n) for n in most]
    lowest = np.inf
    for s in ways:
        drift, both = arrivals - np.array(s) * rates, arrivals + np.array(s) * rates
        slopes = costs + drift @ bends
        size = costs + np.abs(bends) @ both
        if (slopes < ROUNDING * size).any():
            raise ValueError("slopes beyond the box that fall, or may")
        at = np.ix_(*inside)
        here = values[s][at]
        finite = np.isfinite(here)
        here = np.where(finite, here, 0.0)
        total = np.full(here.shape, drift @ prices + 0.5 * both @ np.diag(bends))
        error = np.full(here.shape, both @ np.abs(prices) + 0.5 * both @ np.abs(np.diag(bends)))
        for d in range(count):
            total = total + slopes[d] * numbers[d]
            error = error + size[d] * numbers[d]
        moves = [(arrivals[c], c, 1, s) for c in range(count)]
        moves += [(s[c] * rates[c], c, -1, _moved(s, c, -1)) for c in range(count) if s[c]]
        for rate, c, step, way in moves:
            places = list(inside)
            places[c] = np.clip(np.arange(most[c] + 2) + step, 0, most[c])
            target = np.where(finite, best[way][np.ix_(*places)], 0.0)
            total += rate * (target - here)
            error += rate * (np.abs(target) + np.abs(here))
        lowest = min(lowest, float(np.where(finite, total - ROUNDING * error, np.inf).min()))
    return lowest


def _moved(s: Way, c: int, step: int) -> Way:
    return (*s[:c], s[c] + step, *s[c + 1 :])
