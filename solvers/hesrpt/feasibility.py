"""Which completion orders need to be searched, and whether some shares complete every job."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Bound, Rules, Timeline
from schedopt.instances.hesrpt import Instance

Ints = NDArray[np.int64]
MOST_JOBS = 60
"""Most jobs for which sets are bit masks."""
FEW_SETS = 1 << 8
"""Sets of last jobs, those of eight different jobs, up to which no Lagrangian bound is needed."""
MOST_EPOCHS = 50_000
"""Most epochs that are visited to enumerate timelines."""
LEAST_SHARE, SLACK = 1e-9, 1e-12
"""The smallest share with which a job counts as served, and the rounding error of sums."""
INFEASIBLE = 2
"""scipy's status of a linear program without a solution."""
Limits = dict[tuple[int, ...], tuple[float, float]]
"""The least and the largest total share of some jobs."""


def is_one_order(instance: Instance, rules: Rules, *, given: bool) -> bool:
    """Return True if one completion order is known to be optimal or given.

    For one speedup and equal costs, shortest first is optimal: if a job completes before a smaller
    one, their remaining sizes were equal at some time, and they can be exchanged from then on.
    """
    equal = len(instance.speedups) == 1 and bool(np.ptp(instance.costs) == 0)
    return given or (equal and not rules.bounds)


def completes_after(instance: Instance, rules: Rules) -> Ints:
    """Return for each job, as bit masks, the jobs that complete after it in some optimum.

    Of two jobs with the same speedup and side constraints, the larger job with no larger cost need
    not complete first: if it does, their remaining sizes were equal at some time, and they can be
    exchanged from then on. With arrivals it must also arrive no earlier. Of equal jobs the last in
    the file completes last. All masks are 0 for more than `MOST_JOBS` jobs.
    """
    after = np.zeros(len(instance.jobs), dtype=np.int64)
    if len(after) > MOST_JOBS:
        return after
    sizes, costs, arrivals = instance.sizes, instance.costs, instance.arrivals
    groups: dict[tuple[object, ...], list[int]] = {}
    for j, limits in enumerate(_limits_by_job(rules.bounds, len(after))):
        groups.setdefault((instance.kinds[j], *limits), []).append(j)
    for jobs in groups.values():
        jobs.sort(key=lambda j: (-sizes[j], costs[j], -arrivals[j], -j))
        for place, j in enumerate(jobs):
            for i in jobs[:place]:
                if costs[i] <= costs[j] and arrivals[i] >= arrivals[j]:
                    after[j] |= 1 << i
    return after


def _limits_by_job(bounds: Sequence[Bound], jobs: int) -> list[tuple[object, ...]]:
    """Return the limits of each job; jobs with equal limits are interchangeable in the constraints.

    A constraint of a single job contributes its limits, a constraint of several jobs its number.
    """
    limits: list[tuple[object, ...]] = [()] * jobs
    for number, bound in enumerate(bounds):
        own = (bound.at_least, bound.at_most) if len(bound.jobs) == 1 else number
        for j in bound.jobs:
            limits[j] = (*limits[j], own)
    return limits


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


def has_few_orders(instance: Instance, rules: Rules) -> bool:
    """Return True if branch and bound over the orders needs no Lagrangian bound."""
    after = completes_after(instance, rules)
    return len(after) <= MOST_JOBS and count_sets(after, FEW_SETS) <= FEW_SETS


def satisfiable(model: Allocation, names: Collection[str]) -> bool:
    """Return False if the named side constraints are proven infeasible.

    The proof: all jobs are present at first, so some job must be served while all are present, and
    the others in turn. True means that this proof fails. The constraints are then feasible, unless
    the minimum share of a team is more than the last of its jobs may have.
    """
    bounds = [bound for bound in model.rules.bounds if bound.name in names]
    jobs = list(range(len(model.instance.jobs)))
    softer = [b._replace(at_least=0.0) if len(b.jobs) > 1 else b for b in bounds]
    groups: dict[tuple[object, ...], list[int]] = {}  # of jobs with the same limits
    for j, limits in enumerate(_limits_by_job(bounds, len(jobs))):
        groups.setdefault(limits, []).append(j)
    waiting = list(groups.values())
    if model.instance.arrivals.any():  # a job may be alone when it is served
        return all(servable(softer, some[:1], some[0]) for some in waiting)
    if not any(servable(bounds, jobs, some[0]) for some in waiting):
        return False
    while waiting:  # with fewer jobs present, what could be served still can
        here = [j for some in waiting for j in some]
        left = [some for some in waiting if not servable(softer, here, some[0])]
        if len(left) == len(waiting):
            return False
        waiting = left
    return True


def possible_timelines(model: Allocation, names: Collection[str]) -> Iterator[Timeline]:
    """Yield the timelines that may be possible under the named rules.

    Without arrivals all of them are possible. With arrivals, the work that must be done before an
    arrival may be too much. An epoch in which no shares satisfy the limits has length 0.

    Raises
    ------
    TimeoutError
        If there are too many.
    """
    instance, arrivals, visited = model.instance, model.instance.arrivals, count()
    bounds = [bound for bound in model.rules.bounds if bound.name in names]
    coming = np.argsort(arrivals, kind="stable")[int((arrivals == 0).sum()) :].tolist()
    wanted = model.last_first[::-1].tolist() if model.given else None
    mosts = np.ones(len(arrivals))
    for bound in bounds:
        mosts[list(bound.jobs)] = np.minimum(mosts[list(bound.jobs)], bound.at_most)
    rates = instance.each("at", np.arange(len(mosts)), mosts * instance.servers)
    with np.errstate(divide="ignore"):
        soonest = arrivals + instance.sizes / rates * (1.0 - LEAST_SHARE)
    kinds = _limits_by_job(bounds, len(mosts))

    @cache
    def able(here: tuple[int, ...], kind: tuple[object, ...] | None) -> bool:
        job = None if kind is None else next(j for j in here if kinds[j] == kind)
        return not here or servable(bounds, here, job)

    def extended(
        done: list[int],
        here: tuple[int, ...],
        arrived: dict[str, int],
        times: tuple[float, float, bool],
        before: frozenset[int],
    ) -> Iterator[Timeline]:
        # the last arrival, the soonest end of the last epoch, whether one since can last
        start, end, lasts = times
        if next(visited) > MOST_EPOCHS:
            raise TimeoutError("there are too many possible timelines")
        if len(arrived) == len(coming) and not here:
            yield done[::-1], arrived
        fits, served = able(here, None), before  # jobs that could be served so far
        if fits:
            served |= {j for j in here if able(here, kinds[j])}
        if len(arrived) < len(coming):
            j = coming[len(arrived)]
            until = float(arrivals[j])
            if end <= until and (until == start or lasts or fits):
                also = {**arrived, instance.jobs[j].name: len(done)}
                kept = served if until > start else before
                later = tuple(sorted([*here, j]))
                yield from extended(done, later, also, (until, until, False), kept)
        for j in here:
            if j in served and (wanted is None or j == wanted[len(done)]):
                left = tuple(i for i in here if i != j)
                then = start, max(end, float(soonest[j])), lasts or fits
                yield from extended([*done, j], left, arrived, then, served)

    here = tuple(np.flatnonzero(arrivals == 0).tolist())
    yield from extended([], here, {}, (0.0, 0.0, False), frozenset())


def has_few_timelines(model: Allocation, most: int, most_jobs: int = 12) -> bool:
    """Return True if at most ``most`` timelines are possible.

    With more than ``most_jobs`` jobs they are not counted.
    """
    if len(model.instance.jobs) > most_jobs:
        return model.given and not model.instance.arrivals.any()
    try:
        timelines = possible_timelines(model, model.rules.names)
        return next(islice(timelines, most, None), None) is None
    except TimeoutError:
        return False


def servable(bounds: Sequence[Bound], here: Sequence[int], job: int | None = None) -> bool:
    """Return True if shares exist for the present jobs, with a positive share for ``job``."""
    own = [] if job is None else [Bound("", (job,), LEAST_SHARE, 1.0)]
    alone: Limits = {(j,): (0.0, 1.0) for j in here}
    teams: Limits = {}
    for bound in [*bounds, *own]:
        members = tuple(sorted(j for j in bound.jobs if (j,) in alone))
        if members:
            limits = alone if len(members) == 1 else teams
            low, high = limits.get(members, (0.0, 1.0))
            limits[members] = max(low, bound.at_least), min(high, bound.at_most)
    if any(low > high for low, high in alone.values()):
        return False
    in_teams = {j for team in teams for j in team}
    if sum(map(len, teams)) > len(in_teams):
        return _program_is_feasible(alone, teams, here)
    needed = sum(low for (j,), (low, _) in alone.items() if j not in in_teams)
    for team, (low, high) in teams.items():
        floor = max(low, sum(alone[j,][0] for j in team))
        if floor > min(high, sum(alone[j,][1] for j in team)) + SLACK:
            return False
        needed += floor
    return needed <= 1.0 + SLACK


def _program_is_feasible(alone: Limits, teams: Limits, here: Sequence[int]) -> bool:
    """Return whether shares exist, by a linear program, for teams that overlap."""
    from scipy.optimize import linprog

    at = {j: i for i, j in enumerate(here)}
    rows, most = [np.ones(len(here))], [1.0]
    for team, (low, high) in teams.items():
        row = np.zeros(len(here))
        row[[at[j] for j in team]] = 1.0
        rows += [row, -row]
        most += [high, -low]
    box = [alone[j,] for j in here]
    outcome = linprog(np.zeros(len(here)), A_ub=np.array(rows), b_ub=most, bounds=box)
    return bool(outcome.status != INFEASIBLE)
