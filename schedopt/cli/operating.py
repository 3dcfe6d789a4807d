"""The verbs of operation: replan, ready, start-times, check-starts, archive."""

import sys
from pathlib import Path
from typing import Any

import typer

from schedopt.cli import output as out
from schedopt.cli.common import app, split, verb
from schedopt.instances.errors import at_place, printable
from schedopt.verbs import ready as choosing
from schedopt.verbs import replan as replanning
from schedopt.verbs import starts as predicting


@verb("schedopt replan plan.json --at 23:30 --state state.csv -o new.json", replanning.replan)
def replan(
    plan: Path,
    *,
    at: str,
    state: Path | None = None,
    add: Path | None = None,
    instance: Path | None = None,
    output: list[Path] | None = None,
    template: str | None = None,
    report: Path | None = None,
    json: bool = False,
    **given: Any,
) -> None:
    """Plan the rest of a night again from what has happened, near what was planned.

    What runs keeps its processors until it ends, what is done is gone, shares count what was used.
    The new plan earns no less than the old one, continued, and with nothing new it is the same.
    Among plans that are as good it changes the fewest jobs.

    Exit status: as `plan`.

    Parameters
    ----------
    plan : The plan in hand: a plan document, as `plan` and `replan` write it (.json).
    at : The time of the state: now, a number in the night's unit, 6h, 02:00, or an ISO time.
    state : A CSV with columns job, status (done, running, failed, waiting, cancelled), and perhaps
        start, processors, end, pool, done; a row without a job says how many processors there are,
        or how many more or fewer (-4). Or what sacct -XP prints: then a .sh changes Slurm's queue.
    add : A table of new jobs, in the columns of the night's own.
    column : FIELD=TITLE: which column of that table is which; repeatable.
    missing : FIELD=VALUE: what an empty cell of that table means, or leave-out; repeatable.
    duplicates : What becomes of names that occur twice in that table: number, or refuse.
    stay : The part of the reward still to be earned that fewer changes may cost.
    instance : The night of a result that does not hold it; a plan document does.
    output : The plan as .csv, .parquet, .sh or .png; the plan document as .json; repeatable.
    report : An .html page of the plan: pictures, tables.
    """
    from schedopt.cli.solving import deliver_plan, expect_plan_files
    from schedopt.terminal.progress import live
    from schedopt.terminal.results import replanned as show

    outputs = output or []
    files = [plan, *(one for one in (state, add, instance) if one), *given["constraints"]]
    expect_plan_files(outputs, None, report, files, template)
    with live(plan.name) as watch:
        made = replanning.replan(
            plan, at=at, state=state, add=add, instance=instance, watch=watch, **given
        )
    for note in made.notes:
        out.say(note)
    deliver_plan(made, lambda: show(made), outputs, report, template, json=json)


@verb("schedopt report-night plan.json sacct.txt --output night.png", name="report-night")
def report_night(
    plan: Path, sacct: Path, *, json: bool = False, output: list[Path] | None = None
) -> None:
    """Say what became of a plan on Slurm: planned and real times of each job, and lateness.

    The plan was carried out by the template slurm. A job is late if it ended after its deadline;
    a job that is not done has failed, still runs, or still waits.

    Exit status: 0 the report is made, 2 bad input.

    Parameters
    ----------
    plan : The plan, as plan --output plan.json writes it.
    sacct : What sacct -XP --format=JobID,JobName,State,Start,End printed.
    output : The report as .csv or .json, or its picture as .png; repeatable.
    """
    from schedopt.terminal.results import carried_out as show
    from schedopt.verbs import report_night as reporting

    for path in output or ():
        out.expect_writable(path, reporting.FORMATS, [plan, sacct])
    report = reporting.report_night(plan, sacct)
    for path in output or ():
        reporting.write(report, path)
        out.say(f"wrote {path}")
    out.print_json(reporting.document(report)) if json else show(report)


@verb("schedopt ready jobs.csv --capacity cores=500,mem_gb=2000 --order priority,cores")
def ready(
    file: Path,
    *,
    capacity: str,
    order: str,
    time_limit: float | None = None,
    json: bool = False,
) -> None:
    """Say which of the jobs that are ready start now: the best by the order, proven.

    The table has a column name, those of the order, and one for each resource. The first of the
    order is maximized alone; the next among what is best for those before it. The names of the
    jobs that start are printed, one on each line.

    Parameters
    ----------
    file : A CSV or JSON lines; - is standard input.
    capacity : What is free: NAME=AMOUNT,...
    order : Columns whose sums are maximized, the first first: NAME,...
    """
    goals = [name.strip() for name in order.split(",")]
    room = choosing.amounts(capacity)
    with at_place(file="standard input" if str(file) == "-" else None):
        answer = choosing.ready(_source_of(file), room, goals, time_limit=time_limit)
    if json:
        out.print_json(answer)
        return
    for name in answer.start:
        print(printable(name))
    sums = zip(goals, answer.objectives, strict=True)
    totals = ", ".join(f"{goal} {value:,.10g}" for goal, value in sums)
    proven = "proven" if answer.proven else "not proven"
    out.say(f"{len(answer.start):,} start: {totals}; {proven}, {answer.seconds * 1000:.0f} ms")


def _source_of(file: Path) -> Path | bytes:
    """Return the source of a table: ``-`` is standard input."""
    return sys.stdin.buffer.read() if str(file) == "-" else file


@verb(
    "schedopt start-times log.json --at 86400 --policy easy",
    predicting.start_times,
    name="start-times",
)
def start_times(
    file: Path,
    *,
    at: str,
    policy: str = "easy",
    json: bool = False,
    output: Path | None = None,
    **given: Any,
) -> None:
    """Say when each job of a log that waits at a time will start, by an interval.

    The log may be the export of a cluster in which jobs wait and run, such as sacct -XP prints.
    Run times are drawn from those of jobs that have ended by then, and the policy is played on;
    intervals are calibrated on how well they would have held before, and not printed where too few
    jobs have waited for that.

    Parameters
    ----------
    file : An instance of a log, or a plain log (sacct -XP, .csv, .swf), with --servers.
    at : The time: now, a date such as 2026-11-22T14:00, or a number in the log's own unit.
    policy : One of those that replay logs.
    level : How probable it is to be that a start lies in its interval.
    model : Of run times: history, or requested.
    seed : Of the scenarios that are drawn.
    output : A .csv to write.
    """
    import msgspec

    from schedopt import tables as column
    from schedopt.instances.csv_text import as_csv
    from schedopt.instances.files import write_bytes
    from schedopt.instances.starts import COLUMNS
    from schedopt.terminal.console import show
    from schedopt.terminal.results import ROWS

    out.expect_writable(output, (".csv",), [file])
    answer = predicting.start_times(file, at, policy, tell=out.say, **given)
    by_clock = answer.by_clock()
    is_instance = file.name.lower().removesuffix(".gz").endswith(".json")  # its unit is known
    rows = [msgspec.structs.asdict(row) for row in answer.rows] if is_instance else by_clock
    if output is not None:
        cells = ([row[name] for name in COLUMNS] for row in rows)
        write_bytes(output, as_csv(COLUMNS, cells).encode())
    if json:
        out.print_json(rows)
    elif output is None:
        shown = ([row[name] for name in COLUMNS] for row in by_clock[:ROWS])
        heads = map(column.text, COLUMNS)
        words = f", at {given['level']:.0%}" * (answer.judged >= answer.needed)
        show(column.Table.of(f"starts{words}", heads, shown))
        if len(rows) > ROWS:
            out.say(f"... and {len(rows) - ROWS:,} more; --output starts.csv has all")
    out.say(answer.in_words())


@verb("schedopt check-starts log.json starts.csv --policy easy", name="check-starts")
def check_starts(
    file: Path,
    starts: Path,
    *,
    policy: str = "easy",
    servers: int | None = None,
    tolerance: str = "0",
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
    starts : A table with the columns job (its name, or its row from 0) and start.
    policy : One of those that replay logs, such as fcfs, easy, conservative or saf.
    servers : How many processors the machine of a plain log has.
    tolerance : How far from the policy's a start may be: a number in the log's unit, or 60s.
    """
    from schedopt.verbs.starts import check_starts as run
    from schedopt.verbs.starts import log_of

    queue: Any = log_of(file, servers, out.say)
    files, own = policy_file or (), split(option or ())
    wrong = run(queue, starts, policy, tolerance=tolerance, options=own, policy_files=files)
    if json:
        out.print_json(wrong)
    elif wrong is None:
        print(printable(f"{policy}: all {len(queue.jobs):,} jobs start as they should"))
    else:
        print(printable(wrong.in_words()))
    raise typer.Exit(0 if wrong is None else out.FAILED)


archive = typer.Typer(
    help="Frozen sets of instances with best known values: list, show, verify.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(archive, name="archive")


@verb("schedopt archive list", of=archive, name="list")
def list_(*, json: bool = False) -> None:
    """List the groups: how many instances are proven, and how many are open."""
    from schedopt.terminal import listings
    from schedopt.verbs.archive import list_groups

    groups = list_groups()
    out.deliver(groups, lambda: listings.archive_groups(groups), json=json)


@verb("schedopt archive show epoch-planted-16x4", of=archive)
def show(name: str, *, json: bool = False) -> None:
    """Show a group's instances with what is known of each, or all that is known of one.

    A file of a group is printed as it is: the files of an instance are listed with it.

    Parameters
    ----------
    name : A group, an instance as GROUP/NAME, or a file of a group as `files` names it.
    """
    from schedopt.terminal import listings
    from schedopt.verbs.archive import describe, read_file

    text = read_file(name)
    if text is not None:
        sys.stdout.buffer.write(text)
        return
    entries = describe(name)
    out.deliver(entries, lambda: listings.archive_entries(entries), json=json)


@verb("schedopt archive verify hesrpt-unequal-8", of=archive)
def verify(names: list[str] | None = None, *, json: bool = False) -> None:
    """Recompute solutions and re-prove bounds from the files, without any solver.

    Exit status: 0 all of it holds, 1 an entry does not (which, and why, in a line), 2 bad input.

    Parameters
    ----------
    names : Groups, or instances as GROUP/NAME; all of them.
    """
    from schedopt.terminal import listings
    from schedopt.terminal.progress import bar
    from schedopt.verbs.archive import verify_entries

    with bar("entries") as progress:
        verdicts = list(verify_entries(names or (), progress))
    out.deliver(verdicts, lambda: listings.archive_verdicts(verdicts), json=json)
    raise typer.Exit(out.FAILED if any(verdict.wrong for verdict in verdicts) else out.FOUND)
