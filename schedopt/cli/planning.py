"""The verbs of a night and of a log: from plan to check-starts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import msgspec
from typer import Argument, Context, Exit, Option

from schedopt import tables
from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.options import File, Files, Text, Texts, app
from schedopt.cli.solving import write_page
from schedopt.instances.errors import InputError, at_place, printable
from schedopt.instances.files import write_bytes
from schedopt.instances.options import split
from schedopt.instances.starts import COLUMNS
from schedopt.instances.tables import as_csv
from schedopt.planning.farm import FLAGS, Settings
from schedopt.solvers.stopping import finishing, stopped
from schedopt.terminal import live, results, show
from schedopt.terminal.results import ROWS
from schedopt.verbs import carry as carrying
from schedopt.verbs import plan as planning
from schedopt.verbs import ready as choosing
from schedopt.verbs import replan as replanning
from schedopt.verbs import report_night as reporting
from schedopt.verbs import starts as predicting
from schedopt.verbs.load import read_constraints
from schedopt.verbs.script import read_template
from schedopt.verbs.solve import solve

OUTPUTS = ("output", "template", "report", "json")  # flags that are not keywords of the verb
PLANS = (*out.DOCUMENTS, ".csv", ".parquet", ".sh", ".png")  # endings of plans


@app.command(
    epilog="Example: schedopt plan jobs.csv --processors 30 --from 20:00 --until 06:00 "
    "--seats houdini=8 --cap team:fx=0.4 -o plan.csv"
)
def plan(
    context: Context,
    table: Annotated[Path, Argument(help="A table of jobs, an instance, or example:NAME.")],
    farm: Annotated[
        File, Option(help="A JSON file of settings for every night; flags override it.")
    ] = None,
    save_farm: Annotated[File, Option(help="Write the settings to this file.")] = None,
    past: Annotated[File, Option(help="Usage of earlier nights, as `carry` writes it.")] = None,
    output: shared.PlanFiles = None,
    template: shared.Template = None,
    report: shared.Report = None,
    json: shared.Json = False,
    processors: Annotated[int | None, Option(help="Processors of the machine.")] = None,
    from_: Annotated[Text, Option("--from", help="When the night starts.")] = None,
    until: Annotated[Text, Option(help="When jobs are due, after which nothing runs.")] = None,
    capacity: Annotated[
        Texts, Option(help="TIME=N: number of processors from then on; repeatable.")
    ] = None,
    seats: Annotated[
        Texts, Option(help="NAME=N: number of seats for a column seats:NAME; repeatable.")
    ] = None,
    resources: Annotated[
        Texts,
        Option(
            "--resource",
            help="NAME=N or NAME=TIME=N,...: amount for a column holds:NAME; repeatable.",
        ),
    ] = None,
    pools: Annotated[
        Texts,
        Option("--pool", help="NAME=N or NAME=TIME=N,...: processors of a pool; repeatable."),
    ] = None,
    cap: Annotated[Texts, Option(help="Largest share of a group: team:fx=40%; repeatable.")] = None,
    floor: Annotated[
        Texts, Option(help="Smallest share of a group: team:fx=20%; repeatable.")
    ] = None,
    must: Annotated[Texts, Option(help="A job that must run; repeatable.")] = None,
    forbid: Annotated[Texts, Option(help="A job that must not run; repeatable.")] = None,
    column: Annotated[
        Texts, Option(help="FIELD=TITLE: the column of a field, see `explain table`; repeatable.")
    ] = None,
    keep: Annotated[Texts, Option(help="A column to keep, such as an id; repeatable.")] = None,
    where: Annotated[Texts, Option(help="COLUMN=VALUE,...: only these rows; repeatable.")] = None,
    duplicates: Annotated[
        Text, Option(help="Jobs of the same name: refuse (default) or number.")
    ] = None,
    missing: Annotated[
        Texts, Option(help="FIELD=VALUE for empty cells, or FIELD=leave-out.")
    ] = None,
    reward: Annotated[
        Text,
        Option(help="priority, strict (level by level), or priority:urgent=8,low=1 for words."),
    ] = None,
    priority: Annotated[
        Text, Option(help="Which is more important: higher (default) or lower.")
    ] = None,
    groups: Annotated[Text, Option(help="Columns that group jobs: NAME,...")] = None,
    unit: Annotated[Text, Option(help="Unit of plain numbers: s, m, h or d.")] = None,
    overhead: Annotated[Text, Option(help="Time that starting a task takes, such as 30s.")] = None,
    cloud: Annotated[
        Text, Option(help="Processors to rent, as PROCESSORS@PRICE per hour, such as 200@0.05.")
    ] = None,
    budget: Annotated[Text, Option(help="The most that rented processors may cost.")] = None,
    all_: Annotated[
        bool | None, Option("--all", help="Run every job on time, at the least bill.")
    ] = None,
    constraints: shared.Constraints = None,
    risk: Annotated[Text, Option(help="Choose under risk: mean, cvar:Q or chance:Q.")] = None,
    explain: shared.Explain = False,
    why: Annotated[Texts, Option(help="A job: find the smallest changes that let it run.")] = None,
    time_limit: shared.TimeLimit = planning.TIME_LIMIT,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
) -> None:
    """Plan a night: read a table of jobs, and plan which of them run when, all on time.

    The output also gives an upper bound on the reward of any plan. `schedopt explain table` lists
    the columns of a table. Times are clock times (20:00 is tonight, 06:00 the next one after it),
    dates, or lengths (10h).

    Exit status: 0 there is a plan, 1 the check failed, 2 bad input, 3 the rules cannot hold
    together, 4 the time limit was reached without a plan, 130 interrupted (the best plan is still
    written).
    """
    flags = context.params
    settings = cast("Settings", {name: flags[name] for name in Settings.__annotations__})
    outputs = output or []
    read = [table, farm, past, *(constraints or ())]
    _expect_outputs(outputs, template, report, read)
    out.expect_writable(save_farm, out.DOCUMENTS, read)
    with live(table.name) as watch:
        planned = planning.plan_night(
            table,
            settings,
            FLAGS,
            template=template,
            farm=farm,
            save_farm=save_farm,
            constraints=constraints or (),
            past=past or (),
            risk=risk,
            explain=explain,
            why=why,
            tell=out.say,
            solve=partial(solve, time_limit=time_limit, seed=seed, threads=threads, watch=watch),
            time_limit=time_limit,
        )
    _deliver_plan(planned, lambda: results.planned(planned), outputs, report, template, json=json)


@app.command(epilog="Example: schedopt replan plan.json --at 23:30 --state state.csv -o new.json")
def replan(
    context: Context,
    plan: Annotated[Path, Argument(help="The current plan, as plan --output plan.json writes it.")],
    at: Annotated[
        str, Option(help="The time of the state: now, 6h, 02:00, an ISO time, or a number.")
    ],
    state: Annotated[
        File, Option(help="The state of the jobs: a CSV, or the output of sacct -XP.")
    ] = None,
    add: Annotated[File, Option(help="A table of new jobs, with the columns of the night.")] = None,
    column: Annotated[
        Texts, Option(help="FIELD=TITLE: a column of the new jobs; repeatable.")
    ] = None,
    missing: Annotated[
        Texts, Option(help="FIELD=VALUE for empty cells of the new jobs; repeatable.")
    ] = None,
    duplicates: Annotated[Text, Option(help="New jobs of the same name: number or refuse.")] = None,
    instance: Annotated[File, Option(help="The night, if the plan is a result without it.")] = None,
    output: shared.PlanFiles = None,
    template: shared.Template = None,
    report: shared.Report = None,
    json: shared.Json = False,
    stay: Annotated[
        float,
        Option(
            help="Part of the reward, from 0 to 1, to give up for fewer changes.",
            parser=shared.number,
            metavar="<float>",
        ),
    ] = 0.0,
    constraints: shared.Constraints = None,
    time_limit: shared.TimeLimit = planning.TIME_LIMIT,
    gap: shared.Gap = 0.0,
    threads: shared.Threads = None,
    seed: shared.Seed = 0,
) -> None:
    """Plan the rest of a night again from the state of its jobs, close to the current plan.

    Running tasks keep their processors, and shares count the usage so far. The new plan earns at
    least as much as the current plan, continued. Among equally good plans it changes the fewest
    jobs; without news it is the current plan.

    A state is a CSV with the columns job and status (done, running, failed, waiting, cancelled),
    and optionally start, processors, end, pool and done. A row without a job gives the number of
    processors, or its change (-4). If the state is the output of sacct -XP, a .sh changes the
    queue of Slurm.

    Exit status: as `plan`.
    """
    asked = {key: value for key, value in context.params.items() if key not in OUTPUTS}
    asked["constraints"] = constraints or ()
    outputs = output or []
    read = [plan, state, add, instance, *(constraints or ())]
    _expect_outputs(outputs, template, report, read)
    with live(plan.name) as watch:
        made = replanning.replan(**asked, watch=watch)
    for note in made.notes:
        out.say(note)
    _deliver_plan(made, lambda: results.replanned(made), outputs, report, template, json=json)


def _deliver_plan(
    planned: planning.NightPlan,
    print_plan: Callable[[], None],
    outputs: list[Path],
    report: Path | None,
    template: str | None,
    *,
    json: bool,
) -> NoReturn:
    """Write and show a plan, and end with its exit status."""
    with finishing():
        try:
            for path in outputs if planned.run is not None else ():
                if path.suffix.lower() == ".png" and not any(row["run"] for row in planned.rows):
                    out.say(f"no job runs, so {path} is not written")
                    continue
                planned.write(path, template)
                out.say(f"wrote {path}")
            if report is not None and planned.run is not None:
                write_page(planned.instance, planned.result, report, planned.run, planned.sections)
        finally:  # the plan is printed even if a file cannot be written
            out.print_json(planned.document()) if json else print_plan()
    if stopped():
        raise Exit(out.INTERRUPTED)
    raise Exit(out.status(planned.result))


def _expect_outputs(
    outputs: list[Path], template: str | None, report: Path | None, read: Sequence[Path | None]
) -> None:
    """Raise `InputError` before anything is solved if files of a plan cannot be written."""
    for path in outputs:
        out.expect_writable(path, PLANS, [*read, template])
    out.expect_writable(report, (".html",), read)
    if template is not None:
        if not any(path.suffix.lower() == ".sh" for path in outputs):
            raise InputError("--output FILE.sh", found="none", place="--template")
        read_template(template)


@app.command(
    "report-night", epilog="Example: schedopt report-night plan.json sacct.txt --output night.png"
)
def report_night(
    plan: Annotated[Path, Argument(help="The plan, as plan --output plan.json writes it.")],
    sacct: Annotated[Path, Argument(help="The output of sacct -XP.")],
    json: shared.Json = False,
    output: Annotated[
        Files,
        Option(
            "--output",
            "-o",
            help="The file to write: the report as .csv or .json, or its picture as .png; "
            "repeatable.",
        ),
    ] = None,
) -> None:
    """Compare the planned and the real times of each job of a night that ran on Slurm.

    The plan must have been submitted with the template slurm. A job is late if it ended after its
    deadline.

    Exit status: 0 on success, 2 bad input.
    """
    for path in output or ():
        out.expect_writable(path, reporting.FORMATS, [plan, sacct])
    report = reporting.report_night(plan, sacct)
    for path in output or ():
        reporting.write(report, path)
        out.say(f"wrote {path}")
    out.deliver(reporting.document(report), lambda: results.carried_out(report), json=json)


@app.command(epilog="Example: schedopt carry mon.json tue.json --half-life 7d --output usage.json")
def carry(
    results: Annotated[list[Path], Argument(help="Plan documents or results, the earliest first.")],
    half_life: Annotated[
        Text, Option(help="Half-life of past usage, such as 7d for seven nights.")
    ] = None,
    window: Annotated[
        Text, Option(help="Number of nights that count, tonight included, such as 7d.")
    ] = None,
    constraints: shared.Constraints = None,
    json: shared.Json = False,
    output: shared.Output = None,
) -> None:
    """Write fair shares with the usage of earlier nights, for `plan --past`.

    For a plan, the usage of the whole night counts, as recorded in its history. The rules are
    those of the last plan, unless --constraints gives others.

    Exit status: 0 on success, 2 bad input.
    """
    stated = [rule for file in constraints or () for rule in read_constraints(file)]
    rules = carrying.carry(results, constraints=stated, half_life=half_life, window=window)
    if output is None and not json:
        raise InputError("--output FILE or --json", found="neither")
    out.expect_writable(output, (".json",), [*results, *(constraints or ())])
    names = ", ".join(rule.name or rule.kind() for rule in rules)
    out.deliver(rules, lambda: out.say(f"wrote {output}: {names}"), json=json, output=output)


@app.command(
    epilog="Example: schedopt ready jobs.csv --capacity cores=500,mem_gb=2000 "
    "--order priority,cores"
)
def ready(
    file: Annotated[
        Path, Argument(help="A table of jobs as CSV or JSON lines; - is standard input.")
    ],
    capacity: Annotated[str, Option(help="Free amounts of the resources: NAME=AMOUNT,...")],
    order: Annotated[
        str, Option(help="Columns whose sums are maximized, the most important first: NAME,...")
    ],
    time_limit: shared.TimeLimit = None,
    json: shared.Json = False,
) -> None:
    """Choose which ready jobs start now, optimally in the order of the objectives.

    The table has a column name, the columns of --order, and a column for each resource. The first
    objective is maximized alone, each later one among the optima of those before it. The names of
    the jobs to start are printed, one on each line.
    """
    goals = [name.strip() for name in order.split(",")]
    room = choosing.amounts(capacity)
    piped = str(file) == "-"
    with at_place(file="standard input" if piped else None):
        source = sys.stdin.buffer.read() if piped else file
        answer = choosing.ready(source, room, goals, time_limit=time_limit)
    if json:
        out.print_json(answer)
        return
    for name in answer.start:
        print(printable(name))
    sums = zip(goals, answer.objectives, strict=True)
    totals = ", ".join(f"{goal} {value:,.10g}" for goal, value in sums)
    proven = "proven" if answer.proven else "not proven"
    out.say(f"{len(answer.start):,} start: {totals}; {proven}, {answer.seconds * 1000:.0f} ms")


@app.command(
    "start-times", epilog="Example: schedopt start-times log.json --at 86400 --policy easy"
)
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
    option: shared.Options = None,
    seed: Annotated[int, Option(help="The random seed of the scenarios.")] = 0,
) -> None:
    """Predict when the waiting jobs of a log will start, with intervals.

    The log may be an export of a cluster with waiting and running jobs, as sacct -XP prints it.
    Run times are drawn from the jobs that have ended, and the policy is simulated. Intervals are
    calibrated on earlier predictions, and are omitted if too few jobs have waited before.
    """
    out.expect_writable(output, (".csv",), [file])
    answer = predicting.start_times(
        file,
        at,
        policy,
        job=job,
        servers=servers,
        level=level,
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
        shown = ([row[name] for name in COLUMNS] for row in by_clock[:ROWS])
        words = f", with {level:.0%} intervals" if answer.judged >= answer.needed else ""
        show(tables.Table.of(f"predicted starts{words}", map(tables.text, COLUMNS), shown))
        if len(rows) > ROWS:
            out.say(f"... and {len(rows) - ROWS:,} more; --output starts.csv has all")
    out.say(answer.in_words())


@app.command(
    "check-starts", epilog="Example: schedopt check-starts log.json starts.csv --policy easy"
)
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
