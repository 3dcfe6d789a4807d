"""What a bound by rents is re-proved from: rents, and for each job prices that show its cost."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from schedopt.solvers.hesrpt.kernels import speed
from schedopt.solvers.hesrpt.path_kernels import (
    Path,
    cheapest,
    cost_until,
    least_between,
    price_until,
)
from schedopt.solvers.hesrpt.paths import Rents

LOWER = 1e-10
"""What the cost of a job is lowered by, so that prices need not meet it to the last digit."""
BELOW = 1e-12
"""The same of the price at which a unit of time earns just what it costs."""
DOUBLINGS = 60


def shown(found: Rents, left: Callable[[], float]) -> dict[str, object] | None:
    """Return a certificate of the best rents that were found, None where time ends before."""
    paths, jobs = [found.path(row) for row in range(len(found.servers))], list[dict[str, object]]()
    for j in range(len(found.sizes)):
        job = _Job(found, paths[found.payers[j]], j).shown() if left() else None
        if job is None:
            return None
        jobs.append(job)
    times, rents = found.times.tolist(), found.rents[0].tolist()
    return {"kind": "rents", "times": times, "rents": rents, "jobs": jobs}


class _Job:
    """One job that pays for its servers."""

    def __init__(self, found: Rents, path: Path, j: int) -> None:
        size, cost = float(found.sizes[j]), float(found.costs[j])
        self.what = (found.curves, path, j, size, cost)
        self.stack, self.out = found.room
        self.cells = found.rents.shape[1]

    def shown(self) -> dict[str, object] | None:
        """Return what the job costs, and prices for spans of cells, halved until they show it."""
        c, path, j, size, cost = self.what
        least = cheapest(*self.what, float(path.times[-1]), 0.0, self.stack, self.out)
        goal = least * (1.0 - LOWER)
        top = cost / speed(c, j, float(c.mosts[j]))
        last = price_until(c, path, j, size, self.cells, top)
        spans, until, prices = [(0, self.cells, inf, last)], list[int](), list[float]()
        while spans:
            a, b, high, low = spans.pop()
            price = self._price(a, b, (high, low), goal)
            if price is not None:
                until.append(b)
                prices.append(price)
            elif b == a + 1:
                return None
            else:
                half = (a + b) // 2
                middle = price_until(c, path, j, size, half, top)
                spans += [(half, b, middle, low), (a, half, high, middle)]
        beyond = min(last, top * (1.0 - BELOW))
        return {"cost": goal * (1.0 - LOWER), "until": until, "prices": prices, "beyond": beyond}

    def _price(self, a: int, b: int, ends: tuple[float, float], goal: float) -> float | None:
        """Return a price that shows that a job costs so much if it completes in a span."""
        high, low = ends
        if low < inf:
            value = least_between(*self.what, a, b, high, max(low, 1e-300), goal, self.out)
            return float(self.out[2]) if value >= goal else None
        price = goal / self.what[3]  # it cannot be done by then
        for _ in range(DOUBLINGS):
            if min(float(cost_until(*self.what, price, end)[0]) for end in (a, b)) >= goal:
                return price
            price *= 2.0
        return None
