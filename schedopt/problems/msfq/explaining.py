"""Starts of jobs of a log held against a policy that replays it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedopt.instances.errors import InputError, listing, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import checked
from schedopt.instances.starts import WrongStart, read_starts
from schedopt.instances.tables import Source


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
