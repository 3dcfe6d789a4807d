"""Enumerate combinations of choices that lose little, and find the best pair of two halves.

A choice is a column of a table: its loss, how much it adds to some rows, and its reward. The
combinations of all choices are enumerated in two halves; of these the best pair that satisfies the
rows is found. What exceeds a limit is cut off by loss, so that it is known up to which loss all
combinations were considered.

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
"""Rows of the table of combinations; those between are what they add to rows of the program."""


class Step(NamedTuple):
    """Combinations that a choice was added to, numbered from ``first`` on."""

    first: int
    place: int  # of the set of choices
    choice: int
    origin: IntArray  # the combinations that it was added to


class Combinations(NamedTuple):
    """All combinations that lose at most ``complete_to``, without dominated ones."""

    table: IntArray
    complete_to: int
    trail: Sequence[Step]

    def choices(self, number: int) -> list[tuple[int, int]]:
        """Return the choices of a combination, each with the place of its set."""
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
    """Return the combinations that take at most one choice of each set, the cheapest if too many.

    Parameters
    ----------
    choices : sequence of ndarray, shape (n_rows + 2, choices)
        Sets of choices by rising loss; taking none loses, adds and earns nothing.
    n_rows : int
        The rows that the choices add to.
    budget, limit : int
        The largest loss, and about how many combinations to keep.
    until : float
        When to stop, by `clock.now`; then nothing is complete.
    only_equal : bool
        Whether to leave out only combinations that equal another, not all that are dominated.
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
    """Return the combinations that lose least, and up to which loss they are all there."""
    order = np.argpartition(table[LOSS], limit)
    complete_to = min(complete_to, int(table[LOSS, order[limit]]) - 1)
    if complete_to < 0:
        return table[:, np.sort(order[:limit])], complete_to
    return table[:, table[LOSS] <= complete_to], complete_to


def undominated(table: IntArray, *, only_equal: bool = False) -> IntArray:
    """Leave out combinations that add no less to all rows, and earn no more, than another one.

    With several rows only those are compared that differ in the first row alone.
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
        key = (key + values) * (0x9E3779B97F4A7C1 + 2 * i)  # a hash; overflow does no harm
    order = np.lexsort((table[1], key))
    compared = table[(1 if only_equal else 2) : NUMBER, order]
    same = (compared[:, 1:] == compared[:, :-1]).all(axis=0)
    return table[:, order[np.append(True, ~same)]]


class Pairing(NamedTuple):
    """The rows that pairs of combinations must satisfy.

    Of row i at most ``room[i]`` may be used; what is left unused loses ``prices[i]`` a unit; pairs
    may lose no more than ``budget``.
    """

    room: IntArray
    prices: IntArray
    budget: int

    def best(
        self, one: IntArray, two: IntArray, worth: int, most: int, batch: int = 1 << 16
    ) -> tuple[tuple[int, int] | None, bool]:
        """Return the numbers of the best pair whose reward is above ``worth``, or None.

        The second value is whether all pairs were considered. At most ``most`` are, ``batch`` at a
        time.
        """
        if not one.shape[1] or not two.shape[1]:
            return None, True
        if len(self.room) <= 1:
            return self._best_by_one_row(one, two, worth), True
        one = one[:, np.argsort(one[LOSS], kind="stable")]
        start, end, two = self._windows(one, two)
        counts = np.maximum(end - start, 0)
        order = np.flatnonzero(counts)
        after = np.cumsum(counts[order])
        considered = int(np.searchsorted(after, most, side="right"))
        best, numbers, done = worth, None, 0
        while done < considered:
            begun = int(after[done - 1]) if done else 0
            end_ = min(max(int(np.searchsorted(after, begun + batch)), done + 1), considered)
            part = order[done:end_]
            many = counts[part]
            i = np.repeat(part, many)
            j = np.arange(len(i)) + np.repeat(start[part] - (np.cumsum(many) - many), many)
            found = self._best_of(one, two, i, j, best)
            if found is not None:
                best, numbers = found
            done = end_
        return numbers, considered == len(order)

    def _best_by_one_row(self, one: IntArray, two: IntArray, worth: int) -> tuple[int, int] | None:
        """Return the best pair under at most one row; both halves rise in use and reward."""
        if len(self.room):
            place = np.searchsorted(two[1], self.room[0] - one[1], side="right") - 1
        else:
            place = np.full(one.shape[1], two.shape[1] - 1)
        total = np.where(place >= 0, one[REWARD] + two[REWARD, np.maximum(place, 0)], worth)
        i = int(total.argmax())
        if total[i] <= worth:
            return None
        return int(one[NUMBER, i]), int(two[NUMBER, place[i]])

    def _windows(self, one: IntArray, two: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return which stretch of the second half can match each of the first, and that half.

        A pair that leaves much of a priced row unused loses too much. The second half is sorted by
        the row that leaves the fewest pairs.
        """
        sample = one[:, :: one.shape[1] // 256 + 1]
        sizes = {}
        for r in np.flatnonzero(self.prices).tolist():
            start, end = self._window(sample, np.sort(two[r + 1]), r)
            sizes[r] = int((end - start).sum())
        if not sizes:
            nothing = np.zeros(one.shape[1], dtype=np.int64)
            return nothing, nothing + two.shape[1], two
        row = min(sizes, key=sizes.__getitem__)
        two = two[:, np.argsort(two[row + 1], kind="stable")]
        return *self._window(one, two[row + 1], row), two

    def _window(self, one: IntArray, used: IntArray, row: int) -> tuple[IntArray, IntArray]:
        """Return where sorted uses of a priced row begin and end that match each combination."""
        most = self.room[row] - one[row + 1]
        unused = np.maximum(self.budget - one[LOSS], -1) // int(self.prices[row])
        start = np.searchsorted(used, most - unused, side="left")
        return start, np.searchsorted(used, most, side="right")

    def _best_of(
        self, one: IntArray, two: IntArray, i: IntArray, j: IntArray, worth: int
    ) -> tuple[int, tuple[int, int]] | None:
        """Return the reward and the numbers of the best of some pairs."""
        kept = one[REWARD, i] + two[REWARD, j] > worth
        i, j = i[kept], j[kept]
        for row, room in enumerate(self.room.tolist()):
            kept = one[row + 1, i] + two[row + 1, j] <= room
            i, j = i[kept], j[kept]
        if not len(i):
            return None
        total = one[REWARD, i] + two[REWARD, j]
        k = int(total.argmax())
        return int(total[k]), (int(one[NUMBER, i[k]]), int(two[NUMBER, j[k]]))
