"""Start-times: when the jobs that wait at a time will start."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from schedopt.formats import number
from schedopt.instances.errors import InputError, shown
from schedopt.instances.protocol import AnyInstance
from schedopt.instances.starts import StartTimes
from schedopt.instances.times import Dates
from schedopt.problems import problem_of


def start_times(
    queue: AnyInstance,
    at: float | str,
    policy: str = "easy",
    *,
    level: float = 0.9,
    model: str = "history",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> StartTimes:
    """Return an interval for the start of each job that waits at a time, under a policy.

    Until then the log is played by the same policy. Run times are drawn from how long jobs have run
    that have ended by then; intervals are calibrated on starts before then.

    Parameters
    ----------
    queue : Instance
        Of a log.
    at : float or str
        The time, in the log's unit; or a date, by the clock of the log's ``start`` if it has no
        offset of its own.
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
    StartTimes
        A row for each waiting job in the order of submission.
    """
    given = {"level": level, "model": model, "options": options or {}, "seed": seed}
    time = time_of(at, queue) if isinstance(at, str) else at
    return problem_of(queue).start_times(queue, time, policy, **given)


def time_of(text: str, queue: AnyInstance) -> float:
    """Return a time in a log's unit, of a number or a date; `InputError` if it is neither."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        expected = "a number in the log's unit, or a date such as 2026-11-22T14:00"
        raise InputError(expected, found=shown(text), place="at") from None
    start = getattr(queue, "start", None)
    if start is None:
        sets = "it has no `start`, as `convert --option timezone=ZONE` sets"
        expected = f"a number in the log's unit: {sets}"
        raise InputError(expected, found=shown(text), place="at")
    zero = Dates.of(start)
    return zero.since(moment if moment.tzinfo else moment.replace(tzinfo=zero.start.tzinfo))


def clock(queue: AnyInstance) -> Callable[[float], str]:
    """Return what writes times of a log: by the clock where its start is known."""
    start = getattr(queue, "start", None)
    return number if start is None else Dates.of(start).told
