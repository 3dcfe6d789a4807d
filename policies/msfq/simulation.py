"""Simulations: what a policy gets, with how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.msfq import ClassTime, Empirical, Instance, Simulated
from instances.msfq.traces import Trace
from policies.msfq.plans import Plan, arrays

Floats = NDArray[np.float64]
BATCHES = 40
WARM_UP = 0.1
"""The part of the arrivals before anything is counted."""
PERCENTILES = (50, 90, 95, 99)
STUDENT = 2.0227
"""The 97.5% point of Student's distribution with BATCHES - 1 degrees of freedom."""


class Played(NamedTuple):
    """What a simulation gives: see `kernels.simulate`.

    Attributes
    ----------
    sums, counts : ndarray, shape (B, C)
        Response times and jobs, by batch and class.
    areas, came : ndarray, shape (C,)
        Jobs in the system integrated over time, and arrivals.
    histogram : ndarray, shape (C, buckets)
    phases : ndarray, shape (2, 5)
        Time in, and entries of, MSFQ's phases; 0 is an empty system.
    time, busy : float
        Time that was counted, and busy servers integrated over it.
    most : int
        The most jobs that were ever in the system.
    responses : ndarray
        Each job's response time, where it was asked for.
    samples : ndarray, shape (G, C)
        Numbers in the system at the times asked for.
    """

    sums: Floats
    counts: NDArray[np.int64]
    areas: Floats
    came: NDArray[np.int64]
    histogram: NDArray[np.int64]
    phases: Floats
    time: float
    busy: float
    most: int
    responses: Floats
    samples: NDArray[np.int64]


def play(
    queue: Instance,
    plan: Plan,
    *,
    arrivals: int,
    seed: int = 0,
    trace: Trace | None = None,
    common: bool = False,
    each: bool = False,
    warm: int | None = None,
    grid: Sequence[float] | Floats = (),
) -> Played:
    """Simulate a policy, compiled.

    Parameters
    ----------
    queue : Instance
        Servers and classes.
    plan : Plan
        The policy.
    arrivals : int
        Jobs; with a trace, at most so many of it.
    seed : int
        The same seed, the same jobs.
    trace : Trace, optional
        Jobs to play in place of random ones.
    common : bool
        Whether sizes come with the jobs, so that policies share them; slower. Sizes that are not
        exponential always do.
    each : bool
        Whether to play to the end and return each job's response time.
    warm : int, optional
        Jobs before anything is counted.
    grid : sequence of float
        Times at which to note the numbers in the system.
    """
    from policies.msfq import kernels

    count = len(queue.classes)
    if trace is not None:
        arrivals = min(arrivals, len(trace.times))
    if warm is None:
        warm = 0 if each else int(WARM_UP * arrivals)
    batches = max(1, min(BATCHES, arrivals - warm))
    sums, counts = np.zeros((batches, count)), np.zeros((batches, count), np.int64)
    areas, came = np.zeros(count), np.zeros(count, np.int64)
    histogram = np.zeros((count, kernels.BUCKETS), np.int64)
    phases, clock = np.zeros((2, 5)), np.zeros(3)
    responses = np.full(arrivals if each else 0, np.nan)
    times = np.asarray(grid, dtype=np.float64)
    samples = np.zeros((times.size, count), np.int64)
    empty = np.empty(0)
    most = kernels.simulate(
        queue.servers,
        *_jobs(queue),
        **arrays(queue, plan),
        arrivals=arrivals,
        warm=warm,
        seed=seed,
        sized=common or trace is not None or not queue.memoryless,
        trace_times=empty if trace is None else trace.times,
        trace_classes=np.empty(0, np.int64) if trace is None else trace.classes,
        trace_sizes=empty if trace is None else trace.sizes,
        sums=sums, counts=counts, areas=areas, came=came, histogram=histogram, phases=phases,
        clock=clock, responses=responses, grid=times, samples=samples,
    )  # fmt: skip
    return Played(
        sums, counts, areas, came, histogram, phases, float(clock[0]), float(clock[1]),
        int(most), responses, samples,
    )  # fmt: skip


def _jobs(queue: Instance) -> tuple[Any, ...]:
    """Return needs, rates and size distributions as arrays, in the kernel's order."""
    classes = queue.classes
    values: list[float] = []
    starts = [0]
    for job in classes:
        if isinstance(job.sizes, Empirical):
            values.extend(job.sizes.scaled.tolist())
        starts.append(len(values))
    return (
        np.array([job.need for job in classes], dtype=np.int64),
        np.array([job.arrival_rate for job in classes]),
        np.array([job.service_rate for job in classes]),
        np.array([job.sizes.parameters() for job in classes], dtype=np.float64),
        np.array(values, dtype=np.float64),
        np.array(starts, dtype=np.int64),
    )


def summary(queue: Instance, played: Played, arrivals: int, threshold: Any) -> Simulated:
    """Return the solution record of a simulation.

    Each class's mean is over its counted jobs; the confidence is that of a ratio of batch sums,
    which stands some batches without a job of a rare class.
    """
    totals, jobs = played.sums.sum(axis=0), played.counts.sum(axis=0)
    means = totals / np.maximum(jobs, 1)
    means_of = {name: _combined(queue, means, jobs, name) for name in ("mean", "weighted")}
    classes = tuple(_class_time(queue, played, c, means[c]) for c in range(len(jobs)))
    return Simulated(
        mean_response_time=means_of["mean"],
        weighted_response_time=means_of["weighted"],
        classes=classes,
        arrivals=arrivals,
        confidence=_confidence(played, means, _weights(queue, jobs, queue.objective)),
        utilization=played.busy / (played.time * queue.servers) if played.time else 0.0,
        threshold=threshold,
        phases=_durations(played),
    )


def _weights(queue: Instance, jobs: Any, objective: str) -> Floats:
    """Weights of the classes of which jobs were seen; the others cannot be told."""
    weights = np.array(queue.weights(objective)) * (jobs > 0)
    return np.asarray(weights / max(weights.sum(), 1e-300))


def _combined(queue: Instance, means: Any, jobs: Any, objective: str) -> float:
    return float(_weights(queue, jobs, objective) @ means)


def _confidence(played: Played, means: Any, weights: Any) -> float | None:
    """Return the half-width of the 95% interval of Σ weights·means, by batch means."""
    batches = len(played.sums)
    if batches < BATCHES:
        return None
    usual = np.maximum(played.counts.mean(axis=0), 1e-300)
    residuals = (played.sums - means * played.counts) / usual @ weights
    return float(STUDENT * residuals.std(ddof=1) / sqrt(batches))


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
