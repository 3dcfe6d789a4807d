"""A greedy selection or season, for time limits that leave no time for a search."""

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp import Season, Selection
from schedopt.formulations.program import IntegerProgram
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance

SLIP = 1e-9
"""Relative error of sums of doubles."""

Mask = NDArray[np.bool_]


def greedy_solution(model: Selection | Season) -> tuple[Any | None, float | None]:
    """Return a greedy solution or None, and an upper bound, for an unchanged model."""
    jobs = model.columns.jobs
    able = np.zeros(len(model.instance.jobs), dtype=np.bool_)
    able[jobs[model.open]] = True
    demands = model.instance.planned.demands.floats[jobs]
    columns = greedy_columns(model.integer_program(), demands)
    solution = None if columns is None else model.selected(columns)
    return solution, _knapsack_bound(model.instance, able, model.fill)


def _knapsack_bound(night: Instance, able: Mask, fill: float) -> float:
    """Return the LP bound of the knapsack of some jobs."""
    jobs = np.flatnonzero(able)
    rewards = night.rewards[jobs]
    demands = night.planned.demands.floats[jobs]
    pays = rewards > 0
    order = np.argsort(-rewards[pays] / np.maximum(demands[pays], 1e-300), kind="stable")
    worth, used = np.cumsum(rewards[pays][order]), np.cumsum(demands[pays][order])
    room = float(_capacity(night, fill)) * (1 + SLIP)
    whole = not used.size or used[-1] <= room
    last = used.size - 1 if whole else int(np.searchsorted(used, room, "right"))
    return float(worth[last]) * (1 + SLIP) if used.size else 0.0


def _capacity(night: Instance, fill: float) -> Fraction | float:
    """Return the capacity until the last deadline."""
    if not night.windowed:
        return night.exact_capacity(fill) * night.nights
    if night.nights > 1:
        return inf
    return as_written(fill) * night.machine.total.until(as_written(night.horizon))


def greedy_columns(program: IntegerProgram, demands: NDArray[np.float64]) -> list[int] | None:
    """Return columns taken by reward over demand as long as every row has room.

    Columns that meet an unmet minimum come first. Columns that wait for their predecessors are
    tried again. Returns None if the columns violate a row.
    """
    count = len(demands)
    ratios = program.rewards[:count].astype(float) / np.maximum(demands, 1e-300)
    order = np.argsort(-ratios, kind="stable").tolist()
    entries, first = program.by_column
    rows, values = program.row[entries].tolist(), program.coefficient[entries].tolist()
    upper, lower, high = program.upper.tolist(), program.lower.tolist(), program.high.tolist()
    used, chosen = [0] * program.n_rows, set[int]()
    for only_minima in (True, False, False, False):
        for j in order:
            own = range(first[j], first[j + 1])
            is_needed = any(values[k] > 0 and used[rows[k]] < lower[rows[k]] for k in own)
            is_wanted = is_needed if only_minima else program.rewards[j] > 0
            if j in chosen or not high[j] or not is_wanted:
                continue
            if all(used[rows[k]] + values[k] <= max(upper[rows[k]], used[rows[k]]) for k in own):
                chosen.add(j)
                for k in own:
                    used[rows[k]] += values[k]
    columns = sorted(chosen)
    return columns if program.satisfied_by(program.point(columns)) else None
