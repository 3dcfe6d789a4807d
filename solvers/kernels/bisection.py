"""Bisection in rising arrays, compiled."""

from typing import Any

from schedopt.solvers.compiling import compiled


@compiled
def last_at_most(values: Any, low: int, high: int, value: float) -> int:
    """Return the last place from low to high - 1 whose value is not above one; else low."""
    while high - low > 1:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle
        else:
            high = middle
    return low
