"""When the jobs of a log that wait will start, under a policy that replays it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.dtypes import StringDType

from schedopt.instances.errors import InputError, expect, listing, placed, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.instances.starts import Start, StartTimes
from schedopt.instances.times import Dates, moment_of
from schedopt.problems.msfq.explaining import replay_options


def start_times(
    queue: Instance,
    at: float,
    policy: str,
    *,
    level: float,
    model: str,
    options: Mapping[str, Any],
    seed: int,
    waiting: str | Path | None = None,
) -> StartTimes:
    """Return the start times of waiting jobs: see `schedopt.start_times`."""
    from schedopt.policies.msfq.logs.registration import replay_log
    from schedopt.policies.msfq.logs.start_times import MODELS, Snapshot
    from schedopt.policies.msfq.logs.start_times import start_times as predicted

    estimates, own = replay_options(queue, policy, options)
    queue.expect_servers_alone("start-times")
    if model not in MODELS:
        raise InputError(f"a model{listing(MODELS)}", found=shown(model), place="model")
    expect(0 < level < 1, "a number between 0 and 1", level, "level")
    expect(isfinite(at), "a time in the log's unit", at, "at")

    def play(log: Instance) -> Any:
        return replay_log(log, policy, estimates if log.jobs.estimated else "exact", **own)

    starts = play(queue)
    if waiting is not None:
        queue, starts = _as_it_stands(queue, starts, at, waiting)
    now = Snapshot(queue, starts, at)
    if not len(now.waiting):
        return StartTimes((), 0, 0.0)
    found = predicted(now, play, level=level, model=model, seed=seed)
    names = queue.jobs.name
    columns = (found.earliest, found.median, found.latest, found.requested)
    rows = [
        Start(
            job=str(row) if names is None else str(names[row]),
            earliest=low,
            median=middle,
            latest=high,
            requested=requested,
        )
        for row, low, middle, high, requested in zip(
            found.rows.tolist(), *(column.tolist() for column in columns), strict=True
        )
    ]
    return StartTimes(tuple(rows), found.calibrated_on, found.shift)


def _as_it_stands(
    queue: Instance, starts: Floats, at: float, path: str | Path
) -> tuple[Instance, Floats]:
    """Return the log of who had ended by a time, and of who waits and runs by a dump; and starts.

    Who is in the dump has not ended; who of the others could have ended by then has.
    """
    from schedopt.instances.msfq.log_converters.table import read_open_jobs

    if queue.start is None:
        raise InputError("a log with `start`: convert it with option timezone", found="none")
    with placed(file=path):
        now = read_open_jobs(path)
    zero, jobs = Dates.of(queue.start), queue.jobs

    def since(seconds: float) -> float:
        moment = moment_of(seconds, UTC).replace(tzinfo=zero.start.tzinfo)
        return zero.since(moment)

    submit = np.array([since(time) for time in now.submit.tolist()])
    began = np.array([since(t) if np.isfinite(t) else np.inf for t in now.start.tolist()])
    named = range(len(jobs)) if jobs.name is None else jobs.name.tolist()
    names = np.array(list(map(str, named)))
    done = np.flatnonzero((jobs.submit + jobs.run <= at) & ~np.isin(names, now.name))
    past = jobs.take(done)
    whose = None if past.user is None else [(*past.user.names, None)[i] for i in past.user.codes]
    asked = np.full(len(past), np.nan) if past.estimate is None else past.estimate
    longest = np.fmax(np.nan_to_num(now.estimate, nan=1.0), 1.0)
    runs = np.where(np.isfinite(began), np.maximum(longest, at - began + 1.0), longest)
    order = np.argsort(np.concatenate((past.submit, submit)), kind="stable")
    users = None if whose is None or now.user is None else [*whose, *now.user]
    estimate = np.concatenate((asked, now.estimate))
    holds = int(now.need[np.isfinite(began)].sum())
    most = f"jobs that run on at most {queue.servers} servers"
    expect(holds <= queue.servers, most, holds, "waiting")
    both = Jobs.of(
        np.concatenate((past.submit, submit))[order],
        np.concatenate((past.need, now.need))[order],
        np.concatenate((past.run, runs))[order],
        estimate[order] if np.isfinite(estimate).any() else None,
        user=None if users is None else [users[i] for i in order],
    )
    called = np.array([*names[done].tolist(), *now.name], dtype=StringDType())[order]
    ended = np.minimum(starts[done], at - past.run)
    return queue.with_jobs(replace(both, name=called)), np.concatenate((ended, began))[order]
