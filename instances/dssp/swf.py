"""A log in the Standard Workload Format as one night or several, with jobs of a single stage."""

from pathlib import Path
from typing import Any

import numpy as np

from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.log_converters.cleaning import BOUNDS
from schedopt.instances.options import Option, is_count, number, one_of, taking, text, truth, whole

DAY = 86_400.0  # seconds
GROUPINGS = ("user", "group", "queue")
OPTIONS = BOUNDS | {
    "name": text("a name"),
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
    deadline: float | None = None,
    reward: str = "size",
    predicted: bool = False,
    nights: int = 1,
    patience: int = 0,
    **log_options: Any,
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
    **log_options
        ``name``, ``processors``, ``start``, ``end`` and ``jobs`` of
        `instances.msfq.log_converters.convert`.

    Raises
    ------
    InputError
        With the file and the line, what was found and what was expected.
    """
    if deadline is None:
        raise InputError("option 'deadline', which a log cannot tell", place="option")
    if patience and nights == 1:
        raise InputError("option 'nights', since of one night nothing can wait", place="option")
    began = log_options.get("start") or 0.0
    if nights > 1:
        ends = began + nights * DAY
        log_options["end"] = min(log_options.get("end") or ends, ends)
    given = {key: value for key, value in log_options.items() if value is not None}
    log = log_converters.convert(path, format="swf", overrun="keep", **given)
    jobs, notes = log.jobs, []
    asked = np.full(len(jobs), np.nan) if jobs.estimate is None else jobs.estimate
    if predicted:
        notes.append(
            f"{int(np.isfinite(asked).sum())} planned by the time that their user asked for"
        )
    if nights > 1:
        notes.append(f"a night for each of {nights} days, and patience for {patience} more")
    owners = {}
    for by in GROUPINGS:
        labels = jobs.labels(by)
        names = (*labels.names, None) if labels else (None,)
        codes = labels.codes if labels else np.full(len(jobs), -1)
        owners[by] = [names[code] for code in codes.tolist()]
    made = []
    for rank, (submit, need, run) in enumerate(
        zip(jobs.submit.tolist(), jobs.need.tolist(), jobs.run.tolist(), strict=True)
    ):
        planned = float(asked[rank]) if predicted and np.isfinite(asked[rank]) else None
        day = int((submit - began) // DAY) + 1
        groups = {by: owner for by, names in owners.items() if (owner := names[rank]) is not None}
        made.append(
            Job(
                name=str(rank) if jobs.name is None else str(jobs.name[rank]),
                reward=REWARDS[reward](float(rank), run * need),
                priority=float(rank),
                groups=groups,
                stages=((run,) * need,),
                demand=None if planned is None else planned * need,
                critical_path=planned,
                first_night=day if nights > 1 else 1,
                last_night=min(nights, day + patience) if nights > 1 else None,
            )
        )
    words = [(log.description or "").removesuffix("."), *notes]
    return Instance(
        name=log.name,
        description=f"{'; '.join(words)}.",
        processors=log.servers,
        deadline=float(deadline),
        nights=nights,
        jobs=tuple(made),
    )
