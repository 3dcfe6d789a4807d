"""Completion times under share policies by exact simulation, and the formulas of heSRPT.

In the simulation shares change when a job completes or arrives. The formulas are for one speedup
k^p of all jobs, without arrivals.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.hesrpt import Instance

Floats = NDArray[np.float64]
Jobs = NDArray[np.intp]
ShareFunction = Callable[[Instance, Jobs, Floats], Floats]
"""``shares(instance, jobs, left)`` returns the share of each present job, shape (m,).

``jobs`` are positions and ``left`` their remaining sizes, in increasing order and, if equal, in the
order of the file. The sum of the shares is at most 1.
"""
Outcome = tuple[Floats, list[tuple[float, float, Jobs, Floats]]]
TOGETHER = 1e-12
"""Relative difference below which completion times count as equal."""


class StalledError(ArithmeticError):
    """No present job makes progress, and none will arrive."""


def simulate(instance: Instance, share_function: ShareFunction, *, record: bool = True) -> Outcome:
    """Simulate a share function until all jobs complete; return completion times and epochs.

    Completion times have shape (M,). An epoch is its start, its end, the jobs with a positive share
    and their shares; epochs are empty unless they are recorded.

    `StalledError` if no job is served and none will arrive.
    """
    remaining, completion = instance.sizes.copy(), np.zeros(len(instance.jobs))
    coming = np.argsort(instance.arrivals, kind="stable")
    arrivals = instance.arrivals[coming]
    here = np.zeros(0, dtype=np.intp)
    epochs: list[tuple[float, float, Jobs, Floats]] = []
    now, come = 0.0, 0
    while len(here) or come < len(coming):
        new = int(np.searchsorted(arrivals, now, side="right"))
        here = np.sort(np.concatenate([here, coming[come:new]]))
        come = new
        until = float(arrivals[come]) if come < len(coming) else np.inf
        if not len(here):
            if record:
                epochs.append((now, until, here, np.zeros(0)))
            now = until
            continue
        jobs = here[np.argsort(remaining[here], kind="stable")]
        shares = share_function(instance, jobs, remaining[jobs])
        rates = instance.each("at", jobs, shares * instance.servers)
        needs = np.full(len(jobs), np.inf)
        np.divide(remaining[jobs], rates, out=needs, where=rates > 0)
        step = min(float(needs.min()), until - now)
        if step == np.inf:
            raise StalledError("jobs are left, and none of them is ever served")
        end = until if step >= until - now else now + step
        if record:
            used = shares > 0
            epochs.append((now, end, jobs[used], shares[used]))
        done = needs <= step * (1 + TOGETHER)
        remaining[jobs] -= step * rates
        remaining[jobs[done]] = 0.0
        completion[jobs[done]] = end
        now, here = end, np.sort(jobs[~done])
    return completion, epochs


def hesrpt_shares(count: int, p: float) -> Floats:
    """Return the shares of heSRPT for jobs in increasing order of remaining size, shape (m,).

    theta_i = (i/m)^c - ((i-1)/m)^c with c = 1/(1-p) and i = 1 for the largest job, computed as
    (i/m)^c (-expm1(c log1p(-1/i))), without cancellation or overflow.

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
