"""A log in the Standard Workload Format as one night or several, with jobs of a single stage."""

from pathlib import Path
from typing import Unpack

from msgspec.structs import replace

from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option, is_count, number, one_of, taking, truth, whole
from schedopt.instances.swf import WINDOW, Entry, LogRange, read_log

DAY = 86_400.0  # seconds

OPTIONS = WINDOW | {
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
    "reward": one_of("size", REWARDS),
    "predicted": truth(False),
    "nights": whole(1, 1, 3660),
    "patience": Option(
        0, "nights that a job can wait: 0 or more", lambda v: v == 0 or is_count(v, 3660)
    ),
}
"""The options of `convert`; ``deadline`` has no default."""


@taking("swf", OPTIONS)
def convert(
    path: str | Path,
    *,
    name: str | None = None,
    deadline: float | None = None,
    reward: str = "size",
    predicted: bool = False,
    nights: int = 1,
    patience: int = 0,
    **window: Unpack[LogRange],
) -> Instance:
    """Make a night of the jobs of a window, all there at its beginning; or a night of each day.

    A job that held n processors for t seconds becomes one stage of n tasks of length t. Dispatchers
    need not start them together, as the machine had to. Priorities count up in the order of
    arrival, since a log has none. Groupings are ``user``, ``group`` and ``queue``, by number.

    Parameters
    ----------
    deadline : float
        D, in seconds. It has no default: a log does not know it.
    reward : {"size", "linear", "banded"}
        How rewards are made.
    predicted : bool
        Whether planning knows what users asked for in place of what happened, where the log says.
    nights : int
        More than 1 makes a season: so many days from ``start``, each with a night in which what
        came on that day can be run.
    patience : int
        How many nights more a job of a season can wait.
    **window
        ``processors``, ``start``, ``end`` and ``jobs``, as `instances.swf.read_log` takes them.

    Raises
    ------
    InputError
        With the file, the line, what was found and what was expected.
    """
    if deadline is None:
        raise InputError("option 'deadline', which a log cannot tell", place="option")
    if patience and nights == 1:
        raise InputError("option 'nights', since of one night nothing can wait", place="option")
    began = window.get("start") or 0.0
    if nights > 1:
        ends = began + nights * DAY
        window["end"] = min(window.get("end") or ends, ends)
    log = read_log(path, **window)
    unknown = {
        by: sum(getattr(entry, by) is None for entry in log.entries)
        for by in ("user", "group", "queue")
    }
    notes = [f"{missing} of unknown {by}" for by, missing in unknown.items() if missing]
    known = sum(entry.planned is not None for entry in log.entries)
    if predicted:
        notes.append(f"{known} planned by the time that their user asked for")
    elif known:
        option = "by which option predicted=true plans"
        notes.append(f"{known} have an estimate of their user's, {option}")
    if nights > 1:
        notes.append(f"a night for each of {nights} days, and patience for {patience} more")
    jobs = []
    for rank, entry in enumerate(log.entries):
        job = _job(entry, rank, reward, predicted)
        if nights > 1:
            day = int((entry.submit - began) // DAY) + 1
            job = replace(job, first_night=day, last_night=min(nights, day + patience))
        jobs.append(job)
    return Instance(
        name=name or log.stem,
        description=log.described(*notes),
        processors=log.processors,
        deadline=float(deadline),
        nights=nights,
        jobs=tuple(jobs),
    )


def _job(entry: Entry, rank: int, reward: str, predicted: bool) -> Job:
    planned = entry.planned if predicted else None
    groups = {"user": entry.user, "group": entry.group, "queue": entry.queue}
    return Job(
        name=entry.name,
        reward=REWARDS[reward](float(rank), entry.run * entry.processors),
        priority=float(rank),
        groups={by: str(number) for by, number in groups.items() if number is not None},
        stages=((entry.run,) * entry.processors,),
        demand=None if planned is None else planned * entry.processors,
        critical_path=planned,
    )
