"""Results of simulations and replays, and confidence intervals of means by batches.

A run is divided into short batches. The number of them that count as independent is estimated from
their autocorrelation (Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7, 1992).
They are then combined into few long batches, whose means are nearly independent (Law, *Simulation
Modeling and Analysis*, section 9.5.3). Response times near saturation are skewed to the right, so
the interval is computed for the inverse square root of the mean, which is hardly skewed (Box and
Cox, "An analysis of transformations", JRSS B 26, 1964); the half-width is that of its longer side.
Runs that are too short have no interval.
"""

from math import inf, sqrt
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import ClassTime, Instance, Measures, Replayed, Simulated
from schedopt.instances.msfq.answers import pack_starts
from schedopt.instances.msfq.logs import GROUPINGS, Labels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PERCENTILES = (50, 90, 95, 99)
BUCKETS = 96 * 128
"""Buckets of the histogram: 128 for each power of two, from 2^-40 to 2^56."""
LOWEST = (1023 - 40) * 128
T_QUANTILES = {5: 2.7764, 8: 2.3646, 10: 2.2622, 16: 2.1314, 20: 2.0930, 32: 2.0395, 40: 2.0227}
"""The 97.5% quantile of Student's t-distribution, by number of batches."""


SLOWDOWN_BOUND = 10.0
"""The default of τ: shorter jobs count as this long (Feitelson and Rudolph, JSSPP 1998)."""
BATCHES = 640
"""The number of short batches, a multiple of every number in `T_QUANTILES`."""
LONG_BATCH = 40.0
"""Independent short batches in a long one, if there are enough."""
FEW = 200.0
"""Independent batches below which two groupings are tried, and the wider interval counts."""
ENOUGH, ENOUGH_BATCHES = 50.0, 30.0
"""Independent observations that an interval requires, estimated from the load, and independent
batches, estimated from the run."""
WIDEST = 1.9
"""The largest half-width, relative to the mean, that enters the inverse square root."""


class Interval(NamedTuple):
    """The half-width of a 95% interval, None where the run is too short for one.

    ``independent`` is the number of independent observations in the run.
    """

    half_width: float | None
    independent: float


def interval(residuals: Floats, mean: float, *, observations: float = inf) -> Interval:
    """Return the 95% confidence interval of a mean by batch means.

    Parameters
    ----------
    residuals : ndarray, shape (batches,)
        Deviations of short batches from the mean.
    mean : float
        The mean.
    observations : float
        An upper bound on the number of independent observations in the run.
    """
    if len(residuals) < BATCHES:
        return Interval(None, min(observations, float(len(residuals))))
    independent = independent_batches(residuals)
    fewest = min(observations, independent)
    if observations < ENOUGH or independent < ENOUGH_BATCHES:
        return Interval(None, fewest)
    if fewest < FEW:
        half = max(_half_width(residuals, 5), _half_width(residuals, 8))
    else:
        wanted = max(8.0, independent / LONG_BATCH)
        half = _half_width(residuals, max(b for b in T_QUANTILES if b <= wanted))
    if mean > 0:
        half = mean * ((1.0 - 0.5 * min(half / mean, WIDEST)) ** -2 - 1.0)
    return Interval(half, fewest)


def _half_width(residuals: Floats, batches: int) -> float:
    means = residuals.reshape(batches, -1).mean(axis=1)
    return float(T_QUANTILES[batches] * means.std(ddof=1) / sqrt(batches))


def independent_batches(residuals: Floats) -> float:
    """Return the effective number of independent batches, by Geyer's initial monotone sequence."""
    count = len(residuals)
    spectrum = np.fft.rfft(residuals - residuals.mean(), 2 * count)
    covariances = np.fft.irfft(spectrum * spectrum.conj())[:count] / count
    if covariances[0] <= 0.0:
        return float(count)
    pairs = covariances[0 : count - 1 : 2] + covariances[1:count:2]
    ends = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: ends[0] if ends.size else len(pairs)])
    long_run = max(2.0 * float(kept.sum()) - covariances[0], 0.5 * covariances[0])
    return float(count * covariances[0] / long_run)


def observations(queue: Instance, time: float, load: float | None = None) -> float:
    """Return the number of independent observations in a simulated time, from the load.

    Near saturation the work in a queue behaves like reflected Brownian motion with drift -(1 -
    load)·k and variance Σ λ·(need·size)². Its integrated autocorrelation time is twice the variance
    over the squared drift (Whitt, "Planning queueing simulations", Management Science 35, 1989).
    The ``load`` under a policy counts if it is higher than that of the instance.
    """
    variance = sum(
        job.arrival_rate * job.sizes.second_moment * (job.need / job.service_rate) ** 2
        for job in queue.classes
    )
    spare = (1.0 - max(queue.load, load or 0.0)) * queue.servers
    return time * spare**2 / (2.0 * variance) if spare > 0.0 else 0.0


class Trace(NamedTuple):
    """Jobs in order of arrival: times, classes (positions in the instance), and sizes."""

    times: Floats
    classes: Ints
    sizes: Floats

    def take(self, rows: NDArray[np.bool_] | slice) -> "Trace":
        """Return some of the jobs."""
        return Trace(self.times[rows], self.classes[rows], self.sizes[rows])


class Counters(NamedTuple):
    """The counters of a simulation over B batches and C classes.

    Shape (B, C): ``sums`` of response times and ``counts`` of completed jobs, ``levels`` of jobs in
    the system at the start of each batch. Shape (C,): ``areas``, the number of jobs in the system
    integrated over time, ``came`` of arrivals, and ``oldest``, how long the oldest waiting job has
    waited at the end. ``histogram`` has the response times of each class by bucket, ``phases``,
    shape (2, 5), the time in MSFQ's phases and the entries (phase 0: an empty system), ``samples``
    the jobs in the system at the times of the grid. ``time`` was counted, ``elapsed`` has the
    warm-up as well, and ``busy`` is the number of busy servers integrated over the former.
    """

    sums: Floats
    counts: Ints
    levels: Ints
    areas: Floats
    came: Ints
    histogram: Ints
    phases: Floats
    starts: Floats
    samples: Ints
    oldest: Floats
    time: float = 0.0
    busy: float = 0.0
    elapsed: float = 0.0


def invalid_start(name: str, found: str) -> InputError:
    """Return the error for a rule that starts a job that does not wait or does not fit."""
    return InputError(
        "a job that waits and fits into the idle servers",
        found=found,
        place=f"admission rule {name}",
    )


def summarize(
    queue: Instance,
    measured: Counters,
    arrivals: int,
    *,
    threshold: int | None = None,
    load: float | None = None,
    note: str = "",
) -> Simulated:
    """Return the solution record of a simulation.

    Each class's mean is over its counted jobs. The confidence interval is that of a ratio of batch
    sums, which allows for batches without a job of a rare class. Where the run is too short there
    is no interval, and the note says so. The ``load`` under the policy counts if it is higher than
    that of the instance.
    """
    totals, jobs = measured.sums.sum(axis=0), measured.counts.sum(axis=0)
    means = totals / np.maximum(jobs, 1)
    weights = {name: _weights(queue, jobs, name) for name in ("mean", "weighted")}
    enough = observations(queue, measured.time, load)
    notes = [note] if note else []
    overall = _interval(measured, means, weights[queue.objective], enough)
    if overall.half_width is None:
        notes.append(
            f"the run is too short for a confidence interval: {overall.independent:.0f} "
            f"independent observations, of {ENOUGH:.0f} that are required"
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


def _weights(queue: Instance, jobs: Any, objective: str) -> Floats:
    weights = np.array(queue.weights(objective)) * (jobs > 0)
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
    reached = np.cumsum(histogram)
    wanted = [np.searchsorted(reached, reached[-1] * p / 100.0) for p in PERCENTILES]
    edges = ((np.array(wanted) + LOWEST) << 45).view(np.float64)
    above = ((np.array(wanted) + LOWEST + 1) << 45).view(np.float64)
    middle = 0.5 * (edges + above)
    return {str(p): float(v) for p, v in zip(PERCENTILES, middle, strict=True)}


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


def confidence(response: Floats, weights: Floats | None = None) -> float | None:
    """Return the half-width of the 95% interval of a weighted mean, by batch means over the log.

    Jobs are divided into 40 batches in order of submit; None for less than 400 jobs. Batches do not
    show the error of a log that is short compared with its weeks or seasons.
    """
    batches = 40
    if response.size < 10 * batches:
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
