"""Queues with quotas in cohorts, compiled: `rules.Borrowing` is the definition."""

from typing import Any, NamedTuple

from schedopt.policies.msfq.compiling import compiled
from schedopt.policies.msfq.logs.replay_kernels import (
    CAME,
    NEVER,
    WAITING,
    Log,
    ReplayState,
    begin,
    fits,
    loop_of,
)

NOBODY, PASSED, LATE, KEPT = range(4)
"""What a turn knows of a queue: nobody is left, it had its turn, its first would not fit at the
turn's beginning, or it would."""


class Shared(NamedTuple):
    """Queues, the nodes that they count in, and the jobs that wait in them.

    Of nodes, of which the first are the queues, ``parent`` is the one above, -1 for none, and
    ``nominal``, ``most`` and ``used`` are amounts of servers and then of each resource. Of jobs
    ``queue`` is which, ``rank`` in what order, ``line`` those that wait, in that order, ``after``
    the place in line of the next of the same queue, -1 for none. Of queues ``strict`` says that
    nobody passes the first, ``at`` is the place in line that a turn looks at, ``state`` is as
    `NOBODY` says, ``borrows`` whether the job there would.
    """

    parent: Any
    nominal: Any
    most: Any
    used: Any
    queue: Any
    rank: Any
    line: Any
    after: Any
    strict: Any
    at: Any
    state: Any
    borrows: Any


@compiled
def _within(node: int, job: int, log: Log, used: Any, limits: Any) -> Any:
    """Tell whether a job stays within the limits of a node."""
    enough = True
    for r in range(used.shape[1]):
        enough = enough and used[node, r] + log.need[job, r] <= limits[node, r]
    return enough


@compiled
def _admits(job: int, log: Log, machine: ReplayState, own: Shared) -> Any:
    """Tell whether a job fits its queue, all cohorts above, and the machine."""
    node = own.queue[job]
    while node >= 0:
        if not _within(node, job, log, own.used, own.most):
            return False
        node = own.parent[node]
    return fits(job, log.need, machine.left)


@compiled
def _hold(job: int, sign: int, log: Log, own: Shared) -> None:
    """Count a job in its queue and all cohorts above, or with -1 no longer."""
    node = own.queue[job]
    while node >= 0:
        for r in range(own.used.shape[1]):
            own.used[node, r] += sign * log.need[job, r]
        node = own.parent[node]


@compiled
def _join(job: int, waiting: int, own: Shared) -> None:
    """Let a job into the line of so many, behind all whose rank is less."""
    place = waiting
    while place and own.rank[own.line[place - 1]] > own.rank[job]:
        own.line[place] = own.line[place - 1]
        place -= 1
    own.line[place] = job


@compiled
def _look(waiting: int, own: Shared) -> None:
    """Look at the first of each queue, and note who is behind whom."""
    for queue in range(own.at.size):
        own.at[queue] = -1
    for place in range(waiting - 1, -1, -1):
        queue = own.queue[own.line[place]]
        own.after[place] = own.at[queue]
        own.at[queue] = place


@compiled
def _turn(log: Log, machine: ReplayState, own: Shared) -> Any:
    """Look at the first of each queue; return whether there is one."""
    some = False
    for queue in range(own.at.size):
        own.state[queue] = NOBODY
        if own.at[queue] >= 0:
            some, job = True, own.line[own.at[queue]]
            own.state[queue] = KEPT if _admits(job, log, machine, own) else LATE
            own.borrows[queue] = not _within(queue, job, log, own.used, own.nominal)
    return some


@compiled
def _next(own: Shared) -> Any:
    """Return the queue whose job is next in this turn, or -1."""
    best = -1
    for queue in range(own.at.size):
        if own.state[queue] < LATE:
            continue
        if best >= 0:
            if own.borrows[queue] != own.borrows[best]:
                sooner = own.borrows[best]
            else:
                sooner = own.at[queue] < own.at[best]
            if not sooner:
                continue
        best = queue
    return best


def _shared(now: float, log: Log, machine: ReplayState, own: Shared) -> None:
    """Take turns until nobody is left to look at."""
    whole = machine.whole
    while whole[CAME] < log.submit.size and log.submit[whole[CAME]] == now:
        _join(whole[CAME], whole[WAITING], own)
        whole[CAME] += 1
        whole[WAITING] += 1
    waiting = whole[WAITING]
    _look(waiting, own)
    while machine.left[0] and _turn(log, machine, own):
        while True:
            queue = _next(own)
            if queue < 0:
                break
            place = own.at[queue]
            job = own.line[place]
            if _admits(job, log, machine, own):
                own.at[queue] = own.after[place]
                _hold(job, 1, log, own)
                begin(now, job, log, machine)
            elif own.state[queue] == LATE:
                own.at[queue] = -1 if own.strict[queue] else own.after[place]
            own.state[queue] = PASSED
    kept = 0
    for place in range(waiting):
        if machine.starts[own.line[place]] > NEVER:
            own.line[kept] = own.line[place]
            kept += 1


def _shared_ended(now: float, job: int, log: Log, machine: ReplayState, own: Shared) -> None:
    _hold(job, -1, log, own)


shared = loop_of("shared", _shared, _shared_ended)
