"""The loop of every compiled replay: what comes and what ends; a discipline says what starts.

At an instant first all that ends there ends, then all that is submitted there comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schedopt.policies.msfq.compiling import compiled, ready, specialized
from schedopt.solvers.kernels.heap import pop, push

CAME, WAITING, FREE, RUNNING, BLOCKS, EVENTS, HEAD, SPARE, FRONT, STUCK, FAULT = range(11)
"""Places in ``whole``; ``STUCK`` says that jobs wait for ever, ``FAULT`` which class a rule started
that may not start, -1 for none."""
NEVER = 1e308


class Log(NamedTuple):
    """The jobs: ndarrays of shape (jobs,), ``planned`` as long as a policy believes they run."""

    submit: Any
    need: Any
    run: Any
    planned: Any


class Machine(NamedTuple):
    """The state of a replay.

    ``whole`` holds scalars by place (see `CAME`), ``starts`` when each job started, infinite where
    it did not; ``ends`` and ``jobs`` are a heap of when running jobs end, and which.
    """

    whole: Any
    starts: Any
    ends: Any
    jobs: Any


def serve(now: float, freed: bool, log: Log, machine: Machine, own: Any) -> None:
    """Let jobs come, and start what is to start: `loop_of` puts a discipline's own here."""
    raise NotImplementedError


def ended(now: float, job: int, log: Log, machine: Machine, own: Any) -> None:
    """Note that a job has ended: `loop_of` puts a discipline's own here."""
    raise NotImplementedError


def advance(log: Log, machine: Machine, own: Any, most: int) -> None:
    """Replay until all jobs have started, ``most`` events have passed, or none starts any more."""
    whole = machine.whole
    last = whole[EVENTS] + most
    while (whole[CAME] < log.submit.size or whole[WAITING]) and whole[EVENTS] < last:
        whole[EVENTS] += 1
        now = log.submit[whole[CAME]] if whole[CAME] < log.submit.size else NEVER
        if whole[RUNNING]:
            now = min(now, machine.ends[0])
        if now == NEVER:
            whole[STUCK] = 1
            return
        freed = False
        while whole[RUNNING] and machine.ends[0] == now:
            job = machine.jobs[0]
            whole[RUNNING] = pop(machine.ends, machine.jobs, whole[RUNNING])
            whole[FREE] += log.need[job]
            ended(now, job, log, machine, own)
            freed = True
        serve(now, freed, log, machine, own)
        if whole[STUCK]:
            return


@compiled
def begin(now: float, job: int, log: Log, machine: Machine) -> None:
    """Start a job."""
    whole = machine.whole
    machine.starts[job] = now
    whole[RUNNING] = push(machine.ends, machine.jobs, whole[RUNNING], now + log.run[job], job)
    whole[WAITING] -= 1
    whole[FREE] -= log.need[job]


def loop_of(name: str, serve: Any, ended: Any) -> Any:
    """Return `advance` compiled for a discipline, whose functions are constants in it."""
    return specialized(advance, name, {"serve": ready(serve), "ended": ready(ended)})
