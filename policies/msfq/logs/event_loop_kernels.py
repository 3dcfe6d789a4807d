"""The event loop of every compiled replay; a discipline decides which jobs start.

At each time, ends precede releases, and releases precede starts.
"""

from typing import Any, NamedTuple

from schedopt.solvers.compiling import kernel, makes_no_arrays, specialized
from schedopt.solvers.kernels import pop, push

CAME, WAITING, RUNNING, EVENTS, FRONT, STUCK = range(6)
"""Places in ``whole``; ``STUCK`` is 1 if the waiting jobs can never start."""
NEVER = 1e308


class Log(NamedTuple):
    """The jobs: arrays of shape (jobs,).

    ``planned`` is the run time that the policy expects. ``need`` has shape (jobs, resources),
    servers first. ``size`` is that of `machine.sizes`.
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
    resource; ``alarm[0]`` a time at which the discipline is called without an event.
    """

    whole: Any
    starts: Any
    ends: Any
    jobs: Any
    left: Any
    alarm: Any


@makes_no_arrays
def fits(row: int, needs: Any, left: Any) -> Any:
    """Return True if the needs in a row fit the free capacity of each resource."""
    for r in range(left.size):  # noqa: SIM110 - kernels have no `all`
        if needs[row, r] > left[r]:
            return False
    return True


@makes_no_arrays
def add_needs(row: int, needs: Any, left: Any, by: int) -> None:
    """Add ``by`` times the needs in a row to the free capacity of each resource."""
    for r in range(left.size):
        left[r] += by * needs[row, r]


def serve(now: float, log: Log, machine: ReplayState, own: Any) -> None:
    """Start jobs; `loop_of` replaces this by the function of a discipline."""
    raise NotImplementedError


def note_end(now: float, job: int, log: Log, machine: ReplayState, own: Any) -> None:
    """Update the discipline after the end of a job; `loop_of` replaces this."""
    raise NotImplementedError


def advance(log: Log, machine: ReplayState, own: Any, most: int) -> None:
    """Replay until all jobs have started, ``most`` events have passed, or no job can ever start."""
    whole = machine.whole
    last = whole[EVENTS] + most
    while (whole[CAME] < log.submit.size or whole[WAITING]) and whole[EVENTS] < last:
        whole[EVENTS] += 1
        now = log.submit[whole[CAME]] if whole[CAME] < log.submit.size else NEVER
        if whole[RUNNING]:
            now = min(now, machine.ends[0])
        now = min(now, machine.alarm[0])
        if now == NEVER:
            whole[STUCK] = 1
            return
        while whole[RUNNING] and machine.ends[0] == now:
            job = machine.jobs[0]
            whole[RUNNING] = pop(machine.ends, machine.jobs, whole[RUNNING])
            add_needs(job, log.need, machine.left, 1)
            note_end(now, job, log, machine, own)
        serve(now, log, machine, own)


@makes_no_arrays
def begin(now: float, job: int, log: Log, machine: ReplayState) -> None:
    """Start a job."""
    whole = machine.whole
    machine.starts[job] = now
    whole[RUNNING] = push(machine.ends, machine.jobs, whole[RUNNING], now + log.run[job], job)
    whole[WAITING] -= 1
    add_needs(job, log.need, machine.left, -1)


def loop_of(name: str, serve: Any, note_end: Any) -> Any:
    """Return `advance` compiled for a discipline, whose functions are constants in it."""
    parts = {"serve": makes_no_arrays(serve), "note_end": makes_no_arrays(note_end)}
    return kernel(makes_arrays=False)(specialized(advance, name, **parts))
