"""The open part of an integer program: its columns that are not fixed, and the rows over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedopt.formulations.program import IntArray, IntegerProgram, row_sums


@dataclass(frozen=True, eq=False)
class OpenPart:
    """A program over the columns that are not fixed, all of them from 0 on.

    Attributes
    ----------
    program : IntegerProgram
    columns, rows : ndarray of int
        Their positions in the whole program.
    reward : int
        The reward of the whole program where all open columns are at their lower bounds.
    low : ndarray of int
        The lower bounds of all columns of the whole program.
    """

    program: IntegerProgram
    columns: IntArray
    rows: IntArray
    reward: int
    low: IntArray

    def whole(self, x: IntArray) -> IntArray:
        """Return a point of the open part as a point of the whole program."""
        point = self.low.copy()
        point[self.columns] += x
        return point

    def part_of(self, x: IntArray) -> IntArray | None:
        """Return a point of the whole program as one of the open part; None if it is not in it."""
        own = (x - self.low)[self.columns]
        inside = (own >= 0).all() and (own <= self.program.high).all()
        return own if inside and (self.whole(own) == x).all() else None


def open_part(program: IntegerProgram, *, keep: IntArray | None = None) -> OpenPart:
    """Return the open part of a program, without redundant rows.

    Parameters
    ----------
    program : IntegerProgram
    keep : ndarray of bool, shape (m,), optional
        Rows to keep in any case.
    """
    columns = np.flatnonzero(program.high > program.low)
    place = np.full(program.n_columns, -1)
    place[columns] = np.arange(len(columns))
    used = program.activities(program.low)
    inside = place[program.column] >= 0
    row, column = program.row[inside], place[program.column[inside]]
    coefficient = program.coefficient[inside]
    high = (program.high - program.low)[columns]
    first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=program.n_rows))))
    least = row_sums(np.minimum(coefficient, 0) * high[column], first)
    most = row_sums(np.maximum(coefficient, 0) * high[column], first)
    lower = np.maximum(program.lower - used, least - 1)
    upper = np.minimum(program.upper - used, most + 1)
    kept = ((lower > least) | (upper < most)).astype(bool)
    if keep is not None:
        kept |= keep
    entries = kept[row]
    own = IntegerProgram(
        program.rewards[columns],
        np.zeros(len(columns), np.int64),
        high,
        np.concatenate(([0], np.cumsum(np.diff(first)[kept]))),
        column[entries],
        coefficient[entries],
        lower[kept],
        upper[kept],
    )
    return OpenPart(own, columns, np.flatnonzero(kept), program.reward_of(program.low), program.low)


def propagate(program: IntegerProgram) -> IntegerProgram | None:
    """Tighten the bounds of columns by single rows; None where a row cannot be satisfied."""
    while program.n_rows:
        least, most = program.activity_range()
        if ((least > program.upper) | (most < program.lower)).any():
            return None
        if not ((most > program.upper) | (least < program.lower)).any():
            return program
        low, high = program.low.copy(), program.high.copy()
        span = (high - low)[program.column]
        size = np.maximum(np.abs(program.coefficient), 1)
        positive = (program.coefficient > 0).astype(bool)
        for room, increases in (
            (program.upper - least, positive),
            (most - program.lower, ~positive),
        ):
            steps = room[program.row] // size
            binds = (steps < span).astype(bool)
            up, down = binds & increases, binds & ~increases
            at = program.column[up]
            np.minimum.at(high, at, program.low[at] + steps[up].astype(np.int64))
            at = program.column[down]
            np.maximum.at(low, at, program.high[at] - steps[down].astype(np.int64))
        if (low > high).any():
            return None
        if (low == program.low).all() and (high == program.high).all():
            return program
        program = program.with_bounds(low, high)
    return program
