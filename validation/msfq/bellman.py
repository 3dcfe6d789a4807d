"""Verification of a bound on every policy of a one-or-all system, from relative values.

Symbols are those of `solvers.msfq.optimal_policy`; bends are the second differences w, β (here b)
and e. B(s) is the value of the best decision in state s after an event.

Every nonpreemptive policy costs in the long run at least the least of

    cost(s) + sum of rate·(B(s') - h(s))

over all states s. Along a path of the policy this sum is nowhere less, and where the mean number of
jobs is finite the changes of h cancel (cutting h off where many jobs are in the system changes them
by o(1)).

Beyond the box h continues as there. The sum above is linear in n from k on and in m from 1 on for
any decisions. Four inequalities ensure that it does not decrease in either; up to there its value
is computed. Rounding errors are subtracted.
"""

import base64
import zlib
from math import isfinite, prod
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance
from schedopt.validation.report import CertificateRecord

ROUNDING = 64 * 2.0**-53
"""Relative rounding error of a sum of some twenty terms, to the sum of their magnitudes."""
MOST_VALUES = 40_000_000
Floats = NDArray[np.float64]
Side = Annotated[int, msgspec.Meta(ge=1, le=10**6)]


class RelativeValues(CertificateRecord, frozen=True, tag="relative-values"):
    """Relative values on a box, and their continuation.

    ``small_most`` and ``large_most`` are I and J, ``prices`` S and T, ``bends`` w, b and e.
    ``values`` are h by j, c and i as little-endian doubles, packed (zlib) and encoded in base 64.
    """

    small_most: Side
    large_most: Side
    prices: tuple[float, float]
    bends: tuple[float, float, float]
    values: str


def proven_bound(queue: Instance, given: RelativeValues) -> float:
    """Return the lower bound that relative values prove.

    Raises
    ------
    ValueError
        With the reason, if they prove none.
    """
    pair = queue.one_or_all
    if pair is None or not queue.memoryless or queue.servers < 2:
        raise ValueError("relative values are for exponential one-or-all systems")
    small, large = (queue.classes[i] for i in pair)
    weights = queue.weights()
    l1, lk, m1, mk = small.arrival_rate, large.arrival_rate, small.service_rate, large.service_rate
    costs = weights[pair[0]] / l1, weights[pair[1]] / lk
    rates, k = (l1, lk, m1, mk), queue.servers
    w, b, e = np.array(given.bends)  # numpy floats: overflows give inf or nan
    if not all(isfinite(x) for x in (*given.prices, w, b, e)) or min(w, b, e) < 0.0:
        raise ValueError("prices and bends: not all are finite, or a bend is negative")
    low = 1.0 - ROUNDING
    fine = (
        e * (mk - lk) <= low * (costs[1] + l1 * b)
        and b * (k * m1 - l1) <= low * (costs[1] + lk * e)
        and w * (k * m1 - l1) <= low * (costs[0] + lk * b)
        and b * (mk - lk) <= low * (costs[0] + l1 * w)
    )
    if not fine:
        raise ValueError("the second differences are too large beyond the box")
    values = _unpack_array(given.values, (given.large_most + 1, k + 2, given.small_most + 1))
    return _least_change(_extend_values(values, given, k), rates, costs)


def _extend_values(values: Floats, given: RelativeValues, k: int) -> Floats:
    """Return the values extended by k + 2 small and 2 large jobs beyond the box."""
    (w, b, e), (side, top) = given.bends, given.prices
    last_i, last_j = given.small_most, given.large_most
    i, j = np.arange(last_i + k + 3), np.arange(last_j + 3)
    inside_i, inside_j = np.minimum(i, last_i), np.minimum(j, last_j)
    n, m = (i - inside_i)[None, None, :], (j - inside_j)[:, None, None]
    running = np.arange(k + 2.0)[None, :, None]
    large = running == k + 1
    running = np.where(large, 0.0, running)
    out = values[inside_j][:, :, inside_i]
    out = out + n * (side + w * running + b * (inside_j[:, None, None] + large))
    out += m * (top + e * large + b * (inside_i[None, None, :] + running))
    out += w * (n * (n - 1) // 2) + e * (m * (m - 1) // 2) + b * (n * m)
    return np.asarray(out, np.float64)


def _least_change(h: Floats, rates: tuple[float, ...], costs: tuple[float, float]) -> float:
    """Return the least cost rate plus expected change of value over all inner states."""
    l1, lk, m1, mk = rates
    k = h.shape[1] - 2
    best = h.copy()
    best[1:, 0] = np.minimum(h[1:, 0], h[:-1, k + 1])
    for c in range(k - 1, -1, -1):
        best[:, c, 1:] = np.minimum(best[:, c, 1:], best[:, c + 1, :-1])
    i, j = np.arange(h.shape[2] - 1.0)[None, :], np.arange(h.shape[0] - 1.0)[:, None]
    least = np.inf
    for c in range(k + 2):
        large = c == k + 1
        here = h[:-1, c, :-1]
        cost = costs[0] * (i if large else i + c) + costs[1] * (j + large)
        out, size = cost + 0.0 * here, np.abs(cost) + 0.0 * here
        served = mk if large else c * m1
        after = best[:-1, 0 if large else max(c - 1, 0), :-1]
        for rate, target in ((l1, best[:-1, c, 1:]), (lk, best[1:, c, :-1]), (served, after)):
            out += rate * (target - here)
            size += rate * (np.abs(target) + np.abs(here))
        least = min(least, float((out - ROUNDING * size).min()))
    return least


def _unpack_array(values: str, shape: tuple[int, ...]) -> Floats:
    """Return an array of packed numbers.

    Raises
    ------
    ValueError
        If there are too many numbers, more or fewer than the shape requires, or not all are finite.
    """
    count = prod(shape)
    if count > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(values), 8 * count + 1)
        numbers = np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"values that cannot be unpacked, or are not {count}") from error
    if not np.isfinite(numbers).all():
        raise ValueError("values that are not finite")
    return numbers
