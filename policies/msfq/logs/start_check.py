"""The first start of a log that differs from a policy's, and the reason for the policy's.

The policy is replayed up to that time. The event at that time is replayed in plain Python, with
functions that record what the policy considers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Amounts, Floats
from schedopt.instances.starts import WrongStart
from schedopt.policies.msfq.logs import kernels
from schedopt.policies.msfq.logs.kernels import WAITING, advance, fits, next_event
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, replay_log
from schedopt.policies.msfq.logs.replay import Replay, prepare
from schedopt.policies.registry import NotApplicableError
from schedopt.solvers.compiling import specialized

NONE = -1


@dataclass
class Instant:
    """What a policy considers at one time of a replay, if something ``happens`` then.

    ``idle`` is the free capacity of each resource when the policy considers a job, in that order;
    ``spare`` is that beside the reservation, for jobs that would end after it. ``head`` is the job
    with a reservation, and ``time`` its shadow time.
    """

    replay: Replay
    now: float
    happens: bool = False
    idle: dict[int, Amounts] = field(default_factory=dict)
    spare: dict[int, Amounts] = field(default_factory=dict)
    head: int = NONE
    time: float = inf

    def planned_end(self, job: int) -> float:
        """Return the planned end of a job that starts now."""
        return self.now + float(self.replay.log.planned[job])

    def demand(self, job: int, free: Amounts, what: str = "free") -> str:
        """Return in words the job's need for the resource that it lacks, or for servers."""
        needs, names = self.replay.log.need[job], ("processors", *self.replay.names)
        at = next((r for r, need in enumerate(needs) if need > free[r]), 0)
        most = self.replay.capacity[at]
        return f"it needs {needs[at]} of {most} {names[at]}, and {free[at]} are {what}"

    # The policy calls these in place of the kernels of the same names.

    def reserve(self, job: int, log: Any, machine: Any, spare: Any) -> Any:
        """Record the reservation of the first job that does not fit."""
        self.head = job
        self.time = float(kernels.reserve(job, log, machine, spare))
        return self.time

    def best_place(  # noqa: PLR0917 - the kernel's
        self, now: float, fills: bool, time: float, log: Any, machine: Any, own: Any
    ) -> Any:
        """Record the free capacity for each job that the policy considers, in its order."""
        waiting = range(machine.whole[WAITING])
        if not fills:
            place = kernels.best_place(now, fills, time, log, machine, own)
            if place >= 0:
                self.idle.setdefault(int(machine.line[place]), machine.left.copy())
            return place
        for place in sorted(waiting, key=lambda i: (own.keys[machine.line[i]], i)):
            if self._may_start(int(machine.line[place]), machine.left, own.spare):
                return place
        return NONE

    def _may_start(self, job: int, left: Any, spare: Any) -> bool:
        self.idle.setdefault(job, left.copy())
        if not fits(job, self.replay.log.need, left):
            return False
        if self.planned_end(job) <= self.time:
            return True
        self.spare[job] = spare.copy()
        return bool(fits(job, self.replay.log.need, spare))


def instant(replay: Replay, now: float) -> Instant:
    """Replay a log until a time, and return what the policy considers then."""
    replay.run(now)
    found = Instant(replay, now, happens=next_event(replay.log, replay.machine) == now)
    if found.happens:
        serve = specialized(
            replay.serve, "noting", reserve=found.reserve, best_place=found.best_place
        )
        once = specialized(advance, "noting", serve=serve, note_end=replay.note_end)
        with np.errstate(all="ignore"):
            once(replay.log, replay.machine, replay.own, float(np.nextafter(now, inf)))
    return found


def first_wrong_start(
    queue: Instance,
    name: str,
    starts: Floats,
    estimates: str,
    own: Mapping[str, Any],
    *,
    tolerance: float = 0.0,
) -> WrongStart | None:
    """Return the first job in time whose start is not the policy's, None if there is none.

    Starts may differ by ``tolerance``, and equal starts by 1e-6, in the log's unit.

    `InputError` if the log lacks what the policy needs.
    """
    names = queue.jobs.job_names()
    queue, own_rows = queue.as_released()
    starts = starts[own_rows]
    try:
        expected = replay_log(queue, name, estimates, **own)
    except NotApplicableError as error:
        raise InputError("a policy that applies", found=str(error)) from None
    wrong = np.abs(starts - expected) > max(tolerance, 1e-6)
    if not wrong.any():
        return None
    early = np.minimum(starts, expected)
    now = float(early[wrong].min())
    rows = np.flatnonzero(wrong & (early == now))
    part = next(part for part in queue.parts() if rows[0] in part.rows)
    at = {int(row): int(np.flatnonzero(part.rows == row)[0]) for row in rows if row in part.rows}

    def name_of(job: int) -> str:
        return str(names[own_rows[part.rows[job]]])

    row = min(at)
    if now < float(queue.jobs.submit[row]):
        why = f"it is submitted at {float(queue.jobs.submit[row]):.12g}"
    else:
        one, policy = part.queue, LOG_POLICIES[name]
        planned = one.jobs.planned(estimates if policy.plans else "exact")
        order = policy.order(**own)
        found = instant(prepare(one.jobs, one.servers, order, planned, one.amounts), now)
        considered = {job: place for place, job in enumerate(found.idle)}
        row = min(at, key=lambda row: (considered.get(at[row], inf), row))
        reason = _why_job_starts if expected[row] == now else _why_job_waits
        why = reason(found, at[row], name_of)
    return WrongStart(
        job=name_of(at[row]),
        policy=name,
        found=float(starts[row]),
        expected=float(expected[row]),
        why=why,
    )


def _why_job_starts(found: Instant, job: int, name_of: Callable[[int], str]) -> str:
    if found.replay.order.key == "conservative":
        return "its reservation is due"
    why, considered = found.demand(job, found.idle[job]), list(found.idle)
    if found.head == NONE or considered.index(job) < considered.index(found.head):
        return why
    end, held = found.planned_end(job), f"the reservation of job {name_of(found.head)}"
    if end <= found.time:
        return f"{why}; it ends by {end:.12g}, no later than {held} at {found.time:.12g}"
    spare = found.demand(job, found.spare[job], "spare beside it")
    return f"{why}; it ends by {end:.12g}, after {held} at {found.time:.12g}, but {spare}"


def _why_job_waits(found: Instant, job: int, name_of: Callable[[int], str]) -> str:
    if not found.happens:
        return f"no job is released, ends, or is due at {found.now:.12g}"
    if found.replay.order.key == "conservative":
        reserved = f"its reservation is at {float(found.replay.own.reserved[job]):.12g}"
        return f"{reserved}, the earliest that delays none made before it"
    head = next(reversed(found.idle), job)
    is_stopped = found.replay.order.fill == "stop" and head != job and job not in found.idle
    if is_stopped and not fits(head, found.replay.log.need, found.idle[head]):
        lacks = found.demand(head, found.idle[head])
        return f"job {name_of(head)} is before it in line and does not fit: {lacks}"
    if job not in found.spare or job == found.head:
        return found.demand(job, found.idle.get(job, found.replay.machine.left))
    spare = found.demand(job, found.spare[job], "spare then")
    return (
        f"job {name_of(found.head)} has a reservation at {found.time:.12g}, and this one would end "
        f"at {found.planned_end(job):.12g}: {spare}"
    )
