"""The table of the dynamic programme by total reward, item by item."""

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit
from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask


@njit(cache=True)
def extend(
    least: Floats,
    taken: NDArray[np.uint8],
    rewards: NDArray[np.int64],
    weights: Floats,
    start: int,
    stop: int,
) -> None:
    """Let items start..stop-1 into the table; ``stop`` may be past the end.

    ``least`` is the least weight for each total reward, infinite where there is none; bit q of row
    j of ``taken`` says whether the least weight for q, among items 0..j, takes item j.
    """
    for j in range(start, min(stop, rewards.size)):
        reward, weight = rewards[j], weights[j]
        # Downwards, so that what stands below is still without item j.
        for total in range(least.size - 1, reward - 1, -1):
            with_it = least[total - reward] + weight
            if with_it < least[total]:
                least[total] = with_it
                taken[j, total >> 3] |= np.uint8(1 << (total & 7))


@njit(cache=True)
def trace(taken: NDArray[np.uint8], rewards: NDArray[np.int64], total: int) -> Mask:
    """Return the set of least weight for a total reward."""
    chosen = np.zeros(rewards.size, dtype=np.bool_)
    for j in range(rewards.size - 1, -1, -1):
        if taken[j, total >> 3] >> (total & 7) & 1:
            chosen[j] = True
            total -= rewards[j]
    return chosen
