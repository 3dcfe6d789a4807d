"""Work as second-order cones: it is jointly concave in the duration and the share times duration.

With a = (share) (duration) and d = (duration), the work is d s(N a/d), the perspective of a concave
function.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import cvxpy as cp

Floats = NDArray[np.float64]


def power_work(
    p: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= a^p d^(1-p), elementwise, as a tower of second-order cones."""
    import cvxpy as cp

    floors = cone_chain(p)
    if not floors:
        return [work <= a]
    more = max(z for z, _, _ in floors) - WORK
    expressions = [a, d, work, *(cp.Variable(work.shape) for _ in range(more))]
    return [_below_mean(*(expressions[i] for i in floor)) for floor in floors]


def _below_mean(z: cp.Expression, x: cp.Expression, y: cp.Expression) -> cp.Constraint:
    """Return z^2 <= x y for x, y >= 0, elementwise."""
    import cvxpy as cp

    return cp.SOC(x + y, cp.vstack([2 * z, x - y]), axis=0)


def amdahl_work(
    f: float, typical: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= d s(a/d) for Amdahl's law; ``a`` is in servers times time.

    With U = d/(1 - f) and V = a/f, d s(a/d) = U V/(U + V), so U^2 <= (U + V)(U - work). Both
    factors are scaled to the same size at a typical number of servers, to keep digits.
    """
    if f == 1:
        return [work <= a]
    u, v = d / (1 - f), a / f
    scale = 1 + (1 - f) * typical / f
    return [_below_mean(u, (u + v) / scale, scale * (u - work))]


def table_work(
    points: tuple[Floats, Floats], a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= d s(a/d) for a piecewise linear speedup, constant after its last point.

    The first point is (0, 0). ``a`` is in servers times time; there is one row for each segment.
    """
    k, s = points
    slopes = np.diff(s) / np.diff(k)
    lines = zip(slopes, s[:-1] - slopes * k[:-1], strict=True)
    return [work <= s[-1] * d, *(work <= level * d + slope * a for slope, level in lines)]


A, D, WORK = 0, 1, 2
Tower = list[tuple[int, int, int]]
"""Triples (z, x, y) with z^2 <= x y; each is `A`, `D`, `WORK` or an auxiliary variable."""


def cone_chain(p: float, most_denominator: int = 1 << 20) -> Tower:
    """Return the cones for work <= a^p d^(1-p), 0 < p <= 1; none for p = 1, where work <= a.

    With p = num/q and 2^L >= q, the product work^(2^L) <= a^num d^(q-num) work^(2^L-q) is halved
    repeatedly: two equal factors give one factor of the next level, two different ones x and y give
    a z with z^2 <= x y. A fraction with a denominator of at most 2^20 is within 1e-12 of p.
    """
    fraction = Fraction(p).limit_denominator(most_denominator)
    if fraction >= 1:
        return []
    levels = max((fraction.denominator - 1).bit_length(), 1)
    counts = Counter({A: fraction.numerator, D: fraction.denominator - fraction.numerator})
    counts[WORK] = 2**levels - fraction.denominator
    floors: Tower = []
    new = WORK
    for level in range(levels, 0, -1):
        odd = sorted(i for i, n in counts.items() if n % 2)
        counts = Counter({i: n // 2 for i, n in counts.items() if n >= 2})
        for x, y in zip(odd[::2], odd[1::2], strict=True):
            z = WORK  # at the last level it is work itself
            if level > 1:
                z = new = new + 1
                counts[z] = 1
            floors.append((z, x, y))
    return floors
