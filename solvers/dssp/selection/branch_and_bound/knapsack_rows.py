"""Rows over disjoint columns, and what satisfying each of them costs: knapsacks, solved exactly.

A relaxation may take parts of columns; where a row is a knapsack, the best that whole columns make
of it is below that by what `costs` tells. Where these costs are together more than a better
selection may lose, there is none.
"""

from collections.abc import Iterable

import numpy as np

from schedopt.solvers.dssp.selection.branch_and_bound.branching import Blocks
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import (
    FREE,
    Integers,
    ProgramArrays,
    Values,
)
from schedopt.solvers.dssp.selection.branch_and_bound.relaxation import (
    Reason,
    ceiling,
    reduced_rewards,
)

SECONDS = 0.5
"""Seconds that a knapsack may take; its bound by then is a valid cost too."""
TRUST = 1e-12
"""Relative rounding error of a knapsack's worth."""


class KnapsackRowCloser:
    """Closes branches of a program by the costs of its knapsacks."""

    def __init__(self, arrays: ProgramArrays) -> None:
        self.arrays = arrays
        sizes = np.diff(arrays.first)
        knapsacks = [
            i
            for i in range(len(arrays.keys))
            if not arrays.has_bound(i, -1)
            and arrays.has_bound(i, 1)
            and (arrays.coefficients[arrays.row(i)] > 0).all()
        ]
        fine = sorted(knapsacks, key=lambda i: sizes[i])
        self._orders = [fine] if fine == fine[::-1] else [fine, fine[::-1]]

    def __call__(self, values: Values, reason: Reason, target: int) -> Blocks:
        """Return rows with the costs of satisfying them, if together these close a branch."""
        left, constant = reduced_rewards(self.arrays, reason)
        slack = ceiling(values, left, constant) - reason.weight * target
        prices = dict(reason.multipliers)
        for order in self._orders:
            priced = [i for i in order if prices.get(i, 0) > 0]
            costs = dict(self._costs(priced, values, left, prices))
            spare = sum(costs.values()) - slack - 1
            if spare >= 0:
                total = sum(costs.values()) or 1
                return tuple((i, cost - spare * cost // total) for i, cost in costs.items() if cost)
        return ()

    def _costs(
        self, order: Iterable[int], values: Values, left: Integers, prices: dict[int, int]
    ) -> Iterable[tuple[int, int]]:
        """Yield rows that share no free column, and what keeping each costs at least."""
        taken = np.zeros(len(values), dtype=bool)
        for i in order:
            at = self.arrays.row(i)
            columns = self.arrays.columns[at]
            free = values[columns] == FREE
            own = columns[free]
            if not len(own) or taken[own].any():
                continue
            taken[own] = True
            size = self.arrays.coefficients[at].astype(object)
            room = int(self.arrays.upper[i]) - sum(size[values[columns] == 1].tolist())
            yield i, _cost(left[own], size[free], room, prices[i])


def _cost(left: Integers, size: Integers, room: int, price: int) -> int:
    """Return the least cost of satisfying a knapsack row, rounded down."""
    from schedopt.solvers.dssp.selection.knapsack.search import Core

    worth = left + price * size
    most = sum(np.maximum(left, 0).tolist()) + price * room
    unit = 1 << max(0, most.bit_length() - 60)
    if max(room, *size.tolist()) >= 1 << 53 or room < 0:
        return 0
    positive = np.maximum(worth, 0).astype(np.float64) / unit
    core = Core(positive, size.astype(np.float64), float(room))
    core.advance(SECONDS)
    best = core.bound * unit * (1 + TRUST)
    return max(0, int(most - best) - 1)
