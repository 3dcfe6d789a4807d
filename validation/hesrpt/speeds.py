"""How fast jobs run, from the raw fields of an instance: the checker's own arithmetic."""

from bisect import bisect_right
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.hesrpt import Amdahl, Instance, Power

Floats = NDArray[np.float64]


def speeds(instance: Instance) -> list[Any]:
    """Return a function from servers to speedup for each job."""
    made: dict[Any, Any] = {}
    functions = []
    for job in instance.jobs:
        speedup = job.speedup or instance.speedup
        if speedup not in made:
            made[speedup] = _speed(speedup)
            if instance.whole:
                made[speedup] = _between_whole(made[speedup])
        functions.append(made[speedup])
    return functions


def rates_of(instance: Instance, jobs: NDArray[np.intp], servers: Floats) -> Floats:
    """Return the speedup of each of some jobs, by position, on its servers; none is whole."""
    given: Any = instance.speedups
    rates, kinds = np.zeros(len(jobs)), instance.kinds[jobs]
    power = np.array([of.p if isinstance(of, Power) else np.nan for of in given])[kinds]
    parallel = np.array([of.parallel if isinstance(of, Amdahl) else np.nan for of in given])[kinds]
    powers, laws = ~np.isnan(power) & (servers > 0), ~np.isnan(parallel) & (servers > 0)
    rates[powers] = servers[powers] ** power[powers]
    f = parallel[laws]
    rates[laws] = 1.0 / ((1.0 - f) + f / servers[laws])
    for i in np.unique(kinds[np.isnan(power) & np.isnan(parallel)]).tolist():
        k, s = np.array(sorted({(0.0, 0.0), *given[i].points})).T
        rates[kinds == i] = np.interp(servers[kinds == i], k, s)
    return rates


def _speed(speedup: Any) -> Any:
    if isinstance(speedup, Power):
        return lambda k: float(k**speedup.p)
    if isinstance(speedup, Amdahl):  # the serial part as it is, the parallel part by k
        f = speedup.parallel
        return lambda k: float(1.0 / ((1.0 - f) + f / k)) if k > 0 else 0.0
    corners = sorted({(0.0, 0.0), *speedup.points})

    def between(k: float) -> float:
        i = bisect_right(corners, (k, float("inf")))
        if i == len(corners):
            return float(corners[-1][1])
        (a, low), (b, high) = corners[i - 1], corners[i]
        part = (k - a) / (b - a)
        return float((1 - part) * low + part * high)

    return between


def _between_whole(speed: Any) -> Any:
    """Time shared by the two whole numbers of servers around k."""

    def shared(k: float) -> float:
        part = k - floor(k)
        return float((1 - part) * speed(floor(k)) + (part * speed(floor(k) + 1) if part else 0.0))

    return shared
