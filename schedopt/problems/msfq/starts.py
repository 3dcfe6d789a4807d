"""Starts of jobs of a log under a policy that replays it: whether they are its own, and when."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError, expect, listing, quote
from schedopt.instances.msfq import Instance
from schedopt.instances.options import check_options
from schedopt.instances.starts import Start, StartTimes, WrongStart, read_starts
from schedopt.instances.tables import Source


def wrong_start(
    queue: Instance,
    starts: Source,
    policy: str,
    options: Mapping[str, Any] | None = None,
    tolerance: float = 0.0,
) -> WrongStart | None:
    """Return the first start that is not the policy's, if any is: see `schedopt.check_starts`."""
    from schedopt.policies.msfq.logs.start_check import first_wrong_start

    estimates, own = replay_options(queue, policy, options or {})
    times = read_starts(starts, queue.jobs.called(), policy)
    return first_wrong_start(queue, policy, np.array(times), estimates, own, tolerance=tolerance)


def start_times(
    queue: Instance,
    at: float,
    policy: str,
    *,
    level: float,
    model: str,
    options: Mapping[str, Any],
    seed: int,
) -> StartTimes:
    """Return the start times of waiting jobs: see `schedopt.start_times`."""
    from schedopt.policies.msfq.logs.registration import replay_log
    from schedopt.policies.msfq.logs.start_times import MODELS, Snapshot
    from schedopt.policies.msfq.logs.start_times import start_times as predicted

    estimates, own = replay_options(queue, policy, options)
    queue.expect_servers_alone("start-times")
    names = queue.jobs.called()
    queue, own_rows = queue.as_released()
    if model not in MODELS:
        raise InputError(f"a model{listing(MODELS)}", found=quote(model), parameter="model")
    expect(0 < level < 1, "a number between 0 and 1", level, parameter="level")
    expect(isfinite(at), "a time in the log's unit", at, parameter="at")

    def play(log: Instance) -> Any:
        return replay_log(log, policy, estimates if log.jobs.estimated else "exact", **own)

    now = Snapshot(queue, play(queue), at)
    if not len(now.waiting):
        return StartTimes((), 0, 0.0)
    predictions = predicted(now, play, level=level, model=model, seed=seed)
    called = [names[row] for row in own_rows[predictions.rows]]
    columns = (predictions.earliest, predictions.median, predictions.latest, predictions.requested)
    rows = zip(called, *(column.tolist() for column in columns), strict=True)
    starts = (
        Start(job=job, earliest=low, median=middle, latest=high, requested=requested)
        for job, low, middle, high, requested in rows
    )
    return StartTimes(tuple(starts), predictions.calibrated_on, predictions.shift)


def replay_options(
    queue: Instance, policy: str, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return which estimates a policy for logs plans with, and its own options."""
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES, OPTIONS
    from schedopt.policies.registry import registered

    if queue.log is None:
        raise InputError("an instance of a log", found="one of classes")
    policies = registered("msfq")
    if policy not in LOG_POLICIES:
        expected = f"a policy that replays logs{listing(LOG_POLICIES)}"
        raise InputError(expected, found=quote(policy), parameter="policy")
    checked = check_options(options, policies[policy].options, policy)
    asked = checked.pop("estimates", None)
    if asked == "given" and not queue.jobs.estimated:
        raise InputError("a log with estimates", found="none", place="option estimates")
    exact = asked == "exact" or not queue.jobs.estimated
    beside = policies[policy].suits == "beside"  # else its options are of random arrivals
    own = {key: value for key, value in checked.items() if beside and key not in OPTIONS}
    return "exact" if exact else "given", own
