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
    ranked = np.argsort(-ratios, kind="stable")
    ranked = ranked[(program.high[ranked] > 0).astype(np.bool_)]
    paying = ranked[(program.rewards[ranked] > 0).astype(np.bool_)]
    x = np.zeros(program.n_columns, dtype=np.int64)
    if (program.lower > 0).any():
        _fill(program, x, ranked, only_minima=True)
    # Only a row with a negative coefficient can have more room later.
    for _ in range(3 if (program.coefficient < 0).any() else 1):
        _fill(program, x, paying[x[paying] == 0])
    columns = np.flatnonzero(x).tolist()
    return columns if program.satisfied_by(program.point(columns)) else None


def _fill(
    program: IntegerProgram,
    x: NDArray[np.int64],
    columns: NDArray[np.int64],
    *,
    only_minima: bool = False,
) -> None:
    """Add columns to x one by one if every row has room.

    With ``only_minima``, columns that meet no unmet minimum are left out.
    """
    entries, first = program.by_column
    used = program.activities(x).tolist()
    upper, lower = program.upper.tolist(), program.lower.tolist()
    for j in columns.tolist():
        at = entries[first[j] : first[j + 1]]
        own = list(zip(program.row[at].tolist(), program.coefficient[at].tolist(), strict=True))
        if only_minima and not any(value > 0 and used[i] < lower[i] for i, value in own):
            continue
        if all(used[i] + value <= max(upper[i], used[i]) for i, value in own):
            x[j] = 1
            for i, value in own:
                used[i] += value
