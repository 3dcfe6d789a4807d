"""Starts of jobs of a log: whether they are a policy's, and when waiting jobs will start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import load
from schedopt.instances.starts import Observed, StartTimes
from schedopt.instances.times import NUMBER, Dates, seconds_of
from schedopt.policies import from_file
from schedopt.problems import problem_of

if TYPE_CHECKING:
    from schedopt.instances.msfq.log_converters import Reading
    from schedopt.instances.protocol import AnyInstance
    from schedopt.instances.starts import WrongStart
    from schedopt.instances.tables import Source


AS_IT_IS = {"zero": "one", "overrun": "keep"}
"""How a plain log is read."""


def check_starts(
    queue: AnyInstance,
    starts: Source,
    policy: str = "easy",
    *,
    tolerance: float | str = 0.0,
    options: Mapping[str, Any] | None = None,
    policy_files: Iterable[str | Path] = (),
) -> WrongStart | None:
    """Return the first job in time that does not start when a policy starts it, and why.

    Parameters
    ----------
    queue : Instance
        Of a log.
    starts : path or frame
        A table with the columns ``job``, by name (a job id) where the log has names or by row from
        0, and ``start``, in the log's unit. Instead of the latter it may have one of the policy's
        name.
    policy : str
        One of those that replay logs.
    tolerance : float or str
        How far from the policy's a start may be: a number in the log's unit, or a time such as 60s.
    options : mapping, optional
        The policy's own, such as ``estimates``.
    policy_files : iterable of paths
        Python files that register policies; they are run.

    Returns
    -------
    WrongStart or None
        None where every start is the policy's, within the tolerance or a millionth of the log's
        unit.
    """
    for path in policy_files:
        from_file.load(from_file.read(path))
    allowed = tolerance_of(tolerance)
    return problem_of(queue).wrong_start(queue, starts, policy, options, allowed)


def tolerance_of(given: float | str) -> float:
    """Return a tolerance in a log's unit; a time such as 60s is for logs in seconds."""
    expected = "a number of the log's unit, 0 or more, or a time such as 60s or 2m"
    if isinstance(given, str):
        seconds = seconds_of(given.strip())
        value = float(given) if NUMBER.fullmatch(given) else -1.0 if seconds is None else seconds
    else:
        value = given
    if not 0 <= value < inf:
        raise InputError(expected, found=quote(given), parameter="tolerance")
    return float(value)


def log_of(
    path: str | Path, servers: int | None = None, tell: Callable[[str], None] | None = None
) -> AnyInstance:
    """Return the instance in a file, or of a plain log and a number of servers.

    A plain log is taken as it is: a job that cannot be replayed is an error, but for run times of
    0, which are taken to be 1, and estimates that are too short, which are kept.
    """
    machine = _machine_of(path, servers)
    if machine is None:
        return load(path)
    queue, reading = _read_log(path, tell, **AS_IT_IS, **machine)
    if reading.left_out or reading.reordered:
        expected = "jobs in order of submit, all of which can be replayed"
        raise InputError(expected, found=queue.description, file=str(path))
    return queue


def _machine_of(path: str | Path, servers: int | None) -> dict[str, int] | None:
    """Return the options for the machine of a plain log, or None for an instance."""
    name = str(path).lower().removesuffix(".gz")
    is_named = ":" in name and "." not in name.rpartition("/")[2]  # example:small
    if is_named or name.endswith(".json"):
        if servers is not None:
            raise InputError("none, with an instance", found=str(servers), parameter="servers")
        return None
    if servers is None and not name.endswith(".swf"):  # whose header may say it
        expected = "how many processors the machine of a plain log has"
        raise InputError(expected, found="nothing", parameter="servers")
    return {} if servers is None else {"processors": servers}


def _read_log(
    path: str | Path, tell: Callable[[str], None] | None, **options: Any
) -> tuple[AnyInstance, Reading]:
    """Read a plain log; an error about an unknown machine names the parameter `servers`."""
    from schedopt.instances.msfq.log_converters import UnknownMachineError, read_log

    try:
        return read_log(path, tell, **options)
    except UnknownMachineError as error:
        raise InputError(error.expected, found=error.found, parameter="servers") from None


def start_times(
    queue: AnyInstance | str | Path,
    at: float | str,
    policy: str = "easy",
    *,
    job: str | None = None,
    servers: int | None = None,
    level: float = 0.9,
    model: str = "history",
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> StartTimes:
    """Return an interval for the start of each job that waits at a time, under a policy.

    Run times are drawn from how long jobs have run that have ended by then; intervals are
    calibrated on starts before then. Until then, jobs start as the export of a cluster says in
    which jobs wait or run, else as the policy starts them.

    Parameters
    ----------
    queue : Instance or path
        Of a log. A path may be that of a plain log, such as what ``sacct -XP`` prints.
    at : float or str
        The time, in the log's unit; or a date, by the clock of the log if it has no offset of its
        own; or ``now``, which is when an export was written.
    policy : str
        One of those that replay logs.
    job : str, optional
        The name of a job that waits: only its start is returned.
    servers : int, optional
        How many processors the machine of a plain log has.
    level : float
        How probable it is to be that a start lies in its interval, between 0 and 1.
    model : str
        Of run times: ``history``, or ``requested``.
    options : mapping, optional
        The policy's own.
    seed : int
        Of the scenarios that are drawn.
    tell : callable, optional
        Is called with a line on what became of the rows of a plain log.

    Returns
    -------
    StartTimes
        A row for each waiting job in the order of submission.
    """
    observed = Observed()
    if isinstance(queue, str | Path):
        path, machine = queue, _machine_of(queue, servers)
        if machine is None:
            queue = load(path)
        else:
            queue, (*_, observed) = _read_log(path, None, **machine)
            if tell is not None:
                tell(str(queue.description))
    if observed.dates is None and (start := getattr(queue, "start", None)) is not None:
        observed = observed._replace(dates=Dates.of(start))
    time = time_of(at, observed.dates, observed.until) if isinstance(at, str) else at
    asked = {"level": level, "model": model, "options": options or {}, "seed": seed}
    return problem_of(queue).start_times(queue, time, policy, job=job, observed=observed, **asked)


def time_of(text: str, dates: Dates | None, until: float | None = None) -> float:
    """Return a time in a log's unit, of a number or a date; `InputError` if it is neither.

    ``until`` is when an export was written, which is ``now``.
    """
    if text == "now" and until is not None:
        return until
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.now(UTC) if text == "now" else datetime.fromisoformat(text)
    except ValueError:
        expected = "now, a number in the log's unit, or a date such as 2026-11-22T14:00"
        raise InputError(expected, found=quote(text), parameter="at") from None
    if dates is None:
        sets = "it has no `start`, as `convert --option timezone=ZONE` sets"
        expected = f"a number in the log's unit: {sets}"
        raise InputError(expected, found=quote(text), parameter="at")
    return dates.since(moment if moment.tzinfo else moment.replace(tzinfo=dates.start.tzinfo))
