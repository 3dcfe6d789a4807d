"""An exact simulator of sharing policies: shares change when a job completes or arrives."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.hesrpt import Instance

Floats = NDArray[np.float64]
Jobs = NDArray[np.intp]
ShareFunction = Callable[[Instance, Jobs, Floats], Floats]
"""``shares(instance, jobs, left)``: the share of each job in the system.

``jobs`` are positions and ``left`` their remaining sizes, by remaining size and, where these are
equal, by the file's order; all of shape (m,). What is returned is too, and sums to 1 at most.
"""
Played = tuple[Floats, list[tuple[float, float, Jobs, Floats]]]
TOGETHER = 1e-12
"""Completions within this relative distance coincide: only rounding separates them."""


class StalledError(ArithmeticError):
    """No job in the system makes progress, and none is to come."""


def play(instance: Instance, share_function: ShareFunction, *, record: bool = True) -> Played:
    """Play a share function until all jobs are done; return completion times and epochs.

    Completion times are of shape (M,). An epoch is its start, its end, the jobs that have a share
    above 0 and their shares; there are none unless they are to be recorded. `StalledError` if
    nothing is served and nothing arrives any more.
    """
    left, completion = instance.sizes.copy(), np.zeros(len(instance.jobs))
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
        jobs = here[np.argsort(left[here], kind="stable")]
        shares = share_function(instance, jobs, left[jobs])
        rates = instance.each("at", jobs, shares * instance.servers)
        needs = np.full(len(jobs), np.inf)
        np.divide(left[jobs], rates, out=needs, where=rates > 0)
        end, step = _next_event(now, float(needs.min()), until)
        if record:
            used = shares > 0
            epochs.append((now, end, jobs[used], shares[used]))
        done = needs <= step * (1 + TOGETHER)
        left[jobs] -= step * rates
        left[jobs[done]] = 0.0
        completion[jobs[done]] = end
        now, here = end, np.sort(jobs[~done])
    return completion, epochs


def _next_event(now: float, need: float, until: float) -> tuple[float, float]:
    """Return when a job completes or the next arrives, and how long that is from now."""
    if need == np.inf and until == np.inf:
        raise StalledError("jobs are left, and none of them is ever served")
    if until - now <= need:
        return until, until - now
    return now + need, need
