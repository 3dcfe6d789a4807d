"""Check-starts: whether another simulator starts each job of a log when a policy does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances.errors import InputError
from schedopt.instances.files import load
from schedopt.policies import from_file
from schedopt.problems import problem_of
from schedopt.verbs.convert import convert

if TYPE_CHECKING:
    from schedopt.instances.protocol import AnyInstance
    from schedopt.instances.starts import WrongStart
    from schedopt.instances.tables import Source

AS_IT_IS = {"as": "jobs", "zero": "one", "overrun": "keep"}
"""How a plain log is read."""
CHANGED = ("left out", "put in order")
"""Words of the converter's where rows would no longer keep their numbers."""


def check_starts(
    queue: AnyInstance,
    starts: Source,
    policy: str = "easy",
    *,
    options: Mapping[str, Any] | None = None,
    policy_files: Iterable[str | Path] = (),
) -> WrongStart | None:
    """Return the first job in time that does not start when a policy starts it, and why.

    Parameters
    ----------
    queue : Instance
        Of a log.
    starts : path or frame
        A table with the columns ``job``, by row from 0 or by name where the log has names, and
        ``start``, in the log's unit. Instead of the latter it may have one of the policy's name.
    policy : str
        One of those that replay logs.
    options : mapping, optional
        The policy's own, such as ``estimates``.
    policy_files : iterable of paths
        Python files that register policies; they are run.

    Returns
    -------
    WrongStart or None
        None where every start is the policy's, to a millionth of the log's unit.
    """
    for path in policy_files:
        from_file.load(from_file.read(path))
    return problem_of(queue).wrong_start(queue, starts, policy, options)


def log_of(
    path: str | Path, servers: int | None = None, tell: Callable[[str], None] | None = None
) -> AnyInstance:
    """Return the instance in a file, or of a plain log (.csv, .swf) and a number of servers.

    A plain log is taken as it is: a job that cannot be replayed is an error, but for run times of
    0, which are taken to be 1, and estimates that are too short, which are kept.
    """
    plain = Path(path).name.lower().removesuffix(".gz").endswith((".csv", ".swf"))
    if not plain:
        if servers is not None:
            raise InputError("none, with an instance", found=str(servers), place="--servers")
        return load(path)
    if servers is None and ".swf" not in Path(path).name.lower():  # whose header may say it
        expected = "how many processors the machine of a plain log has"
        raise InputError(expected, found="nothing", place="--servers")
    machine = {} if servers is None else {"processors": servers}
    made = convert(path, options=AS_IT_IS | machine, tell=tell)
    if any(words in (made.description or "") for words in CHANGED):
        expected = "jobs in order of submit, all of which can be replayed"
        raise InputError(expected, found=made.description, file=str(path))
    return made
