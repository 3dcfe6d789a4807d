"""What a solver says that things cost: the dual values of an order's program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt.rules import Bound

Floats = NDArray[np.float64]


class Duals(NamedTuple):
    """What a solver says that things cost.

    Attributes
    ----------
    work : ndarray
        A unit of each job's work, shape (M,).
    servers : ndarray
        All servers for a unit of time, in each epoch, shape (E,).
    rules : list of (epoch, bound, float)
        The bounds on shares in each epoch, so far as they cost anything: over 0 for what a bound
        asks at least, below 0 for what it allows at most.
    """

    work: Floats
    servers: Floats
    rules: list[tuple[int, Bound, float]]
