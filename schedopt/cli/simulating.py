"""The verb that checks another simulator against a policy."""

from pathlib import Path
from typing import Any

import typer

from schedopt.cli.common import FAILED, say, split, verb
from schedopt.instances.errors import printable


@verb("schedopt check-starts log.json starts.csv --policy easy", name="check-starts")
def check_starts(
    file: Path,
    starts: Path,
    *,
    policy: str = "easy",
    servers: int | None = None,
    option: list[str] | None = None,
    policy_file: list[Path] | None = None,
    json: bool = False,
) -> None:
    """Check another simulator: whether it starts each job of a log when the policy does.

    Exit status: 0 every start is the policy's, 1 one is not (the first in time, what the policy
    does with it, and why, are printed), 2 bad input.

    Parameters
    ----------
    file : An instance of a log, or a plain log (.csv, .swf), with --servers.
    starts : A table with the columns job (its row from 0, or its name) and start.
    policy : One of those that replay logs, such as fcfs, easy, conservative or saf.
    servers : How many processors the machine of a plain log has.
    """
    from schedopt.cli.common import print_json
    from schedopt.verbs.check_starts import check_starts as run
    from schedopt.verbs.check_starts import log_of

    queue: Any = log_of(file, servers, say)
    wrong = run(queue, starts, policy, options=split(option or ()), policy_files=policy_file or ())
    if json:
        print_json(wrong)
    elif wrong is None:
        print(printable(f"{policy}: all {len(queue.jobs):,} jobs start as they should"))
    else:
        print(printable(wrong.told()))
    raise typer.Exit(0 if wrong is None else FAILED)
