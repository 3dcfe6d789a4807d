"""What a simulation tells: mean response times by class, percentiles, and how sure they are."""

from __future__ import annotations

from math import sqrt
from typing import Any

import msgspec
import numpy as np

from instances.msfq import ClassTime, Instance, Simulated
from instances.msfq.traces import Trace
from policies.msfq.played import Floats, Played
from policies.msfq.simulation import BATCHES

PERCENTILES = (50, 90, 95, 99)
T_QUANTILE = 2.0227
"""The 97.5% point of Student's distribution with BATCHES - 1 degrees of freedom."""


def summary(
    queue: Instance,
    played: Played,
    arrivals: int,
    *,
    threshold: int | None = None,
    trace: Trace | None = None,
    note: str = "",
) -> Simulated:
    """Return the solution record of a simulation; a trace's own jobs say what each class weighs.

    Each class's mean is over its counted jobs; the confidence is that of a ratio of batch sums,
    which stands some batches without a job of a rare class.

    Parameters
    ----------
    queue : Instance
    played : Played
    arrivals : int
    threshold : int, optional
        What the record tells of the rule.
    trace : Trace, optional
        The jobs, where they were not random.
    note : str
        What is to be said of the run.
    """
    totals, jobs = played.sums.sum(axis=0), played.counts.sum(axis=0)
    means = totals / np.maximum(jobs, 1)
    weights = {name: _weights(queue, jobs, name, trace) for name in ("mean", "weighted")}
    return Simulated(
        mean_response_time=float(weights["mean"] @ means),
        weighted_response_time=float(weights["weighted"] @ means),
        classes=tuple(_class_time(queue, played, c, means[c]) for c in range(len(jobs))),
        arrivals=arrivals,
        confidence=_confidence(played, means, weights[queue.objective]),
        utilization=played.busy / (played.time * queue.servers) if played.time else 0.0,
        threshold=msgspec.UNSET if threshold is None else threshold,
        phases=_durations(played),
        note=note or msgspec.UNSET,
    )


def _weights(queue: Instance, jobs: Any, objective: str, trace: Trace | None) -> Floats:
    """Return the weights of the classes of which jobs were seen; the others cannot be told."""
    if trace is None:
        weights = np.array(queue.weights(objective)) * (jobs > 0)
    else:
        of = None if objective == "mean" else trace.sizes
        count = len(queue.classes)
        weights = np.bincount(trace.classes, of, count)[:count].astype(np.float64) * (jobs > 0)
        if objective == "weighted":
            weights *= np.array([job.need for job in queue.classes])
    return np.asarray(weights / max(weights.sum(), 1e-300))


def _confidence(played: Played, means: Any, weights: Any) -> float | None:
    """Return the half-width of the 95% interval of Σ weights·means, by batch means."""
    batches = len(played.sums)
    if batches < BATCHES:
        return None
    usual = np.maximum(played.counts.mean(axis=0), 1e-300)
    residuals = (played.sums - means * played.counts) / usual @ weights
    return float(T_QUANTILE * residuals.std(ddof=1) / sqrt(batches))


def _class_time(queue: Instance, played: Played, c: int, mean: float) -> ClassTime:
    only = np.zeros(len(queue.classes))
    only[c] = 1.0
    means = played.sums.sum(axis=0) / np.maximum(played.counts.sum(axis=0), 1)
    seen = int(played.counts[:, c].sum())
    time = max(played.time, 1e-300)
    return ClassTime(
        need=queue.classes[c].need,
        mean_response_time=float(mean) if seen else None,
        confidence=_confidence(played, means, only) if seen else None,
        percentiles=_percentiles(played.histogram[c]) if seen else {},
        jobs=seen,
        mean_number=float(played.areas[c] / time),
        arrival_rate=float(played.came[c] / time),
    )


def _percentiles(histogram: Any) -> dict[str, float]:
    """Return percentiles, each the middle of its bucket, which is less than 1% wide."""
    from policies.msfq.kernels import LOWEST

    reached = np.cumsum(histogram)
    wanted = [np.searchsorted(reached, reached[-1] * p / 100.0) for p in PERCENTILES]
    edges = ((np.array(wanted) + LOWEST) << 45).view(np.float64)
    above = ((np.array(wanted) + LOWEST + 1) << 45).view(np.float64)
    middle = 0.5 * (edges + above)
    return {str(p): float(v) for p, v in zip(PERCENTILES, middle, strict=True)}


def _durations(played: Played) -> dict[str, float]:
    time, entries = played.phases
    return {str(p): float(time[p] / entries[p]) for p in range(1, 5) if entries[p]}
