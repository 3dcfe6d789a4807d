"""Conversion of a log in the Standard Workload Format into a night of jobs with one stage."""

from pathlib import Path
from typing import Any

import numpy as np

from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.log_converters.cleaning import BOUNDS
from schedopt.instances.options import complete, number, text, truth

GROUPINGS = ("user", "group", "queue")
OPTIONS = BOUNDS | {
    "name": text("a name"),
    "deadline": number(None, "a number of seconds above 0", lambda v: v > 0),
    "predicted": truth(False, "true (users' estimates are what planning knows) or false"),
}
"""The options of `convert`; ``deadline`` has no default."""


def convert(path: str | Path, **options: Any) -> Instance:
    """Convert the jobs of a log's window into a night, all available from its start.

    A job that held n processors for t seconds becomes a stage of n tasks of length t, which
    dispatchers may start at different times. Its reward is n·t. Priorities are the order of
    arrival. The groupings ``user``, ``group`` and ``queue`` have the log's numbers.

    `InputError` with the file and the line, what was found and what is expected.
    """
    values = complete(options, OPTIONS, "swf")
    if values["deadline"] is None:
        raise InputError("option 'deadline', since a log has no deadline", place="option")
    window = {key: value for key in (*BOUNDS, "name") if (value := values[key]) is not None}
    log = log_converters.convert(path, format="swf", overrun="keep", **window)
    jobs, note = log.jobs, (log.description or "").removesuffix(".")
    planned = np.full(len(jobs), np.nan)
    if values["predicted"]:
        planned = planned if jobs.estimate is None else jobs.estimate
        note += f"; {np.isfinite(planned).sum()} planned by the time that their user asked for"
    labels = {by: found for by in GROUPINGS if (found := jobs.labels(by)) is not None}
    converted = []
    for rank, (need, run, length) in enumerate(
        zip(jobs.need.tolist(), jobs.run.tolist(), planned.tolist(), strict=True)
    ):
        codes = {by: int(of.codes[rank]) for by, of in labels.items()}
        has_length = np.isfinite(length)
        converted.append(
            Job(
                name=str(rank) if jobs.name is None else str(jobs.name[rank]),
                reward=run * need,
                priority=float(rank),
                groups={by: labels[by].names[code] for by, code in codes.items() if code >= 0},
                stages=((run,) * need,),
                demand=length * need if has_length else None,
                critical_path=length if has_length else None,
            )
        )
    return Instance(
        name=log.name,
        description=f"{note}.",
        processors=log.servers,
        deadline=float(values["deadline"]),
        jobs=tuple(converted),
    )
