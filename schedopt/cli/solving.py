"""The verbs that solve and check: solve, evaluate, check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.app import verb
from schedopt.cli.options import File
from schedopt.instances.errors import InputError, printable
from schedopt.instances.options import split
from schedopt.instances.protocol import AnyInstance
from schedopt.problems.summary import Section
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import finishing, stopped
from schedopt.verbs import evaluate as evaluating
from schedopt.verbs import solve as optimizing


@verb("schedopt solve example:night --option fill=0.9")
def solve(
    file: shared.InstanceFile,
    write: Annotated[File, Option(help="Write the model to an .lp or .mps file.")] = None,
    report: Annotated[File, Option(help="Write an .html page with pictures and tables.")] = None,
    json: shared.Json = False,
    output: shared.PlanOrResult = None,
    template: shared.Template = None,
    formulation: shared.Formulation = None,
    solver: shared.Solver = None,
    constraints: shared.Constraints = None,
    time_limit: shared.TimeLimit = None,
    gap: shared.Gap = 0.0,
    threads: shared.Threads = None,
    seed: shared.Seed = 0,
    option: shared.Options = None,
    risk: shared.Risk = None,
    certificate: Annotated[
        bool,
        Option(
            "--certificate", help="Add a certificate, from which `check` proves the bound again."
        ),
    ] = False,
    confirm: Annotated[
        bool, Option("--confirm", help="Solve again with another engine, and compare.")
    ] = False,
    explain: Annotated[
        bool, Option("--explain", help="Explain what rules cost and why jobs are left out.")
    ] = False,
) -> None:
    """Find the optimum, prove it, and check it.

    `schedopt explain FORMULATION` lists the options of a formulation.

    Exit status: 0 a solution was found, 1 the check failed, 2 bad input, 3 proven infeasible,
    4 stopped without a solution, 130 interrupted (the best solution is still written).
    """
    from schedopt.instances.files import load
    from schedopt.terminal.progress import live, ticking
    from schedopt.terminal.results import result as show
    from schedopt.verbs.model_files import ENDINGS as MODELS
    from schedopt.verbs.model_files import write as write_model

    options = split(option or ())
    read = [file, *(constraints or ()), *out.files_in(options), template]
    out.expect_writable(output, (*out.DOCUMENTS, *out.PLANS), read)
    out.expect_template(template, [output])
    out.expect_writable(report, (".html",), read)
    out.expect_writable(write, MODELS, read)
    instance = load(file)
    out.expect_plan(instance, output)
    if write:
        write_model(
            instance,
            write,
            formulation=formulation,
            constraints=constraints or (),
            options=options,
        )
        out.say(f"wrote {write}: the model, for any solver")
    with live(file.name) as watch:
        result = optimizing.solve(
            instance,
            formulation=formulation,
            solver=solver,
            constraints=constraints or (),
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            options=options,
            risk=risk,
            watch=watch,
            certificate=certificate,
            confirm=confirm,
            explain=explain,
            progress=ticking("further solves"),
        )
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
        raise Exit(out.INTERRUPTED)
    if report is not None:
        write_page(instance, result, report)
    raise Exit(out.status(result))


@verb("schedopt evaluate example:night --policy greedy,core")
def evaluate(
    file: shared.InstanceFile,
    policy: Annotated[
        str, Option(help="Policies, as NAME,...: see `schedopt list policies`.")
    ] = "",
    json: shared.Json = False,
    output: shared.PlanOrResult = None,
    template: shared.Template = None,
    option: shared.Options = None,
    seed: shared.Seed = 0,
    constraints: shared.Constraints = None,
    policy_file: shared.PolicyFiles = None,
) -> None:
    """Evaluate policies on an instance, and report the side constraints that they violate.

    Exit status: 0 each policy has a solution, 2 bad input or a policy that does not apply,
    130 interrupted (the results so far are still written).
    """
    from schedopt.instances.files import load
    from schedopt.terminal.results import results as show

    options = split(option or ())
    read = [file, *(constraints or ()), *out.files_in(options), template]
    out.expect_writable(output, (*out.DOCUMENTS, *out.PLANS), read)
    out.expect_template(template, [output])
    instance = load(file)
    out.expect_plan(instance, output)
    names = [name.strip() for name in policy.split(",") if name.strip()]
    if len(names) > 1 and out.is_plan(output):
        raise InputError(
            "one policy, since a plan shows one; write .json for several",
            found=repr(policy),
            place="--policy",
        )
    results = evaluating.evaluate(
        instance,
        names,
        options=options,
        seed=seed,
        constraints=constraints or (),
        policy_files=policy_file or (),
    )
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
            why = f": {result.message}" if result.message else ""
            out.say(f"{result.policy}: {result.termination}{why}")
    if any(result.termination == "interrupted" for result in results):
        raise Exit(out.INTERRUPTED)
    raise Exit(0 if all(result.solution for result in results) else 2)


@verb("schedopt check example:night result.json")
def check(
    file: Annotated[Path, Argument(help="An instance file, or a plan document.")],
    result: Annotated[File, Argument(help="A result document.")] = None,
    strict: Annotated[
        bool,
        Option(
            "--strict",
            help="Fail also if the result is of another problem than the file, or does not say.",
        ),
    ] = False,
) -> None:
    """Recompute a result from its instance, without any solver.

    A plan document contains its night, and is checked alone: `schedopt check plan.json`.

    Exit status: 0 the result holds, 1 it does not, or could not be checked in full, 2 bad input.
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
    raise Exit(out.FAILED if wrong else 0)


def write_page(
    instance: AnyInstance,
    result: Result,
    report: Path,
    run: Result | None = None,
    sections: tuple[Section, ...] = (),
) -> None:
    """Write the page of one result; ``run`` is the same result with times."""
    from schedopt.report.pages import write_result
    from schedopt.verbs.plan_table import carried_out

    if run is None and result.solution is not None:
        run = carried_out(instance, result)
    write_result(instance, result, report, run, sections)
    out.say(f"wrote {report}: open it in a browser")
