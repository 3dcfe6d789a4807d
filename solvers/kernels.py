"""What searches and compiled kernels of several problems share: ascent, a heap, bisection.

The heap is in two arrays: the least key comes first, of the same key the least item.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import makes_no_arrays

Floats = NDArray[np.float64]


class Ascent:
    """Deflected subgradient steps of Polyak's length, from prices that are at least 0.

    Of the last direction the part `kept` is kept. After `patience` steps in vain the caller goes
    back to the best prices, and steps are halved.
    """

    def __init__(self, kept: float, patience: int, length: float) -> None:
        self.kept, self.patience, self.length = kept, patience, length
        self._stalled = 0
        self._direction: Floats | None = None

    def goes_on(self, better: bool) -> bool:
        """Note whether a step was of use; tell whether to go on from there."""
        self._stalled = 0 if better else self._stalled + 1
        return self._stalled < self.patience

    def halve(self) -> None:
        """Begin again with steps of half the length."""
        self._direction, self._stalled, self.length = None, 0, self.length / 2

    def step(self, at: Floats, over: Floats, lengths: Floats, ahead: float) -> Floats | None:
        """Return the next prices, None where no direction rises.

        `over`, which is changed, is the subgradient per unit of time, by cells of some lengths;
        `ahead` is how much higher the bound should be.
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


@makes_no_arrays
def before(a: float, i: int, b: float, j: int) -> bool:
    """Tell whether an item with a key goes before another."""
    return a < b or (a == b and i < j)


@makes_no_arrays
def push(keys: Any, items: Any, size: int, key: float, item: int) -> int:
    """Add an item, and return the new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if not before(key, item, keys[above], items[above]):
            break
        keys[at], items[at] = keys[above], items[above]
        at = above
    keys[at], items[at] = key, item
    return size + 1


@makes_no_arrays
def sink(keys: Any, items: Any, size: int, key: float, item: int) -> None:
    """Put an item in place of the first, which is gone."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and before(keys[other], items[other], keys[child], items[child]):
            child = other
        if not before(keys[child], items[child], key, item):
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@makes_no_arrays
def pop(keys: Any, items: Any, size: int) -> int:
    """Take the first item out, and return the new size.

    The hole sinks to a leaf before the last item fills it: that one mostly belongs near a leaf.
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


@makes_no_arrays
def last_at_most(values: Any, low: int, high: int, value: float) -> int:
    """Return the last place from low to high - 1 whose value is not above one; else low."""
    while high - low > 1:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle
        else:
            high = middle
    return low
