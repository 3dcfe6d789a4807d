"""The decision process on a box of waiting jobs: value iteration, and given policies evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from formulations.msfq.system import System
from solvers.queues import optimal_kernels as kernels

SWEEPS = 200
MIXED = 10
MOST = 60_000
"""Sweeps between two looks, looks that are mixed into one, and sweeps at most on one box."""

Step = tuple[Any, float, float]


class Box(NamedTuple):
    """How many waiting jobs of each class the chain knows.

    Attributes
    ----------
    small, large : int
        The most; 0 is one more.
    """

    small: int
    large: int

    def states(self, k: int) -> int:
        """Return the number of states."""
        return (k + 2) * (self.small + 1) * (self.large + 1)

    def grown(self, values: Any, larger: Box) -> Any:
        """Return values of this box continued to a larger one."""
        return kernels.extended(
            values, larger.small + 1, larger.large + 1, self.small // 3, self.large // 3
        )

    def evaluate(
        self, system: System, costs: tuple[float, float], table: Any, *, span: float = 1e-7
    ) -> float:
        """Return the long-run cost of a given policy on this box.

        Parameters
        ----------
        costs : tuple of float
            Of a small and of a large job, per unit of time.
        table : ndarray of int, shape (k, I + 1, J + 1)
            What is done with c small jobs in service, i small and j large ones waiting: 0 nothing,
            1 start a small one, 2 start a large one (c = 0).
        span : float
            Relative: where iteration ends.
        """
        low = high = 0.0
        for _, low, high in iterate(system, costs, self, table=table):
            if high - low <= span * abs(high):
                break
        return 0.5 * (low + high)


def iterate(
    system: System,
    costs: tuple[float, float],
    box: Box,
    *,
    start: Any = None,
    table: Any = None,
    blocked: bool = False,
) -> Iterator[Step]:
    """Iterate relative values, yielding them with bounds on the long-run cost now and then.

    Every few looks the values are replaced by that mixture of the last ones whose change is least
    (reduced rank extrapolation: Sidi, Vector Extrapolation Methods, SIAM 2017, chapter 2); value
    iteration converges from wherever it starts.

    Parameters
    ----------
    system : System
        Stable.
    costs : tuple of float
        Of a small and of a large job, per unit of time.
    box : Box
        How many may wait.
    start : ndarray, optional
        Values to start from, shape (k + 2, I + 1, J + 1).
    table : ndarray, optional
        A given policy, see `Box.evaluate`; without one the best decisions are taken.
    blocked : bool
        Whether arrivals at the boundary are lost, as a linear program needs it, in place of values
        continued by parabolas.
    """
    k, l1, lk, m1, mk = system
    shape = (k + 2, box.small + 1, box.large + 1)
    values = np.zeros(shape) if start is None else np.ascontiguousarray(start)
    best, new = np.empty(shape), np.empty(shape)
    fixed = np.zeros((1, 1, 1), np.int8)
    if table is not None:
        fixed = np.zeros(shape, np.int8)
        fixed[:k] = table
    h, g = (0, 0) if blocked else (box.small // 3, box.large // 3)
    total = l1 + lk + max(k * m1, mk)
    seen: list[Any] = []
    for _ in range(0, MOST, SWEEPS):
        low, high = kernels.sweeps(
            values, best, new, fixed, table is None, (l1, lk, m1, mk), costs, total, h, g, SWEEPS
        )
        yield values, float(low), float(high)
        seen.append(values.ravel().copy())
        if len(seen) == MIXED + 2:
            values[:] = _mixed(np.array(seen)).reshape(shape)
            seen = []


def _mixed(seen: Any) -> Any:
    """Return the mixture of iterates whose change is least."""
    changes = np.diff(seen, axis=0)
    gram = changes @ changes.T
    gram += 1e-14 * np.trace(gram) * np.eye(len(gram)) + 1e-300 * np.eye(len(gram))
    weights = np.linalg.solve(gram, np.ones(len(gram)))
    return (weights / weights.sum()) @ seen[1:]


Rule = Callable[[int, int, int], int]


def table_of(rule: Rule, k: int, box: Box) -> Any:
    """Return a policy given as a function of (c, i, j) as a table, shape (k, I + 1, J + 1).

    What cannot be done is not: a small job needs one that waits, a large one empty servers.
    """
    table = np.zeros((k, box.small + 1, box.large + 1), np.int8)
    for c, i, j in np.ndindex(table.shape):
        wanted = rule(c, i, j)
        if (wanted == 1 and i) or (wanted == 2 and c == 0 and j):
            table[c, i, j] = wanted
    return table


def two_threshold(l: int, b0: float = np.inf, b1: float = 0.0, b2: float = np.inf) -> Rule:
    """Return the two-threshold rule; without bounds and for l <= k - 2 it is lazy MSFQ."""

    def rule(c: int, i: int, j: int) -> int:
        if c == 0 and j and (i == 0 or i < b0 + b1 * j):
            return 2
        if c and j and c <= l and i < b2:
            return 0
        return 1 if i else 0

    return rule
