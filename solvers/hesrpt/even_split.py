"""An even split of the servers that keeps the side constraints: at hand whatever the time limit."""

from math import inf

import numpy as np

from schedopt.formulations.hesrpt.epochs import Rules, in_force
from schedopt.instances.extras import installed
from schedopt.instances.hesrpt import Allocated, Instance, allocated
from schedopt.solvers.hesrpt.dominance import limits_by_job
from schedopt.solvers.hesrpt.feasibility import servable
from schedopt.solvers.hesrpt.speedup_kernels import Floats, Ints

DONE = 1e-12
"""The part of a size that is left of a job by rounding alone."""


def split_evenly(instance: Instance, rules: Rules) -> Allocated | None:
    """Serve all present jobs as evenly as the rules allow.

    None where that is not found: where rules leave no shares while some jobs are present, or none
    with which work is done.
    """
    if not installed("scipy"):
        return None
    count = len(instance.jobs)
    left, ends, arrivals = instance.sizes.copy(), np.full(count, inf), instance.arrivals
    time, epochs = 0.0, []
    while not np.isfinite(ends).all():
        here = np.flatnonzero((arrivals <= time) & ~np.isfinite(ends))
        coming = arrivals[arrivals > time]
        until = float(coming.min()) if len(coming) else inf
        if not len(here):
            epochs.append((time, until, here, np.zeros(0)))
            time = until
            continue
        shares = _even_shares(rules, here)
        if shares is None:
            return None
        rates = instance.each("at", here, shares * instance.servers)
        with np.errstate(divide="ignore"):
            after = left[here] / rates
        lasts = min(float(after.min()), until - time)
        if not np.isfinite(lasts):
            return None
        end = until if lasts == until - time else time + lasts
        epochs.append((time, end, here, shares))
        left[here] -= rates * lasts
        gone = (after == lasts) | (left[here] <= DONE * instance.sizes[here])
        ends[here[gone]] = end
        time = end
    return allocated(instance, ends, epochs)


def _even_shares(rules: Rules, here: Ints) -> Floats | None:
    """Return the shares of present jobs whose least is largest, and of these the largest in sum.

    Jobs that the rules do not tell apart have the same share.
    """
    from scipy.optimize import linprog

    present = here.tolist()
    if not servable(rules.bounds, present):
        return None
    bounds = list(in_force(rules.bounds, present))
    asked = limits_by_job(bounds, max(present) + 1)
    kinds: dict[tuple[object, ...], int] = {}
    of = np.array([kinds.setdefault(asked[j], len(kinds)) for j in present])
    sizes = np.bincount(of).astype(np.float64)
    rows, most = [np.append(sizes, 0.0)], [1.0]
    for bound in bounds:
        row = np.append(np.bincount(of[np.isin(here, bound.jobs)], minlength=len(sizes)), 0.0)
        if len(bound.jobs) == 1:
            row = np.minimum(row, 1.0)
        rows += [row, -row]
        most += [bound.at_most, -bound.at_least]
    rows += [np.append(-row, 1.0) for row in np.eye(len(sizes))]
    most += [0.0] * len(sizes)
    goal = -np.append(sizes, 2.0 * len(here))
    found = linprog(goal, A_ub=np.array(rows), b_ub=most)
    return np.maximum(found.x[of], 0.0) if found.status == 0 else None
