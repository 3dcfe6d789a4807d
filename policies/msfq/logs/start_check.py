"""The first start of a log that is not a policy's, and why the policy starts that job elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.starts import WrongStart
from schedopt.policies.msfq.logs.machine import Machine, Rule, run_to_end
from schedopt.policies.msfq.logs.registration import applicable, machine_for, replay_log
from schedopt.policies.msfq.logs.rules import Conservative
from schedopt.policies.registry import NotApplicableError

CLOSE = 1e-6  # difference, in the log's unit, that two equal starts may have from rounding
NOBODY = -1
FEW, MANY = 2_000, 5_000
"""Jobs of a log up to which the plain definition is replayed in full; and, where reservations are
kept, up to the first wrong start, which takes the square of their number."""


class Recorded(Machine):
    """A machine that notes what a rule asks of it at the time ``until``, after which it stops.

    Attributes
    ----------
    idle : dict of int to tuple
        For each job that the rule considered, in that order, the idle servers and other resources.
    spare : dict of int to tuple
        For jobs that would end after the reservation, what is spare beside it.
    reservation : tuple of int and float
        The job that others may pass if they do not delay it, and when it can start.
    """

    until = inf

    def go_to(self, now: float) -> None:
        """Let time pass, but not beyond the time to record."""
        if now > self.until:
            raise StopIteration
        self.idle: dict[int, tuple[int, Sequence[int]]] = {}
        self.spare: dict[int, tuple[int, Sequence[int]]] = {}
        self.reservation = (NOBODY, inf)
        super().go_to(now)

    def fits(self, job: int, free: int | None = None, left: Sequence[int] | None = None) -> bool:
        """Tell whether a job fits, and note into what."""
        if free is None or left is None:
            self.idle.setdefault(job, (self.free, self.left))
        else:
            self.spare[job] = (free, left)
        return super().fits(job, free, left)

    def promise(self, job: int, time: float) -> None:
        """Note a reservation."""
        self.reservation = (job, time)
        super().promise(job, time)

    def demand(self, job: int, free: int, left: Sequence[int]) -> str:
        """Say what a job needs of what there is: of what it lacks, else of the servers."""
        names = self.jobs.needs.names if self.jobs.needs else ()
        rows = [(self.need[job], free, self.servers, "processors")]
        rows += zip(self.more[job], left, self.amounts, names, strict=True)
        need, over, most, name = next((row for row in rows if row[0] > row[1]), rows[0])
        return f"it needs {need} of {most} {name}, and {over} are free"


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

    Parameters
    ----------
    queue : Instance
        Of a log.
    name : str
        A policy for logs, and ``own`` its options.
    starts : ndarray, shape (jobs,)
        Claimed starts, in the log's unit.
    estimates : str
        ``given`` or ``exact``: how long the policy believes that jobs run.
    tolerance : float
        How far from the policy's a start may be, in the log's unit.

    Raises
    ------
    InputError
        If the log lacks what the policy needs.
    """
    try:
        policy = applicable(name, queue, own)
    except NotApplicableError as error:
        raise InputError("a policy that applies", found=str(error)) from None

    names = queue.jobs.called()
    queue, own_rows = queue.as_released()
    starts = starts[own_rows]

    def replay_plainly(part: Instance, until: float = inf) -> tuple[Recorded, Rule]:
        """Replay a machine without partitions by the policy's plain definition."""
        machine, rule = machine_for(Recorded, part, policy, estimates, own), policy.make(**own)
        machine.until = until
        with suppress(StopIteration):
            run_to_end(machine, rule)
        return machine, rule

    if len(queue.jobs) > FEW:
        expected = replay_log(queue, name, estimates, **own)
    else:
        expected = np.empty(len(queue.jobs))
        for part in queue.parts():
            expected[part.rows] = replay_plainly(part.queue)[0].starts
    wrong = np.abs(starts - expected) > max(tolerance, CLOSE)
    if not wrong.any():
        return None
    early = np.minimum(starts, expected)
    now = float(early[wrong].min())
    rows = np.flatnonzero(wrong & (early == now))
    part = next(part for part in queue.parts() if rows[0] in part.rows)
    at = {int(row): int(np.flatnonzero(part.rows == row)[0]) for row in rows if row in part.rows}

    def called(job: int) -> str:
        return str(names[own_rows[part.rows[job]]])

    row = min(at)
    why = f"its reservation is at {expected[row]:.12g}"
    if name != "conservative" or len(part.rows) <= MANY:
        machine, rule = replay_plainly(part.queue, now)
        considered = list(machine.idle) if machine.now == now else []
        order = {job: place for place, job in enumerate(considered)}
        row = min(at, key=lambda row: (order.get(at[row], inf), row))
        reason = _why_job_starts if expected[row] == now else _why_job_waits
        why = reason(machine, rule, at[row], called)
    return WrongStart(
        job=called(at[row]),
        policy=name,
        found=float(starts[row]),
        expected=float(expected[row]),
        why=why,
    )


def _why_job_starts(machine: Recorded, rule: Rule, job: int, called: Callable[[int], str]) -> str:
    """Say why a job starts at the time to record."""
    now, (free, left) = machine.now, machine.idle[job]
    why = machine.demand(job, free, left)
    if isinstance(rule, Conservative):
        promised = machine.promises[job]
        moved = "" if promised == now else f", moved forward from {promised:.12g},"
        return f"its reservation{moved} is due"
    head, time = machine.reservation
    order = list(machine.idle)
    if head == NOBODY or order.index(job) < order.index(head):
        return why
    end = now + machine.planned[job]
    held = f"the reservation of job {called(head)} at {time:.12g}"
    if end <= time:
        return f"{why}; it ends by {end:.12g}, no later than {held}"
    spare = machine.demand(job, *machine.spare[job]).replace("free", "spare beside it")
    return f"{why}; it ends by {end:.12g}, after {held}, but {spare}"


def _why_job_waits(machine: Recorded, rule: Rule, job: int, called: Callable[[int], str]) -> str:
    """Say why a job does not start yet at the time to record."""
    now = machine.until
    submit = machine.submit[job]
    if now < submit or machine.now < now:
        nothing = f"nothing comes, ends or is due at {now:.12g}"
        return f"it comes at {submit:.12g}" if now < submit else nothing
    if isinstance(rule, Conservative):
        reserved = f"its reservation is at {rule.reserved[job]:.12g}"
        return f"{reserved}, the earliest that delays none made before it"
    if job not in machine.idle:
        head = next(reversed(machine.idle), NOBODY)
        if head == NOBODY or machine.fits(head):  # a rule of somebody's own
            return "the policy's rule does not start it"
        lacks = machine.demand(head, *machine.idle[head])
        return f"job {called(head)} is before it in line and does not fit: {lacks}"
    head, time = machine.reservation
    if job not in machine.spare or job == head:
        return machine.demand(job, *machine.idle[job])
    end = now + machine.planned[job]
    over, left = machine.spare[job]
    return (
        f"job {called(head)} has a reservation at {time:.12g}, and this one would end at "
        f"{end:.12g}: {machine.demand(job, over, left).replace('free', 'spare then')}"
    )
