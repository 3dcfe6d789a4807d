"""MSFQ's response times in closed form at every threshold: the paper's, and a better one.

Both assume that no phase of a cycle is skipped: a large job is there at the start of phase 1, and k
small jobs at the start of phase 2 (section 5.2). The higher the load, the better they are.

Source: section 5, Lemmas 5.3 and 5.4, in closed form. Corrected: in phase 3 the visits C_j fall by
λ_1/(k·μ_1) from C_{j-1}, not from C_k; E[(N_2-k+1) services] is (E[N_2]-k+1)/(k·μ_1); phase 2 is a
busy period of services S_1/k; the middle line for T^L_{2,3,4} has one factor too many; T^S_3 is 0/0
at l = k-1, where its weight is 0.

Symbols:

==================  ====================================================================
λ_1, λ_k, μ_1, μ_k  arrival and service rates of small and of large jobs: l1, lk, m1, mk
km, rs, rl          k·μ_1, λ_1/(k·μ_1), λ_k/μ_k
b, b2, vb           mean, second moment and variance of a busy period of small jobs
big, big2           mean and second moment of a busy period of large jobs
h1..h4, v1..v4      means and variances of the phases' lengths
n1, n2              mean numbers of large jobs when phase 1 begins, of small ones for phase 2
a, d                mean times in which n2 and n1 arrive: phases 4 and 1, and 2 to 4
m, s, g             of the passage from j to j - 1 small jobs: mean, second moment, and the
                    number of small jobs integrated over it; g3 is the latter for phase 3
==================  ====================================================================
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq.threshold import Curve, Floats, System


def paper(system: System) -> Curve:
    """Return the paper's approximation at l = 0..k-1, in O(k)."""
    return _approximate_curve(system, False)


def area(system: System) -> Curve:
    """Return the approximation with the exact integral of the number of small jobs, in O(k).

    By Little's law the mean response time of small jobs is the integral of their number over a
    cycle, divided by the jobs of a cycle. The only assumption is that no phase is skipped.
    """
    return _approximate_curve(system, True)


def _approximate_curve(system: System, by_area: bool) -> Curve:
    """Return an approximation at every threshold; with ``by_area`` it uses Little's law."""
    small, large = np.empty(system.k), np.empty(system.k)
    ok = np.empty(system.k, dtype=np.bool_)
    with np.errstate(all="ignore"):
        _fill_response_times(
            System(system.k, *map(np.float64, system[1:])), by_area, small, large, ok
        )
    small[~np.isfinite(small)] = large[~np.isfinite(large)] = np.inf  # small thresholds overflow
    return Curve(small, large, ok)


def _fill_response_times(
    system: System, by_area: bool, small: Floats, large: Floats, ok: NDArray[np.bool_]
) -> None:
    """Compute both classes' mean response times from l = k-1 down to 0."""
    k, l1, _, m1, _ = system
    km = k * m1
    b = 1.0 / (km - l1)  # E and E[·²] of a busy period of small jobs on all servers
    b2 = 2.0 * km * (b * b * b)
    v4s = np.zeros(k)  # E and Var of phase 4 by threshold
    h4s = np.zeros(k)
    for l in range(1, k):
        h4s[l] = h4s[l - 1] + 1.0 / (l * m1)
        v4s[l] = v4s[l - 1] + 1.0 / ((l * m1) * (l * m1))
    m, s = b, b2  # passage from j to j - 1 small jobs: E and E[·²]
    g = km * b * b + (k - 1) * b  # and the area under the small jobs meanwhile
    h3 = v3 = t = g3 = 0.0
    visits = 1.0
    for l in range(k - 1, -1, -1):
        phase3, phase4 = (h3, v3, g3), (h4s[l], v4s[l])
        small[l], large[l], ok[l] = _mean_times(
            system, l, phase3, phase4, t * l1 / km, by_area=by_area
        )
        m = (1.0 + l1 * m) / (l * m1)
        s = l1 * s / (l * m1) + 2.0 * m * m
        g = (l + l1 * g) / (l * m1)
        h3 += m
        v3 += s - m * m
        g3 += g
        t += visits / (l * m1)
        visits *= l1 / (l * m1)


def _mean_times(
    system: System,
    l: int,
    phase3: tuple[float, float, float],
    phase4: tuple[float, float],
    tau: float,
    *,
    by_area: bool,
) -> Any:
    """Return E[T] of small and of large jobs, and whether no phase is skipped on average.

    ``phase3`` and ``phase4`` hold the mean and variance of the phases' lengths; the third number of
    ``phase3`` is the number of small jobs integrated over it.
    """
    k, l1, lk, m1, mk = system
    (h3, v3, g3), (h4, v4) = phase3, phase4
    km = k * m1
    rs, rl = l1 / km, lk / mk
    b, big = 1.0 / (km - l1), 1.0 / (mk - lk)
    b2, big2 = 2.0 * km * (b * b * b), 2.0 * mk * (big * big * big)
    vb = b2 - b * b
    q, r = l1 * b, lk * big
    h1 = r * ((1 + q) * h4 + h3 - (k - 1) * b) / (1 - r * q)  # phases' means, by their balance
    h2 = q * (h4 + h1) - (k - 1) * b
    d, a = h2 + h3 + h4, h4 + h1
    n1, n2 = lk * d, l1 * a
    started, cycle = n2 - k + 1, h1 + d
    c2 = n2 * b2 - (k - 1) * vb  # their variances likewise
    v1 = (n1 * big2 + r * r * (c2 + q * q * (1 + 2 * r) * v4 + v3 + v4)) / (1 - r * r * q * q)
    v2 = c2 + q * q * (v1 + (1 + 2 * r) * v4)
    vd, va = v2 + v3 + v4, v1 + (1 + 2 * r) * v4
    vn1, vn2 = n1 + lk * lk * vd, n2 + l1 * l1 * va
    waited = big * (vn1 + n1 * n1 + n1) / (2 * mk) + h1 * lk / (mk * mk * (1 - rl))
    large = 1 / mk + (waited + (1 + rl) * (vd + d * d) / 2) / cycle
    if by_area:
        full = started * km * b * b + b * (
            (k - 1) * started + (vn2 + started * started - started) / 2
        )
        small = (l1 * (va + a * a) / 2 + l / m1 + full + g3) / (l1 * cycle)
    else:
        queued = (1 + rs) * (va + a * a) / 2 + b * (vn2 + started * started + started) / (2 * km)
        queued += h2 * l1 / (km * km * (1 - rs)) + tau / (km * ((1 - rs) * (1 - rs)))
        small = 1 / m1 + queued / cycle
    return small, large, h2 >= 0 and n1 >= 1
