"""What is simulated, and confidence intervals of its means; none where a run is too short.

A run is told apart into `BATCHES` short batches. How many of them count as independent is estimated
from their autocorrelation (Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7,
1992); by that they are put together into few long batches, whose means are nearly independent
(Law, *Simulation Modeling and Analysis*, section 9.5.3). Response times near saturation are skewed
to the right, so the interval is taken for the mean's inverse square root, which is hardly skewed
(Box and Cox, "An analysis of transformations", JRSS B 26, 1964), and what is told is its longer
side.
"""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.traces import Trace

Floats = NDArray[np.float64]
BATCHES = 640
"""The number of short batches, which every number of long batches divides."""
T_QUANTILES = {5: 2.7764, 8: 2.3646, 10: 2.2622, 16: 2.1314, 20: 2.0930, 32: 2.0395, 40: 2.0227}
"""The 97.5% point of Student's distribution, by number of batches."""
LONG = 40.0
"""Independent short batches in a long one, if there are enough."""
FEW = 200.0
"""Independent batches below which two groupings are tried, and the wider interval taken."""
ENOUGH = 50.0
"""Independent observations that an interval needs, estimated from the load."""
WIDEST = 1.9
"""The largest half-width, relative to the mean, that enters the inverse square root."""
FEWEST = 30.0
"""Independent batches that it needs as well, estimated from the run itself."""


class Interval(NamedTuple):
    """The half-width of a 95% interval, None where the run is too short for one.

    ``independent`` is the number of independent observations that the run is worth.
    """

    half_width: float | None
    independent: float


def interval(residuals: Floats, mean: float, *, observations: float = inf) -> Interval:
    """Return the 95% interval of a mean from the deviations of short batches from it, shape (B,).

    ``observations`` is the number of independent observations that the run is worth by what else is
    known of it.
    """
    if len(residuals) < BATCHES:
        return Interval(None, min(observations, float(len(residuals))))
    independent = independent_batches(residuals)
    fewest = min(observations, independent)
    if observations < ENOUGH or independent < FEWEST:
        return Interval(None, fewest)
    if fewest < FEW:
        half = max(_half_width(residuals, 5), _half_width(residuals, 8))
    else:
        wanted = max(8.0, independent / LONG)
        half = _half_width(residuals, max(b for b in T_QUANTILES if b <= wanted))
    if mean > 0:
        half = mean * ((1.0 - 0.5 * min(half / mean, WIDEST)) ** -2 - 1.0)
    return Interval(half, fewest)


def _half_width(residuals: Floats, batches: int) -> float:
    means = residuals.reshape(batches, -1).mean(axis=1)
    return float(T_QUANTILES[batches] * means.std(ddof=1) / sqrt(batches))


def independent_batches(residuals: Floats) -> float:
    """Return the effective number of independent batches: Geyer's initial monotone sequence."""
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
    """Return the number of independent observations in a simulated time, by the queue's load.

    Near saturation the work in a queue moves like reflected Brownian motion, of drift (1 - load)·k
    down and of variance Σ λ·(need·size)²; its integrated autocorrelation time is twice the variance
    over the drift squared (Whitt, "Planning queueing simulations", Management Science 35, 1989). A
    policy's own ``load`` counts where it is higher than the instance's.
    """
    variance = sum(
        job.arrival_rate * job.sizes.second_moment * (job.need / job.service_rate) ** 2
        for job in queue.classes
    )
    spare = (1.0 - max(queue.load, load or 0.0)) * queue.servers
    return time * spare**2 / (2.0 * variance) if spare > 0.0 else 0.0


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Experiment:
    """How a simulation is run.

    ``warm`` of the ``arrivals`` are not counted; the others are told apart in ``batches``. A
    ``trace`` is simulated in place of random jobs. ``sized`` says that sizes come with the jobs;
    ``each`` to go on to the end and keep when each job starts; ``grid`` at which times to sample
    the numbers in the system; ``estimates`` that a rule in plain Python knows how long each job
    takes; ``together`` that a rule is asked after all events of an instant, not after each.
    """

    arrivals: int
    warm: int = 0
    batches: int = 1
    seed: int = 0
    trace: Trace | None = None
    sized: bool = False
    each: bool = False
    grid: Floats = field(default_factory=lambda: np.empty(0))
    estimates: bool = False
    together: bool = False


class Measured(NamedTuple):
    """The counters of a simulation, over B batches and C classes; scalars are set at its end.

    ``sums`` and ``counts``, shape (B, C), are response times and completed jobs; ``levels``, (B,
    C), the jobs in the system when a batch begins; ``areas`` and ``came``, (C,), the number in the
    system integrated over time, and arrivals; ``phases``, (2, 5), time in and entries of MSFQ's
    phases, 0 for an empty system; ``busy`` busy servers integrated over the ``time`` that was
    counted. ``starts`` are those of single jobs, ``samples``, (G, C), the numbers in the system
    at the times of the grid, where asked for. ``elapsed`` includes the warm-up. ``oldest``, (C,),
    is how long the longest waiting job has waited at the end, 0 where none waits; ``most`` the
    largest number in the system.
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
    most: int = 0


def invalid_start(name: str, found: str) -> InputError:
    """Return the error about a rule that starts a job that it may not."""
    return InputError(
        "a job that waits and fits into the idle servers",
        found=found,
        place=f"admission rule {name}",
    )
