"""What light items can still do for each state of a search: all their sums in one table.

A state near the end of its room is finished best by light items, of which the order by ratio
decides many last. A table says what the best of them are worth in each room; where nothing else is
undecided, the best finish of any state is the optimum.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats, Mask

WIDEST: Final = 1 << 17
"""Cells of a table, and its items times 2^10: what 2^27 steps and as many bytes allow."""
BLOCK: Final = 1 << 20


Items = tuple[Floats, Floats, Mask]
"""Weights, rewards, and which items are in the break solution."""


class Finish(NamedTuple):
    """The best state with light items, and whether nothing else could have been added."""

    state: int
    value: float
    light: NDArray[np.intp]  # the items that the table decides
    put_in: Mask  # which of these are in
    whole: bool


def finish(items: Items, undecided: Mask, rooms: Floats, worth: Floats) -> Finish | None:
    """Return the best finish of states by light undecided items, None where there is no such item.

    `rooms`, `worth`: what states leave, and what they are worth, with the undecided items as in
    the break solution.
    """
    weights, rewards, inside = items
    some = np.flatnonzero(undecided)
    some = some[np.argsort(weights[some], kind="stable")]
    light = some[np.cumsum(weights[some]) < WIDEST][: BLOCK // 1024]
    if not light.size:
        return None
    most = int(weights[light].sum())
    table, took = np.zeros(most + 1), np.zeros((light.size, most + 1), dtype=np.bool_)
    for i, j in enumerate(light.tolist()):
        weight = int(weights[j])
        with_it = table[: most + 1 - weight] + rewards[j]
        np.greater(with_it, table[weight:], out=took[i, weight:])
        np.maximum(with_it, table[weight:], out=table[weight:])
    had = light[inside[light]]
    freed, lost = float(weights[had].sum()), float(rewards[had].sum())
    best, value = -1, -np.inf
    for first in range(0, rooms.size, BLOCK):
        left = rooms[first : first + BLOCK] + freed
        cells = np.minimum(np.maximum(left, 0), most).astype(np.intp)
        values = np.where(left >= 0, worth[first : first + BLOCK] - lost + table[cells], -np.inf)
        top = int(np.argmax(values))
        if values[top] > value:
            best, value = first + top, float(values[top])
    put_in = np.zeros(light.size, dtype=np.bool_)
    left_over = int(min(max(rooms[best] + freed, 0), most))
    for i in range(light.size - 1, -1, -1):
        if took[i, left_over]:
            put_in[i] = True
            left_over -= int(weights[light[i]])
    return Finish(best, value, light, put_in, light.size == some.size)


def undominated(items: Items, losses: Floats, slack: float, room: float) -> Mask:
    """Return which items a solution may do otherwise with that is worth more than is known.

    Where an item weighs no less than another and is worth no more, some best solution that has it
    has the other too. So whoever is put in brings all that dominate it, and whoever is taken out
    takes along all that it dominates; each of these costs its reduced reward. `losses`: these;
    `slack`: what may be lost in all.
    """
    weights, rewards, inside = items
    first = np.arange(weights.size)
    before = (weights[:, None] <= weights) & (rewards[:, None] >= rewards)
    before &= ~before.T | (first[:, None] < first)  # of equal ones the first goes before
    put = losses + before.T @ np.where(inside, 0.0, losses)
    taken = losses + before @ np.where(inside, losses, 0.0)
    fits = weights + before.T @ weights <= room
    return np.where(inside, taken <= slack, (put <= slack) & fits)
