"""Valleys: profiles that never rise before they fall, but for times at which they are 0.

On a valley tasks find processors that stay until they end where never more run than there is room
for, and any profile is a pile of valleys: for the proof see ``docs/problems/dssp.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count, groupby
from math import inf
from typing import NamedTuple

from schedopt.instances.dssp.machine import Steps


class Task(NamedTuple):
    """A task that takes some processors of a valley, by its position."""

    start: int
    end: int
    takes: int
    position: int


def valley_levels(amounts: Iterable[int]) -> list[int]:
    """Return the fewest levels, from 0 up, that cut a profile into valleys.

    A bump, between its nearest lower amounts before and after it, needs a cut between these two.
    """
    bumps, rising = [], [0]
    for amount in (*amounts, 0):
        while rising[-1] > amount:
            rising.pop()
            bumps.append(sorted((rising[-1], amount)))
        if rising[-1] < amount:
            rising.append(amount)
    found = [0]
    for low, high in sorted(bumps, key=lambda bump: bump[1]):
        if low > found[-1]:
            found.append(high)
    return found


def number_processors(there: Steps, tasks: Sequence[Task]) -> dict[int, list[int]]:
    """Return the processors of each task on a valley, from 0: they stay until it ends.

    Whatever runs at the bottom comes first. After it there are ever more processors: each task
    takes the lowest idle ones; before it too, seen backwards in time.
    """
    on: dict[int, list[int]] = {}
    for _, parts in groupby(there.spans(), lambda span: span.amount > 0):
        stretch = list(parts)
        bottom, last = int(min(stretch, key=lambda span: span.amount).start), stretch[-1].end or inf
        mine = [task for task in tasks if stretch[0].start <= task.start < last]
        at_bottom = [task for task in mine if task.start < bottom < task.end]
        after = sorted(task for task in mine if task.start >= bottom)
        mirrored = [task._replace(start=-task.end, end=-task.start) for task in at_bottom]
        before = sorted(
            task._replace(start=-task.end, end=-task.start) for task in mine if task.end <= bottom
        )
        on |= lowest_idle_processors([*at_bottom, *after]) | lowest_idle_processors(
            [*mirrored, *before]
        )
    return on


def lowest_idle_processors(tasks: Iterable[Task]) -> dict[int, list[int]]:
    """Return the processors of each task, which takes the lowest idle ones."""
    on: dict[int, list[int]] = {}
    idle, busy, fresh = list[int](), list[tuple[int, int]](), count()
    for start, end, takes, position in tasks:
        while busy and busy[0][0] <= start:
            heappush(idle, heappop(busy)[1])
        on[position] = [heappop(idle) if idle else next(fresh) for _ in range(takes)]
        for number in on[position]:
            heappush(busy, (end, number))
    return on
