"""Policies for logs: their registration, and replays under them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError
from schedopt.instances.files import write_bytes
from schedopt.instances.msfq import Instance, Replayed
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.instances.msfq.site import Priority
from schedopt.instances.msfq.site import site as read_site
from schedopt.instances.options import Option, is_number, one_of, text
from schedopt.instances.tables import as_csv
from schedopt.policies.msfq.logs.replay import FILLS, Order, prepare
from schedopt.policies.msfq.summary import SLOWDOWN_BOUND, measure
from schedopt.policies.registry import NotApplicableError, Policy, register

OPTIONS = {
    "starts": Option(
        None,
        "a .csv to write, with the columns job and start",
        lambda v: isinstance(v, str) and v.endswith(".csv"),
        written=True,
    ),
    "slowdown_bound": Option(SLOWDOWN_BOUND, "a number above 0", lambda v: is_number(v) and v > 0),
}
"""The options of every policy for logs."""

ESTIMATES = Option(None, "given or exact", lambda v: v in ("given", "exact"))
"""The option of policies that plan: by default given if the log has estimates, else exact."""


@dataclass(frozen=True)
class LogPolicy:
    """A policy for logs: ``order`` makes its order from its options, and it may use estimates."""

    order: Callable[..., Order]
    summary: str = ""
    source: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    plans: bool = True


def run(
    name: str,
    queue: Instance,
    *,
    estimates: str | None = None,
    starts: str | None = None,
    slowdown_bound: float = SLOWDOWN_BOUND,
    **own: Any,
) -> Replayed:
    """Replay a log under a policy, and return the measures; see the options of the policy.

    `NotApplicableError` if there is no log, or it lacks a column that the policy requires.
    """
    if queue.log is None:
        raise NotApplicableError(f"{name} replays logs, but this instance has classes of jobs")
    believed, note = _planning_estimates(queue, LOG_POLICIES[name], estimates)
    times = replay_log(queue, name, believed, **own)
    write_starts(times, starts, queue)
    return measure(queue, times, slowdown_bound=slowdown_bound, estimates=believed, note=note)


def replay_log(queue: Instance, name: str, estimates: str = "exact", **own: Any) -> Floats:
    """Return the start of each job of a log under a policy, shape (jobs,).

    `NotApplicableError` if the log lacks a column that the policy requires.
    """
    policy = LOG_POLICIES[name]
    order = policy.order(**own)
    order.expect_suits(queue)
    released, released_rows = queue.as_released()
    starts = np.empty(len(released_rows))
    for _, rows, part in released.parts():
        planned = part.jobs.planned(estimates if policy.plans else "exact")
        replay = prepare(part.jobs, part.servers, order, planned, part.amounts)
        starts[released_rows[rows]] = replay.run()
    return starts


def recorded(
    queue: Instance, *, starts: str | None = None, slowdown_bound: float = SLOWDOWN_BOUND
) -> Replayed:
    """Return the measures of a log at the start times that it records.

    `NotApplicableError` if there is no log, or a job has no recorded start.
    """
    if queue.log is None:
        raise NotApplicableError("recorded measures logs, but this instance has classes of jobs")
    jobs = queue.jobs
    if jobs.start is None:
        raise NotApplicableError("this log has no start times")
    if (unknown := np.isnan(jobs.start)).any():
        name = jobs.job_names()[int(np.argmax(unknown))]
        reason = f"{int(unknown.sum())} jobs have no start in the log, the first is {name}"
        leave_out = "sacct -s CD,CA,F,TO,NF,OOM,DL leaves out jobs that wait or run"
        raise NotApplicableError(f"{reason} ({leave_out})")
    write_starts(jobs.start, starts, queue)
    return measure(queue, jobs.start, slowdown_bound=slowdown_bound, note=_overfull(queue))


def most_held(jobs: Jobs, starts: Floats) -> int:
    """Return the largest number of servers in use; at each time ends precede starts."""
    need = jobs.need.astype(np.int64)
    order = np.lexsort((np.repeat([0, 1], len(jobs)), np.append(starts + jobs.run, starts)))
    return int(np.cumsum(np.append(-need, need)[order]).max())


def _overfull(queue: Instance) -> str:
    for name, _, part in queue.parts():
        jobs = part.jobs
        most = most_held(jobs, jobs.released if jobs.start is None else jobs.start)
        if most > part.servers:
            where = f" of partition {name}" * bool(name)
            return f"up to {most} of {part.servers} servers{where} are in use at the same time"
    return ""


def _planning_estimates(queue: Instance, policy: LogPolicy, asked: str | None) -> tuple[str, str]:
    if not policy.plans:
        return "none", ""
    jobs = queue.jobs
    if asked == "given" and not jobs.estimated:
        raise NotApplicableError("estimates=given: this log has no estimates; use estimates=exact")
    if asked == "exact" or not jobs.estimated:
        return "exact", "" if asked else "the log has no estimates: run times are known exactly"
    notes = []
    if jobs.estimate is not None and (none := int(np.isnan(jobs.estimate).sum())):
        notes.append(f"{none} jobs without an estimate are planned with their run times")
    if jobs.overrun:
        notes.append(f"so are {jobs.overrun} jobs that ran longer than their estimates")
    return "given", "; ".join(notes)


def write_starts(starts: Floats, target: str | None, queue: Instance) -> None:
    """Write the start of each job, by name or row; raise `InputError` if the target is the log."""
    if target is None:
        return
    if Path(target).name == queue.log:
        expected = "a file other than the log"
        raise InputError(expected, found=target, place="option starts")
    rows = zip(queue.jobs.job_names(), starts.tolist(), strict=True)
    cells = ((job, repr(start).removesuffix(".0")) for job, start in rows)
    write_bytes(target, as_csv(("job", "start"), cells).encode())


EASY = (
    "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995; as in Mu'alem and Feitelson, IEEE TPDS 12"
    ", 2001"
)
TUNING = "Lelong, Reis and Trystram, Tuning EASY-Backfilling Queues, JSSPP 2017"
FILL = {"fill": one_of("stop", FILLS)}


def _weighted_order(priority: str | None = None) -> Order:
    site = Priority() if priority is None else read_site(priority)
    return Order("weighted", site.backfill, priority=site)


LOG_POLICIES: dict[str, LogPolicy] = {
    "fcfs": LogPolicy(partial(Order, "arrival", "stop"), plans=False),
    "first-fit": LogPolicy(partial(Order, "arrival", "skip"), plans=False),
    "msf": LogPolicy(partial(Order, "widest", "skip"), plans=False),
    "easy": LogPolicy(
        partial(Order, "arrival", "easy"),
        "FCFS with backfilling: jobs may pass the first if by plan they do not delay it",
        EASY,
    ),
    "easy-sjbf": LogPolicy(
        partial(Order, "arrival", "easy", "shortest"),
        "EASY in which the shortest jobs backfill first",
        "Tsafrir, Etsion and Feitelson, IEEE TPDS 18, 2007",
    ),
    "conservative": LogPolicy(
        partial(Order, "conservative"),
        "a reservation for every job, which is kept or moved to an earlier time",
        "Feitelson and Weil, IPPS 1998; compression as in Mu'alem and Feitelson, IEEE TPDS 12",
    ),
    "sjf": LogPolicy(
        partial(Order, "shortest"), "the shortest job by estimate first", f"{TUNING}, as SPF", FILL
    ),
    "saf": LogPolicy(
        partial(Order, "smallest"),
        "the smallest area, servers times estimate, first",
        f"{TUNING}, as SAF",
        FILL,
    ),
    "ljf": LogPolicy(
        partial(Order, "longest"), "the longest job by estimate first", f"{TUNING}, as LPF", FILL
    ),
    "f1": LogPolicy(
        partial(Order, "f1"),
        "log10(estimate)·servers + 870·log10(submit), the least first",
        "Carastan-Santos and de Camargo, SC 2017, section 4.2; times in seconds",
        FILL,
    ),
    "wfp3": LogPolicy(
        partial(Order, "wfp3"),
        "(wait / estimate)^3·servers, the most first",
        "Tang, Lan, Desai and Buettner, IEEE Cluster 2009",
        FILL,
    ),
    "weighted": LogPolicy(
        _weighted_order,
        "a site's own priorities: a weighted sum of factors, with or without backfilling",
        "Slurm, Multifactor Priority Plugin, classic fair share; logarithms as in F1",
        {"priority": text("a file of weights, or the JSON itself")},
    ),
}
"""All policies for logs by name; the first three are registered as policies for classes."""

register(
    Policy(
        name="recorded",
        problem="msfq",
        run=recorded,
        source="the log itself",
        summary="the site's own schedule: each job starts at its recorded time",
        options=dict(OPTIONS),
        suits="beside",
    )
)
for _name, _policy in LOG_POLICIES.items():
    if _policy.summary:
        register(
            Policy(
                name=_name,
                problem="msfq",
                run=partial(run, _name),
                source=_policy.source,
                summary=_policy.summary,
                options={**_policy.options, **OPTIONS, "estimates": ESTIMATES},
                suits="beside",
            )
        )
