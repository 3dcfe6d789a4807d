"""Conservative backfilling, compiled: see `rules.Conservative`, its definition.

How many servers are free when, by plan, is a step function, the profile, in two arrays: ``room[i]``
are free from ``times[i]`` to ``times[i + 1]``, and all of them after the last step. Steps lie in
places ``low`` to ``high``, of which ``low`` holds the present. So is ``rest[i]`` of the other
resources.
"""

from typing import Any, NamedTuple

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.replay_kernels import (
    CAME,
    NEVER,
    WAITING,
    Log,
    ReplayState,
)
from schedopt.solvers.kernels.bisection import last_at_most
from schedopt.solvers.kernels.heap import pop, push

RUNNING, LOW, HIGH, ALARMS, FIRST, LAST, EVENTS, FULL = range(2, 10)
"""Places in ``whole``: among them the bounds of the profile, and the ends of the line."""
SPARE = 16


class Steps(NamedTuple):
    """The profile: ``times``, ``room`` and ``rest``."""

    times: Any
    room: Any
    rest: Any


class Reserved(NamedTuple):
    """The state of conservative backfilling beside the machine's.

    ``reserved`` is when each job is to start. ``after`` and ``above`` link the waiting jobs both
    ways, in the order in which they came. ``alarms`` and ``alarm_jobs`` are a heap of reservations,
    some of them given up since; ``steps`` the profile; ``places`` and ``levels`` room for
    `_compress`.
    """

    reserved: Any
    after: Any
    above: Any
    alarms: Any
    alarm_jobs: Any
    steps: Steps
    places: Any
    levels: Any


@compiled
def advance(log: Log, machine: ReplayState, own: Reserved, most: int) -> None:
    """Replay until all jobs have started, ``most`` events have passed, or an array is full."""
    whole = machine.whole
    n, last = log.submit.size, whole[EVENTS] + most
    whole[FULL] = 0
    while (whole[CAME] < n or whole[WAITING]) and whole[EVENTS] < last:
        if _crowded(whole, whole[WAITING], own):
            whole[FULL] = 1
            return
        whole[EVENTS] += 1
        _drop(machine, own)
        now = log.submit[whole[CAME]] if whole[CAME] < n else NEVER
        if whole[RUNNING]:
            now = min(now, machine.ends[0])
        if whole[ALARMS]:
            now = min(now, own.alarms[0])
        while whole[LOW] + 1 < whole[HIGH] and own.steps.times[whole[LOW] + 1] <= now:
            whole[LOW] += 1
        early = _finish(now, log, machine, own)
        if early and whole[WAITING]:
            _compress(now, log, whole, own)
        while whole[CAME] < n and log.submit[whole[CAME]] == now:
            if _crowded(whole, 0, own):
                break  # the others come as soon as there is room, at the same instant
            _promise(now, log, whole, own)
        _drop(machine, own)
        while whole[ALARMS] and own.alarms[0] <= now:
            job = own.alarm_jobs[0]
            machine.starts[job] = now
            whole[RUNNING] = push(
                machine.ends, machine.jobs, whole[RUNNING], now + log.run[job], job
            )
            _leave(job, whole, own)
            _drop(machine, own)


@compiled
def _crowded(whole: Any, more: int, own: Reserved) -> Any:
    """Tell whether there may soon be no place for a step or an alarm."""
    steps = 2 * (whole[WAITING] + whole[RUNNING])
    return (
        whole[LOW] + steps + SPARE > own.steps.times.size
        or whole[ALARMS] + more + SPARE > own.alarms.size
    )


@compiled
def _finish(now: float, log: Log, machine: ReplayState, own: Reserved) -> Any:
    """Complete the jobs that end now; return whether one was planned to run longer."""
    whole = machine.whole
    early = False
    while whole[RUNNING] and machine.ends[0] == now:
        job = machine.jobs[0]
        whole[RUNNING] = pop(machine.ends, machine.jobs, whole[RUNNING])
        end = machine.starts[job] + log.planned[job]
        if now < end:
            early = True
            change(now, end, 1, job, log, whole, own.steps)
    return early


@compiled
def _promise(now: float, log: Log, whole: Any, own: Reserved) -> None:
    """Reserve for the job that comes next, and put it at the end of the line."""
    job = whole[CAME]
    time = earliest(job, log, NEVER, whole[LOW], now, whole[HIGH], own.steps)
    change(time, time + log.planned[job], -1, job, log, whole, own.steps)
    own.reserved[job] = time
    whole[ALARMS] = push(own.alarms, own.alarm_jobs, whole[ALARMS], time, job)
    own.after[job], own.above[job] = -1, whole[LAST]
    if whole[LAST] < 0:
        whole[FIRST] = job
    else:
        own.after[whole[LAST]] = job
    whole[LAST] = job
    whole[CAME] += 1
    whole[WAITING] += 1


@compiled
def _leave(job: int, whole: Any, own: Reserved) -> None:
    """Take a job out of the line."""
    before, behind = own.above[job], own.after[job]
    if before < 0:
        whole[FIRST] = behind
    else:
        own.after[before] = behind
    if behind < 0:
        whole[LAST] = before
    else:
        own.above[behind] = before
    whole[WAITING] -= 1


@compiled
def _drop(machine: ReplayState, own: Reserved) -> None:
    """Drop alarms of jobs that have started, or have an earlier reservation since."""
    whole = machine.whole
    while whole[ALARMS]:
        job = own.alarm_jobs[0]
        if machine.starts[job] > NEVER and own.reserved[job] == own.alarms[0]:
            return
        whole[ALARMS] = pop(own.alarms, own.alarm_jobs, whole[ALARMS])


@compiled
def _compress(now: float, log: Log, whole: Any, own: Reserved) -> None:
    """Give each waiting job, in turn, the earliest possible reservation.

    ``levels`` are the steps that have more room than all before them, ``places`` where they are:
    before the first of enough room, no job can begin.
    """
    steps = own.steps
    records, seen, job = 0, whole[LOW], whole[FIRST]
    while job >= 0:
        wanted, length, time = log.need[job], log.planned[job], own.reserved[job]
        most = own.levels[records - 1] if records else -1
        while most < wanted and seen < whole[HIGH] and own.steps.times[seen] < time:
            if own.steps.room[seen] > most:
                most = own.steps.room[seen]
                own.levels[records], own.places[records] = most, seen
                records += 1
            seen += 1
        if most >= wanted:
            first = last_at_most(own.levels, -1, records - 1, wanted - 1) + 1
            better = earliest(job, log, time, own.places[first], now, whole[HIGH], steps)
            if better < time:
                end, later = better + length, time + length
                change(better, min(end, time), -1, job, log, whole, steps)
                change(max(end, time), later, 1, job, log, whole, steps)
                own.reserved[job] = better
                whole[ALARMS] = push(own.alarms, own.alarm_jobs, whole[ALARMS], better, job)
                seen = min(seen, last_at_most(steps.times, whole[LOW], whole[HIGH], better))
                while records and own.places[records - 1] >= seen:
                    records -= 1
        job = own.after[job]


@compiled
def _cut(time: float, whole: Any, steps: Steps) -> Any:
    """Split the profile at a time, and return that step."""
    times, room, rest = steps.times, steps.room, steps.rest
    high = whole[HIGH]
    place = last_at_most(times, whole[LOW], high, time)
    if times[place] < time:
        for i in range(high, place + 1, -1):
            times[i], room[i] = times[i - 1], room[i - 1]
        place += 1
        times[place], room[place] = time, room[place - 1]
        for r in range(rest.shape[1]):
            for i in range(high, place - 1, -1):
                rest[i, r] = rest[i - 1, r]
        whole[HIGH] += 1
    return place


@compiled
def _join(place: int, whole: Any, steps: Steps) -> None:
    """Join a step to the one before if both are alike."""
    times, room, rest = steps.times, steps.room, steps.rest
    alike = room[place] == room[place - 1]
    for r in range(rest.shape[1]):
        alike = alike and rest[place, r] == rest[place - 1, r]
    if alike:
        whole[HIGH] -= 1
        high = whole[HIGH]
        for i in range(place, high):
            times[i], room[i] = times[i + 1], room[i + 1]
        for r in range(rest.shape[1]):
            for i in range(place, high):
                rest[i, r] = rest[i + 1, r]


@compiled
def change(
    start: float, end: float, sign: int, job: int, log: Log, whole: Any, steps: Steps
) -> None:
    """Free what a job needs between two times, or with -1 take it.

    Steps that come to be alike are joined at the two ends, where alone that can happen.
    """
    if not start < end:
        return
    first, last = _cut(start, whole, steps), _cut(end, whole, steps)
    need = sign * log.need[job]
    for i in range(first, last):
        steps.room[i] += need
    for r in range(steps.rest.shape[1]):
        for i in range(first, last):
            steps.rest[i, r] += sign * log.more[job, r]
    _join(last, whole, steps)
    if first > whole[LOW]:
        _join(first, whole, steps)


@compiled
def earliest(
    job: int, log: Log, before: float, place: int, now: float, high: int, steps: Steps
) -> Any:
    """Return the earliest time from ``now`` on at which a job fits, ``before`` if none is earlier.

    From ``before`` on it fits anyway: there it has a reservation, which is its own to give up.
    ``place`` is a step before which it cannot fit.
    """
    times, room, rest = steps.times, steps.room, steps.rest
    need, length, more = log.need[job], log.planned[job], log.more
    i, others = place, rest.shape[1] > 0
    while i < high and times[i] < before:
        if room[i] < need or (others and not _has(i, job, more, rest)):
            i += 1
            continue
        time = max(times[i], now)
        end = min(time + length, before)
        i += 1
        while i < high and times[i] < end and room[i] >= need:
            if others and not _has(i, job, more, rest):
                break
            i += 1
        if i == high or times[i] >= end:
            return time
    return before


@compiled
def _has(place: int, job: int, more: Any, rest: Any) -> Any:
    """Tell whether a step has what a job needs beside servers."""
    enough = True
    for r in range(rest.shape[1]):
        enough = enough and rest[place, r] >= more[job, r]
    return enough
