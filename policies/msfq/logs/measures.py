"""Measures of a replay: response times, slowdowns and lost capacity, over all jobs and by user."""

from math import sqrt

import msgspec
import numpy as np

from schedopt.instances.msfq import Instance, Measures, Replayed
from schedopt.instances.msfq.answers import pack_starts
from schedopt.instances.msfq.logs import GROUPINGS, Floats, Labels
from schedopt.policies.msfq.summary import T_QUANTILES

SLOWDOWN_BOUND = 10.0
"""The default of τ: shorter jobs count as this long (Feitelson and Rudolph, JSSPP 1998)."""


def measure(
    queue: Instance,
    starts: Floats,
    *,
    slowdown_bound: float = SLOWDOWN_BOUND,
    estimates: str = "none",
    note: str = "",
) -> Replayed:
    """Return the solution record of a replay from the start of each job.

    ``estimates`` names the run times that the policy expected.
    """
    jobs = queue.jobs
    ends = starts + jobs.run
    response, wait = ends - jobs.submit, starts - jobs.submit
    slowdown = np.maximum(1.0, response / np.maximum(jobs.run, slowdown_bound))
    work = jobs.need * jobs.run
    makespan = float(ends.max() - jobs.submit[0])
    by = {
        key: _measures_by_name(labels, response, wait, slowdown)
        for key in (*GROUPINGS, "need")
        if (labels := jobs.labels(key)) is not None
    }
    weights = work if queue.objective == "weighted" else None
    return Replayed(
        jobs=len(jobs),
        mean_response_time=float(response.mean()),
        weighted_response_time=float(work @ response / work.sum()),
        mean_wait=float(wait.mean()),
        mean_bounded_slowdown=float(slowdown.mean()),
        slowdown_bound=slowdown_bound,
        utilization=float(work.sum()) / (queue.servers * makespan),
        loss_of_capacity=_lost_capacity(queue, starts, ends) / (queue.servers * makespan),
        fairness=fairness(by["user"]) if by.get("user") else None,
        makespan=makespan,
        confidence=confidence(response, weights),
        estimates=estimates,
        by=by,
        schedule=pack_starts(starts),
        note=note or msgspec.UNSET,
    )


def _measures_by_name(
    labels: Labels, response: Floats, wait: Floats, slowdown: Floats
) -> dict[str, Measures]:
    """Return the measures of each name; jobs without a name are omitted."""
    labelled = labels.codes >= 0
    codes, count = labels.codes[labelled], len(labels.names)
    jobs = np.bincount(codes, minlength=count)
    sums = [np.bincount(codes, of[labelled], count) for of in (response, wait, slowdown)]
    return {
        name: Measures(
            jobs=int(jobs[i]),
            mean_response_time=float(sums[0][i] / jobs[i]),
            mean_wait=float(sums[1][i] / jobs[i]),
            mean_bounded_slowdown=float(sums[2][i] / jobs[i]),
        )
        for i, name in enumerate(labels.names)
        if jobs[i]
    }


def fairness(users: dict[str, Measures]) -> float:
    """Return Jain's index of mean bounded slowdowns: (Σx)² / (n·Σx²), 1 where all are equal."""
    each = np.array([user.mean_bounded_slowdown for user in users.values()])
    return float(each.sum() ** 2 / (each.size * (each @ each)))


def confidence(
    response: Floats, weights: Floats | None = None, *, batches: int = 40, least_batch: int = 10
) -> float | None:
    """Return the half-width of the 95% interval of a weighted mean, by batch means over the log.

    Jobs are divided into ``batches`` in order of submit, of at least ``least_batch`` jobs; None for
    shorter logs. Batches do not show the error of a log that is short compared with its weeks or
    seasons.
    """
    if response.size < batches * least_batch:
        return None
    edges = np.linspace(0, response.size, batches + 1).astype(np.int64)[:-1]
    of = np.ones(response.size) if weights is None else weights
    sums, counts = np.add.reduceat(response * of, edges), np.add.reduceat(of, edges)
    residuals = (sums - counts * (sums.sum() / counts.sum())) / counts.mean()
    return float(T_QUANTILES[batches] * residuals.std(ddof=1) / sqrt(batches))


def _lost_capacity(queue: Instance, starts: Floats, ends: Floats) -> float:
    """Return the time integral of min(idle servers, servers that waiting jobs need).

    Jobs wait from their release on.
    """
    total = 0.0
    for _, rows, part in queue.parts():
        need = part.jobs.need.astype(np.int64)
        times = np.concatenate([part.jobs.released, starts[rows], ends[rows]])
        order = np.argsort(times, kind="stable")
        none = np.zeros_like(need)
        wanted = np.cumsum(np.concatenate([need, -need, none])[order])
        busy = np.cumsum(np.concatenate([none, need, -need])[order])
        total += np.diff(times[order]) @ np.minimum(part.servers - busy, wanted)[:-1]
    return float(total)
