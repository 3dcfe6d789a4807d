"""Work as cones: what a share of the servers over a time does, jointly concave in both.

With a = (share)·(time) and d = (time), work is d·s(N a/d), the perspective of a concave function.
Each function here returns the constraints ``work <= d·s(N a/d)`` for many pairs at once.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_DENOMINATOR = 1 << 20


def power_work(
    p: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= a^p d^(1-p) as a tower of second-order cones.

    With p = num/q and 2^L >= q, work^(2^L) <= a^num · d^(q-num) · work^(2^L-q) is halved again and
    again: two equal factors make one of the next level, two different ones x and y a z with
    z² <= x·y, written once for all pairs.

    Parameters
    ----------
    p : float
        Over 0, up to 1. It is taken as a fraction; with a denominator of 2^20 at most it is off by
        1e-12, or not at all.
    a, d, work : cvxpy expressions
        Shape (n,) each.
    """
    fraction = Fraction(p).limit_denominator(MOST_DENOMINATOR)
    if fraction >= 1:
        return [work <= a]
    levels = max((fraction.denominator - 1).bit_length(), 1)
    expressions: list[cp.Expression] = [a, d, work]
    counts = Counter({0: fraction.numerator, 1: fraction.denominator - fraction.numerator})
    counts[2] = 2**levels - fraction.denominator
    constraints = []
    for level in range(levels, 0, -1):
        odd = sorted(i for i, n in counts.items() if n % 2)
        counts = Counter({i: n // 2 for i, n in counts.items() if n >= 2})
        for x, y in zip(odd[::2], odd[1::2], strict=True):
            z = 2  # at the last level it is work itself
            if level > 1:
                expressions.append(cp.Variable(work.shape))
                z = len(expressions) - 1
                counts[z] = 1
            constraints.append(_below_mean(expressions[z], expressions[x], expressions[y]))
        if level == 1 and not odd:  # cannot be: a fraction in lowest terms ends with two factors
            raise ArithmeticError(f"no tower for {p}")
    return constraints


def _below_mean(z: cp.Expression, x: cp.Expression, y: cp.Expression) -> cp.Constraint:
    """Return z² <= x·y for x, y >= 0, entry by entry."""
    return cp.SOC(x + y, cp.vstack([2 * z, x - y]), axis=0)


def amdahl_work(
    f: float, typical: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= d·s(a/d) for Amdahl's law; ``a`` is in servers times time.

    With U = d/(1 - f) and V = a/f, d·s(a/d) = U·V/(U + V), so U² <= (U + V)(U - work). The two
    factors are brought to one size at a typical number of servers, lest digits are lost.
    """
    if f == 1:
        return [work <= a]
    u, v = d / (1 - f), a / f
    scale = 1 + (1 - f) * typical / f
    return [_below_mean(u, (u + v) / scale, scale * (u - work))]


def table_work(
    points: tuple[Floats, Floats], a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= d·s(a/d) for a speedup through points: one row for each segment.

    Parameters
    ----------
    points : (ndarray, ndarray)
        Servers and speedups, (0, 0) first; level after the last.
    a, d, work : cvxpy expressions
        Shape (n,) each; ``a`` is in servers times time.
    """
    k, s = points
    rows = [work <= s[-1] * d]
    for i in range(len(k) - 1):
        slope = (s[i + 1] - s[i]) / (k[i + 1] - k[i])
        rows.append(work <= (s[i] - slope * k[i]) * d + slope * a)
    return rows
