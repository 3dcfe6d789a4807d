"""All ways to differ from a bound's own solution within the slack of the bound.

The columns that may change are dealt into two halves. Of each half all ways are listed; then each
is matched with those of the other half that leave of a priced row no more than can be lost.

Source: E. Horowitz, S. Sahni, "Computing partitions with applications to the knapsack problem",
Journal of the ACM 21, 1974.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.ready import mix_hashes
from schedopt.solvers.clock import expired
from schedopt.solvers.few_row_ip.lagrangian import Bound, Columns, Integers

MOST = 1 << 58
"""Largest loss, in units, that is counted; ways that lose more are not looked at."""
SAMPLE = 256
"""Sample of ways by which the most selective row is chosen."""
MATCHES, PAIRS = 128, 1 << 15
"""Matches that are examined for each way, and together."""


class Step(NamedTuple):
    """Ways that a change adds: the first's number, and what each extends."""

    first: int
    change: int
    origin: Integers


class Half(NamedTuple):
    """Ways to make some changes: all that lose no more than ``cutoff``, which may be -1."""

    ways: Integers  # by row: what is lost, asked of each row, cost, number
    trail: list[Step]
    cutoff: int

    def changes_of(self, number: int) -> list[int]:
        """Return the changes that a way makes."""
        changes, starts = [], [step.first for step in self.trail]
        while number:
            step = self.trail[bisect_right(starts, number) - 1]
            changes.append(step.change)
            number = int(step.origin[number - step.first])
        return changes


class BestChange(NamedTuple):
    """The best way worth enough; all ways that lose no more than ``reach`` were examined."""

    x: Integers | None
    reach: int


def best_change(
    columns: Columns,
    bound: Bound,
    *,
    target: int,
    limit: int,
    until: float,
) -> BestChange:
    """Look through all ways to differ from a bound's own solution that are worth ``target``.

    Of each half at most ``limit`` ways are kept, those that lose least; ``until``: when to stop.
    """
    spare = min(bound.slack_above(target), MOST)
    near, times = _binary_pieces(np.abs(bound.reduced), columns.most, spare)
    base = bound.at(columns.most)
    times = np.where(base[near] > 0, -times, times)
    change = np.vstack([columns.rows[:, near], -columns.cost[near]]) * times
    moves = np.vstack([np.abs(bound.reduced[near] * times), change])
    rows = moves[1 : 1 + len(columns.rows), :SAMPLE]
    row = 1 + max(range(len(rows)), key=lambda r: len(np.unique(rows[r])), default=-1)
    halves = []
    for first in (0, 1):
        half = _list_ways(moves[:, first::2], spare, limit, row, until)
        if half is None:
            return BestChange(None, -1)
        halves.append(half)
    room = np.append(columns.slack(base), columns.worth(base) - target)
    one, two = halves
    match = Match(room, bound.prices, spare)
    best, every = match.best(one.ways, two.ways, MATCHES * limit)
    reach = min(spare, one.cutoff, two.cutoff) if every else -1
    if best is None:
        return BestChange(None, reach)
    x = base.copy()
    for first, half, number in zip((0, 1), halves, best, strict=True):
        changes = first + 2 * np.array(half.changes_of(number), dtype=np.intp)
        np.add.at(x, near[changes], times[changes])
    return BestChange(x, reach)


def _binary_pieces(loss: Integers, most: Integers, spare: int) -> tuple[NDArray[np.intp], Integers]:
    """Return columns that may change, and how often at once: 1, 2, 4, ... and the rest of ``most``.

    What loses least comes first.
    """
    near = np.flatnonzero(loss <= spare)
    often = np.minimum(most[near], spare // np.maximum(loss[near], 1))
    often = np.where(loss[near] > 0, often, most[near])
    parts, piece = [(near, np.ones_like(often))], 1
    while len(near):
        near, often, piece = near[often > piece], (often - piece)[often > piece], 2 * piece
        parts.append((near, np.minimum(often, piece)))
    near, times = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(loss[near] * times, kind="stable")
    return near[order], times[order]


def _list_ways(moves: Integers, spare: int, limit: int, row: int, until: float) -> Half | None:
    """List the ways to make changes, those that lose least first; None where time is over.

    Ways that differ in one ``row`` alone are one. What is cut off is what loses most, so that it is
    known what is complete.
    """
    cutoff = spare
    table = np.zeros((len(moves) + 1, 1), dtype=np.int64)
    trail: list[Step] = []
    number = 1
    for k, loss in enumerate(moves[0].tolist()):
        least = max(cutoff, 0)
        if loss > least:
            break
        if expired(until):
            return None
        ways = np.flatnonzero(table[0] <= least - loss)
        fresh = table.take(ways, axis=1)
        trail.append(Step(number, k, fresh[-1].copy()))
        fresh[:-1] += moves[:, k, None]
        fresh[-1] = np.arange(number, number + len(ways))
        number += len(ways)
        table = np.concatenate((table, fresh), axis=1)
        if table.shape[1] <= 2 * limit:
            continue
        table = _undominated_ways(table, row)
        if table.shape[1] > limit:
            order = np.argpartition(table[0], limit)
            cutoff = min(cutoff, int(table[0, order[limit]]) - 1)
            table = table[:, np.sort(order[:limit])] if cutoff < 0 else table[:, table[0] <= cutoff]
    return Half(table, trail, cutoff)


def _undominated_ways(table: Integers, row: int) -> Integers:
    """Leave out ways that another is like but for asking less of a row."""
    like = [values for i, values in enumerate(table[:-1]) if i not in {0, row}]
    mark = np.zeros(table.shape[1], dtype=np.uint64)
    for values in like:
        mark = mix_hashes(mark, values.view(np.uint64))
    order = np.lexsort((table[row], mark)) if row else np.argsort(mark)
    again = np.ones(len(order) - 1, dtype=np.bool_)
    for values in like:
        sorted_ = values[order]
        again &= sorted_[1:] == sorted_[:-1]
    return table[:, order[np.append(True, ~again)]]


class Match(NamedTuple):
    """What ways of two halves are matched by; ``spare`` is the slack of the bound."""

    room: Integers  # what is left of each row, and then what may be lost of the worth
    prices: Integers
    spare: int

    def best(self, one: Integers, two: Integers, pairs: int) -> tuple[tuple[int, int] | None, bool]:
        """Return the numbers of the best two ways, and whether all matches were looked at.

        What is left of a row is worth its price, and no more can be lost than there is to lose.
        """
        windows, two = self._windows(one, two)
        after = np.cumsum(windows.counts)
        every = not len(after) or int(after[-1]) <= pairs
        if not every:
            order = np.argsort(one[0, windows.at], kind="stable")
            fit = int(np.searchsorted(np.cumsum(windows.counts[order]), pairs, side="right"))
            windows = Windows(*(part[order[:fit]] for part in windows))
            after = np.cumsum(windows.counts)
        best: tuple[int, tuple[int, int]] | None = None
        low = 0
        while low < len(after):
            done = int(after[low - 1]) if low else 0
            high = max(int(np.searchsorted(after, done + PAIRS, side="right")), low + 1)
            found = self._best_of_matches(one, two, Windows(*(part[low:high] for part in windows)))
            if found is not None and (best is None or found[0] > best[0]):
                best = found
            low = high
        return (best[1] if best else None), every

    def _best_of_matches(
        self, one: Integers, two: Integers, windows: Windows
    ) -> tuple[int, tuple[int, int]] | None:
        """Return the best of some matches: its value, and its two ways."""
        rows, many = len(self.room), windows.counts
        i = np.repeat(windows.at, many)
        j = np.arange(len(i)) + np.repeat(windows.start - (np.cumsum(many) - many), many)
        for r in (rows, *range(1, rows)):
            keep = np.flatnonzero(one[r].take(i) + two[r].take(j) <= self.room[r - 1])
            i, j = i.take(keep), j.take(keep)
        if not len(i):
            return None
        worth = -(one[rows, i] + two[rows, j])
        k = int(worth.argmax())
        return int(worth[k]), (int(one[-1, i[k]]), int(two[-1, j[k]]))

    def _windows(self, one: Integers, two: Integers) -> tuple[Windows, Integers]:
        """Return which ways match in the most selective row, and the other half sorted by it."""
        every = one.shape[1] // SAMPLE + 1
        some, sizes = one[:, ::every], {}
        for r in np.flatnonzero(self.prices).tolist():
            counts = self._window(some, np.sort(two[r + 1]), r).counts
            sizes[r] = int(counts.sum()) * every
        if not sizes:
            at = np.arange(one.shape[1])
            return Windows(at, at * 0, np.full(len(at), two.shape[1])), two
        r = min(sizes, key=lambda r: sizes[r])
        two = two.take(np.argsort(two[r + 1], kind="stable"), axis=1)
        return self._window(one, two[r + 1], r), two

    def _window(self, one: Integers, values: Integers, r: int) -> Windows:
        """Return which ways match some of the sorted values of a priced row."""
        at = np.flatnonzero(one[0] <= self.spare)
        most = self.room[r] - one[r + 1].take(at)
        loses = (self.spare - one[0].take(at)) // self.prices[r]
        end = np.searchsorted(values, most, side="right")
        start = np.searchsorted(values, most - loses, side="left")
        counts = end - start
        some = np.flatnonzero(counts)
        return Windows(at.take(some), start.take(some), counts.take(some))


class Windows(NamedTuple):
    """Ways of one half; for each, the first way of the other half that matches, and how many do."""

    at: NDArray[np.intp]
    start: NDArray[np.intp]
    counts: NDArray[np.intp]
