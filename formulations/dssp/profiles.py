"""Cut a profile of processors into blocks that cumulative constraints model exactly.

A block is a profile that, while it is positive, never rises before it falls. On a block, tasks of
which never more run than there are processors can each keep their processors until they end, and
any profile is a sum of blocks; the proof is in ``docs/problems/dssp-bound.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count, groupby
from math import inf
from typing import NamedTuple

from schedopt.instances.dssp.machine import Steps


class BlockTask(NamedTuple):
    """A task on a block: its start, its end, the processors it takes there, and its position."""

    start: int
    end: int
    takes: int
    position: int


def block_levels(amounts: Iterable[int]) -> list[int]:
    """Return the fewest levels that cut a profile into rectangular blocks, in ascending order.

    Each bump needs a cut between the nearest lower amounts before and after it, both included.
    """
    bumps, rising = [], [0]
    for amount in (*amounts, 0):
        while rising[-1] > amount:
            rising.pop()
            bumps.append(sorted((rising[-1], amount)))
        if rising[-1] < amount:
            rising.append(amount)
    levels = [0]
    for low, high in sorted(bumps, key=lambda bump: bump[1]):
        if low > levels[-1]:
            levels.append(high)
    return levels


def assign_processors(available: Steps, tasks: Sequence[BlockTask]) -> dict[int, list[int]]:
    """Return the processors of each task on a block, numbered from 0, which it keeps to its end.

    Tasks that run when the fewest processors are present come first. After that time processors are
    only added: each task takes the lowest idle ones. Before it the same holds backwards in time.
    """
    on: dict[int, list[int]] = {}
    for _, parts in groupby(available.spans(), lambda span: span.amount > 0):
        stretch = list(parts)
        bottom, last = int(min(stretch, key=lambda span: span.amount).start), stretch[-1].end or inf
        mine = [task for task in tasks if stretch[0].start <= task.start < last]
        at_bottom = [task for task in mine if task.start < bottom < task.end]
        after = sorted(task for task in mine if task.start >= bottom)
        mirrored = [task._replace(start=-task.end, end=-task.start) for task in at_bottom]
        before = sorted(
            task._replace(start=-task.end, end=-task.start) for task in mine if task.end <= bottom
        )
        on |= _assign_lowest_idle([*at_bottom, *after]) | _assign_lowest_idle([*mirrored, *before])
    return on


def _assign_lowest_idle(tasks: Iterable[BlockTask]) -> dict[int, list[int]]:
    """Return the processors of each task: the lowest idle ones at its start."""
    on: dict[int, list[int]] = {}
    idle, busy, fresh = list[int](), list[tuple[int, int]](), count()
    for start, end, takes, position in tasks:
        while busy and busy[0][0] <= start:
            heappush(idle, heappop(busy)[1])
        on[position] = [heappop(idle) if idle else next(fresh) for _ in range(takes)]
        for number in on[position]:
            heappush(busy, (end, number))
    return on
