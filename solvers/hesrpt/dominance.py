"""Which completion orders need to be searched: dominance between jobs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt.epochs import Bound, Rules
from schedopt.instances.hesrpt import Instance

FEW_SETS = 1 << 8
"""Sets of last jobs, those of eight unlike ones: rents come first where there are more."""
Ints = NDArray[np.int64]
MOST_JOBS = 60
"""Most jobs for which sets are bit masks."""
MOST_SETS = 1 << 18
"""Most sets of last jobs for which diagrams are built."""


def is_one_order(instance: Instance, rules: Rules, *, given: bool) -> bool:
    """Tell whether no search is needed for the best order.

    The shortest job is best first for one speedup and equal costs: where a job completes before a
    smaller one, their remaining sizes were equal once, and from then on they can change places.
    """
    equal = len(instance.speedups) == 1 and bool(np.ptp(instance.costs) == 0)
    return given or (equal and not rules.bounds)


def completes_after(instance: Instance, rules: Rules) -> Ints:
    """Return which jobs complete after which in some optimum, as bits by job.

    Of two jobs with the same speedup and side constraints, the larger one that costs no more need
    not complete first: where it does, their remaining sizes were equal at some time, and from then
    on they can change places. With arrivals it must also arrive no earlier. Of equal jobs the last
    in the file completes last.

    It is 0 for all beyond `MOST_JOBS`.
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
    """Return what side constraints ask of each job: the same of jobs that they do not tell apart.

    Jobs that are alone in a constraint are asked its limits, others that very constraint.
    """
    asked: list[tuple[object, ...]] = [()] * count
    for number, bound in enumerate(bounds):
        limits = (bound.at_least, bound.at_most) if len(bound.jobs) == 1 else number
        for j in bound.jobs:
            asked[j] = (*asked[j], limits)
    return asked


def count_sets(after: Ints, most: int) -> int:
    """Count the sets of last jobs that a search has to look at, up to about `most`.

    It is 0 where jobs would have to complete after each other in a circle.
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


def has_few_orders(instance: Instance, rules: Rules) -> bool:
    """Return True if branch and bound over completion orders needs no better bound first."""
    after = completes_after(instance, rules)
    return len(after) <= MOST_JOBS and count_sets(after, FEW_SETS) <= FEW_SETS
