"""Starts of jobs of a log under policies: whether they are its own, when, and the best of all."""

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import product
from math import isfinite
from typing import Any

import numpy as np
from msgspec.structs import replace

from schedopt.instances.errors import InputError, expect, listing, quote
from schedopt.instances.msfq import Bracketed, Instance
from schedopt.instances.msfq.answers import pack_starts
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.options import check_options
from schedopt.instances.starts import Observed, Start, StartTimes, WrongStart, read_starts
from schedopt.instances.tables import Source
from schedopt.solvers.clock import now


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
    times = read_starts(starts, queue.jobs.job_names(), policy)
    return first_wrong_start(queue, policy, np.array(times), estimates, own, tolerance=tolerance)


def start_times(
    queue: Instance,
    at: float,
    policy: str,
    *,
    level: float,
    options: Mapping[str, Any],
    seed: int,
    job: str | None = None,
    observed: Observed,
) -> StartTimes:
    """Return the start times of waiting jobs: see `schedopt.start_times`."""
    from schedopt.policies.msfq.logs.registration import replay_log
    from schedopt.policies.msfq.logs.start_times import FEWEST_STARTS, Snapshot
    from schedopt.policies.msfq.logs.start_times import start_times as predicted

    estimates, own = replay_options(queue, policy, options)
    queue.expect_servers_alone("start-times")
    expect(0 < level < 1, "a number between 0 and 1", level, parameter="level")

    def play(log: Instance) -> Any:
        return replay_log(log, policy, estimates if log.jobs.estimated else "exact", **own)

    queue, starts = observed_starts(queue, observed)
    names = queue.jobs.job_names()
    queue, own_rows = queue.as_released()
    names = [names[row] for row in own_rows]
    starts = play(queue) if starts is None else starts[own_rows]
    last = float((starts + queue.jobs.run).max()) if observed.until is None else observed.until
    expect_within(at, float(queue.jobs.submit[0]), last, observed)
    snapshot = Snapshot(queue, starts, at)
    waiting = [names[row] for row in snapshot.waiting]
    if job is not None and job not in waiting:
        raise InputError(f"a job that waits{listing(waiting)}", found=quote(job), parameter="job")
    answer = StartTimes((), 0, 0.0, at, len(waiting), FEWEST_STARTS, observed.dates)
    if not waiting:
        return answer
    found = predicted(snapshot, play, level=level, seed=seed)
    calibrated = found.calibrated_on >= FEWEST_STARTS
    columns = (found.earliest, found.median, found.latest, found.requested)
    rows = (
        Start(
            job=name,
            earliest=low if calibrated else None,
            median=middle,
            latest=high if calibrated else None,
            requested=requested,
        )
        for name, low, middle, high, requested in zip(
            waiting, *(column.tolist() for column in columns), strict=True
        )
        if job in (None, name)
    )
    judged, shift = found.calibrated_on, found.shift
    return replace(answer, rows=tuple(rows), judged=judged, shift=shift)


def observed_starts(queue: Instance, observed: Observed) -> tuple[Instance, Floats | None]:
    """Return a log without jobs whose start is unknown, and the starts; None without an export.

    Jobs that run have not ended when the log was written. `InputError` if more processors are held
    than there are.
    """
    from schedopt.policies.msfq.logs.registration import most_held

    jobs, until = queue.jobs, observed.until
    if until is None or observed.waiting is None or observed.running is None:
        return queue, None
    starts = np.full(len(jobs), np.nan) if jobs.start is None else jobs.start
    starts = np.where(observed.waiting, np.inf, starts)
    known = ~np.isnan(starts)
    run = np.where(observed.running, np.fmax(jobs.run, until - starts + 1.0), jobs.run)
    jobs = dataclasses.replace(jobs, run=run)
    queue, starts = queue.with_jobs(jobs.take(known)), starts[known]
    begun = np.flatnonzero(np.isfinite(starts))
    most = most_held(queue.jobs.take(begun), starts[begun]) if len(begun) else 0
    if most > queue.servers:
        expected = f"at least {most}: as many processors are held at a time"
        raise InputError(expected, found=str(queue.servers), parameter="servers")
    return queue, starts


def expect_within(at: float, first: float, last: float, observed: Observed) -> None:
    """Raise `InputError` about a time before or after a log."""
    if first <= at <= last:
        return
    dates = observed.dates
    has_clock = dates is not None and isfinite(at)
    low, high, found = (
        f"{dates.at(time):%Y-%m-%dT%H:%M:%S}" if dates and has_clock else f"{time:.12g}"
        for time in (first, last, at)
    )
    words = ", when it was written" * (observed.until is not None)
    raise InputError(f"a time of the log, from {low} to {high}{words}", found=found, parameter="at")


def replay_options(
    queue: Instance, policy: str, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return which estimates a policy for logs plans with, and its own options."""
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES, OPTIONS
    from schedopt.policies.registry import registered

    if queue.log is None:
        raise InputError("an instance of a log", found="an instance of classes")
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


def best_policy(queue: Instance, seconds: float | None = None) -> Bracketed:
    """Return the best of all policies for logs, in their settings; no bounds yet."""
    from schedopt.policies.msfq.logs.registration import replay_log

    jobs, began = queue.jobs, now()
    weights = jobs.need * jobs.run
    of = None if queue.objective == "mean" else weights
    tried: dict[str, float] = {}
    best: Floats | None = None
    for name, own in settings(queue):
        if tried and seconds is not None and now() - began > seconds / 3:
            break
        starts = replay_log(queue, name, **{"estimates": "given", **own})
        value = float(np.average(starts + jobs.run - jobs.submit, weights=of))
        if best is None or value < min(tried.values()):
            best = starts
        tried[" ".join([name, *(f"{key}={word}" for key, word in own.items())])] = value
    assert best is not None  # noqa: S101  there are policies
    response = best + jobs.run - jobs.submit
    return Bracketed(
        jobs=len(jobs),
        mean_response_time=float(response.mean()),
        weighted_response_time=float(weights @ response / weights.sum()),
        policy=min(tried, key=lambda label: tried[label]),
        policies=tried,
        bounds={},
        schedule=pack_starts(best),
    )


def settings(queue: Instance) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the policies that are tried on a log, each with the options that are not at default."""
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES

    for name, policy in LOG_POLICIES.items():
        believed = ["given", "exact"] if policy.plans and queue.jobs.estimated else ["exact"]
        fills = ["stop", "skip", "easy"] if "fill" in policy.options else ["stop"]
        for estimates, fill in product(believed, fills):
            own = {"estimates": estimates} if estimates == "exact" and policy.plans else {}
            yield name, own | ({"fill": fill} if fill != "stop" else {})
