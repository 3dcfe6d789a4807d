"""The input of a simulation, and its results."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq.traces import Trace

Floats = NDArray[np.float64]
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
