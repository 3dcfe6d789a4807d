"""Where a row of items breaks, without sorting them all: what is far from there stays as it is."""

from math import inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

MANY: Final = 4096
"""Items up to which it is quicker to sort them all."""
SAMPLED, MARGIN = 1024, 64
"""Items that tell about where the break is, and by how many places among them they may be off."""


class NearBreak(NamedTuple):
    """Items near the break item, the first that does not fit after all of larger keys."""

    places: NDArray[np.intp]  # by falling key, ties as they stand
    before: Mask  # those of larger keys than all of these
    broken: int  # where among these the break item is; beyond them where everything fits
    used: float  # what all up to the break sum to

    @property
    def taken(self) -> int:
        """How many there are up to the break."""
        return int(np.count_nonzero(self.before)) + self.broken


def items_near_break(keys: Floats, sizes: Floats, room: float) -> NearBreak:
    """Return the items near the break where items of whole sizes are taken by falling key."""
    from schedopt.solvers.dssp.selection.knapsack.kernels import split_by_key

    if keys.size <= MANY:
        places = np.argsort(-keys, kind="stable")
        return _locate_break(places, np.zeros(keys.size, dtype=np.bool_), 0.0, sizes, room)
    margin, step = MARGIN, keys.size // SAMPLED
    before, between = np.empty(keys.size, dtype=np.bool_), np.empty(keys.size, dtype=np.intp)
    sample = keys[::step]
    falling = (-sample).argsort()
    about = int(sizes[::step][falling].cumsum().searchsorted(room / step))
    while True:
        first, last = about - margin, about + margin
        high = float(sample[falling[first]]) if 0 <= first < sample.size else inf
        low = float(sample[falling[last]]) if last < sample.size else -inf
        count, used = split_by_key(keys, 0.0, sizes, low, high, before, between)
        places = between[:count]
        if low < high:
            places = places[np.argsort(-keys[places], kind="stable")]
        near = _locate_break(places, before, used, sizes, room)
        if (used <= room or high == inf) and (near.broken < count or low == -inf):
            return near
        margin *= 4


def _locate_break(
    places: NDArray[np.intp], before: Mask, used: float, sizes: Floats, room: float
) -> NearBreak:
    """Return where among some places the break is, after those before, which use so much."""
    filled = sizes[places].cumsum()
    filled += used
    broken = int(filled.searchsorted(room, side="right"))
    return NearBreak(places, before, broken, float(filled[broken - 1]) if broken else used)
