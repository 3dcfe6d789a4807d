"""Equal rows of columns, found by hashing their numbers into slots."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Positions = NDArray[np.intp]

MIX = np.uint64(0x9E3779B97F4A7C15)
TURN = np.uint64(29)


def mix_hashes(before: Words, more: Words | np.uint64) -> Words:
    """Mix numbers into hashes; what differs before differs after."""
    both = (before ^ more) * MIX
    return both ^ (both >> TURN)


def slots(numbers: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each hash's slot, of four times as many, and one entry of each slot (-1: none)."""
    bits = max(len(numbers).bit_length() + 2, 4)
    slot = ((numbers * MIX) >> np.uint64(64 - bits)).astype(np.int64)
    holder = np.full(1 << bits, -1, dtype=np.int64)
    holder[slot] = np.arange(len(slot))
    return slot, holder


def alike(rows: Iterable[NDArray[Any]]) -> tuple[Positions, Positions] | None:
    """Return one row of each kind, and each row's kind; None if most differ. No number is -0.0."""
    given = list(rows)
    numbers = np.zeros(len(given[0]) if given else 0, dtype=np.uint64)
    for row in given:
        numbers = mix_hashes(numbers, row.view(np.uint64))
    slot, holder = slots(numbers)
    first = np.flatnonzero(holder >= 0)
    some = holder[slot]
    if 2 * len(first) > len(slot) or any((row[some] != row).any() for row in given):
        return None
    number = np.zeros(len(holder), dtype=np.intp)
    number[first] = np.arange(len(first))
    return holder[first], number[slot]
