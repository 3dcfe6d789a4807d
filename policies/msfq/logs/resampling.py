"""Logs resampled by user and week: what the same users might have submitted instead.

Each user's weeks are drawn anew from those between the user's first and last, with replacement, and
jobs keep their hour of the week; so daily and weekly cycles stay, and whoever came late or left
early still does. Every policy is replayed on the same resampled logs, so that their differences are
less noisy than either of them.

Source: Zakay and Feitelson, "Workload resampling for performance evaluation of parallel job
schedulers", Concurrency and Computation 26, 2014.
"""

from collections.abc import Callable, Iterator

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs, take_rows
from schedopt.instances.options import Option

DAY, WEEK = 86400.0, 604800.0
LEAST = 4
"""The fewest weeks of a log of which weeks are drawn; else days are, or tenths of the log."""
MOST = 10_000
RESAMPLES = Option(
    0,
    f"how many resampled logs to replay too, from 0 to {MOST}",
    lambda v: type(v) is int and 0 <= v <= MOST,
)


def resampled(jobs: Jobs, count: int) -> Iterator[Jobs]:
    """Yield so many resampled logs, the same ones every time; the log's times are in seconds.

    Where users are unknown, weeks of all jobs together are drawn.
    """
    if not count:
        return
    week = next((unit for unit in (WEEK, DAY) if jobs.span >= LEAST * unit), jobs.span / 10) or 1.0
    at = ((jobs.submit - jobs.submit[0]) // week).astype(np.int64)
    user = np.zeros_like(at) if jobs.user is None else jobs.user.codes.astype(np.int64)
    order = np.lexsort((at, user))
    ends = np.flatnonzero(np.diff(user[order]) | np.diff(at[order])) + 1
    held = {(int(user[some[0]]), int(at[some[0]])): some for some in np.split(order, ends)}
    first, last = dict(reversed(held.keys())), dict(held.keys())  # of each user's weeks
    for number in range(count):
        draw = np.random.Generator(np.random.PCG64([number, len(at)]))
        rows, shifts = [], []
        for who, b in last.items():
            a = first[who]
            for there, here in enumerate(draw.integers(a, b + 1, b - a + 1).tolist(), start=a):
                if (picked := held.get((who, here))) is not None:
                    rows.append(picked)
                    shifts.append(np.full(len(picked), (there - here) * week))
        if not rows:
            yield jobs
            continue
        chosen, submit = np.concatenate(rows), jobs.submit[np.concatenate(rows)]
        submit = np.maximum(submit + np.concatenate(shifts), 0.0)
        sorting = np.argsort(submit, kind="stable")
        chosen = chosen[sorting]
        yield Jobs(
            submit[sorting],
            jobs.need[chosen],
            jobs.run[chosen],
            None if jobs.estimate is None else jobs.estimate[chosen],
            *take_rows([jobs.user, None, None, None, jobs.partition, jobs.needs], chosen),
        )


def objectives(
    queue: Instance, count: int, started: Callable[[Instance], Floats]
) -> tuple[float, ...]:
    """Return the objective of a policy on each of so many resampled logs.

    ``started`` returns when each job of an instance starts.
    """
    means = []
    for jobs in resampled(queue.jobs, count):
        response = started(queue.with_jobs(jobs)) + jobs.run - jobs.submit
        weights = jobs.need * jobs.run if queue.objective == "weighted" else None
        means.append(float(np.average(response, weights=weights)))
    return tuple(means)
