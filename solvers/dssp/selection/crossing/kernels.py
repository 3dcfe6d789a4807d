"""Annealing over 0-1 columns under rows of any kind: columns change alone, or two that balance."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Values = NDArray[np.int8]

DRAWS = 5
"""Random numbers of a move."""
ALONE = 0.2
"""The part of the moves that change one column."""
LOOKED_AT = 12
"""Columns of a row that are looked at for one that balances another."""


class Held(NamedTuple):
    """Rows over columns, by column and by row, in whole numbers of 64 bits.

    Only columns of the `core` are changed; by row these alone are listed. `weights` are what a unit
    beyond a row's bounds costs, `charge` what every row that is broken costs beside that.
    """

    rewards: Ints  # (columns,)
    of_column: Ints  # (columns + 1,)
    rows: Ints  # (entries,)
    coefficients: Ints  # (entries,)
    lower: Ints  # (rows,)
    upper: Ints  # (rows,)
    weights: Floats  # (rows,)
    charge: Floats  # (1,)
    core: Ints  # (core,)
    of_row: Ints  # (rows + 1,)
    entries: Ints  # of core columns, row by row, as positions in `coefficients`
    owners: Ints  # the column of each entry, (entries,)


class Walk(NamedTuple):
    """A walk: where it is, and the best that keeps all rows."""

    values: Values  # (columns,)
    best: Values  # (columns,)
    activity: Ints  # (rows,)
    at: Ints  # reward, best reward or -1, broken rows, moves that ended with none, (4,)


@njit(cache=True)
def _flip(held: Held, walk: Walk, j: int) -> float:
    """Change a column; return by how much that is better, broken rows at their weights."""
    up = 1 - 2 * walk.values[j]
    walk.values[j] += up
    gain = held.rewards[j] * up
    walk.at[0] += gain
    better = float(gain)
    for entry in range(held.of_column[j], held.of_column[j + 1]):
        row = held.rows[entry]
        before = walk.activity[row]
        after = before + up * held.coefficients[entry]
        walk.activity[row] = after
        low, high = held.lower[row], held.upper[row]
        was = max(low - before, before - high, 0)
        is_ = max(low - after, after - high, 0)
        if was != is_:
            better += held.weights[row] * float(was - is_)
            broken = (1 if is_ > 0 else 0) - (1 if was > 0 else 0)
            walk.at[2] += broken
            better -= held.charge[0] * float(broken)
    return better


@njit(cache=True)
def _balance(held: Held, walk: Walk, j: int, pick: float, place: float) -> int:
    """Return a core column whose change balances that of another in one of its rows; or -1."""
    first, last = held.of_column[j], held.of_column[j + 1]
    if first == last:
        return -1
    entry = first + int(pick * (last - first))
    row = held.rows[entry]
    begin, end = held.of_row[row], held.of_row[row + 1]
    if begin == end:
        return -1
    change = (1 - 2 * walk.values[j]) * held.coefficients[entry]
    at = begin + int(place * (end - begin))
    for _ in range(min(LOOKED_AT, end - begin)):
        other = held.entries[at]
        k: int = held.owners[other]
        its = (1 - 2 * walk.values[k]) * held.coefficients[other]
        if k != j and (its > 0) != (change > 0):
            return k
        at += 1
        if at == end:
            at = begin
    return -1


@njit(cache=True)
def anneal(held: Held, walk: Walk, draws: Floats, warm: float, cooling: float) -> float:
    """Make a move for each row of draws; return the temperature after the last.

    Draws are uniform from 0 to 1, but for the last of a move: that is minus an exponential one.
    """
    for move in range(len(draws)):
        part = draws[move, 0]
        j = held.core[int(part * part * len(held.core))]
        k = -1
        if draws[move, 1] > ALONE:
            k = _balance(held, walk, j, draws[move, 2], draws[move, 3])
        better = _flip(held, walk, j)
        if k >= 0:
            better += _flip(held, walk, k)
        if better < warm * draws[move, 4]:
            _flip(held, walk, j)
            if k >= 0:
                _flip(held, walk, k)
        if walk.at[2] == 0:
            walk.at[3] += 1
        if walk.at[2] == 0 and walk.at[0] > walk.at[1]:
            walk.at[1] = walk.at[0]
            for column in held.core:
                walk.best[column] = walk.values[column]
        warm *= cooling
    return warm
