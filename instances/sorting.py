"""Sorting as a stable sort does, at the speed of numpy's unstable ones.

A float's bits, read as a whole number, rise with it. The last of them make room for the key's own
place, so that a plain sort of whole numbers, of which processors compare many at a time, carries
places along and keeps equal keys as they are. Keys that differ only in the bits that were given up
are put in order afterwards: mostly these are few. Where they are many, the floats themselves are
sorted, unstably, and equal ones are put back in order.
"""

import numpy as np
from numpy.typing import NDArray

FEW = 256  # for so many keys a stable sort is faster
SIGN = np.int64(-(2**63))
MANY, ROUNDS = 64, 16
"""Repair is given up if more than 1/MANY of all pairs are out of order, or after ROUNDS rounds."""


def steady_order(keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ``np.argsort(keys, kind="stable")``, shape (n,), of keys that are not NaN."""
    count = len(keys)
    if count <= FEW:
        return np.argsort(keys, kind="stable")
    if keys[0] <= keys[-1] and bool((keys[1:] >= keys[:-1]).all()):
        return np.arange(count)
    bits = (count - 1).bit_length()
    ranks = (keys + 0.0).view(np.int64)  # -0 becomes 0, which it equals
    turned = ranks >> 63  # all bits of a number below 0, and the sign of any
    turned |= SIGN
    ranks ^= turned
    ranks &= np.int64(-1 << bits)
    ranks |= np.arange(count)
    ranks.view(np.uint64).sort()
    order = np.bitwise_and(ranks, np.int64((1 << bits) - 1), out=turned)
    return order if _mended(order, keys[order]) else _by_floats(keys)


def _mended(order: NDArray[np.int64], keys: NDArray[np.float64]) -> bool:
    """Swap neighbours that are out of order until none are; False where that would take long."""
    falls = np.flatnonzero(keys[1:] < keys[:-1])
    if falls.size > len(keys) // MANY:
        return False
    for _ in range(ROUNDS):
        if not falls.size:
            return True
        here = falls[np.diff(falls, prepend=-2) > 1]  # of pairs that share a key, the first
        for array in (order, keys):
            array[here], array[here + 1] = array[here + 1], array[here]
        near = np.unique(np.concatenate((falls - 1, falls, falls + 1)))
        near = near[(near >= 0) & (near < len(keys) - 1)]
        falls = near[keys[near + 1] < keys[near]]
    return False


def _by_floats(keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sort unstably, then order the places of equal keys."""
    order = np.argsort(keys)
    in_order = keys[order]
    tied = in_order[1:] == in_order[:-1]
    if tied.any():
        run = np.zeros(len(keys), dtype=np.int64)
        np.cumsum(~tied, out=run[1:])
        among = np.zeros(len(keys), dtype=np.bool_)
        among[1:] |= tied
        among[:-1] |= tied
        some = np.flatnonzero(among)
        first = run[some] * len(keys)
        order[some] = np.sort(first + order[some]) - first
    return order
