"""The event loop of every compiled replay; a discipline decides which jobs start.

At an instant first all that ends there ends, then all that is submitted there comes.
"""

from typing import Any, NamedTuple

from schedopt.solvers.compiling import kernel, makes_no_arrays, specialized
from schedopt.solvers.kernels import pop, push

CAME, WAITING, RUNNING, EVENTS, FRONT, STUCK = range(6)
"""Places in ``whole``; ``STUCK`` says that jobs wait for ever."""
NEVER = 1e308


class Log(NamedTuple):
    """The jobs: ndarrays of shape (jobs,), ``planned`` as long as a policy believes they run.

    ``need`` is of shape (jobs, resources), of which the first are servers; ``size`` is as in
    `machine.sizes`.
    """

    submit: Any
    need: Any
    run: Any
    planned: Any
    size: Any


class ReplayState(NamedTuple):
    """The state of a replay.

    ``whole`` holds scalars by place (see `CAME`), ``starts`` when each job started, infinite where
    it did not; ``ends`` and ``jobs`` are a heap of when running jobs end, and which; ``left`` is
    what nobody holds of each resource; ``alarm[0]`` when to serve though nothing ends or comes.
    """

    whole: Any
    starts: Any
    ends: Any
    jobs: Any
    left: Any
    alarm: Any


@makes_no_arrays
def fits(row: int, needs: Any, left: Any) -> Any:
    """Tell whether the needs in a row are no more than what is left of each resource."""
    for r in range(left.size):  # noqa: SIM110 - kernels know no `all`
        if needs[row, r] > left[r]:
            return False
    return True


@makes_no_arrays
def add_needs(row: int, needs: Any, left: Any, by: int) -> None:
    """Add the needs in a row to what is left of each resource, so many times."""
    for r in range(left.size):
        left[r] += by * needs[row, r]


def serve(now: float, log: Log, machine: ReplayState, own: Any) -> None:
    """Admit and start jobs: `loop_of` inserts a discipline's own function."""
    raise NotImplementedError


def note_end(now: float, job: int, log: Log, machine: ReplayState, own: Any) -> None:
    """Note that a job has ended: `loop_of` inserts a discipline's own function."""
    raise NotImplementedError


def advance(log: Log, machine: ReplayState, own: Any, most: int) -> None:
    """Replay until all jobs have started, ``most`` events have passed, or none starts any more."""
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
