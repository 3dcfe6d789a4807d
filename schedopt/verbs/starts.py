"""Start times of jobs of a log: the verbs that check and predict them."""

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
"""Options with which a plain log is read."""


def check_starts(
    queue: AnyInstance,
    starts: Source,
    policy: str = "easy",
    *,
    tolerance: float | str = 0.0,
    options: Mapping[str, Any] | None = None,
    policy_files: Iterable[str | Path] = (),
) -> WrongStart | None:
    """Return the first job that does not start when a policy starts it, and the reason.

    Parameters
    ----------
    queue : Instance
        The instance of a log.
    starts : path or frame
        A table with the columns ``job`` (the name, or the row from 0 if the log has no names) and
        ``start``, in the log's unit. The second column may instead have the policy's name.
    policy : str
        The name of a policy that replays logs.
    tolerance : float or str
        The largest allowed difference: a number in the log's unit, or a time such as 60s.
    options : mapping, optional
        Options of the policy, such as ``estimates``.
    policy_files : iterable of paths
        Python files that register policies; they are run.

    Returns
    -------
    WrongStart or None
        None if every start is that of the policy, within the tolerance or a millionth of the log's
        unit.

    Raises
    ------
    InputError
        If the table cannot be read, or the policy or an option is not valid.
    """
    for path in policy_files:
        from_file.load(from_file.read(path))
    allowed = tolerance_of(tolerance)
    return problem_of(queue).wrong_start(queue, starts, policy, options, allowed)


def tolerance_of(given: float | str) -> float:
    """Return a tolerance in the log's unit; a time such as 60s is for logs in seconds."""
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
    """Return the instance in a file, or that of a plain log on a number of servers.

    A job of a plain log that cannot be replayed is an error. Run times of 0 become 1, and estimates
    that are too short are kept.
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
            expected = "no number of servers: the instance has its own"
            raise InputError(expected, found=str(servers), parameter="servers")
        return None
    if servers is None and not name.endswith(".swf"):  # the header may have the number
        expected = "the number of processors of the machine of a plain log"
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
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> StartTimes:
    """Return prediction intervals for the starts of the jobs that wait at a time.

    Run times are drawn from those of jobs that have ended by then, and intervals are calibrated on
    earlier starts. Until then jobs start as in the export, if some jobs of it wait or run, or else
    as the policy starts them.

    Parameters
    ----------
    queue : Instance or path
        The instance of a log. A path may be that of a plain log, such as the output of
        ``sacct -XP``.
    at : float or str
        The time, in the log's unit; or a date, in the log's time zone if it has no offset; or
        ``now``, the time at which the export was written.
    policy : str
        The name of a policy that replays logs.
    job : str, optional
        The name of a waiting job; only its start is predicted.
    servers : int, optional
        The number of processors, for a plain log.
    level : float
        The probability that a start lies in its interval, between 0 and 1.
    options : mapping, optional
        Options of the policy.
    seed : int
        The random seed of the scenarios.
    tell : callable, optional
        Called with a line on the rows of a plain log that were read.

    Returns
    -------
    StartTimes
        A row for each waiting job, in the order of submission.

    Raises
    ------
    InputError
        If the log cannot be read, or an argument is not valid.
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
    asked = {"level": level, "options": options or {}, "seed": seed}
    return problem_of(queue).start_times(queue, time, policy, job=job, observed=observed, **asked)


def time_of(text: str, dates: Dates | None, until: float | None = None) -> float:
    """Return a number or a date as a time in the log's unit; `InputError` if it is neither.

    ``until`` is the time at which an export was written, which ``now`` denotes.
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
        expected = "a number in the log's unit: it has no `start`, which the option timezone sets"
        raise InputError(expected, found=quote(text), parameter="at")
    return dates.since(moment if moment.tzinfo else moment.replace(tzinfo=dates.start.tzinfo))
