"""One-or-all systems and random logs, and their optima by plain definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np

from schedopt.instances.msfq import Instance, JobClass, Partition
from schedopt.instances.msfq.logs import Jobs


def of_classes(servers: int, *classes: tuple[float, ...], **more: object) -> Instance:
    """Build a queue of classes: need, arrival rate and, unless it is 1, service rate."""
    made = tuple(
        JobClass(need=int(need), arrival_rate=rate, service_rate=served[0] if served else 1.0)
        for need, rate, *served in classes
    )
    return Instance(name="test", servers=servers, classes=made, **more)  # type: ignore[arg-type]


def one_or_all(
    k: int = 2, l1: float = 0.6, lk: float = 0.6, m1: float = 1.0, mk: float = 1.0, **more: object
) -> Instance:
    """Build a one-or-all system."""
    return of_classes(k, (1, l1, m1), (k, lk, mk), **more)


def at_load(k: int, load: float, p1: float = 0.9, **more: object) -> Instance:
    """Build one of unit sizes at a load."""
    rate = load / (p1 / k + 1 - p1)
    return one_or_all(k, p1 * rate, (1 - p1) * rate, **more)


def random_jobs(seed: int, most: int = 40, servers: int | None = None) -> tuple[Jobs, int]:
    """Draw a log with ties of all kinds, and the machine's servers."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, most + 1))
    servers = servers or int(draw.integers(1, 13))
    submit = np.sort(draw.integers(0, max(2, 3 * n // int(draw.integers(1, 5))), n))
    if draw.random() < 0.5:
        need = draw.integers(1, servers + 1, n)
    else:
        need = np.minimum(servers, draw.geometric(0.4, n))
    run = draw.integers(1, 10, n).astype(np.float64)
    if draw.random() < 0.3:
        run = run * draw.random(n) + 0.01
    estimate = None
    if draw.random() < 0.7:  # some exact, some long, some too short, some unknown
        kinds = draw.random(n)
        estimate = run * np.where(kinds < 0.4, 1.0, draw.integers(1, 6, n))
        estimate = np.where(kinds > 0.9, 0.5 * run, estimate)
        estimate = np.where(kinds > 0.95, np.nan, estimate)
    user = [None if u == 0 else str(u) for u in draw.integers(0, 4, n).tolist()]
    return Jobs.of(submit, need, run, estimate, user=user), servers


def queue_of(jobs: Jobs, servers: int, **more: object) -> Instance:
    """Make an instance of jobs."""
    bare = Instance(name="log", servers=servers, log="log.parquet", **more)  # type: ignore[arg-type]
    return bare.with_jobs(jobs)


def with_releases(queue: Instance, seed: int) -> Instance:
    """Return a log in which some jobs are released after their submits."""
    draw = np.random.default_rng(seed)
    held = draw.integers(0, 15, len(queue.jobs)) * (draw.random(len(queue.jobs)) < 0.5)
    return queue.with_jobs(replace(queue.jobs, release=queue.jobs.submit + held))


def random_parts(seed: int, most: int = 40, **more: object) -> Instance:
    """Draw a log of jobs that need several resources, in the partitions of a machine."""
    draw = np.random.default_rng(seed)
    jobs, servers = random_jobs(seed, most)
    count = len(jobs)
    names = ["gpu", "memory"][: int(draw.integers(1, 3))]
    amounts = {name: int(draw.integers(1, 60 if name == "memory" else 9)) for name in names}
    needs = {
        name: draw.integers(0, most + 1, count) * (draw.random(count) < 0.7)
        for name, most in amounts.items()
    }
    parts = [f"p{i}" for i in range(int(draw.integers(1, 4)))]
    of = [parts[i] for i in draw.integers(0, len(parts), count).tolist()]
    user = [None if code < 0 else f"{code}" for code in jobs.user.codes.tolist()]  # type: ignore[union-attr]
    columns = (jobs.submit, jobs.need, jobs.run, jobs.estimate)
    whole = Jobs.of(*columns, user=user, partition=of, needs=needs)
    if len(parts) == 1:
        return queue_of(whole, servers, resources=amounts, **more)
    each = {part: Partition(servers=servers, resources=amounts) for part in parts}
    return queue_of(whole, servers * len(parts), partitions=each, **more)


def least(queue: Instance) -> float:
    """Return the least objective of all schedules of a few jobs: each order, as soon as they fit.

    Some order gives the best schedule, since none is better for starting later.
    """
    total = weight = 0.0
    for _, _, one in queue.parts():
        jobs, most = one.jobs, np.array([one.servers, *one.amounts])
        more = np.empty((len(jobs), 0)) if jobs.needs is None else jobs.needs.amounts
        need = np.column_stack([jobs.need, more])
        heavy = jobs.need * jobs.run if queue.objective == "weighted" else np.ones(len(jobs))
        total += min(
            float(heavy @ (packed_starts(jobs, need, most, order) + jobs.run - jobs.submit))
            for order in permutations(range(len(jobs)))
        )
        weight += float(heavy.sum())
    return total / weight


def packed_starts(jobs: Jobs, need: Any, most: Any, order: tuple[int, ...]) -> Any:
    starts = np.full(len(jobs), np.inf)
    for job in order:
        placed = np.isfinite(starts)
        ends = starts + jobs.run
        come = jobs.released[job]
        for time in sorted({come, *ends[placed & (ends > come)]}):
            at = [time, *starts[placed & (starts > time) & (starts < time + jobs.run[job])]]
            held = [need[placed & (starts <= t) & (ends > t)].sum(axis=0) for t in at]
            if all((used + need[job] <= most).all() for used in held):
                starts[job] = time
                break
    return starts


def least_cost(
    k: int, rates: tuple[float, ...], costs: tuple[float, float], room: tuple[int, int]
) -> float:
    """Return the least long-run cost of all policies of a one-or-all system by a linear program.

    It maximizes g over relative values h, and v after the best decision, in states of c small jobs
    in service (k + 1: a large job), i and j waiting. Arrivals beyond the room are lost.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    l1, lk, m1, mk = (rate / max(rates) for rate in rates)
    states = list(product(range(k + 2), range(room[0] + 1), range(room[1] + 1)))
    h = {state: 1 + place for place, state in enumerate(states)}
    v = {state: len(states) + place for state, place in h.items()}
    rows: list[dict[int, float]] = []  # of sums that are at most the limits
    limits = []
    for c, i, j in states:
        here, large = (c, i, j), c == k + 1
        row = {0: 1.0, h[here]: 0.0}
        served = (mk, (0, i, j)) if large else (c * m1, (max(c - 1, 0), i, j))
        for rate, after in ((l1, (c, i + 1, j)), (lk, (c, i, j + 1)), served):
            if after in v and rate:
                row[h[here]] += rate
                row[v[after]] = row.get(v[after], 0.0) - rate
        rows.append(row)
        limits.append(costs[0] * (i + c * (not large)) + costs[1] * (j + large))
        rows.append({v[here]: 1.0, h[here]: -1.0})
        if c < k and i:
            rows.append({v[here]: 1.0, v[c + 1, i - 1, j]: -1.0})
        if c == 0 and j:
            rows.append({v[here]: 1.0, h[k + 1, i, j - 1]: -1.0})
        limits += [0.0] * (len(rows) - len(limits))
    entries = [(at, x, value) for at, row in enumerate(rows) for x, value in row.items()]
    at, columns, values = np.array(entries).T
    matrix = coo_array((values, (at.astype(int), columns.astype(int)))).tocsr()
    goal = np.zeros(1 + 2 * len(states))
    goal[0] = -1.0
    unit = max(costs)
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(goal, matrix, np.array(limits) / unit, bounds=(None, None), options=exact)
    return float(-found.fun * unit)
