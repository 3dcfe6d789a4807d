"""When the jobs of a log that wait will start, under a policy that replays it."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from schedopt.instances.errors import InputError, expect, listing, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.starts import Start, Told


def start_times(
    queue: Instance,
    at: float,
    policy: str,
    *,
    level: float,
    model: str,
    options: Mapping[str, Any],
    seed: int,
) -> Told:
    """Return the starts of who waits, as `schedopt.start_times` says."""
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES, started
    from schedopt.policies.msfq.logs.runtimes import MODELS
    from schedopt.policies.msfq.logs.snapshot import Snapshot
    from schedopt.policies.msfq.logs.start_times import start_times as predicted
    from schedopt.policies.registry import registered

    if queue.log is None:
        raise InputError("an instance of a log", found="one of classes")
    queue.expect_servers_alone("start-times")
    registered("msfq")  # which imports them
    if policy not in LOG_POLICIES:
        raise InputError(f"a policy that replays logs{listing(LOG_POLICIES)}", found=shown(policy))
    if model not in MODELS:
        raise InputError(f"a model{listing(MODELS)}", found=shown(model), place="model")
    expect(0 < level < 1, "a number between 0 and 1", level, "level")
    expect(isfinite(at), "a time in the log's unit", at, "at")

    def play(log: Instance) -> Any:
        return started(log, policy, "given" if log.jobs.estimated else "exact", **options)

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
