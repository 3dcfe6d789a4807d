"""Start-times: when the jobs that wait at a time will start."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from schedopt.instances.declarations import Record
from schedopt.instances.errors import InputError, expect, listing, shown
from schedopt.instances.msfq import Instance

COLUMNS = ("job", "earliest", "median", "latest", "requested")


class Start(Record, kw_only=True):
    """When one waiting job will start, in the log's unit.

    Attributes
    ----------
    job : str
        Its name, or its row in the log from 0.
    earliest, median, latest : float
        The interval at the level that was asked for, and its middle.
    requested : float
        What requested run times alone would say.
    """

    job: str
    earliest: float
    median: float
    latest: float
    requested: float


class Told(msgspec.Struct, frozen=True):
    """Start times, and on how many starts of the log's past their intervals were calibrated."""

    rows: tuple[Start, ...]
    judged: int
    shift: float


def start_times(
    queue: Instance,
    at: float,
    policy: str = "easy",
    *,
    level: float = 0.9,
    model: str = "history",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Told:
    """Say when each job that waits at a time will start under a policy, by an interval.

    Until then the log is played by the same policy. Run times are drawn from how long jobs have run
    that have ended by then; intervals are calibrated on starts before then.

    Parameters
    ----------
    queue : Instance
        Of a log.
    at : float
        The time, in the log's unit.
    policy : str
        One of those that replay logs.
    level : float
        How probable it is to be that a start lies in its interval, between 0 and 1.
    model : str
        Of run times: ``history``, or ``requested``.
    options : mapping, optional
        The policy's own.
    seed : int
        Of the scenarios that are drawn.

    Returns
    -------
    Told
        A row for each waiting job in the order of submission.

    Raises
    ------
    InputError
        If the instance has no log, or the policy does not replay one, or a value cannot be.
    """
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES, started
    from schedopt.policies.msfq.logs.runtimes import MODELS
    from schedopt.policies.msfq.logs.snapshot import Snapshot
    from schedopt.policies.msfq.logs.start_times import start_times as predicted
    from schedopt.policies.registry import registered

    if not isinstance(queue, Instance) or queue.log is None:
        raise InputError("an instance of a log", found="another")
    registered("msfq")  # which imports them
    if policy not in LOG_POLICIES:
        raise InputError(f"a policy that replays logs{listing(LOG_POLICIES)}", found=shown(policy))
    if model not in MODELS:
        raise InputError(f"a model{listing(MODELS)}", found=shown(model), place="model")
    expect(0 < level < 1, "a number between 0 and 1", level, "level")
    expect(isfinite(at), "a time in the log's unit", at, "at")
    own = dict(options or {})

    def play(log: Instance) -> Any:
        return started(log, policy, "given" if log.jobs.estimated else "exact", **own)

    now = Snapshot(queue, play(queue), at)
    if not len(now.waiting):
        return Told((), 0, 0.0)
    found = predicted(now, play, level=level, model=model, seed=seed)
    names = queue.jobs.name
    columns = (found.earliest, found.median, found.latest, found.requested)
    rows = [
        Start(job=str(row) if names is None else str(names[row]), earliest=low, median=middle,
              latest=high, requested=requested)
        for row, low, middle, high, requested in zip(
            found.rows.tolist(), *(column.tolist() for column in columns), strict=True
        )
    ]  # fmt: skip
    return Told(tuple(rows), found.judged, found.shift)


def time_of(text: str) -> float:
    """Return a time of the command line; `InputError` if it is no number of the log's unit."""
    try:
        return float(text)
    except ValueError:
        expected = "a number in the log's unit, whose 0 `convert` tells as a date"
        raise InputError(expected, found=shown(text), place="--at") from None
