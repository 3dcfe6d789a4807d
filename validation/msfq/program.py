"""The optimal policy as a linear program over long-run flows, solved by HiGHS.

Independent of policy iteration: its variables are the time spent in each state and how often each
decision is taken. Arrivals at the boundary of the box are lost.

Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.8.
"""

from typing import Any

import numpy as np

from schedopt.validation.msfq.chain import System

SCALE = 1e4
"""The time in all states together: with 1 the smallest flows would fall below HiGHS's tolerance."""


def optimum(
    system: System, small_cost: float, large_cost: float, small_most: int, large_most: int
) -> float:
    """Return the least long-run cost per unit of time of a one-or-all system.

    Costs are those of a job in the system, per unit of time; ``small_most`` and ``large_most`` jobs
    of each class may wait. `RuntimeError` if HiGHS does not solve it.
    """
    from scipy.optimize import linprog

    costs, matrix = _program(system, small_cost, large_cost, small_most, large_most)
    right = np.zeros(matrix.shape[0])
    right[-1] = SCALE
    solution: Any = linprog(
        costs,
        A_eq=matrix,
        b_eq=right,
        bounds=(0, None),
        method="highs-ipm",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if solution.status != 0:
        raise RuntimeError(f"HiGHS: {solution.message}")
    return float(solution.fun / SCALE)


def _program(
    system: System, small_cost: float, large_cost: float, wide: int, deep: int
) -> tuple[Any, Any]:
    """Return costs and the matrix: one balance for each state, and the total time."""
    from scipy.sparse import csr_matrix

    k, l1, lk, m1, mk = system
    layers = k + 2  # small jobs in service, or (k + 1) a large one
    shape = (layers, wide + 1, deep + 1)
    count = int(np.prod(shape))
    number = np.arange(count).reshape(shape)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    costs: list[float] = []

    def flow(column: int, source: int, target: int, rate: float) -> None:
        rows.extend((source, target))
        columns.extend((column, column))
        values.extend((-rate, rate))

    for c, i, j in np.ndindex(shape):  # time in a state
        column = int(number[c, i, j])
        large = c == k + 1
        costs.append(small_cost * (i + (0 if large else c)) + large_cost * (j + large))
        if i < wide:
            flow(column, column, int(number[c, i + 1, j]), l1)
        if j < deep:
            flow(column, column, int(number[c, i, j + 1]), lk)
        if large:
            flow(column, column, int(number[0, i, j]), mk)
        elif c:
            flow(column, column, int(number[c - 1, i, j]), c * m1)
    for c, i, j in np.ndindex(shape):  # decisions taken
        source = int(number[c, i, j])
        if c < k and i:
            flow(len(costs), source, int(number[c + 1, i - 1, j]), 1.0)
            costs.append(0.0)
        if c == 0 and j:
            flow(len(costs), source, int(number[k + 1, i, j - 1]), 1.0)
            costs.append(0.0)
    rows += [count] * count
    columns += list(range(count))
    values += [1.0] * count
    matrix = csr_matrix((values, (rows, columns)), shape=(count + 1, len(costs)))
    return np.array(costs), matrix
