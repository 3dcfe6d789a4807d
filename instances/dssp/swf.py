"""Conversion of a log in the Standard Workload Format into nights of jobs with one stage."""

from pathlib import Path
from typing import Any

import numpy as np

from schedopt.instances.dssp.jobs import REWARDS, Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.log_converters.cleaning import BOUNDS
from schedopt.instances.options import (
    Option,
    complete,
    is_count,
    number,
    one_of,
    text,
    truth,
    whole,
)

DAY = 86_400.0  # seconds
GROUPINGS = ("user", "group", "queue")
OPTIONS = BOUNDS | {
    "name": text("a name"),
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
    "reward": one_of("size", REWARDS),
    "predicted": truth(False, "true (users' estimates are what planning knows) or false"),
    "nights": whole(1, 1, 3660, ": more than 1 makes a season, a night of each day from `start`"),
    "patience": Option(
        0, "nights that a job can wait: 0 or more", lambda v: v == 0 or is_count(v, 3660)
    ),
}
"""The options of `convert`; ``deadline`` has no default."""


def convert(path: str | Path, **options: Any) -> Instance:
    """Convert a log into one night of a window's jobs, or into a night for each day.

    All jobs of a window are available from the start of its night. A job that held n processors for
    t seconds becomes a stage of n tasks of length t, which dispatchers may start at different
    times. Priorities are the order of arrival. The groupings ``user``, ``group`` and ``queue`` have
    the log's numbers.

    Raises
    ------
    InputError
        With the file and the line, what was found and what is expected.
    """
    values = complete(options, OPTIONS, "swf")
    nights, patience = values["nights"], values["patience"]
    if values["deadline"] is None:
        raise InputError("option 'deadline', since a log has no deadline", place="option")
    if patience and nights == 1:
        raise InputError(
            "option 'nights', since jobs can wait only if there are several", place="option"
        )
    began = values["start"] or 0.0
    if nights > 1:
        ends = began + nights * DAY
        values["end"] = min(values["end"] or ends, ends)
    window = {key: value for key in (*BOUNDS, "name") if (value := values[key]) is not None}
    log = log_converters.convert(path, format="swf", overrun="keep", **window)
    jobs, notes = log.jobs, [(log.description or "").removesuffix(".")]
    planned = np.full(len(jobs), np.nan)
    if values["predicted"]:
        planned = planned if jobs.estimate is None else jobs.estimate
        notes.append(f"{np.isfinite(planned).sum()} planned by the time that their user asked for")
    if nights > 1:
        notes.append(f"a night for each of {nights} days, and patience for {patience} more")
    labels = {by: jobs.labels(by) for by in GROUPINGS}
    converted = []
    for rank, (need, run, length) in enumerate(
        zip(jobs.need.tolist(), jobs.run.tolist(), planned.tolist(), strict=True)
    ):
        codes = {by: (of.names, of.codes[rank]) for by, of in labels.items() if of is not None}
        day = int((jobs.submit[rank] - began) // DAY) + 1
        has_length = np.isfinite(length)
        converted.append(
            Job(
                name=str(rank) if jobs.name is None else str(jobs.name[rank]),
                reward=REWARDS[values["reward"]](float(rank), run * need),
                priority=float(rank),
                groups={by: names[code] for by, (names, code) in codes.items() if code >= 0},
                stages=((run,) * need,),
                demand=length * need if has_length else None,
                critical_path=length if has_length else None,
                first_night=day if nights > 1 else 1,
                last_night=min(nights, day + patience) if nights > 1 else None,
            )
        )
    return Instance(
        name=log.name,
        description=f"{'; '.join(notes)}.",
        processors=log.servers,
        deadline=float(values["deadline"]),
        nights=nights,
        jobs=tuple(converted),
    )
