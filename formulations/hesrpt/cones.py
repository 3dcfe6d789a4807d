"""Work as cones: it is jointly concave in the duration and the share times duration.

With a = (share) (duration) and d = (duration), the work is d s(N a/d), the perspective of a concave
function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import cvxpy as cp

Floats = NDArray[np.float64]


def power_work(
    p: float, a: cp.Expression, d: cp.Expression, work: cp.Expression
) -> list[cp.Constraint]:
    """Return work <= a^p d^(1-p), elementwise."""
    import cvxpy as cp

    return [work <= a] if p == 1.0 else [cp.PowCone3D(a, d, work, p)]


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
