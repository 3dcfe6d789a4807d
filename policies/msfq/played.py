"""What is to be simulated, and what a simulation gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq.traces import Trace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pace = Callable[[int], None]
"""Called now and then with how many jobs have come so far; what it raises ends the simulation."""


@dataclass(frozen=True)
class Run:
    """How a simulation is run.

    Attributes
    ----------
    arrivals, warm : int
        Jobs in all, and those before anything is counted.
    batches : int
        Parts of the run that are told apart.
    seed : int
        The same seed, the same jobs.
    trace : Trace or None
        Jobs to play in place of random ones.
    sized : bool
        Whether sizes come with the jobs.
    each : bool
        Whether to play to the end and keep each job's response time.
    grid : ndarray
        Times at which to note the numbers in the system.
    estimates : bool
        Whether a rule in plain Python knows how long each job takes.
    replication : int
        Which of a seed's independent runs it is.
    pace : callable, optional
    """

    arrivals: int
    warm: int
    batches: int
    seed: int
    trace: Trace | None
    sized: bool
    each: bool
    grid: Floats
    estimates: bool = False
    replication: int = 0
    pace: Pace | None = None


class Found(NamedTuple):
    """What is counted while a simulation goes on; `Played` says what each is."""

    sums: Floats
    counts: Ints
    levels: Ints
    areas: Floats
    came: Ints
    histogram: Ints
    phases: Floats
    responses: Floats
    samples: Ints


class Played(NamedTuple):
    """What a simulation gives.

    Attributes
    ----------
    sums, counts : ndarray, shape (B, C)
        Response times and jobs, by batch and class.
    levels : ndarray, shape (B, C)
        Jobs in the system when each batch begins.
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
    elapsed : float
        Time from beginning to end, the warm-up included.
    oldest : ndarray, shape (C,)
        For how long each class's longest waiting job has waited at the end; 0 where none waits.
    """

    sums: Floats
    counts: Ints
    levels: Ints
    areas: Floats
    came: Ints
    histogram: Ints
    phases: Floats
    time: float
    busy: float
    most: int
    responses: Floats
    samples: Ints
    elapsed: float
    oldest: Floats


def fault(name: str, found: str) -> InputError:
    """Return what is said where a rule starts a job that it may not."""
    return InputError("a job that waits and fits into the idle servers", found=found,
                      place=f"admission rule {name}")  # fmt: skip
