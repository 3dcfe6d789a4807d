"""What there is to say about a result of msfq: the threshold, and response times by class."""

from __future__ import annotations

import msgspec

from instances.msfq import Instance
from instances.msfq.answers import Answer, ClassTime, Simulated, Thresholded
from schedopt.formats import number
from schedopt.problems.shown import Lines, ShownTable, Tables
from solvers.result import Result

MOST = 40
"""Classes of the table."""

TAIL = "99"
"""The percentile that is shown where it was measured."""


def lines(queue: Instance, result: Result[Answer]) -> Lines:
    """Yield the threshold, where the result has one, and both response times over all jobs."""
    found = result.solution
    if found is None:
        return
    if isinstance(found, Thresholded | Simulated) and found.threshold is not msgspec.UNSET:
        yield "threshold", str(found.threshold)
    yield "mean response time", number(found.mean_response_time)
    yield "weighted by load", number(found.weighted_response_time)


def tables(queue: Instance, result: Result[Answer]) -> Tables:
    """Yield the response time of each class."""
    if result.solution is None:
        return
    classes = result.solution.classes
    rows = tuple(_row(entry) for entry in classes[:MOST])
    more = f" (the first {MOST} of {len(classes):,} classes)" if len(classes) > MOST else ""
    heads = ("servers needed", "mean response time", "95% interval", f"{TAIL}th percentile")
    yield ShownTable(title=f"by class{more}", heads=heads, rows=rows)


def _row(entry: ClassTime) -> tuple[str, str, str, str]:
    tail = (entry.percentiles or {}).get(TAIL)
    return (
        f"{entry.need:,}",
        "no jobs counted" if entry.mean_response_time is None else number(entry.mean_response_time),
        f"± {number(entry.confidence)}" if entry.confidence else "",
        "" if tail is None else number(tail),
    )
