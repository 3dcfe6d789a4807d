"""The verbs that solve and check: plan, solve, evaluate, check."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import typer

from schedopt.cli import output as out
from schedopt.cli.common import verb
from schedopt.instances.errors import InputError, printable, quote
from schedopt.instances.protocol import AnyInstance
from schedopt.problems.summary import Section
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import finishing, stopped
from schedopt.verbs import evaluate as evaluating
from schedopt.verbs import plan as planning
from schedopt.verbs import solve as optimizing


@verb("schedopt solve example:night --option fill=0.9", optimizing.solve)
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

    read = [file, *given["constraints"], *out.files_in(given["options"])]
    out.expect_result_file(output, read, template)
    out.expect_drawable(report, read)
    out.expect_writable(write, MODELS, read)
    instance = load(file)
    _expect_plan(instance, output)
    if write:
        asked = ("formulation", "constraints", "options")
        write_model(instance, write, **{name: given[name] for name in asked})
        out.say(f"wrote {write}: the model, for any solver")
    with live(file.name) as watch:
        further = ticking("further solves")
        result = optimizing.solve(instance, **given, watch=watch, progress=further)
    with finishing():
        out.deliver(
            result.written(),
            lambda: show(instance, result),
            json=json,
            output=output,
            template=template,
            plan=lambda: out.plan_of(instance, result),
        )
    if stopped():
        raise typer.Exit(out.INTERRUPTED)
    _write_page(instance, result, report)
    raise typer.Exit(out.status(result))


@verb("schedopt evaluate example:night --policy greedy,core", evaluating.evaluate)
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

    read = [file, *given["constraints"], *out.files_in(given["options"])]
    out.expect_result_file(output, read, template)
    instance = load(file)
    _expect_plan(instance, output)
    names = [name.strip() for name in policy.split(",") if name.strip()]
    if len(names) > 1 and out.is_plan(output):
        raise InputError("one policy: a plan is of one", found=repr(policy), place="--policy")
    results = evaluating.evaluate(instance, names, **given)
    if not results:
        expected = "a policy, or several such as greedy,core: see `schedopt list policies`"
        raise InputError(expected, found=repr(policy), place="--policy")

    documents = [result.written() for result in results]
    with finishing():
        out.deliver(
            documents[0] if len(names) == 1 else documents,
            lambda: show(instance, results),
            json=json,
            output=output,
            template=template,
            plan=lambda: out.plan_of(instance, results[0]),
        )
    for result in results:
        if not result.solution:
            out.say(
                f"{result.policy}: {result.termination}" + f": {result.message or ''}".rstrip(": ")
            )
    if any(result.termination == "interrupted" for result in results):
        raise typer.Exit(out.INTERRUPTED)
    raise typer.Exit(0 if all(result.solution for result in results) else 2)


@verb("schedopt check example:night result.json")
def check(file: Path, result: Path | None = None, *, strict: bool = False) -> None:
    """Recompute a result from the raw instance, without any solver.

    A plan document holds its night, and is checked alone: `schedopt check plan.json`.

    Exit status: 0 it holds, 1 it does not or was not judged in full, 2 bad input.

    Parameters
    ----------
    file : An instance file, or a plan document.
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
    instance, judged = (None, file) if result is None else (load(file), result)
    for document, report in check_file(instance, judged):
        who = document.policy or document.formulation or "result"
        for violation in report.violations:
            print(printable(f"{who}: {violation}"))
        for what in report.unchecked:
            out.say(f"{who}: not checked: {what}")
        for what in report.unjudged:
            print(printable(f"{who}: not judged: {what}"))
        print(printable(f"{who}: {question_in_words(document, report)}"))
        another = strict and bool(question_differences(report) or not report.asked)
        if report.whole and not another:
            print(printable(f"{who}: {verdict_in_words(document, report)}"))
        wrong = wrong or another or not report.whole
    raise typer.Exit(out.FAILED if wrong else 0)


EXAMPLE = (
    "schedopt plan jobs.csv --processors 30 --from 20:00 --until 06:00 --seats houdini=8 "
    "--cap team:fx=0.4 -o plan.csv"
)


@verb(EXAMPLE, planning.plan)
def plan(
    table: Path,
    *,
    farm: Path | None = None,
    save_farm: Path | None = None,
    past: Path | None = None,
    output: list[Path] | None = None,
    template: str | None = None,
    report: Path | None = None,
    json: bool = False,
    **given: Any,
) -> None:
    """Plan a night: a table of jobs in, a plan out in which nobody selected is late.

    Beside the plan it says what no plan can exceed. `schedopt explain table` prints the columns of
    a table. Times are of the clock (20:00, tonight; 06:00, the next after it), dates, or lengths
    (10h).

    Exit status: 0 there is a plan, 3 the rules cannot hold together, 2 bad input, 4 time ran out
    before any plan, 1 the check failed, 130 interrupted (the plan in hand is still written).

    Parameters
    ----------
    table : A table of jobs (.csv, .parquet), an instance (.json), or example:NAME.
    farm : A JSON file of what is the same every night; flags go before it.
    save_farm : Write that file from the flags.
    past : What `carry` wrote of earlier nights: rules of the same name remember what was used.
    must : A job that runs; repeatable.
    forbid : A job that does not run; repeatable.
    explain : Say what each rule costs, and what each job that is left out lacks.
    why : A job: find the smallest changes that would let it run; repeatable.
    time_limit : Seconds, or a time such as 10m; none waits for the proof.
    output : The plan as .csv, .parquet, .sh or .png; the result as .json; repeatable.
    report : An .html page of the plan: pictures, tables.
    """
    from schedopt.planning.farm import FLAGS, Settings
    from schedopt.terminal.progress import live
    from schedopt.terminal.results import planned as show

    files = [file for file in (farm, past, *given["constraints"]) if file]
    outputs = output or []
    expect_plan_files(outputs, save_farm, report, [table, *files], template)
    with live(table.name) as watch:
        limits = {key: given.pop(key) for key in ("time_limit", "seed", "threads")}
        settings = cast("Settings", {key: given.pop(key) for key in Settings.__annotations__})
        planned = planning.plan_night(
            table,
            settings,
            FLAGS,
            template=template,
            farm=farm,
            save_farm=save_farm,
            past=past or (),
            tell=out.say,
            solve=partial(optimizing.solve, **limits, watch=watch),
            time_limit=limits["time_limit"],
            **given,
        )
    deliver_plan(planned, lambda: show(planned), outputs, report, template, json=json)


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
                    out.say(f"no job runs: {path} is not written")
                    continue
                planned.write(path, template)
                out.say(f"wrote {path}")
            if report is not None and planned.run is not None:
                _write_page(planned.instance, planned.result, report, planned.run, planned.sections)
        finally:  # what was found is told, whatever becomes of the files
            out.print_json(planned.document()) if json else show()
    if stopped():
        raise typer.Exit(out.INTERRUPTED)
    raise typer.Exit(out.status(planned.result))


def expect_plan_files(
    outputs: list[Path],
    farm: Path | None,
    report: Path | None,
    read: list[Path],
    template: str | None,
) -> None:
    """Refuse files that cannot be written, or not all of them, before anything is solved."""
    for path in outputs:
        out.expect_writable(path, (*out.DOCUMENTS, *out.PLANS, ".png"), read)
        if path.suffix.lower() == ".png":
            out.expect_drawable(path, read, (".png",))
        else:
            out.expect_result_file(path, read, template if path.suffix.lower() == ".sh" else None)
    if template is not None and not any(path.suffix.lower() == ".sh" for path in outputs):
        raise InputError("--output FILE.sh beside it", found="none", place="--template")
    out.expect_writable(farm, out.DOCUMENTS, read)
    out.expect_drawable(report, read)
    several = [path.absolute() for path in (*outputs, farm, report) if path is not None]
    for path in several:
        if several.count(path) > 1:
            raise InputError("files of different names", found=f"{path.name} twice", file=str(path))


def _expect_plan(instance: AnyInstance, output: Path | None) -> None:
    """Refuse the plan of an instance that has none."""
    from schedopt.problems import problem_of

    if out.is_plan(output) and not problem_of(instance).has_plans:
        what = f"{instance.name} ({problem_of(instance).name})"
        expected = f"a name ending in .json: {what} has no plan of jobs"
        raise InputError(expected, found=quote(str(output)))


def _write_page(
    instance: AnyInstance,
    result: Result,
    report: Path | None,
    run: Result | None = None,
    more: Iterable[Section] = (),
) -> None:
    """Write the page of one result, if one is asked for; ``run``: the same as run, if known."""
    if report is None:
        return
    from schedopt.report import result_page
    from schedopt.verbs.plan_table import carried_out

    if run is None and result.solution is not None:
        run = carried_out(instance, result)
    result_page.write(instance, result, report, run, more)
    out.say(f"wrote {report}: open it in a browser")
