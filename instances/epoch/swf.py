"""The jobs that a log in the Standard Workload Format has in its system at once, as a job set."""

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from schedopt.instances.epoch.records import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option, taking
from schedopt.instances.swf import WINDOW, Entry, LogRange, read_log

OPTIONS = WINDOW | {
    "at": WINDOW["start"],
    "inequity": Option(
        1, "a whole number >= 0", lambda v: isinstance(v, int) and v is not False and v >= 0
    ),
}


@taking("swf", OPTIONS)
def convert(
    path: str | Path,
    *,
    name: str | None = None,
    at: float | None = None,
    inequity: int = 1,
    **window: Unpack[LogRange],
) -> Instance:
    """Make a job set of those that wait or run at one time.

    A job's minimum is the processors that it held: a log does not say how much memory it needed,
    and the users of these machines asked for no fewer nodes than would hold their data.

    ``at`` is the time, in seconds of the log; by default the first at which most jobs are present.
    ``inequity`` is k of the instance; ``window`` is as in `instances.swf.read_log`. `InputError`
    names the file and the line.
    """
    log = read_log(path, **window)
    time = busiest(log.entries) if at is None else float(at)
    present = [e for e in log.entries if e.submit <= time < _left(e)]
    if not present:
        raise InputError("a job or more at that time", found=f"none at {time:.12g}", file=log.file)
    waits = sum(entry.wait is None for entry in log.entries)
    guessed = (f"{waits} of unknown wait, taken as none",) if waits else ()
    return Instance(
        name=name or log.stem,
        description=log.described(*guessed, f"those {len(present)} present at {time:.12g}"),
        nodes=log.processors,
        inequity=inequity,
        jobs=tuple(Job(name=entry.name, minimum=entry.processors) for entry in present),
    )


def busiest(entries: Iterable[Entry]) -> float:
    """Return the first time at which most jobs are present."""
    changes = sorted(
        (time, step) for e in entries for time, step in ((e.submit, 1), (_left(e), -1))
    )
    present = most = 0
    best = 0.0
    for time, step in changes:  # who leaves at an instant is gone before who comes at it
        present += step
        if present > most:
            most, best = present, time
    return best


def _left(entry: Entry) -> float:
    return entry.submit + (entry.wait or 0.0) + entry.run
