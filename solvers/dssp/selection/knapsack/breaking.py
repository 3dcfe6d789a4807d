"""Where a row of items breaks, without sorting them all: what is far from there stays as it is."""

from math import inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.sorting import steady_order
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

MANY: Final = 4096
"""Items up to which it is quicker to sort them all."""
SAMPLED, MARGIN = 1024, 64
"""Items that tell about where the break is, and by how many places among them they may be off."""


class Near(NamedTuple):
    """Items near the break item, the first that does not fit after all of larger keys."""

    places: NDArray[np.intp]  # by falling key, ties as they stand
    before: Mask  # those of larger keys than all of these
    broken: int  # where among these the break item is; beyond them where everything fits
    used: float  # what all up to the break sum to

    @property
    def taken(self) -> int:
        """How many there are up to the break."""
        return int(np.count_nonzero(self.before)) + self.broken


def near_break(keys: Floats, sizes: Floats, room: float) -> Near:
    """Return the items near the break where items of whole sizes are taken by falling key."""
    from schedopt.solvers.dssp.selection.knapsack.kernels import sift

    if keys.size <= MANY:
        places = steady_order(-keys)
        return _found(places, np.zeros(keys.size, dtype=np.bool_), 0.0, sizes, room)
    margin, step = MARGIN, keys.size // SAMPLED
    before, between = np.empty(keys.size, dtype=np.bool_), np.empty(keys.size, dtype=np.intp)
    some = keys[::step]
    falling = np.argsort(-some)
    filled = np.cumsum(sizes[::step][falling])
    about = int(np.searchsorted(filled, room / step))
    while True:
        first, last = about - margin, about + margin
        high = float(some[falling[first]]) if 0 <= first < some.size else inf
        low = float(some[falling[last]]) if last < some.size else -inf
        found, sum_before = sift(keys, low, high, sizes, before, between)
        places = between[:found]
        if low < high:
            places = places[steady_order(-keys[places])]
        near = _found(places, before, sum_before, sizes, room)
        if (sum_before <= room or high == inf) and (near.broken < found or low == -inf):
            return near
        margin *= 4


def _found(
    places: NDArray[np.intp], before: Mask, sum_before: float, sizes: Floats, room: float
) -> Near:
    """Return where among some places the break is."""
    filled = sum_before + np.cumsum(sizes[places])
    broken = int(np.searchsorted(filled, room, side="right"))
    return Near(places, before, broken, float(filled[broken - 1]) if broken else sum_before)
