"""Dominance between jobs: which completion orders need not be searched."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt.epochs import Bound, Rules
from schedopt.instances.hesrpt import Instance

Ints = NDArray[np.int64]
MOST_JOBS = 60
"""Most jobs for which sets are bit masks."""


def is_one_order(instance: Instance, rules: Rules, *, given: bool) -> bool:
    """Return True if one completion order is known to be optimal or given.

    For one speedup and equal costs, shortest first is optimal: if a job completes before a smaller
    one, their remaining sizes were equal at some time, and they can be exchanged from then on.
    """
    equal = len(instance.speedups) == 1 and bool(np.ptp(instance.costs) == 0)
    return given or (equal and not rules.bounds)


def completes_after(instance: Instance, rules: Rules) -> Ints:
    """Return for each job the jobs that complete after it in some optimum.

    Of two jobs with the same speedup and side constraints, the larger job with no larger cost need
    not complete first: if it does, their remaining sizes were equal at some time, and they can be
    exchanged from then on. With arrivals it must also arrive no earlier. Of equal jobs the last in
    the file completes last.

    Returns
    -------
    ndarray of int, shape (M,)
        Bit masks; all 0 for more than `MOST_JOBS` jobs.
    """
    after = np.zeros(len(instance.jobs), dtype=np.int64)
    if len(after) > MOST_JOBS:
        return after
    groups: dict[tuple[object, ...], list[int]] = {}
    for j, asks in enumerate(limits_by_job(rules.bounds, len(instance.jobs))):
        groups.setdefault((instance.kinds[j], *asks), []).append(j)
    sizes, costs, arrivals = instance.sizes, instance.costs, instance.arrivals
    for jobs in groups.values():
        jobs.sort(key=lambda j: (-sizes[j], costs[j], -arrivals[j], -j))
        for place, j in enumerate(jobs):
            for i in jobs[:place]:
                if costs[i] <= costs[j] and arrivals[i] >= arrivals[j]:
                    after[j] |= 1 << i
    return after


def limits_by_job(bounds: Sequence[Bound], count: int) -> list[tuple[object, ...]]:
    """Return the limits of each job; jobs with equal limits are interchangeable in the constraints.

    A constraint of a single job contributes its limits, a constraint of several jobs its number.
    """
    asked: list[tuple[object, ...]] = [()] * count
    for number, bound in enumerate(bounds):
        limits = (bound.at_least, bound.at_most) if len(bound.jobs) == 1 else number
        for j in bound.jobs:
            asked[j] = (*asked[j], limits)
    return asked


def count_sets(after: Ints, most: int) -> int:
    """Count the sets of last jobs that a search may have to visit, up to about ``most``.

    Returns 0 if the precedences in ``after`` have a cycle.
    """
    jobs = np.arange(len(after))
    sets, total = np.zeros(1, dtype=np.int64), 1
    for _ in jobs:
        ready = ((sets[:, None] & after) == after) & (sets[:, None] >> jobs & 1 == 0)
        sets = np.unique((sets[:, None] | (1 << jobs))[ready])
        total += len(sets)
        if not len(sets) or total > most:
            break
    return total if len(sets) else 0


def has_few_orders(instance: Instance, rules: Rules, sets: int = 1 << 8) -> bool:
    """Return True if branch and bound over the orders needs no Lagrangian bound.

    That is so up to a number of ``sets`` of last jobs, by default those of eight different jobs.
    """
    after = completes_after(instance, rules)
    return len(after) <= MOST_JOBS and count_sets(after, sets) <= sets
