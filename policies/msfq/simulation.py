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
POOL = 4096
"""Places for jobs in the system, to begin with."""
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
    sized = common or trace is not None or not queue.memoryless
    empty, whole_numbers = np.empty(0), np.int64
    inputs: dict[str, Any] = {
        "k": queue.servers,
        **_jobs(queue),
        **arrays(queue, plan),
        "arrivals": arrivals,
        "warm": warm,
        "sized": sized,
        "to_the_end": each,
        "trace_times": empty if trace is None else trace.times,
        "trace_classes": np.empty(0, whole_numbers) if trace is None else trace.classes,
        "trace_sizes": empty if trace is None else trace.sizes,
        "grid": np.asarray(grid, dtype=np.float64),
    }
    found: dict[str, Any] = {
        "sums": np.zeros((batches, count)),
        "counts": np.zeros((batches, count), whole_numbers),
        "areas": np.zeros(count),
        "came": np.zeros(count, whole_numbers),
        "histogram": np.zeros((count, kernels.BUCKETS), whole_numbers),
        "phases": np.zeros((2, 5)),
        "responses": np.full(arrivals if each else 0, np.nan),
        "samples": np.zeros((len(grid), count), whole_numbers),
    }
    first = queue.arrival_rate if trace is None else float(trace.times[0])
    state = _state(queue, seed, first, trace is not None, plan)
    pool = _pool(POOL)
    while True:
        kernels.advance(**inputs, **state, **pool, **found)
        if state["whole"][kernels.DONE]:
            break
        old = len(pool["of_class"])  # the pool is full: twice as many places
        pool = {name: np.concatenate([part, part]) for name, part in pool.items()}
        pool["pool"][old:, kernels.AFTER] = np.arange(old + 1, 2 * old + 1)
        pool["pool"][-1, kernels.AFTER] = -1
        state["whole"][kernels.SPARE] = old
    real, whole = state["real"], state["whole"]
    now, free = real[kernels.NOW], whole[kernels.FREE]
    inside = state["waiting"] + state["running"]
    found["areas"] += inside * (now - state["since"])
    found["phases"][0, whole[kernels.PHASE]] += now
    busy = real[kernels.BUSY_AREA] + (queue.servers - free) * (now - real[kernels.BUSY_SINCE])
    return Played(
        found["sums"], found["counts"], found["areas"], found["came"], found["histogram"],
        found["phases"], float(now - real[kernels.BEGAN]), float(busy),
        int(whole[kernels.MOST]), found["responses"], found["samples"],
    )  # fmt: skip


def _pool(places: int) -> dict[str, Any]:
    """Return room for so many jobs in the system, all of it spare."""
    from policies.msfq.kernels import AFTER

    pool = np.zeros((places, 4))
    pool[:, AFTER] = np.arange(1, places + 1)
    pool[-1, AFTER] = -1
    return {"pool": pool, "of_class": np.zeros(places, np.int64)}


def _state(queue: Instance, seed: int, first: float, traced: bool, plan: Plan) -> dict[str, Any]:
    """Return the state of an empty system, and the streams of random numbers."""
    from policies.msfq import kernels
    from policies.msfq.random_kernels import exponential, stream

    count, k = len(queue.classes), queue.servers
    draw, when, turn = (stream(seed, number) for number in (1, 2, 3))
    real, whole = np.zeros(7), np.zeros(11, np.int64)
    whole[kernels.FREE] = k
    real[kernels.NEXT_ARRIVAL] = first if traced else exponential(when) / first
    holding = plan.holding[0] if plan.holding else np.inf
    real[kernels.NEXT_TURN] = exponential(turn) * holding
    room = [k // job.need for job in queue.classes]
    base = np.zeros(count + 1, np.int64)
    base[1:] = np.cumsum(room)
    bits_in = np.zeros(1)
    return {
        "whole": whole, "real": real, "draw": draw, "when": when, "turn": turn,
        "waiting": np.zeros(count, np.int64), "running": np.zeros(count, np.int64),
        "first": np.full(count, -1), "last": np.full(count, -1), "head": np.zeros(count),
        "since": np.zeros(count), "base": base, "served": np.zeros(base[-1], np.int64),
        "ends": np.zeros(k + 2), "ended": np.zeros(k + 2, np.int64),
        "bits_in": bits_in, "bits": bits_in.view(np.int64),
    }  # fmt: skip


def _jobs(queue: Instance) -> dict[str, Any]:
    """Return needs, rates and size distributions as arrays, by the kernel's names."""
    classes = queue.classes
    values: list[float] = []
    starts = [0]
    for job in classes:
        if isinstance(job.sizes, Empirical):
            values.extend(job.sizes.scaled.tolist())
        starts.append(len(values))
    return {
        "needs": np.array([job.need for job in classes], dtype=np.int64),
        "rates": np.array([job.arrival_rate for job in classes]),
        "services": np.array([job.service_rate for job in classes]),
        "shapes": np.array([job.sizes.parameters() for job in classes], dtype=np.float64),
        "values": np.array(values, dtype=np.float64),
        "starts": np.array(starts, dtype=np.int64),
    }


def summary(
    queue: Instance, played: Played, arrivals: int, threshold: Any, trace: Trace | None = None
) -> Simulated:
    """Return the solution record of a simulation; a trace's own jobs say what each class weighs.

    Each class's mean is over its counted jobs; the confidence is that of a ratio of batch sums,
    which stands some batches without a job of a rare class.
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
        threshold=threshold,
        phases=_durations(played),
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
