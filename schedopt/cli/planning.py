"""The verbs of a night: plan, replan, report-night, carry, ready."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn, cast

from typer import Argument, Context, Exit, Option

from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.app import verb
from schedopt.cli.options import File, Files, Text, Texts
from schedopt.cli.solving import write_page
from schedopt.instances.errors import InputError, at_place, printable
from schedopt.planning.farm import FLAGS, Settings
from schedopt.solvers.stopping import finishing, stopped
from schedopt.verbs import plan as planning
from schedopt.verbs.solve import solve

OUTPUTS = ("output", "template", "report", "json")  # flags that are not keywords of the verb


@verb(
    "schedopt plan jobs.csv --processors 30 --from 20:00 --until 06:00 --seats houdini=8 "
    "--cap team:fx=0.4 -o plan.csv"
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
    report: shared.PlanReport = None,
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
    explain: Annotated[
        bool, Option("--explain", help="Explain what rules cost and why jobs are left out.")
    ] = False,
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
    from schedopt.terminal.progress import live
    from schedopt.terminal.results import planned as show

    flags = context.params
    settings = cast("Settings", {name: flags[name] for name in Settings.__annotations__})
    outputs = output or []
    read = [table, farm, past, *(constraints or ())]
    expect_plan_files(outputs, save_farm, report, read, template)
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
    deliver_plan(planned, lambda: show(planned), outputs, report, template, json=json)


@verb("schedopt replan plan.json --at 23:30 --state state.csv -o new.json")
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
    report: shared.PlanReport = None,
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
    from schedopt.terminal.progress import live
    from schedopt.terminal.results import replanned as show
    from schedopt.verbs.replan import replan as run

    asked = {key: value for key, value in context.params.items() if key not in OUTPUTS}
    asked["constraints"] = constraints or ()
    outputs = output or []
    read = [plan, state, add, instance, *(constraints or ())]
    expect_plan_files(outputs, None, report, read, template)
    with live(plan.name) as watch:
        made = run(**asked, watch=watch)
    for note in made.notes:
        out.say(note)
    deliver_plan(made, lambda: show(made), outputs, report, template, json=json)


def deliver_plan(
    planned: planning.NightPlan,
    show: Callable[[], None],
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
            out.print_json(planned.document()) if json else show()
    if stopped():
        raise Exit(out.INTERRUPTED)
    raise Exit(out.status(planned.result))


def expect_plan_files(
    outputs: list[Path],
    farm: Path | None,
    report: Path | None,
    read: Sequence[Path | None],
    template: str | None,
) -> None:
    """Raise `InputError` before anything is solved if an output file cannot be written."""
    for path in outputs:
        out.expect_writable(path, (*out.DOCUMENTS, *out.PLANS, ".png"), [*read, template])
    out.expect_template(template, outputs)
    out.expect_writable(farm, out.DOCUMENTS, read)
    out.expect_writable(report, (".html",), read)


@verb("schedopt report-night plan.json sacct.txt --output night.png", name="report-night")
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
    from schedopt.terminal.results import carried_out as show
    from schedopt.verbs import report_night as reporting

    for path in output or ():
        out.expect_writable(path, reporting.FORMATS, [plan, sacct])
    report = reporting.report_night(plan, sacct)
    for path in output or ():
        reporting.write(report, path)
        out.say(f"wrote {path}")
    out.print_json(reporting.document(report)) if json else show(report)


@verb("schedopt carry mon.json tue.json --half-life 7d --output usage.json")
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
    from schedopt.verbs.carry import carry as run
    from schedopt.verbs.load import read_constraints

    stated = [rule for file in constraints or () for rule in read_constraints(file)]
    rules = run(results, constraints=stated, half_life=half_life, window=window)
    if output is None and not json:
        raise InputError("--output FILE or --json", found="neither")
    out.expect_writable(output, (".json",), [*results, *(constraints or ())])
    names = ", ".join(rule.name or rule.kind() for rule in rules)
    out.deliver(rules, lambda: out.say(f"wrote {output}: {names}"), json=json, output=output)


@verb("schedopt ready jobs.csv --capacity cores=500,mem_gb=2000 --order priority,cores")
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
    from schedopt.verbs.ready import amounts
    from schedopt.verbs.ready import ready as run

    goals = [name.strip() for name in order.split(",")]
    room = amounts(capacity)
    piped = str(file) == "-"
    with at_place(file="standard input" if piped else None):
        source = sys.stdin.buffer.read() if piped else file
        answer = run(source, room, goals, time_limit=time_limit)
    if json:
        out.print_json(answer)
        return
    for name in answer.start:
        print(printable(name))
    sums = zip(goals, answer.objectives, strict=True)
    totals = ", ".join(f"{goal} {value:,.10g}" for goal, value in sums)
    proven = "proven" if answer.proven else "not proven"
    out.say(f"{len(answer.start):,} start: {totals}; {proven}, {answer.seconds * 1000:.0f} ms")
