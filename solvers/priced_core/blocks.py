"""Blocks: disjoint rows as separate knapsacks.

A block is a row with columns that are in no other block. The prices prefer a value of each column,
but integer columns rarely fill a priced row exactly. So each block has a least loss in every
solution, and the sum of the least losses lowers the Lagrangian bound. Symbols are in the docstring
of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.solvers.priced_core.bounds import LARGEST, PricedBound
from schedopt.solvers.priced_core.combinations import (
    LOSS,
    NUMBER,
    enumerate_combinations,
    undominated,
)

Change = tuple[int, int]
"""A column, and the change of its value."""


class Choices(NamedTuple):
    """Choices relative to a base point, in increasing order of loss.

    Attributes
    ----------
    table : ndarray of int, shape (2 + len(rows), choices)
        The loss, the change of each row, and the reward.
    rows : ndarray of int
        Rows of the program.
    changes : callable
        Returns the changes of columns of a choice.
    """

    table: IntArray
    rows: IntArray
    changes: Callable[[int], Sequence[Change]]

    def over(self, sides: IntArray, n: int) -> IntArray:
        """Return the table for sides of rows: i is the upper bound of row i, n + i the lower."""
        wide = np.zeros((len(sides) + 2, self.table.shape[1]), dtype=np.int64)
        wide[LOSS], wide[-1] = self.table[LOSS], self.table[-1]
        place = {row: k for k, row in enumerate(self.rows.tolist(), start=1)}
        for k, side in enumerate(sides.tolist(), start=1):
            at = place.get(side % n)
            if at is not None:
                wide[k] = self.table[at] if side < n else -self.table[at]
        return wide


class Moves(NamedTuple):
    """Changes of columns from the values that the prices prefer, in increasing order of loss."""

    columns: IntArray
    amounts: IntArray
    losses: IntArray

    @classmethod
    def of(
        cls, program: IntegerProgram, bound: PricedBound, budget: int, columns: IntArray
    ) -> Moves:
        """Return the moves of columns whose loss is at most a budget.

        A column that can move by several units moves by 1, 2, 4, ... of them at once.
        """
        losses, budget = np.abs(bound.reduced[columns]), min(budget, LARGEST)
        columns, losses = columns[losses <= budget], losses[losses <= budget]
        span = (program.high - program.low)[columns]
        units = np.where(losses > 0, np.minimum(budget // np.maximum(losses, 1), span), span)
        parts, piece = [(columns, np.minimum(units, 1), losses)], 1
        while (units > piece).any():
            more = units > piece
            columns, units, losses = columns[more], (units - piece)[more], losses[more]
            piece *= 2
            parts.append((columns, np.minimum(units, piece), losses))
        columns, amounts, losses = (np.concatenate(part) for part in zip(*parts, strict=True))
        losses = losses * amounts
        order = np.argsort(losses, kind="stable")
        columns, amounts = columns[order], amounts[order]
        prefers_high = (bound.reduced[columns] > 0) & (program.high > program.low)[columns]
        return cls(columns, np.where(prefers_high, -amounts, amounts), losses[order])

    def added(self, program: IntegerProgram, row: int) -> tuple[IntArray, IntArray]:
        """Return the changes of a row and of the other rows of the moves, and these other rows."""
        order, first = program.by_column
        counts = np.diff(first)[self.columns]
        start = np.repeat(first[self.columns] - (np.cumsum(counts) - counts), counts)
        entries = order[start + np.arange(int(counts.sum()))]
        move = np.repeat(np.arange(len(self.columns)), counts)
        rows = np.unique(program.row[entries])
        others = rows[rows != row]
        place = np.zeros(program.n_rows, dtype=np.int64)
        place[others] = np.arange(1, len(others) + 1)
        table = np.zeros((len(others) + 1, len(self.columns)), dtype=np.int64)
        added = program.coefficient[entries] * self.amounts[move]
        table[place[program.row[entries]], move] = added
        return table, others


class Block(NamedTuple):
    """The choices of a block with a loss of at most ``complete_to``, of a search up to ``budget``.

    ``table`` is as in `Choices`; ``changes`` takes the number of a choice.
    """

    table: IntArray
    rows: IntArray
    numbers: IntArray
    changes: Callable[[int], list[Change]]
    complete_to: int
    budget: int

    @property
    def is_empty(self) -> bool:
        """Whether no choice is within the budget."""
        return not bool(self.table.shape[1])

    @property
    def least_loss(self) -> int:
        """A lower bound on the loss of every choice."""
        return self.complete_to + 1 if self.is_empty else int(self.table[LOSS].min())

    @property
    def cheapest_changes(self) -> list[Change]:
        """The changes of the choice of least loss."""
        return self.changes(int(self.numbers[self.table[LOSS].argmin()]))

    def alternatives(self, limit: int) -> tuple[Choices, int]:
        """Return the other choices relative to the cheapest one, and the loss they are complete to.

        Their losses are in addition to the least loss.
        """
        order, complete_to = np.argsort(self.table[LOSS], kind="stable"), self.complete_to
        if len(order) > limit:
            complete_to, order = int(self.table[LOSS, order[limit]]) - 1, order[:limit]
        table, numbers = self.table[:, order], self.numbers[order].tolist()
        undone = [(j, -amount) for j, amount in self.changes(numbers[0])]
        choices = Choices(
            table[:, 1:] - table[:, :1],
            self.rows,
            lambda choice: undone + self.changes(numbers[choice + 1]),
        )
        return choices, complete_to - int(table[LOSS, 0])


class BlockSolver:
    """Solves the blocks of a program at some prices.

    Parameters
    ----------
    program : IntegerProgram
    bound : PricedBound
    limit : int
        Most choices of a block.
    until : float
        When to stop, by `clock.now`.
    """

    def __init__(
        self, program: IntegerProgram, bound: PricedBound, limit: int, until: float
    ) -> None:
        self.program, self.bound, self.limit, self.until = program, bound, limit, until
        self.preferred = bound.preferred(program)
        least, _ = program.activity_range()
        self._has_floor = (program.lower > least).astype(bool)

    def rows(self, widest: int) -> list[int]:
        """Return priced knapsack rows over disjoint columns, the shortest first.

        Rows over more than half of the columns, and over more than ``widest``, are no blocks.
        """
        program, taken = self.program, np.zeros(self.program.n_columns, dtype=np.bool_)
        rows, ends = list[int](), program.first.tolist()
        for i in np.argsort(np.diff(program.first), kind="stable").tolist():
            a, b = ends[i], ends[i + 1]
            if not self.bound.multipliers[i] or 2 * (b - a) > max(program.n_columns, widest):
                continue
            values, columns = program.coefficient[a:b], program.column[a:b]
            is_knapsack = len(values) > 0 and values.min() > 0 and values.max() > 1
            if is_knapsack and not taken[columns].any():
                taken[columns] = True
                rows.append(i)
        return rows

    def cheapest(self, row: int, budget: int, parts: int) -> Block:
        """Return the choices of a block within a budget that grows until there is a choice."""
        part = max(budget // (8 * parts), 1)
        while True:
            block = self.choices(row, min(part, budget))
            if not block.is_empty or block.complete_to < block.budget or part >= budget:
                return block
            part *= 4

    def choices(self, row: int, budget: int) -> Block:
        """Return the choices of a block whose loss is at most a budget."""
        program, bound = self.program, self.bound
        entries = slice(int(program.first[row]), int(program.first[row + 1]))
        columns, price = program.column[entries], int(bound.multipliers[row])
        base = self.preferred[columns]
        used = int((program.coefficient[entries] * base).sum())
        lower, upper = int(program.lower[row]) - used, int(program.upper[row]) - used
        moves = Moves.of(program, bound, budget, columns)
        added, others = moves.added(program, row)
        table = np.vstack([moves.losses, added, program.rewards[moves.columns] * moves.amounts])
        sets = [table[:, k : k + 1] for k in range(len(moves.columns))]
        listed = enumerate_combinations(
            sets, len(added), budget, self.limit, self.until, only_equal=True
        )
        found = listed.table
        found = found[:, (found[1] >= lower) & (found[1] <= upper)]
        unused = upper - found[1] if price > 0 else found[1] - lower
        near = unused.astype(float) * abs(price) <= 2.0 * budget + 1  # against overflow
        found, unused = found[:, near], unused[near]
        found[LOSS] += abs(price) * unused
        found = np.delete(found[:, found[LOSS] <= listed.complete_to], 1, axis=0)
        # If another row has a lower bound, using less of it is not better.
        found = undominated(found, only_equal=bool(self._has_floor[others].any()))

        def changes(number: int) -> list[Change]:
            at = [place for place, _ in listed.choices(number)]
            pairs = zip(moves.columns[at].tolist(), moves.amounts[at].tolist(), strict=True)
            return list(pairs)

        return Block(found[:NUMBER], others, found[NUMBER], changes, listed.complete_to, budget)


def single_choices(
    program: IntegerProgram, bound: PricedBound, budget: int, columns: IntArray, most: int
) -> list[Choices]:
    """Return a set with one choice for each move of a column outside blocks, by loss."""
    moves, sets = Moves.of(program, bound, budget, columns), list[Choices]()
    for j, amount, loss in zip(*(part[:most].tolist() for part in moves), strict=True):
        at = program.entries_of(j)
        parts = [[loss], program.coefficient[at] * amount, [program.rewards[j] * amount]]
        table = np.concatenate(parts)[:, None]
        sets.append(Choices(table, program.row[at], _always([(j, amount)])))
    return sets


def _always(changes: list[Change]) -> Callable[[int], Sequence[Change]]:
    """Return a function that returns the same changes for every choice."""
    return lambda choice: changes


class Linking(NamedTuple):
    """The side of a row, if any, that combinations of some sets of choices can violate.

    A combination with another set has a loss of more than ``complete_to``.
    """

    sets: list[Choices]
    sides: IntArray
    room: IntArray
    complete_to: int


def linking_row(
    program: IntegerProgram,
    bound: PricedBound,
    base: IntArray,
    sets: list[Choices],
    blocks: Sequence[int],
    *,
    most_sets: int,
) -> Linking | None:
    """Return sets of choices, in order, that can violate at most one row, and this row.

    None if the base and the prices concern several rows already.
    """
    n, used = program.n_rows, program.activities(base)
    least, most = program.activity_range()
    room = np.concatenate((program.upper - used, used - program.lower))
    room[np.concatenate((program.upper >= most, program.lower <= least))] = LARGEST
    y = bound.multipliers
    in_blocks: NDArray[np.bool_] = np.zeros(2 * n, dtype=np.bool_)
    in_blocks[[side for row in blocks for side in (row, n + row)]] = True
    violable = (np.concatenate((y > 0, y < 0)).astype(bool) | (room < 0)) & ~in_blocks
    count = int(violable.sum())
    if count > 1:
        return None
    added = np.zeros(2 * n, dtype=np.int64)
    for k, choices in enumerate(sets):
        change = choices.table[1:-1]
        sides = np.concatenate((choices.rows, choices.rows + n))
        rises = np.concatenate((change.max(axis=1), -change.min(axis=1)))
        added[sides] += np.maximum(rises, 0)
        new = sides[(added[sides] > room[sides]) & ~violable[sides] & ~in_blocks[sides]]
        count += len(new)
        if k >= most_sets or count > 1:
            complete_to = int(choices.table[LOSS, 0]) - 1
            at = np.flatnonzero(violable)
            return Linking(sets[:k], at, room[at], complete_to)
        violable[new] = True
    at = np.flatnonzero(violable)
    return Linking(sets, at, room[at], LARGEST)
