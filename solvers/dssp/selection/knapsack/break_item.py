"""Where a row of items breaks, without sorting them all: what is far from there stays as it is."""

from collections.abc import Sequence
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
    worth: float  # the rewards of those before

    @property
    def taken(self) -> int:
        """How many there are up to the break."""
        return int(np.count_nonzero(self.before)) + self.broken


def items_near_break(
    keys: Floats, sizes: Floats, room: float, rewards: Floats | None = None
) -> NearBreak:
    """Return the items near the break where items of whole sizes are taken by falling key."""
    from schedopt.solvers.dssp.selection.knapsack.kernels import split_by_key

    if keys.size <= MANY:
        places = np.argsort(-keys, kind="stable")
        return _locate_break(places, np.zeros(keys.size, dtype=np.bool_), (0.0, 0.0), sizes, room)
    margin, step = MARGIN, keys.size // SAMPLED
    before, between = np.empty(keys.size, dtype=np.bool_), np.empty(keys.size, dtype=np.intp)
    some = keys[::step]
    falling = (-some).argsort()
    filled = sizes[::step][falling].cumsum()
    about = int(filled.searchsorted(room / step))
    items = sizes, sizes if rewards is None else rewards
    while True:
        first, last = about - margin, about + margin
        high = float(some[falling[first]]) if 0 <= first < some.size else inf
        low = float(some[falling[last]]) if last < some.size else -inf
        found, *sums = split_by_key(keys, 0.0, items, low, high, before, between)
        places = between[:found]
        if low < high:
            places = places[np.argsort(-keys[places], kind="stable")]
        near = _locate_break(places, before, sums, sizes, room)
        if (sums[0] <= room or high == inf) and (near.broken < found or low == -inf):
            return near
        margin *= 4


def _locate_break(
    places: NDArray[np.intp], before: Mask, sums: Sequence[float], sizes: Floats, room: float
) -> NearBreak:
    """Return where among some places the break is; `sums`: what those before weigh and bring."""
    filled = sizes[places].cumsum()
    filled += sums[0]
    broken = int(filled.searchsorted(room, side="right"))
    return NearBreak(
        places, before, broken, float(filled[broken - 1]) if broken else sums[0], sums[1]
    )
