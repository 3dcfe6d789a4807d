"""The compiled lists of what is best, or nearly, in each group at a price."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from schedopt.solvers.compiling import njit, small
from schedopt.solvers.dssp.selection.shares.group_kernels import (
    break_solution,
    near_best,
    workspace,
)

Array = Any  # numba gives its own types to what these kernels hand to one another

LONGEST: Final = 1 << 13
"""States beyond which a list that has nothing to show is not made longer."""


@njit(cache=True, plain=small(2000))
def listed(
    items: Array, price: float, low: float, high: float, loss: float, slip: float, most: int
) -> tuple[Array, Array, Array, Array, Array, float, float]:
    """Return the near-best selections of a group (see `near_best`), with a floor where it counts.

    While no selection of interest is below the floor without being asked to keep it, the lighter
    of two may stand for the heavier.
    """
    start = break_solution(items, price, low, high)[0]
    careful = low > 0 and start != break_solution(items, price, 0.0, high)[0]
    while True:  # the search is called in one place, since each call is compiled anew
        floor = low if careful else 0.0
        found = near_best(items, price, floor, high, loss, slip, most, careful, workspace(most))
        if found[0].size == 0 and found[6] > -np.inf and most < LONGEST:
            most *= 16  # a short list may lose all that keeps the bounds
        elif low > 0 and not careful and (found[0].size == 0 or found[0].min() < low):
            careful = True
        else:
            return found


@njit(cache=True, plain=small(2000))
def best_of_groups(
    first: Array, items: Array, bounds: Array, price: float, slip: float, most: int
) -> tuple[Array, Array, Array]:
    """Return weight and reward of each group's best at a price, and what may be missing in worth.

    Parameters
    ----------
    first : ndarray of int, shape (groups + 1,)
        Where each group's items begin.
    items : tuple of ndarray of float, shape (items,)
        Weights, rewards and ratios, in each group by non-increasing ratio.
    bounds : tuple of ndarray of float, shape (groups,)
        What the groups' weights must come to, and may.
    price, slip : float
    most : int
        States to keep at most.

    Returns
    -------
    weights, rewards, missing : ndarray of float, shape (groups,)
        ``missing`` is infinite where nothing was found that keeps the group's bounds.
    """
    weights, rewards, ratios = items
    low, high = bounds
    groups = first.size - 1
    best_weight, best_reward = np.zeros(groups), np.zeros(groups)
    missing = np.zeros(groups)
    for g in range(groups):
        a, b = first[g], first[g + 1]
        own = (weights[a:b], rewards[a:b], ratios[a:b])
        w, r, _, _, _, best, cut = listed(own, price, low[g], high[g], 0.0, slip, most)
        if not w.size:
            missing[g] = np.inf
            continue
        worth = r - price * w
        k = np.argmax(worth)
        best_weight[g], best_reward[g] = w[k], r[k]
        missing[g] = max(cut, best) - worth[k] if max(cut, best) > worth[k] else 0.0
    return best_weight, best_reward, missing
