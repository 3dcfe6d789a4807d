"""Conservative backfilling: each job gets a reservation when it is released, and keeps it.

When a job ends earlier than planned, each waiting job in order exchanges its reservation for the
earliest possible one (compression).

The planned free capacity is a step function, the profile, in two arrays: ``room[i]`` of each
resource from ``times[i]`` to ``times[i + 1]``, and all of it after the last step. The first step
contains the present.
"""

from math import inf
from typing import Any, NamedTuple

import numpy as np

from schedopt.policies.msfq.logs.kernels import (
    CAME,
    WAITING,
    Log,
    ReplayState,
    add_needs,
    begin,
    fits,
    loop_of,
    release,
)

STEPS, EARLY = range(2)
"""Places in ``at``: the number of steps, and whether a job has just ended early."""


class Reservations(NamedTuple):
    """The state of conservative backfilling, in addition to that of the machine.

    ``reserved`` is the reserved start of each job; ``times`` and ``room`` are the profile.
    """

    at: Any
    reserved: Any
    times: Any
    room: Any


def end_job(now: float, job: int, log: Log, machine: ReplayState, own: Reservations) -> None:
    """Release the capacity that a job that has ended held until its planned end."""
    end = machine.starts[job] + log.planned[job]
    if now < end:
        own.at[EARLY] = 1
        change_profile(now, end, 1, job, log, own)


def start_jobs(now: float, log: Log, machine: ReplayState, own: Reservations) -> None:
    """Compress reservations, reserve for released jobs, and start jobs that are due."""
    whole, line = machine.whole, machine.line
    drop_past_steps(now, own)
    for i in range(whole[WAITING] if own.at[EARLY] else 0):
        job = line[i]
        length, time = log.planned[job], own.reserved[job]
        better = earliest_start(job, log, time, now, own)
        if better < time:
            end, later = better + length, time + length
            change_profile(better, min(end, time), -1, job, log, own)
            change_profile(max(end, time), later, 1, job, log, own)
            own.reserved[job] = better
    own.at[EARLY] = 0
    while whole[CAME] < log.submit.size and log.submit[whole[CAME]] == now:
        job = release(machine)
        time = earliest_start(job, log, inf, now, own)
        change_profile(time, time + log.planned[job], -1, job, log, own)
        own.reserved[job] = time
    machine.alarm[0] = inf
    place = 0
    while place < whole[WAITING]:
        if own.reserved[line[place]] <= now:
            begin(now, place, log, machine)
        else:
            machine.alarm[0] = min(machine.alarm[0], own.reserved[line[place]])
            place += 1


def drop_past_steps(now: float, own: Reservations) -> None:
    """Remove the steps of the profile that are past."""
    past, high = 0, own.at[STEPS]
    while past + 1 < high and own.times[past + 1] <= now:
        past += 1
    if past:
        own.at[STEPS] = high - past
        for i in range(own.at[STEPS]):
            own.times[i], own.room[i] = own.times[past + i], own.room[past + i]


def split_step(time: float, own: Reservations) -> Any:
    """Split the profile at a time, and return the step that begins there."""
    times, high = own.times, own.at[STEPS]
    place = np.searchsorted(times[:high], time, side="right") - 1
    if times[place] < time:
        place += 1
        for i in range(high, place, -1):
            times[i], own.room[i] = times[i - 1], own.room[i - 1]
        times[place], own.room[place] = time, own.room[place - 1]
        own.at[STEPS] += 1
    return place


def join_steps(place: int, own: Reservations) -> None:
    """Join a step to the one before if both have the same capacity."""
    if not np.array_equal(own.room[place], own.room[place - 1]):
        return
    own.at[STEPS] -= 1
    for i in range(place, own.at[STEPS]):
        own.times[i], own.room[i] = own.times[i + 1], own.room[i + 1]


def change_profile(
    start: float, end: float, sign: int, job: int, log: Log, own: Reservations
) -> None:
    """Add a job's needs to the profile between two times, or with sign -1 subtract them.

    Only the steps at the two ends can become equal to their neighbours; they are joined.
    """
    if not start < end:
        return
    first, last = split_step(start, own), split_step(end, own)
    for i in range(first, last):
        add_needs(job, log.need, own.room[i], sign)
    join_steps(last, own)
    if first > 0:
        join_steps(first, own)


def earliest_start(job: int, log: Log, before: float, now: float, own: Reservations) -> Any:
    """Return the earliest time from ``now`` on at which a job fits, ``before`` if none is earlier.

    From ``before`` on the job fits in any case: it has a reservation there, which it gives up.
    """
    times, i, high = own.times, 0, own.at[STEPS]
    while i < high and times[i] < before:
        if not fits(job, log.need, own.room[i]):
            i += 1
            continue
        time = max(times[i], now)
        end = min(time + log.planned[job], before)
        i += 1
        while i < high and times[i] < end and fits(job, log.need, own.room[i]):
            i += 1
        if i == high or times[i] >= end:
            return time
    return before


conservative = loop_of("conservative", start_jobs, end_job)
