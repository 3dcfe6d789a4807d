"""Greedy selection where jobs have their own releases and deadlines: exact, row by row."""

from fractions import Fraction

import numpy as np

from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.program import exact
from schedopt.instances.dssp import Instance
from schedopt.solvers.dssp.selection.knapsack.items import Items, Mask


class Rooms:
    """What is left between each release and deadline.

    ``rows``: what fits into each of them: see `formulations.dssp.rows`.
    """

    def __init__(self, night: Instance, rows: list[Row]) -> None:
        self.demands = night.planned.demands.fractions
        self.left = [exact(row.upper) for row in rows]
        self.of: list[list[int]] = [[] for _ in night.jobs]
        for i, row in enumerate(rows):
            for j in row.jobs:
                self.of[j].append(i)

    def take(self, j: int) -> bool:
        """Take a job if it still fits everywhere."""
        demand: Fraction = self.demands[j]
        if any(self.left[i] < demand for i in self.of[j]):
            return False
        for i in self.of[j]:
            self.left[i] -= demand
        return True


def greedy(night: Instance, rows: list[Row], items: Items, first: int | None = None) -> Mask:
    """Take an item, if one is given, then by non-increasing ratio whatever still fits.

    Returns
    -------
    ndarray of bool, shape (n,)
        Over the items.
    """
    rooms = Rooms(night, rows)
    chosen = np.zeros(items.rewards.size, dtype=np.bool_)
    for k in (*(() if first is None else (first,)), *items.order.tolist()):
        if not chosen[k]:
            chosen[k] = rooms.take(int(items.positions[k]))
    return chosen


def greedy_half(night: Instance, rows: list[Row], items: Items) -> Mask:
    """Take the better of `greedy` and the most rewarding item, then what fits."""
    chosen = greedy(night, rows, items)
    if items.rewards.size == 0:
        return chosen
    best = int(np.argmax(items.rewards))
    if items.rewards[best] > items.rewards[chosen].sum():
        return greedy(night, rows, items, best)
    return chosen
