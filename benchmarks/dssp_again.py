"""A second proof of a hard knapsack's optimum: sorted arrays of numpy, sharing no code with `Core`.

Items stand by falling weight. Lists of what the first k weigh and are worth, and of what the rest
do, bound each other; lists that are too long keep one state, the lightest weight with the largest
profit, of each cell of a grid over the weights.
"""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
List = tuple[Integers, Integers]


def nothing_better(weights: Integers, profits: Integers, capacity: int, value: int) -> bool:
    """Return whether lists of up to 2^18 states prove that no selection is worth more."""
    falling = np.argsort(-weights, kind="stable")
    weights, profits = weights[falling], profits[falling]
    most = np.concatenate(([0], np.cumsum(profits)))
    zero = np.zeros(1, dtype=np.int64)
    heavy = [(zero, most[k : k + 1]) for k in range(weights.size + 1)]  # at most, of the first k
    backwards = slice(None, None, -1)
    for length in (1 << size for size in range(13, 19)):
        light = _lists((weights[backwards], profits[backwards]), heavy, capacity, value, length)
        if not light:
            return True
        heavy = _lists((weights, profits), light, capacity, value, length)
        if not heavy:
            return True
    return False


def _lists(items: List, others: list[List], capacity: int, value: int, most: int) -> list[List]:
    """List what the first k items weigh and are worth, for each k; nothing once none is left.

    `others`: the same of the other items, by how many they are. What no longer matters is dropped.
    """
    used, worth = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    lists = [(used, worth)]
    for k, (weight, profit) in enumerate(zip(*items, strict=True), 1):
        used, worth = np.append(used, used + weight), np.append(worth, worth + profit)
        rising = np.lexsort((-worth, used))
        used, worth = used[rising], worth[rising]
        their_weights, their_profits = others[-1 - k]
        place = np.searchsorted(their_weights, capacity - used, side="right") - 1
        better = worth > np.append(-1, np.maximum.accumulate(worth)[:-1])
        better &= (place >= 0) & (worth + their_profits[place] > value)
        used, worth = used[better], worth[better]
        if not used.size:
            return []
        cell = 1
        while used.size > most:
            ends = np.append(np.flatnonzero(np.diff(used // cell)), used.size - 1)
            if ends.size <= most:
                used, worth = used[np.append(0, ends[:-1] + 1)], worth[ends]
            cell *= 2
        lists.append((used, worth))
    return lists
