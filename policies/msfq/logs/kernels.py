"""The event loop of replays, and orders with backfilling; compiled, or run as Python.

At each time, ends precede releases, and releases precede starts.
"""

from math import exp, inf
from math import log as ln
from typing import Any, NamedTuple

import numpy as np

from schedopt.solvers.compiling import kernel, specialized
from schedopt.solvers.kernels import pop, push

CAME, WAITING, RUNNING = range(3)
"""Places in ``whole``: the numbers of jobs released so far, of waiting jobs, of running jobs."""
STOP, SKIP, EASY = range(3)
"""After the first job that does not fit: no job starts; jobs that fit start; or jobs start if by
plan they do not delay it."""
FIXED, WFP3, WEIGHTED = range(3)
"""Kinds of orders: keys that do not change, or keys that are computed at each event."""


class Log(NamedTuple):
    """The jobs: arrays of shape (jobs,).

    ``planned`` is the run time that the policy expects. ``need`` has shape (jobs, resources),
    servers first. ``size`` is that of `replay.sizes`.
    """

    submit: Any
    need: Any
    run: Any
    planned: Any
    size: Any


class ReplayState(NamedTuple):
    """The state of the event loop that replays a log, as arrays.

    ``whole`` holds scalars by place (see `CAME`); ``starts`` the start of each job, infinite before
    it; ``ends`` and ``jobs`` a heap of the running jobs by end; ``left`` the free capacity of each
    resource; ``line`` the waiting jobs in order of release; ``alarm[0]`` a time at which the
    discipline is called without an event.
    """

    whole: Any
    starts: Any
    ends: Any
    jobs: Any
    left: Any
    line: Any
    alarm: Any


def fits(job: int, needs: Any, left: Any) -> Any:
    """Return True if the needs of a job fit the free capacity of each resource."""
    for r in range(left.size):  # noqa: SIM110 - kernels have no `all`
        if needs[job, r] > left[r]:
            return False
    return True


def add_needs(job: int, needs: Any, left: Any, by: int) -> None:
    """Add ``by`` times the needs of a job to the free capacity of each resource."""
    for r in range(left.size):
        left[r] += by * needs[job, r]


def next_event(log: Log, machine: ReplayState) -> Any:
    """Return the time of the next release, end, or reservation that is due."""
    whole, time = machine.whole, machine.alarm[0]
    if whole[CAME] < log.submit.size:
        time = min(time, log.submit[whole[CAME]])
    if whole[RUNNING]:
        time = min(time, machine.ends[0])
    return time


def serve(now: float, log: Log, machine: ReplayState, own: Any) -> None:
    """Start jobs; `loop_of` replaces this by the function of a discipline."""
    raise NotImplementedError


def note_end(now: float, job: int, log: Log, machine: ReplayState, own: Any) -> None:
    """Update the discipline after the end of a job; `loop_of` replaces this."""
    raise NotImplementedError


def advance(log: Log, machine: ReplayState, own: Any, before: float) -> None:
    """Replay all events before a time."""
    whole, now = machine.whole, next_event(log, machine)
    while now < before:
        while whole[RUNNING] and machine.ends[0] == now:
            job = machine.jobs[0]
            whole[RUNNING] = pop(machine.ends, machine.jobs, whole[RUNNING])
            add_needs(job, log.need, machine.left, 1)
            note_end(now, job, log, machine, own)
        serve(now, log, machine, own)
        now = next_event(log, machine)


def loop_of(name: str, serve: Any, note_end: Any) -> Any:
    """Return `advance` compiled for a discipline, whose functions are constants in it."""
    return kernel()(specialized(advance, name, serve=serve, note_end=note_end))


def release(machine: ReplayState) -> Any:
    """Add the next job to the line, and return it."""
    whole = machine.whole
    job = whole[CAME]
    machine.line[whole[WAITING]] = job
    whole[CAME] += 1
    whole[WAITING] += 1
    return job


def begin(now: float, place: int, log: Log, machine: ReplayState) -> None:
    """Start the job at a place in the line."""
    whole, line = machine.whole, machine.line
    job = line[place]
    machine.starts[job] = now
    whole[RUNNING] = push(machine.ends, machine.jobs, whole[RUNNING], now + log.run[job], job)
    whole[WAITING] -= 1
    for i in range(place, whole[WAITING]):
        line[i] = line[i + 1]
    add_needs(job, log.need, machine.left, -1)


class JobOrder(NamedTuple):
    """An order of the waiting jobs, and what follows the first job that does not fit.

    ``kind`` is `FIXED`, `WFP3` or `WEIGHTED`, ``fill`` is `STOP`, `SKIP` or `EASY`. With ``oldest``
    the oldest waiting job is the first, whatever the keys of those that may pass it. The least of
    the ``keys`` goes first; ``constant`` is the part of weighted priorities that does not change.
    ``age`` to ``half_life`` are those of `instances.msfq.site.Priority`. By user: ``shares`` is the
    sum of all shares divided by the user's, ``used`` the decayed usage at the time ``updated[0]``,
    ``rates`` the size of what the user holds, ``by_user`` the part of priorities from usage.
    ``spare`` is the spare capacity of each resource at the reservation of the first job.
    """

    kind: int
    fill: int
    oldest: bool
    keys: Any
    constant: Any
    age: float
    fair_share: float
    max_age: float
    half_life: float
    user: Any
    shares: Any
    used: Any
    rates: Any
    by_user: Any
    updated: Any
    spare: Any


def end_job(now: float, job: int, log: Log, machine: ReplayState, own: JobOrder) -> None:
    """Update usage after the end of a job."""
    update_usage(now, own)
    own.rates[own.user[job]] -= log.size[job]


def start_jobs(now: float, log: Log, machine: ReplayState, own: JobOrder) -> None:
    """Start jobs in order; jobs that may backfill pass the first that does not fit."""
    update_usage(now, own)
    while machine.whole[CAME] < log.submit.size and log.submit[machine.whole[CAME]] == now:
        release(machine)
    compute_keys(now, log, machine, own)
    time, fills = inf, False
    while True:
        place = best_place(now, fills, time, log, machine, own)
        if place < 0:
            return
        job = machine.line[place]
        if not fits(job, log.need, machine.left):  # the first job in line
            if own.fill == STOP:
                return
            fills = True
            if own.fill == EASY:
                time = reserve(job, log, machine, own.spare)
            continue
        if now + log.planned[job] > time:
            add_needs(job, log.need, own.spare, -1)
        begin(now, place, log, machine)
        own.rates[own.user[job]] += log.size[job]


def update_usage(now: float, own: JobOrder) -> None:
    """Update usage to the present: decay, plus the service since the last update."""
    passed = now - own.updated[0]
    own.updated[0] = now
    if passed == inf or own.kind != WEIGHTED:
        return
    rate = ln(2.0) / own.half_life
    kept = exp(-passed * rate)
    gained = (1.0 - kept) / rate
    for user in range(own.used.size):
        own.used[user] = own.used[user] * kept + own.rates[user] * gained


def compute_keys(now: float, log: Log, machine: ReplayState, own: JobOrder) -> None:
    """Compute the keys of the waiting jobs in an order that changes with time."""
    if own.kind == WEIGHTED:
        total = 0.0
        for user in range(own.used.size):
            total += own.used[user]
        for user in range(own.used.size):
            part = own.used[user] / total if total > 0 else 0.0
            fair = exp(-(part * own.shares[user]) * ln(2.0))
            own.by_user[user] = own.fair_share * fair
    if own.kind != FIXED:
        for i in range(machine.whole[WAITING]):
            job = machine.line[i]
            waited = now - log.submit[job]
            if own.kind == WEIGHTED:
                old = own.age * min(1.0, waited / own.max_age)
                own.keys[job] = -(own.constant[job] + own.by_user[own.user[job]] + old)
            else:
                ratio = waited / log.planned[job]
                own.keys[job] = -(ratio * ratio * ratio * log.size[job])


def best_place(
    now: float, fills: bool, time: float, log: Log, machine: ReplayState, own: JobOrder
) -> Any:
    """Return the place of the first job in line; with ``fills``, of the first that may start."""
    best, line, keys = -1, machine.line, own.keys
    for i in range(machine.whole[WAITING]):
        job = line[i]
        if fills:
            if not fits(job, log.need, machine.left):
                continue
            if now + log.planned[job] > time and not fits(job, log.need, own.spare):
                continue
        elif own.oldest:
            return i
        if best < 0 or keys[job] < keys[line[best]]:
            best = i
    return best


def reserve(job: int, log: Log, machine: ReplayState, spare: Any) -> Any:
    """Return the shadow time of a job that does not fit: when it can start by planned ends.

    ``spare`` is filled with the spare capacity then. All jobs with a planned end at that time
    count.
    """
    running = machine.jobs[: machine.whole[RUNNING]]
    ends = machine.starts[running] + log.planned[running]
    spare[:] = machine.left
    time = 0.0
    for i in np.argsort(ends):
        if ends[i] > time and fits(job, log.need, spare):
            break
        time = ends[i]
        add_needs(running[i], log.need, spare, 1)
    add_needs(job, log.need, spare, -1)
    return time


in_order = loop_of("in_order", start_jobs, end_job)


STEPS, EARLY = range(2)
"""Places in ``at``: the number of steps, and whether a job has just ended early."""


class Reservations(NamedTuple):
    """The state of conservative backfilling: each job keeps the reservation of its release.

    When a job ends earlier than planned, each waiting job in order exchanges its reservation for
    the earliest possible one (compression). ``reserved`` is the reserved start of each job. The
    planned free capacity is a step function, the profile: ``room[i]`` of each resource from
    ``times[i]`` to ``times[i + 1]``, and all of it after the last step. The first step contains the
    present.
    """

    at: Any
    reserved: Any
    times: Any
    room: Any


def free_reservation(
    now: float, job: int, log: Log, machine: ReplayState, own: Reservations
) -> None:
    """Release the capacity that a job that has ended held until its planned end."""
    end = machine.starts[job] + log.planned[job]
    if now < end:
        own.at[EARLY] = 1
        change_profile(now, end, 1, job, log, own)


def start_reserved(now: float, log: Log, machine: ReplayState, own: Reservations) -> None:
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


conservative = loop_of("conservative", start_reserved, free_reservation)
