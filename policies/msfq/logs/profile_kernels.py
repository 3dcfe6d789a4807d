"""How many servers are free when, by plan, compiled: a step function, its steps in two arrays.

``times[i]`` to ``times[i + 1]`` so many as ``room[i]`` are free; after the last step all are. Steps
lie in places ``low`` to ``high``, of which ``low`` holds the present.
"""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled


@compiled
def step(time: float, low: int, high: int, times: Any, room: Any) -> Any:
    """Return the place of the step in which a time lies."""
    first, last = low, high
    while last - first > 1:
        middle = (first + last) >> 1
        if times[middle] <= time:
            first = middle
        else:
            last = middle
    return first


@compiled
def change(start: float, end: float, by: int, low: int, high: int, times: Any,
           room: Any) -> Any:  # fmt: skip
    """Add to what is free from one time to another, and return the place after the last step.

    Steps that come to be alike are joined at the two ends, where alone that can happen.
    """
    if not start < end:
        return high
    first = step(start, low, high, times, room)
    if times[first] < start:  # a step begins here
        for i in range(high, first + 1, -1):
            times[i], room[i] = times[i - 1], room[i - 1]
        first += 1
        times[first], room[first] = start, room[first - 1]
        high += 1
    last = step(end, low, high, times, room)
    if times[last] < end:  # and one ends
        for i in range(high, last + 1, -1):
            times[i], room[i] = times[i - 1], room[i - 1]
        last += 1
        times[last], room[last] = end, room[last - 1]
        high += 1
    for i in range(first, last):
        room[i] += by
    if room[last] == room[last - 1]:
        high -= 1
        for i in range(last, high):
            times[i], room[i] = times[i + 1], room[i + 1]
    if first > low and room[first] == room[first - 1]:
        high -= 1
        for i in range(first, high):
            times[i], room[i] = times[i + 1], room[i + 1]
    return high


@compiled
def earliest(need: int, length: float, before: float, place: int, now: float, high: int,
             times: Any, room: Any) -> Any:  # fmt: skip
    """Return the earliest time from ``now`` on at which a job fits, ``before`` if none is earlier.

    From ``before`` on it fits anyway: there it has a reservation, which is its own to give up.
    ``place`` is a step before which it cannot fit.
    """
    i = place
    while i < high and times[i] < before:
        if room[i] < need:
            i += 1
            continue
        time = max(times[i], now)
        end = min(time + length, before)
        i += 1
        while i < high and times[i] < end and room[i] >= need:
            i += 1
        if i == high or times[i] >= end:
            return time
    return before
