"""Kernels of several problems: subgradient ascent, a heap, bisection.

The heap is in two arrays, keys and items, ordered by key and then by item.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Ascent:
    """Deflected subgradient ascent over prices that are at least 0, with Polyak's step length.

    Parameters
    ----------
    kept : float
        The weight of the previous direction.
    patience : int
        The number of steps without improvement after which the caller returns to the best prices
        and halves the step length.
    length : float
        The step length, as a multiple of Polyak's.
    """

    def __init__(self, kept: float, patience: int, length: float) -> None:
        self.kept, self.patience, self.length = kept, patience, length
        self._stalled = 0
        self._direction: Floats | None = None

    def goes_on(self, better: bool) -> bool:
        """Record whether a step improved the bound; return True to continue from its prices."""
        self._stalled = 0 if better else self._stalled + 1
        return self._stalled < self.patience

    def halve(self) -> None:
        """Start again with half the step length."""
        self._direction, self._stalled, self.length = None, 0, self.length / 2

    def step(self, at: Floats, over: Floats, lengths: Floats, ahead: float) -> Floats | None:
        """Return the next prices, or None if the subgradient is 0.

        Parameters
        ----------
        at : ndarray
            The current prices.
        over : ndarray
            The subgradient per unit of time; it is changed.
        lengths : ndarray
            The length of each cell of time.
        ahead : float
            The distance to the target value of the bound.
        """
        over[(at <= 0) & (over < 0)] = 0.0
        if self._direction is not None:
            over = self.kept * self._direction + (1 - self.kept) * over
        self._direction = over
        norm = float(((over * over) @ lengths).sum())
        if norm <= 0.0 or ahead <= 0.0:
            return None
        following: Floats = np.maximum(0.0, at + self.length * ahead / norm * over)
        return following


def before(a: float, i: int, b: float, j: int) -> bool:
    """Return True if item ``i`` with key ``a`` comes before item ``j`` with key ``b``."""
    return a < b or (a == b and i < j)


def push(keys: Any, items: Any, size: int, key: float, item: int) -> int:
    """Add an item; return the new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if not before(key, item, keys[above], items[above]):
            break
        keys[at], items[at] = keys[above], items[above]
        at = above
    keys[at], items[at] = key, item
    return size + 1


def pop(keys: Any, items: Any, size: int) -> int:
    """Remove the first item; return the new size.

    The hole sinks to a leaf before the last item fills it, since that item mostly belongs there.
    """
    size -= 1
    at, child = 0, 1
    while child < size:
        other = child + 1
        if other < size and before(keys[other], items[other], keys[child], items[child]):
            child = other
        keys[at], items[at] = keys[child], items[child]
        at = child
        child = 2 * at + 1
    push(keys, items, at, keys[size], items[size])  # from the hole it rises
    return size


def last_at_most(values: Any, low: int, high: int, value: float) -> int:
    """Return the last index from low to high - 1 whose value is at most ``value``, else low."""
    while high - low > 1:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle
        else:
            high = middle
    return low
