"""The verbs that solve and check, from solve to check-starts."""

from pathlib import Path
from typing import Any

import typer

from schedopt.cli.common import split, verb
from schedopt.cli.output import (
    DOCUMENTS,
    FAILED,
    INTERRUPTED,
    deliver,
    expect_drawable,
    expect_plan,
    expect_result_file,
    expect_writable,
    files_in,
    is_plan,
    plan_of,
    print_json,
    say,
    status,
    write_page,
)
from schedopt.instances.errors import InputError, placed, printable
from schedopt.solvers.stopping import finishing, stopped
from schedopt.verbs import evaluate as evaluating
from schedopt.verbs import ready as choosing
from schedopt.verbs import replan as replanning
from schedopt.verbs import solve as optimizing
from schedopt.verbs import start_times as predicting


@verb("schedopt solve instances/dssp/night.json.gz --option fill=0.9", optimizing.solve)
def solve(
    file: Path,
    *,
    write: Path | None = None,
    report: Path | None = None,
    json: bool = False,
    output: Path | None = None,
    template: str | None = None,
    **given: Any,
) -> None:
    """Find the optimum, prove it, and check it; `explain` says what a formulation's options are.

    Exit status: 0 a solution was found, 3 proven infeasible, 4 stopped without a solution,
    130 interrupted (what was found is still written), 1 the check failed, 2 bad input.

    Parameters
    ----------
    option : An option of the formulation, as KEY=VALUE; repeatable.
    risk : Maximize over scenarios of run times: mean, cvar:Q or chance:Q.
    certificate : Add what `check` can re-prove the bound from.
    confirm : Solve again by another method; both must agree.
    explain : Say why jobs are left out, and what each rule costs.
    write : Write the model as .lp or .mps; with --time-limit 0, hardly solve it.
    report : An .html page of this one result: pictures, tables.
    output : Write it: .json, or the plan as .csv, .parquet or .sh.
    """
    from schedopt.instances.files import load
    from schedopt.terminal.progress import live, ticking
    from schedopt.terminal.results import result as show
    from schedopt.verbs.model_files import ENDINGS as MODELS
    from schedopt.verbs.model_files import write as write_model

    read = [file, *given["constraints"], *files_in(given["options"])]
    expect_result_file(output, read, template)
    expect_drawable(report, read)
    expect_writable(write, MODELS, read)
    instance = load(file)
    expect_plan(instance, output)
    if write:
        asked = ("formulation", "constraints", "options")
        write_model(instance, write, **{name: given[name] for name in asked})
        say(f"wrote {write}: the model, for any solver")
    with live(file.name) as watch:
        further = ticking("further solves")
        result = optimizing.solve(instance, **given, watch=watch, progress=further)
    with finishing():
        deliver(
            result.written(),
            lambda: show(instance, result),
            json=json,
            output=output,
            template=template,
            plan=lambda: plan_of(instance, result),
        )
    if stopped():
        raise typer.Exit(INTERRUPTED)
    write_page(instance, result, report)
    raise typer.Exit(status(result))


@verb("schedopt evaluate instances/dssp/night.json.gz --policy greedy,core", evaluating.evaluate)
def evaluate(
    file: Path,
    *,
    policy: str = "",
    json: bool = False,
    output: Path | None = None,
    template: str | None = None,
    **given: Any,
) -> None:
    """Tell what policies get on an instance, and which side constraints they break.

    Exit status: 0 each policy has a solution, 2 bad input or a policy that does not apply,
    130 interrupted (policies that are done are still written).

    Parameters
    ----------
    policy : One name, or several with commas between: see `schedopt list policies`.
    option : An option of the policies, as KEY=VALUE; repeatable.
    output : Write it: .json, or the plan as .csv, .parquet or .sh.
    """
    from schedopt.instances.files import load
    from schedopt.terminal.results import results as show

    read = [file, *given["constraints"], *files_in(given["options"])]
    expect_result_file(output, read, template)
    instance = load(file)
    expect_plan(instance, output)
    names = [name.strip() for name in policy.split(",") if name.strip()]
    if len(names) > 1 and is_plan(output):
        raise InputError("one policy: a plan is of one", found=repr(policy), place="--policy")
    results = evaluating.evaluate(instance, names, **given)
    if not results:
        expected = "a policy, or several such as greedy,core: see `schedopt list policies`"
        raise InputError(expected, found=repr(policy), place="--policy")

    documents = [result.written() for result in results]
    with finishing():
        deliver(
            documents[0] if len(names) == 1 else documents,
            lambda: show(instance, results),
            json=json,
            output=output,
            template=template,
            plan=lambda: plan_of(instance, results[0]),
        )
    for result in results:
        if not result.solution:
            say(f"{result.policy}: {result.termination}" + f": {result.message or ''}".rstrip(": "))
    if any(result.termination == "interrupted" for result in results):
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if all(result.solution for result in results) else 2)


@verb("schedopt check instances/dssp/night.json.gz result.json")
def check(file: Path, result: Path, *, strict: bool = False) -> None:
    """Recompute a result from the raw instance, without any solver.

    Exit status: 0 it holds, 1 it does not or was not judged in full, 2 bad input.

    Parameters
    ----------
    result : A result document.
    strict : Fail where it answers another question than the file, or does not say which.
    """
    from schedopt.instances.files import load
    from schedopt.verbs.check import (
        check_file,
        question_differences,
        question_in_words,
        verdict_in_words,
    )

    wrong = False
    for document, report in check_file(load(file), result):
        who = document.policy or document.formulation or "result"
        for violation in report.violations:
            print(printable(f"{who}: {violation}"))
        for what in report.unchecked:
            say(f"{who}: not checked: {what}")
        for what in report.unjudged:
            print(printable(f"{who}: not judged: {what}"))
        print(printable(f"{who}: {question_in_words(document, report)}"))
        another = strict and bool(question_differences(report) or not report.asked)
        if report.whole and not another:
            print(printable(f"{who}: {verdict_in_words(document, report)}"))
        wrong = wrong or another or not report.whole
    raise typer.Exit(FAILED if wrong else 0)


@verb(
    "schedopt replan plan.csv --instance night.json --at 02:00 --output new.csv",
    replanning.replan,
)
def replan(
    plan: Path,
    *,
    at: str,
    state: Path | None = None,
    instance: Path | None = None,
    rest: Path | None = None,
    json: bool = False,
    output: Path | None = None,
    template: str | None = None,
    **given: Any,
) -> None:
    """Plan the rest of a night again from what has happened, near what was planned.

    What runs keeps its processors until it ends, what is done is gone, shares count what was used.
    Of the plans with the best reward it is one that keeps the most jobs of the old plan.

    Exit status: as `solve`.

    Parameters
    ----------
    plan : The old plan: a result (.json), or a plan as .csv or .parquet.
    at : Now: a number in the file's unit, 6h, 02:00, or an ISO time.
    state : A CSV with columns job, status (done, running, failed, waiting), and perhaps start,
        processors, end, pool; a row without a job says how many processors there are.
    instance : The night; looked for beside a result by its digest.
    stay : The part of the reward still to be earned that keeping jobs may cost.
    threads : Threads of the engine; with one the answer is the same each time.
    rest : Write the instance of the rest of the night: for `check`, with NEW as .json.
    output : The new plan: .csv, .parquet, .sh; or .json, the result on the rest.
    """
    from schedopt.instances.files import dump, load
    from schedopt.instances.protocol import problem_name
    from schedopt.terminal.results import replanned as show
    from schedopt.verbs.constraints import read_rules

    rules, options = given.pop("constraints"), given["options"]
    read = [plan, *(one for one in (state, instance) if one), *rules]
    expect_result_file(output, [*read, *files_in(options)], template)
    expect_writable(rest, DOCUMENTS, read)
    night = replanning.instance_of(plan, None if instance is None else load(instance))
    given["constraints"] = read_rules(rules, problem_name(night), night)
    made = replanning.replan(plan, at=at, state=state, instance=night, **given)
    with finishing():
        if rest is not None:
            dump(made.rest, rest)
        deliver(
            made.result.written(),
            lambda: show(made),
            json=json,
            output=output,
            template=template,
            plan=lambda: made.plan,
        )
        for note in made.notes:
            say(note)
    if stopped():
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(status(made.result))


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
    room = choosing.amounts(capacity, "--capacity")
    with placed(file="standard input" if str(file) == "-" else None):
        found = choosing.ready(choosing.source_of(file), room, goals, time_limit=time_limit)
    if json:
        print_json(found)
        return
    for name in found.start:
        print(printable(name))
    sums = zip(goals, found.objectives, strict=True)
    told = ", ".join(f"{goal} {value:,.10g}" for goal, value in sums)
    proven = "proven" if found.proven else "not proven"
    say(f"{len(found.start):,} start: {told}; {proven}, {found.seconds * 1000:.0f} ms")


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

    Run times are drawn from those of jobs that have ended by then, and the policy is played on;
    intervals are calibrated on how well they would have held before.

    Parameters
    ----------
    at : The time, in the log's own unit, or a date such as 2026-11-22T14:00.
    policy : One of those that replay logs.
    level : How probable it is to be that a start lies in its interval.
    model : Of run times: history, or requested.
    seed : Of the scenarios that are drawn.
    output : A .csv to write.
    """
    from schedopt import tables as column
    from schedopt.instances.csv_text import as_csv
    from schedopt.instances.files import load, write_bytes
    from schedopt.instances.starts import COLUMNS
    from schedopt.terminal.console import show
    from schedopt.terminal.results import ROWS

    expect_writable(output, (".csv",), [file])
    queue = load(file)
    told = predicting.start_times(queue, at, policy, **given)
    rows = [[getattr(row, name) for name in COLUMNS] for row in told.rows]
    if output is not None:
        write_bytes(output, as_csv(COLUMNS, rows).encode())
    if json:
        print_json(told.rows)
    elif output is None:
        clock, level = predicting.clock(queue), given["level"]
        cells = ((str(job), *map(clock, times)) for job, *times in rows[:ROWS])
        show(column.Table.of(f"starts, at {level:.0%}", map(column.text, COLUMNS), cells))
        if len(rows) > ROWS:
            say(f"... and {len(rows) - ROWS:,} more; --output starts.csv has all")
    say(f"{len(rows):,} wait; intervals calibrated on {told.judged:,} starts before then")


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
