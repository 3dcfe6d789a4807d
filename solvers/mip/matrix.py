"""A linear model as arrays, the way a MIP solver takes it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST_SUM = 2.0**20
LARGEST_BOUND = 1e19
"""HiGHS takes bounds from 1e20 on for none at all."""


@dataclass
class Matrix:
    """lower <= A·x <= upper over columns with bounds, A stored by rows.

    `columns` and `rows` hold what these stand for, such as Pyomo variables and constraints. Costs
    are multiplied by `cost_scale`, a power of two, but not the `offset`. Row i is
    ``indices[starts[i]:starts[i + 1]]``.
    """

    columns: list[Any]
    cost: Floats
    cost_scale: float
    offset: float
    maximize: bool
    column_lower: Floats
    column_upper: Floats
    integer: NDArray[np.int32]
    rows: list[Any]
    row_lower: Floats
    row_upper: Floats
    starts: NDArray[np.int32]
    indices: NDArray[np.int32]
    values: Floats


def scale_of(coefficients: Floats) -> float:
    """Return a power of two that keeps absolute tolerances meaningful, mostly 1.

    HiGHS's tolerances are absolute, and its sums round. So a row may not sum to more than about a
    million: the rounding of larger sums comes near the tolerance, and then presolve was seen to cut
    off optima, or all solutions. A row may not sum to much less either, unless it is of whole
    numbers, else it would be broken within the tolerance.
    """
    largest = float(np.max(np.abs(coefficients), initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return 1.0
    total = float(np.abs(coefficients / largest).sum()) * largest
    whole = np.array_equal(coefficients, np.rint(coefficients))
    if whole and total <= LARGEST_SUM:
        return 1.0
    exponent = np.log2(LARGEST_SUM) - np.floor(np.log2(largest)) - np.ceil(np.log2(total / largest))
    return math.ldexp(1.0, max(-1000, min(1000, int(exponent))))
