"""Conservative backfilling: each job gets a reservation when it is released, and keeps it.

When a job ends earlier than planned, each waiting job in order exchanges its reservation for the
earliest possible one (compression).

The planned free capacity is a step function, the profile, in two arrays: ``room[i]`` of each
resource from ``times[i]`` to ``times[i + 1]``, and all of it after the last step. The steps are at
the places ``low`` to ``high``; ``low`` contains the present.
"""

from typing import Any, NamedTuple

from schedopt.policies.msfq.logs.event_loop_kernels import (
    CAME,
    NEVER,
    WAITING,
    Log,
    ReplayState,
    begin,
    loop_of,
)
from schedopt.solvers.compiling import makes_no_arrays
from schedopt.solvers.kernels import last_at_most

LOW, HIGH, EARLY = range(3)
"""Places in ``at``: the bounds of the profile, and whether a job has just ended early."""


class Reservations(NamedTuple):
    """The state of conservative backfilling, in addition to that of the machine.

    ``line`` holds the waiting jobs in order of release, ``reserved`` the reserved start of each
    job; ``times`` and ``room`` are the profile.
    """

    at: Any
    line: Any
    reserved: Any
    times: Any
    room: Any


def end_job(now: float, job: int, log: Log, machine: ReplayState, own: Reservations) -> None:
    """Release the capacity that a job that has ended held until its planned end."""
    end = machine.starts[job] + log.planned[job]
    if now < end:
        own.at[EARLY] = 1
        _change_profile(now, end, 1, job, log, own)


def start_jobs(now: float, log: Log, machine: ReplayState, own: Reservations) -> None:
    """Compress reservations, reserve for released jobs, and start jobs that are due."""
    whole, at = machine.whole, own.at
    while at[LOW] + 1 < at[HIGH] and own.times[at[LOW] + 1] <= now:
        at[LOW] += 1
    if at[LOW] > at[HIGH] - at[LOW]:
        _drop_past_steps(own)
    if at[EARLY] and whole[WAITING]:
        _compress_reservations(now, log, machine, own)
    at[EARLY] = 0
    while whole[CAME] < log.submit.size and log.submit[whole[CAME]] == now:
        _reserve_for_next(now, log, machine, own)
    if machine.alarm[0] <= now:
        machine.alarm[0], kept = NEVER, 0
        for i in range(whole[WAITING]):
            job = own.line[i]
            if own.reserved[job] <= now:
                begin(now, job, log, machine)
            else:
                machine.alarm[0] = min(machine.alarm[0], own.reserved[job])
                own.line[kept] = job
                kept += 1


@makes_no_arrays
def _drop_past_steps(own: Reservations) -> None:
    """Move the profile to the front of its arrays, over steps that are past."""
    low = own.at[LOW]
    own.at[LOW], own.at[HIGH] = 0, own.at[HIGH] - low
    for i in range(own.at[HIGH]):
        own.times[i] = own.times[low + i]
        for r in range(own.room.shape[1]):
            own.room[i, r] = own.room[low + i, r]


@makes_no_arrays
def _reserve_for_next(now: float, log: Log, machine: ReplayState, own: Reservations) -> None:
    """Reserve for the next released job, and append it to the line."""
    whole = machine.whole
    job = whole[CAME]
    time = _earliest_start(job, log, NEVER, now, own)
    _change_profile(time, time + log.planned[job], -1, job, log, own)
    own.reserved[job] = time
    machine.alarm[0] = min(machine.alarm[0], time)
    own.line[whole[WAITING]] = job
    whole[CAME] += 1
    whole[WAITING] += 1


@makes_no_arrays
def _compress_reservations(now: float, log: Log, machine: ReplayState, own: Reservations) -> None:
    """Give each waiting job, in order, the earliest possible reservation."""
    for i in range(machine.whole[WAITING]):
        job = own.line[i]
        length, time = log.planned[job], own.reserved[job]
        better = _earliest_start(job, log, time, now, own)
        if better < time:
            end, later = better + length, time + length
            _change_profile(better, min(end, time), -1, job, log, own)
            _change_profile(max(end, time), later, 1, job, log, own)
            own.reserved[job] = better
            machine.alarm[0] = min(machine.alarm[0], better)


@makes_no_arrays
def _split_step(time: float, own: Reservations) -> Any:
    """Split the profile at a time, and return the step that begins there."""
    times, room = own.times, own.room
    place = last_at_most(times, own.at[LOW], own.at[HIGH], time)
    if times[place] < time:
        place += 1
        for i in range(own.at[HIGH], place, -1):
            times[i] = times[i - 1]
        times[place] = time
        for r in range(room.shape[1]):
            for i in range(own.at[HIGH], place - 1, -1):
                room[i, r] = room[i - 1, r]
        own.at[HIGH] += 1
    return place


@makes_no_arrays
def _join_steps(place: int, own: Reservations) -> None:
    """Join a step to the one before if both have the same capacity."""
    times, room = own.times, own.room
    for r in range(room.shape[1]):
        if room[place, r] != room[place - 1, r]:
            return
    own.at[HIGH] -= 1
    for i in range(place, own.at[HIGH]):
        times[i] = times[i + 1]
    for r in range(room.shape[1]):
        for i in range(place, own.at[HIGH]):
            room[i, r] = room[i + 1, r]


@makes_no_arrays
def _change_profile(
    start: float, end: float, sign: int, job: int, log: Log, own: Reservations
) -> None:
    """Add a job's needs to the profile between two times, or with sign -1 subtract them.

    Only the steps at the two ends can become equal to their neighbours; they are joined.
    """
    if not start < end:
        return
    first, last = _split_step(start, own), _split_step(end, own)
    for r in range(own.room.shape[1]):
        for i in range(first, last):
            own.room[i, r] += sign * log.need[job, r]
    _join_steps(last, own)
    if first > own.at[LOW]:
        _join_steps(first, own)


@makes_no_arrays
def _earliest_start(job: int, log: Log, before: float, now: float, own: Reservations) -> Any:
    """Return the earliest time from ``now`` on at which a job fits, ``before`` if none is earlier.

    From ``before`` on the job fits in any case: it has a reservation there, which it gives up.
    """
    times, i, high = own.times, own.at[LOW], own.at[HIGH]
    while i < high and times[i] < before:
        if not _step_has_room(i, job, log, own):
            i += 1
            continue
        time = max(times[i], now)
        end = min(time + log.planned[job], before)
        i += 1
        while i < high and times[i] < end and _step_has_room(i, job, log, own):
            i += 1
        if i == high or times[i] >= end:
            return time
    return before


@makes_no_arrays
def _step_has_room(place: int, job: int, log: Log, own: Reservations) -> Any:
    """Return True if a step has the capacity that a job needs."""
    for r in range(own.room.shape[1]):  # noqa: SIM110 - kernels have no `all`
        if own.room[place, r] < log.need[job, r]:
            return False
    return True


conservative = loop_of("conservative", start_jobs, end_job)
