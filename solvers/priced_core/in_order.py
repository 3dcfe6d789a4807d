"""Maximize several objectives in order (lexicographically)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.instances.decimals import exact_sum
from schedopt.solvers.clock import expired, now
from schedopt.solvers.priced_core.search import Note, PricedCoreSearch, ignore
from schedopt.solvers.result import Limits


@dataclass(frozen=True, eq=False)
class OrderedOptimum:
    """The best x by several objectives in order.

    Attributes
    ----------
    x : ndarray of int, shape (n,)
    values, bounds : list of int
        The value and the upper bound of each objective, with the values of the earlier ones fixed.
    proven : bool
        Whether each value is equal to its bound.
    has_solution : bool
        Whether `x` is a solution. If not, and `proven`, the program is infeasible.
    """

    x: IntArray
    values: list[int]
    bounds: list[int]
    proven: bool
    has_solution: bool = True


def best_in_order(
    objectives: IntArray,
    uses: IntArray,
    room: IntArray,
    counts: IntArray,
    *,
    until: float = inf,
) -> OrderedOptimum:
    """Return the lexicographic optimum under ``uses @ x <= room`` and ``0 <= x <= counts``.

    Parameters
    ----------
    objectives, uses : ndarray of int64, shape (objectives or rows, n)
        Uses are not negative.
    room : ndarray of int64, shape (rows,)
    counts : ndarray of int64, shape (n,)
    until : float, optional
        When to return the incumbent, by `clock.now`.
    """
    most = counts.copy()
    for row, amount in zip(uses, room.tolist(), strict=True):
        often = np.flatnonzero(row * most.astype(float) > amount)
        most[often] = amount // row[often]
    columns = np.flatnonzero(most)
    goals, rows, most = objectives[:, columns], uses[:, columns], most[columns]
    order, first = _equal_columns([*goals, *rows])
    kinds = order[first]
    kind = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
    high = np.bincount(kind, most[order], len(first)).astype(np.int64)
    program = IntegerProgram.of_dense(goals[0, kinds], rows[:, kinds], room, high)
    limit = None if until == inf else until - now()
    limits = Limits(time_limit=limit, threads=1)
    found = maximize_in_order(program, goals[:, kinds], limits)
    if not found.has_solution:  # at a time limit
        x = _take_greedily(goals[:, kinds], rows[:, kinds], room, high)
        values = (goals[:, kinds] @ x).tolist()
        found = replace(found, x=x, values=values, has_solution=True)
    before = np.cumsum(most[order]) - most[order]
    before -= before[first][kind]
    x = np.zeros(len(counts), dtype=np.int64)
    x[columns[order]] = np.clip(found.x[kind] - before, 0, most[order])
    return replace(found, x=x)


def _equal_columns(keys: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return columns sorted by some keys, and the first of each group of equal columns."""
    order = np.lexsort(keys)
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    return order, np.flatnonzero(new)


def _take_greedily(
    objectives: IntArray, uses: IntArray, room: IntArray, counts: IntArray
) -> IntArray:
    """Return the choice that takes columns in the order of the objectives while they fit."""
    x, left = np.zeros(len(counts), dtype=np.int64), room.copy()
    for j in np.lexsort(-objectives[::-1]).tolist():
        if objectives[0, j] >= 0:
            needed = uses[:, j] > 0
            x[j] = min([int(counts[j]), *(left[needed] // uses[needed, j]).tolist()])
            left = left - uses[:, j] * x[j]
    return x


def maximize_in_order(
    program: IntegerProgram,
    objectives: Sequence[IntArray] | IntArray,
    limits: Limits,
    *,
    note: Note = ignore,
) -> OrderedOptimum:
    """Maximize the objectives of a program in order, with the values of the earlier ones fixed.

    ``note`` is called with values and bounds of the first objective.
    """
    until = inf if limits.time_limit is None else now() + limits.time_limit
    values, bounds = list[int](), list[int]()
    x: IntArray | None = None
    for k, objective in enumerate(objectives):
        step = int(np.gcd.reduce(objective, initial=0)) or 1
        program = replace(program, rewards=objective // step)
        if k and (expired(until) or values != bounds):
            values.append(_value(objective, x))
            bounds.append(exact_sum(np.maximum(objective, 0) * program.high))
            continue
        left = None if until == inf else max(until - now(), 0.0)
        search = PricedCoreSearch(
            program,
            replace(limits, time_limit=left),
            x=x,
            note=ignore if k else note,
        ).run()
        x = search.x
        if x is None and search.proven:
            return OrderedOptimum(program.low, [], [], True, has_solution=False)
        values.append(_value(objective, x))
        bound = search.bound
        if bound is None:
            bound = exact_sum(np.maximum(program.rewards, 0) * program.high)
        bounds.append(step * bound)
        if search.proven and x is not None and k + 1 < len(objectives):
            program = _with_fixed_value(program, search, values[-1] // step)
    point = program.low if x is None else x
    return OrderedOptimum(point, values, bounds, values == bounds, x is not None)


def _value(objective: IntArray, x: IntArray | None) -> int:
    """Return the value of an objective; without a point, less than every value."""
    if x is None:
        return -exact_sum(np.abs(objective)) - 1
    return exact_sum(objective * x)


def _with_fixed_value(
    program: IntegerProgram, search: PricedCoreSearch, value: int
) -> IntegerProgram:
    """Return the program with a row for the objective's value, and columns fixed by it."""
    if search.price is not None and search.price.reduced.dtype != object:
        fixed = search.price.on(search.program)
        slack = fixed.slack(value)
        program = fixed.fix(program, max(slack, 0))
    rewards = program.rewards
    beyond = exact_sum(np.abs(rewards) * program.high) + 1
    return program.with_row(rewards, value, beyond)
