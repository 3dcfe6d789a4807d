"""Enumerate combinations of choices with small losses, and find the best pair of two halves.

A choice is a column of a table: its loss, its change of some rows, and its reward. Combinations are
enumerated for two halves of the sets of choices, and the best pair that satisfies the rows is
found. If there are too many combinations, those of the largest loss are dropped; all combinations
up to the loss ``complete_to`` are kept.

Source: E. Horowitz, S. Sahni, "Computing partitions with applications to the knapsack problem",
Journal of the ACM 21, 1974.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schedopt.formulations.program import IntArray
from schedopt.solvers.clock import expired

LOSS, REWARD, NUMBER = 0, -2, -1
"""Rows of the table of combinations; the rows between are changes of rows of the program."""


class Step(NamedTuple):
    """Combinations to which a choice was added, numbered from ``first`` on."""

    first: int
    place: int  # of the set of choices
    choice: int
    origin: IntArray  # the combinations without the choice


class Combinations(NamedTuple):
    """All combinations with a loss of at most ``complete_to``, without dominated ones."""

    table: IntArray
    complete_to: int
    trail: Sequence[Step]

    def choices(self, number: int) -> list[tuple[int, int]]:
        """Return the choices of a combination, each with the position of its set."""
        firsts, made = [step.first for step in self.trail], []
        while number:
            step = self.trail[bisect_right(firsts, number) - 1]
            made.append((step.place, step.choice))
            number = int(step.origin[number - step.first])
        return made


def enumerate_combinations(
    choices: Sequence[IntArray],
    n_rows: int,
    budget: int,
    limit: int,
    until: float,
    *,
    only_equal: bool = False,
) -> Combinations:
    """Return combinations of at most one choice from each set.

    Parameters
    ----------
    choices : sequence of ndarray, shape (n_rows + 2, choices)
        Sets of choices in increasing order of loss.
    n_rows : int
        The rows that the choices add to.
    budget, limit : int
        The largest loss, and about the largest number of combinations; if there are more, those
        of the largest loss are dropped.
    until : float
        When to stop, by `clock.now`; then ``complete_to`` is -1.
    only_equal : bool
        Whether to drop only combinations that equal another one, not all dominated ones.
    """
    table = np.zeros((n_rows + 3, 1), dtype=np.int64)
    trail: list[Step] = []
    complete_to, number = budget, 1
    for place, own in enumerate(choices):
        if expired(until):
            return Combinations(table[:, :0], -1, trail)
        parts = [table]
        for choice in range(own.shape[1]):
            loss = int(own[LOSS, choice])
            if loss > max(complete_to, 0):
                break
            origin = np.flatnonzero(table[LOSS] <= complete_to - loss)
            added = table[:, origin]
            trail.append(Step(number, place, choice, added[NUMBER].copy()))
            added[:NUMBER] += own[:, choice, None]
            added[NUMBER] = np.arange(number, number + len(origin))
            number += len(origin)
            parts.append(added)
        if len(parts) > 1:
            table = np.concatenate(parts, axis=1)
        if table.shape[1] > 2 * limit:
            table = undominated(table, only_equal=only_equal)
            if table.shape[1] > limit:
                table, complete_to = _cheapest(table, limit, complete_to)
    if not only_equal:
        table = undominated(table)
    return Combinations(table, complete_to, trail)


def _cheapest(table: IntArray, limit: int, complete_to: int) -> tuple[IntArray, int]:
    """Return the combinations of least loss, and the loss up to which they are complete."""
    order = np.argpartition(table[LOSS], limit)
    complete_to = min(complete_to, int(table[LOSS, order[limit]]) - 1)
    if complete_to < 0:
        return table[:, np.sort(order[:limit])], complete_to
    return table[:, table[LOSS] <= complete_to], complete_to


def undominated(table: IntArray, *, only_equal: bool = False) -> IntArray:
    """Drop dominated combinations: another one uses no more of all rows and has no less reward.

    With several rows, combinations are compared that differ in the first row only.
    """
    if table.shape[1] < 2:
        return table
    if table.shape[0] <= 4 and not only_equal:  # at most one row
        added = table[1] if table.shape[0] == 4 else np.zeros(table.shape[1], dtype=np.int64)
        order = np.lexsort((-table[REWARD], added))
        reward = table[REWARD, order]
        better = np.append(True, reward[1:] > np.maximum.accumulate(reward)[:-1])
        return table[:, order[better]]
    key = np.zeros(table.shape[1], dtype=np.int64)
    for i, values in enumerate(table[2:NUMBER]):
        key = (key + values) * (0x9E3779B97F4A7C1 + 2 * i)  # a hash, which may overflow
    order = np.lexsort((table[1], key))
    compared = table[(1 if only_equal else 2) : NUMBER, order]
    same = (compared[:, 1:] == compared[:, :-1]).all(axis=0)
    return table[:, order[np.append(True, ~same)]]


def best_pair(one: IntArray, two: IntArray, room: IntArray, worth: int) -> tuple[int, int] | None:
    """Return the numbers of the best pair whose reward is above ``worth``, or None.

    ``room`` is that of at most one row. Both halves are without dominated combinations, so they are
    sorted by use and by reward.
    """
    if not one.shape[1] or not two.shape[1]:
        return None
    place = np.full(one.shape[1], two.shape[1] - 1)
    if len(room):
        place = np.searchsorted(two[1], room[0] - one[1], side="right") - 1
    total = np.where(place >= 0, one[REWARD] + two[REWARD, np.maximum(place, 0)], worth)
    i = int(total.argmax())
    if total[i] <= worth:
        return None
    return int(one[NUMBER, i]), int(two[NUMBER, place[i]])
