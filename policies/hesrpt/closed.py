"""Completion times in closed form, for one speedup k^p of all jobs, all there from the start."""

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.sorting import steady_order

Floats = NDArray[np.float64]
NOTHING = 50.0
"""Difference of log rates beyond which the smaller rate vanishes in floating point."""


def hesrpt_shares(count: int, p: float) -> Floats:
    """Return the shares of heSRPT, the job of the least remaining size first, shape (m,).

    theta_i = (i/m)^c - ((i-1)/m)^c with c = 1/(1-p) and i = 1 for the largest job, as
    (i/m)^c·(-expm1(c·log1p(-1/i))), which neither cancels nor overflows.

    Source: heSRPT paper, Theorem 7.
    """
    i = np.arange(count, 0, -1.0)
    if p == 1.0:
        return np.where(i == count, 1.0, 0.0)
    c = 1.0 / (1.0 - p)
    with np.errstate(divide="ignore"):  # log1p(-1) for the largest job: all of what is left
        return np.asarray((i / count) ** c * -np.expm1(c * np.log1p(-1.0 / i)))


def hesrpt_total(sizes: Floats, p: float, servers: float) -> float:
    """Return the total flow time of heSRPT: sum x_k·k·(-expm1(c·log1p(-1/k)))^(1-p) / s(N).

    Sizes may be in any order. Source: heSRPT paper, Theorem 8.
    """
    x = np.sort(sizes)[::-1]
    k = np.arange(1.0, len(x) + 1)
    if p == 1.0:
        return float((x * k).sum() / servers)
    with np.errstate(divide="ignore"):
        coefficient = k * (-np.expm1(np.log1p(-1.0 / k) / (1.0 - p))) ** (1.0 - p)
    return float((x * coefficient).sum() / servers**p)


def hesrpt_times(sizes: Floats, p: float, servers: float) -> tuple[Floats, Floats]:
    """Return heSRPT's completion times and the logarithms of its proportions, shape (M,) each.

    Job k of the falling sizes runs at a rate in proportion to u_k^p, u_k = k^c - (k-1)^c; so with
    y_k = x_k/(-expm1(c·log1p(-1/k)))^p the epoch of k jobs lasts (y_k - y_{k+1}·(k/(k+1))^(c·p))
    by s(N).
    """
    rising = steady_order(sizes)
    order = rising[::-1]  # of equal sizes the first completes first
    x = sizes[order]
    k = np.arange(1.0, len(x) + 1)
    completion, logs = np.empty(len(x)), np.empty(len(x))
    if p == 1.0:
        completion[order] = np.cumsum(x[::-1])[::-1] / servers
        logs[order] = k * NOTHING
        return completion, logs
    c = 1.0 / (1.0 - p)
    with np.errstate(divide="ignore"):
        part = np.log1p(-1.0 / k)
    own = np.expm1(c * part)
    np.negative(own, out=own)  # in place: fresh memory takes longer than what is done to it
    x /= own**p
    part *= c * p
    np.exp(part, out=part)
    part[1:] *= x[1:]
    x[:-1] -= part[1:]
    np.cumsum(x[::-1], out=part)
    part /= servers**p
    completion[rising] = part
    np.log(k, out=k)
    k *= c
    k += np.log(own, out=own)
    logs[order] = k
    return completion, logs


def equi_times(sizes: Floats, p: float, servers: float) -> tuple[Floats, Floats]:
    """Return EQUI's completion times and the logarithms of its proportions, shape (M,) each.

    With m jobs left each has done (N/m)^p a unit of time.
    """
    order = steady_order(sizes)
    x = sizes[order]
    jobs = np.arange(len(x), 0, -1.0)
    completion = np.empty(len(x))
    completion[order] = np.cumsum(np.diff(x, prepend=0.0) * (jobs / servers) ** p)
    return completion, np.zeros(len(x))


def srpt_times(sizes: Floats, p: float, servers: float) -> tuple[Floats, Floats]:
    """Return SRPT's completion times, and the logarithms of proportions that amount to it."""
    order = steady_order(sizes)
    completion, logs = np.empty(len(sizes)), np.empty(len(sizes))
    completion[order] = np.cumsum(sizes[order]) / servers**p
    logs[order] = np.arange(len(sizes), 0, -1.0) * NOTHING / p
    return completion, logs
