"""Conservative backfilling, compiled: see `rules.Conservative`, its definition."""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.heap_kernels import pop, push
from schedopt.policies.msfq.logs.profile_kernels import change, earliest, step

CAME, WAITING, RUNNING, LOW, HIGH, ALARMS, FIRST, LAST, EVENTS, FULL = range(10)
"""Places in ``whole``: among them the steps of the profile, and the ends of the line."""
SPARE = 16
NEVER = 1e308


@compiled
def advance(
    submit: Any, need: Any, run: Any, planned: Any,
    most: int, whole: Any, starts: Any, reserved: Any, after: Any, above: Any,
    heap_ends: Any, heap_jobs: Any, alarms: Any, alarm_jobs: Any, times: Any, room: Any,
    places: Any, levels: Any,
) -> None:  # fmt: skip
    """Replay until all jobs have started, ``most`` events have passed, or an array is full.

    Parameters
    ----------
    submit, need, run, planned : ndarray, shape (jobs,)
    whole : ndarray
        The state: see `CAME` and those after it.
    starts, reserved : ndarray of float, shape (jobs,)
        Infinite where a job has not started; when it is to start.
    after, above : ndarray of int32, shape (jobs,)
        The line of waiting jobs in the order in which they came, linked both ways.
    alarms, alarm_jobs : ndarray
        A heap of reservations, some of them given up since.
    times, room : ndarray
        The profile: see `profile_kernels`.
    places, levels : ndarray
        Room for `_compress`.
    """
    n, last = submit.size, whole[EVENTS] + most
    whole[FULL] = 0
    while (whole[CAME] < n or whole[WAITING]) and whole[EVENTS] < last:
        if _crowded(whole, whole[WAITING], times, alarms):
            whole[FULL] = 1
            return
        whole[EVENTS] += 1
        _drop(whole, alarms, alarm_jobs, starts, reserved)
        now = submit[whole[CAME]] if whole[CAME] < n else NEVER
        if whole[RUNNING]:
            now = min(now, heap_ends[0])
        if whole[ALARMS]:
            now = min(now, alarms[0])
        while whole[LOW] + 1 < whole[HIGH] and times[whole[LOW] + 1] <= now:
            whole[LOW] += 1
        early = _finish(now, need, planned, starts, whole, heap_ends, heap_jobs, times, room)
        if early and whole[WAITING]:
            _compress(now, need, planned, reserved, after, whole, alarms, alarm_jobs, times, room,
                      places, levels)  # fmt: skip
        while whole[CAME] < n and submit[whole[CAME]] == now:
            if _crowded(whole, 0, times, alarms):
                break  # the others come as soon as there is room, at the same instant
            _promise(now, need, planned, reserved, after, above, whole, alarms, alarm_jobs, times,
                     room)  # fmt: skip
        _drop(whole, alarms, alarm_jobs, starts, reserved)
        while whole[ALARMS] and alarms[0] <= now:
            job = alarm_jobs[0]
            starts[job] = now
            push(heap_ends, heap_jobs, whole[RUNNING], now + run[job], job)
            whole[RUNNING] += 1
            _leave(job, after, above, whole)
            _drop(whole, alarms, alarm_jobs, starts, reserved)


@compiled
def _crowded(whole: Any, more: int, times: Any, alarms: Any) -> Any:
    """Tell whether there may soon be no place for a step or an alarm."""
    steps = 2 * (whole[WAITING] + whole[RUNNING])
    return whole[LOW] + steps + SPARE > times.size or whole[ALARMS] + more + SPARE > alarms.size


@compiled
def _finish(now: float, need: Any, planned: Any, starts: Any, whole: Any, heap_ends: Any,
            heap_jobs: Any, times: Any, room: Any) -> Any:  # fmt: skip
    """End all jobs whose end it is, and return whether one was planned to be longer."""
    early = False
    while whole[RUNNING] and heap_ends[0] == now:
        job = heap_jobs[0]
        pop(heap_ends, heap_jobs, whole[RUNNING])
        whole[RUNNING] -= 1
        end = starts[job] + planned[job]
        if now < end:
            early = True
            whole[HIGH] = change(now, end, need[job], whole[LOW], whole[HIGH], times, room)
    return early


@compiled
def _promise(now: float, need: Any, planned: Any, reserved: Any, after: Any, above: Any, whole: Any,
             alarms: Any, alarm_jobs: Any, times: Any, room: Any) -> None:  # fmt: skip
    """Reserve for the job that comes next, and put it at the end of the line."""
    job, low, high = whole[CAME], whole[LOW], whole[HIGH]
    time = earliest(need[job], planned[job], NEVER, low, now, high, times, room)
    whole[HIGH] = change(time, time + planned[job], -need[job], low, high, times, room)
    reserved[job] = time
    push(alarms, alarm_jobs, whole[ALARMS], time, job)
    whole[ALARMS] += 1
    after[job], above[job] = -1, whole[LAST]
    if whole[LAST] < 0:
        whole[FIRST] = job
    else:
        after[whole[LAST]] = job
    whole[LAST] = job
    whole[CAME] += 1
    whole[WAITING] += 1


@compiled
def _leave(job: int, after: Any, above: Any, whole: Any) -> None:
    """Take a job out of the line."""
    before, behind = above[job], after[job]
    if before < 0:
        whole[FIRST] = behind
    else:
        after[before] = behind
    if behind < 0:
        whole[LAST] = before
    else:
        above[behind] = before
    whole[WAITING] -= 1


@compiled
def _drop(whole: Any, alarms: Any, alarm_jobs: Any, starts: Any, reserved: Any) -> None:
    """Drop alarms of jobs that have started, or have an earlier reservation since."""
    while whole[ALARMS]:
        job = alarm_jobs[0]
        if starts[job] > NEVER and reserved[job] == alarms[0]:
            return
        pop(alarms, alarm_jobs, whole[ALARMS])
        whole[ALARMS] -= 1


@compiled
def _compress(now: float, need: Any, planned: Any, reserved: Any, after: Any, whole: Any,
              alarms: Any, alarm_jobs: Any, times: Any, room: Any, places: Any,
              levels: Any) -> None:  # fmt: skip
    """Let each waiting job in turn have the earliest reservation that there is.

    ``levels`` are the steps that have more room than all before them, ``places`` where they are:
    before the first of enough room, no job can begin.
    """
    low, high = whole[LOW], whole[HIGH]
    records, seen, job = 0, low, whole[FIRST]
    while job >= 0:
        wanted, length, time = need[job], planned[job], reserved[job]
        most = levels[records - 1] if records else -1
        while most < wanted and seen < high and times[seen] < time:
            if room[seen] > most:
                most = room[seen]
                levels[records], places[records] = most, seen
                records += 1
            seen += 1
        if most >= wanted:
            below, above = -1, records - 1
            while above - below > 1:
                middle = (below + above) >> 1
                if levels[middle] >= wanted:
                    above = middle
                else:
                    below = middle
            better = earliest(wanted, length, time, places[above], now, high, times, room)
            if better < time:
                end, later = better + length, time + length
                high = change(better, min(end, time), -wanted, low, high, times, room)
                high = change(max(end, time), later, wanted, low, high, times, room)
                reserved[job] = better
                push(alarms, alarm_jobs, whole[ALARMS], better, job)
                whole[ALARMS] += 1
                seen = min(seen, step(better, low, high, times, room))
                while records and places[records - 1] >= seen:
                    records -= 1
        job = after[job]
    whole[HIGH] = high
