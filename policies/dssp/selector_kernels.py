"""Greedy selectors on flat arrays, for integer weights that do not exceed the capacity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

Array = Any  # numba gives its own types to what these kernels hand to one another


@kernel(python_up_to=2000)
def greedy(rewards: Floats, weights: Floats, room: float, order: Array) -> Mask:
    """Return the items that are taken greedily in the given order."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    add_greedily(chosen, weights, room, order)
    return chosen


@kernel(python_up_to=2000)
def add_greedily(chosen: Mask, weights: Floats, room: float, order: Array) -> None:
    """Add items to a selection in the given order while they fit into the remaining ``room``."""
    for j in order:
        if not chosen[j] and weights[j] <= room:
            chosen[j] = True
            room -= weights[j]


@kernel(python_up_to=2000)
def greedy_half(rewards: Floats, weights: Floats, room: float, order: Array) -> Mask:
    """Return the better of greedy and the most rewarding item, completed greedily."""
    chosen = greedy(rewards, weights, room, order)
    if rewards.size == 0:
        return chosen
    best = np.argmax(rewards)
    if rewards[best] > rewards[chosen].sum():
        chosen[:] = False
        chosen[best] = True
        add_greedily(chosen, weights, room - weights[best], order)
    return chosen


@kernel(python_up_to=200)
def greedy_three_quarters(
    rewards: Floats, weights: Floats, room: float, order: Array, rank: Array
) -> Mask:
    """Return the best pair of items, completed by less rewarding items as by `greedy_half`.

    ``rank`` is the place of each item by increasing reward; see the selector of this name.
    """
    best = greedy_half(rewards, weights, room, order)
    value = rewards[best].sum()
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    for i in range(rewards.size):
        for k in range(rewards.size):
            remaining = room - weights[i] - weights[k]
            if rank[k] >= rank[i] or remaining < 0:
                continue
            total, left, single = rewards[i] + rewards[k], remaining, -1
            for j in order:
                if rank[j] < rank[k] and weights[j] <= remaining:
                    if single < 0 or rewards[j] > rewards[single]:
                        single = j
                    if weights[j] <= left:
                        total += rewards[j]
                        left -= weights[j]
            by_single = single >= 0 and rewards[i] + rewards[k] + rewards[single] > total
            if by_single:
                total = rewards[i] + rewards[k] + rewards[single]
            if total > value:
                value = total
                chosen[:] = False
                chosen[i] = chosen[k] = True
                if by_single:
                    chosen[single] = True
                    remaining -= weights[single]
                else:
                    for j in order:
                        if rank[j] < rank[k] and weights[j] <= remaining:
                            chosen[j] = True
                            remaining -= weights[j]
                add_greedily(chosen, weights, remaining, order)
                best[:] = chosen
                value = max(value, rewards[best].sum())
    return best


def _table_cells(least: Floats, taken: Array, rewards: Array, *_: object) -> float:
    return float(least.size * rewards.size)


@kernel(python_up_to=300_000, size=_table_cells)
def extend(
    least: Floats,
    taken: NDArray[np.uint8],
    rewards: NDArray[np.int64],
    weights: Floats,
    start: int,
    stop: int,
) -> None:
    """Extend a dynamic program by the items start..stop-1; ``stop`` may be past the last item.

    ``least`` is the smallest weight for each total reward, infinite if none has it. Bit q of row j
    of ``taken`` says whether the lightest subset of items 0..j with reward q contains item j.
    """
    for j in range(start, min(stop, rewards.size)):
        reward, weight = rewards[j], weights[j]
        # Downwards, so that what stands below is still without item j.
        for total in range(least.size - 1, reward - 1, -1):
            with_it = least[total - reward] + weight
            if with_it < least[total]:
                least[total] = with_it
                taken[j, total >> 3] |= np.uint8(1 << (total & 7))


@kernel(python_up_to=300_000)
def trace(taken: NDArray[np.uint8], rewards: NDArray[np.int64], total: int) -> Mask:
    """Return the lightest set with a given total reward."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    for j in range(rewards.size - 1, -1, -1):
        if taken[j, total >> 3] >> (total & 7) & 1:
            chosen[j] = True
            total -= rewards[j]
    return chosen
