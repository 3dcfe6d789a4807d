"""A policy of one's own: schedopt evaluate example:night --policy smallest-first."""

import numpy as np

from schedopt.policies.dssp.selectors import selector
from schedopt.solvers.dssp.selection.knapsack.items import Items, Mask


@selector("smallest-first", source="my own", summary="by demand, the smallest first")
def smallest_first(items: Items) -> Mask:
    """Take the smallest demands while they fit."""
    order = np.argsort(items.weights, kind="stable")
    fits = np.cumsum(items.weights[order]) <= items.room
    chosen = np.zeros(order.size, dtype=np.bool_)
    chosen[order[fits]] = True
    return chosen
