"""The verbs of logs: start-times, check-starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.app import verb
from schedopt.cli.options import File, Text
from schedopt.instances.errors import printable
from schedopt.instances.options import split
from schedopt.verbs import starts as predicting


@verb("schedopt start-times log.json --at 86400 --policy easy", name="start-times")
def start_times(
    file: Annotated[
        Path, Argument(help="An instance of a log, or a plain log (sacct -XP, .csv, .swf).")
    ],
    at: Annotated[
        str, Option(help="The time of the prediction: now, 2026-11-22T14:00, or a number.")
    ],
    policy: Annotated[
        str, Option(help="A policy for logs: see `schedopt list policies`.")
    ] = "easy",
    json: shared.Json = False,
    output: Annotated[File, Option("--output", "-o", help="Write the start times as .csv.")] = None,
    job: Annotated[Text, Option(help="Predict the start of this waiting job only.")] = None,
    servers: Annotated[int | None, Option(help="The processors of a plain log.")] = None,
    level: Annotated[
        float,
        Option(
            help="The probability that a start lies in its interval.",
            parser=shared.number,
            metavar="<float>",
        ),
    ] = 0.9,
    model: Annotated[str, Option(help="Source of run times: history or requested.")] = "history",
    option: shared.Options = None,
    seed: Annotated[int, Option(help="The random seed of the scenarios.")] = 0,
) -> None:
    """Predict when the waiting jobs of a log will start, with intervals.

    The log may be an export of a cluster with waiting and running jobs, as sacct -XP prints it.
    Run times are drawn from the jobs that have ended, and the policy is simulated. Intervals are
    calibrated on earlier predictions, and are omitted if too few jobs have waited before.
    """
    import msgspec

    from schedopt import tables
    from schedopt.instances.csv_text import as_csv
    from schedopt.instances.files import write_bytes
    from schedopt.instances.starts import COLUMNS
    from schedopt.terminal.console import show
    from schedopt.terminal.results import MOST

    out.expect_writable(output, (".csv",), [file])
    answer = predicting.start_times(
        file,
        at,
        policy,
        job=job,
        servers=servers,
        level=level,
        model=model,
        options=split(option or ()),
        seed=seed,
        tell=out.say,
    )
    by_clock = answer.by_clock()
    is_instance = file.name.lower().removesuffix(".gz").endswith(".json")  # its unit is known
    rows = [msgspec.structs.asdict(row) for row in answer.rows] if is_instance else by_clock
    if output is not None:
        cells = ([row[name] for name in COLUMNS] for row in rows)
        write_bytes(output, as_csv(COLUMNS, cells).encode())
    if json:
        out.print_json(rows)
    elif output is None and rows:
        shown = ([row[name] for name in COLUMNS] for row in by_clock[: MOST.table])
        words = f", with {level:.0%} intervals" if answer.judged >= answer.needed else ""
        show(tables.Table.of(f"predicted starts{words}", map(tables.text, COLUMNS), shown))
        if len(rows) > MOST.table:
            out.say(f"... and {len(rows) - MOST.table:,} more; --output starts.csv has all")
    out.say(answer.in_words())


@verb("schedopt check-starts log.json starts.csv --policy easy", name="check-starts")
def check_starts(
    file: Annotated[Path, Argument(help="An instance of a log, or a plain log and --servers.")],
    starts: Annotated[
        Path, Argument(help="A table with columns job (a name, or a row from 0) and start.")
    ],
    policy: Annotated[
        str, Option(help="A policy that replays logs, such as fcfs or saf.")
    ] = "easy",
    servers: Annotated[int | None, Option(help="The processors of a plain log.")] = None,
    tolerance: Annotated[
        str, Option(help="Largest difference of a start: a number, or a time such as 60s.")
    ] = "0",
    option: shared.Options = None,
    policy_file: shared.PolicyFiles = None,
    json: shared.Json = False,
) -> None:
    """Check another simulator: compare its start times of a log with those of a policy.

    Exit status: 0 all start times agree, 1 one differs (the first of them and the reason are
    printed), 2 bad input.
    """
    queue: Any = predicting.log_of(file, servers, out.say)
    wrong = predicting.check_starts(
        queue,
        starts,
        policy,
        tolerance=tolerance,
        options=split(option or ()),
        policy_files=policy_file or (),
    )
    if json:
        out.print_json(wrong)
    elif wrong is None:
        print(printable(f"{policy}: all {len(queue.jobs):,} jobs start as they should"))
    else:
        print(printable(wrong.in_words()))
    raise Exit(0 if wrong is None else out.FAILED)
