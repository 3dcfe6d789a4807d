"""Why a job of a log started no earlier under a policy, in words and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from schedopt import tables as column
from schedopt.instances.errors import InputError, listing, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import checked
from schedopt.instances.starts import Because, WrongStart, read_starts
from schedopt.instances.tables import Source
from schedopt.tables import Table

MOST_ROWS = 20


def explain_start(queue: Instance, job: str, policy: str, *, options: Mapping[str, Any]) -> Because:
    """Return why a job waited, as `schedopt.explain_start` says."""
    from schedopt.policies.msfq.logs.explanation import explain_wait

    estimates, own = replay_options(queue, policy, options)
    return explain_wait(queue, policy, _row(queue, job), estimates, own)


def wrong_starts(
    queue: Instance, starts: Source, policy: str, options: Mapping[str, Any] | None = None
) -> list[WrongStart]:
    """Return the first start that is not the policy's, if any is: see `schedopt.check_starts`."""
    from schedopt.policies.msfq.logs.start_check import first_wrong_start

    estimates, own = replay_options(queue, policy, options or {})
    names = queue.jobs.name
    known = None if names is None else names.tolist()
    times = read_starts(starts, known, len(queue.jobs), policy)
    wrong = first_wrong_start(queue, policy, np.array(times), estimates, own)
    return [] if wrong is None else [wrong]


def replay_options(
    queue: Instance, policy: str, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return which estimates a policy for logs plans with, and its own options."""
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES, OPTIONS
    from schedopt.policies.registry import registered

    if queue.log is None:
        raise InputError("an instance of a log", found="one of classes")
    known = registered("msfq")
    if policy not in LOG_POLICIES:
        raise InputError(f"a policy that replays logs{listing(LOG_POLICIES)}", found=shown(policy))
    given = checked(options, known[policy].options, policy)
    asked = given.pop("estimates", None)
    if asked == "given" and not queue.jobs.estimated:
        raise InputError("a log with estimates", found="none", place="option estimates")
    exact = asked == "exact" or not queue.jobs.estimated
    beside = known[policy].suits == "beside"  # else its options are of random arrivals
    own = {key: value for key, value in given.items() if beside and key not in OPTIONS}
    return "exact" if exact else "given", own


def _row(queue: Instance, job: str) -> int:
    """Return the row of a job by its name, or its number from 0."""
    names = queue.jobs.name
    known = None if names is None else names.tolist()
    if known is not None and job in known:
        return int(known.index(job))
    if not (known is None and job.isdecimal() and int(job) < len(queue.jobs)):
        expected = f"a row from 0 to {len(queue.jobs) - 1}" if known is None else "a job's name"
        raise InputError(expected, found=shown(job), place="job")
    return int(job)


def lines(found: Because) -> Iterator[str]:
    """Yield what there is to say, beside the table."""
    waited, alone = found.start - found.submit, found.alone - found.submit
    yield (
        f"{found.job}: {found.need:,} servers, planned {found.planned:,.6g}; came at "
        f"{found.submit:,.8g}, started at {found.start:,.8g} under {found.policy}, "
        f"after {waited:,.6g}"
    )
    yield (
        f"{found.running:,} jobs on {found.held:,} servers ran when it came; had nobody started "
        f"since, it would have started after {alone:,.6g}"
    )
    one = found.first
    if one is None:
        yield "what an earlier start would have cost is not known under this policy"
        return
    yield (
        f"first in line from its submit on, it would have started after "
        f"{one.start - found.submit:,.6g}: {one.later:,} others later by {one.delay:,.6g} "
        f"together (at most {one.longest:,.6g}, {one.most_delayed}), others sooner by "
        f"{one.gain:,.6g}; "
        f"the mean response time of all would have changed by {one.change:+,.4g}"
    )


def table(found: Because) -> Table:
    """Return the jobs that ran in its place, the largest server-time first."""
    ordered = sorted(found.in_its_place, key=lambda one: -one.held)
    rows = (
        (one.job, one.start, one.need, one.held, one.rule, one.why) for one in ordered[:MOST_ROWS]
    )
    more = "" if len(ordered) <= MOST_ROWS else f" ({MOST_ROWS} of {len(ordered):,})"
    columns = (
        column.text("job"),
        column.number("start"),
        column.count("servers"),
        column.number("held"),
        column.text("rule"),
        column.text("why"),
    )
    return Table.of(f"in its place{more}", columns, rows)
