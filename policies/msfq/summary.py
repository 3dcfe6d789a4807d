"""The results of a simulation: mean response times by class, percentiles, and intervals."""

from math import inf
from typing import Any

import msgspec
import numpy as np

from schedopt.instances.msfq import ClassTime, Instance, Simulated
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.experiment import (
    DEFAULTS,
    Counters,
    Floats,
    Interval,
    interval,
    observations,
)

PERCENTILES = (50, 90, 95, 99)


def summarize(
    queue: Instance,
    measured: Counters,
    arrivals: int,
    *,
    threshold: int | None = None,
    trace: Trace | None = None,
    load: float | None = None,
    note: str = "",
) -> Simulated:
    """Return the solution record of a simulation.

    Each class's mean is over its counted jobs. The confidence interval is that of a ratio of batch
    sums, which allows for batches without a job of a rare class. Where the run is too short there
    is no interval, and the note says so. With a ``trace``, its jobs give the weight of each class.
    The ``load`` under the policy counts if it is higher than that of the instance.
    """
    totals, jobs = measured.sums.sum(axis=0), measured.counts.sum(axis=0)
    means = totals / np.maximum(jobs, 1)
    weights = {name: _weights(queue, jobs, name, trace) for name in ("mean", "weighted")}
    enough = observations(queue, measured.time, load) if trace is None else inf
    notes = [note] if note else []
    overall = _interval(measured, means, weights[queue.objective], enough)
    if overall.half_width is None:
        notes.append(
            f"the run is too short for a confidence interval: {overall.independent:.0f} "
            f"independent observations, of {DEFAULTS.enough:.0f} that are required"
        )
    time, entries = measured.phases
    return Simulated(
        mean_response_time=float(weights["mean"] @ means),
        weighted_response_time=float(weights["weighted"] @ means),
        classes=tuple(_class_time(queue, measured, c, means, enough) for c in range(len(jobs))),
        arrivals=arrivals,
        confidence=overall.half_width,
        utilization=measured.busy / (measured.time * queue.servers) if measured.time else 0.0,
        threshold=msgspec.UNSET if threshold is None else threshold,
        phases={str(p): float(time[p] / entries[p]) for p in range(1, 5) if entries[p]},
        note="; ".join(notes) or msgspec.UNSET,
    )


def _weights(queue: Instance, jobs: Any, objective: str, trace: Trace | None) -> Floats:
    """Return the weights of the classes; 0 for those without a counted job."""
    if trace is None:
        weights = np.array(queue.weights(objective)) * (jobs > 0)
    else:
        of = None if objective == "mean" else trace.sizes
        count = len(queue.classes)
        weights = np.bincount(trace.classes, of, count)[:count].astype(np.float64) * (jobs > 0)
        if objective == "weighted":
            weights *= np.array([job.need for job in queue.classes])
    return np.asarray(weights / max(weights.sum(), 1e-300))


def _interval(measured: Counters, means: Floats, weights: Floats, enough: float) -> Interval:
    """Return the 95% interval of Σ weights·means, from ratios of batch sums."""
    usual = np.maximum(measured.counts.mean(axis=0), 1e-300)
    residuals = (measured.sums - means * measured.counts) / usual @ weights
    jobs = float(measured.counts.sum(axis=0)[weights > 0].sum())
    return interval(residuals, float(weights @ means), observations=min(enough, jobs))


def _class_time(
    queue: Instance, measured: Counters, c: int, means: Floats, enough: float
) -> ClassTime:
    """Return the measures of one class."""
    only = np.zeros(len(queue.classes))
    only[c] = 1.0
    seen = int(measured.counts[:, c].sum())
    time = max(measured.time, 1e-300)
    return ClassTime(
        need=queue.classes[c].need,
        mean_response_time=float(means[c]) if seen else None,
        confidence=_interval(measured, means, only, enough).half_width if seen else None,
        percentiles=_percentiles(measured.histogram[c]) if seen else {},
        jobs=seen,
        mean_number=float(measured.areas[c] / time),
        arrival_rate=float(measured.came[c] / time),
    )


def _percentiles(histogram: Any) -> dict[str, float]:
    """Return percentiles, each the midpoint of a bucket less than 1% wide."""
    from schedopt.policies.msfq.simulation import LOWEST

    reached = np.cumsum(histogram)
    wanted = [np.searchsorted(reached, reached[-1] * p / 100.0) for p in PERCENTILES]
    edges = ((np.array(wanted) + LOWEST) << 45).view(np.float64)
    above = ((np.array(wanted) + LOWEST + 1) << 45).view(np.float64)
    middle = 0.5 * (edges + above)
    return {str(p): float(v) for p, v in zip(PERCENTILES, middle, strict=True)}
