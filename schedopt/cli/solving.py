"""The verbs that solve and check: solve, evaluate, check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.options import File, app
from schedopt.instances.errors import InputError, printable
from schedopt.instances.files import load
from schedopt.instances.options import split
from schedopt.instances.protocol import AnyInstance
from schedopt.problems.summary import Section
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import finishing, stopped
from schedopt.terminal import live, results
from schedopt.verbs import check as checking
from schedopt.verbs import evaluate as evaluating
from schedopt.verbs import plan_table
from schedopt.verbs import solve as optimizing


@app.command(epilog="Example: schedopt solve example:night --option fill=0.9")
def solve(
    file: shared.InstanceFile,
    write: Annotated[File, Option(help="Write the model to an .lp or .mps file.")] = None,
    report: shared.Report = None,
    json: shared.Json = False,
    output: shared.Output = None,
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
    explain: shared.Explain = False,
) -> None:
    """Find the optimum, prove it, and check it.

    `schedopt explain FORMULATION` lists the options of a formulation.

    Exit status: 0 a solution was found, 1 the check failed, 2 bad input, 3 proven infeasible,
    4 stopped without a solution, 130 interrupted (the best solution is still written).
    """
    options, rules = split(option or ()), constraints or []
    read: list[str | Path] = [file, *rules, *out.files_in(options)]
    out.expect_writable(output, out.DOCUMENTS, read)
    out.expect_writable(report, (".html",), read)
    out.expect_writable(write, optimizing.MODELS, read)
    instance = load(file)
    if write:
        optimizing.write_model(
            instance, write, formulation=formulation, constraints=rules, options=options
        )
        out.say(f"wrote {write}: the model, for any solver")
    with live(file.name) as watch:
        result = optimizing.solve(
            instance,
            formulation=formulation,
            solver=solver,
            constraints=rules,
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
        )
    with finishing():
        out.deliver(
            result.written(), lambda: results.result(instance, result), json=json, output=output
        )
    if stopped():
        raise Exit(out.INTERRUPTED)
    if report is not None:
        write_page(instance, result, report)
    raise Exit(out.status(result))


@app.command(epilog="Example: schedopt evaluate example:night --policy greedy,core")
def evaluate(
    file: shared.InstanceFile,
    policy: Annotated[
        str, Option(help="Policies, as NAME,...: see `schedopt list policies`.")
    ] = "",
    json: shared.Json = False,
    output: shared.Output = None,
    option: shared.Options = None,
    seed: shared.Seed = 0,
    constraints: shared.Constraints = None,
    policy_file: shared.PolicyFiles = None,
) -> None:
    """Evaluate policies on an instance, and report the side constraints that they violate.

    Exit status: 0 each policy has a solution, 2 bad input or a policy that does not apply,
    130 interrupted (the results so far are still written).
    """
    options, rules = split(option or ()), constraints or []
    out.expect_writable(output, out.DOCUMENTS, [file, *rules, *out.files_in(options)])
    instance = load(file)
    names = [name.strip() for name in policy.split(",") if name.strip()]
    if not names:
        expected = "a policy, or several such as greedy,core: see `schedopt list policies`"
        raise InputError(expected, found=repr(policy), place="--policy")
    found = evaluating.evaluate(
        instance,
        names,
        options=options,
        seed=seed,
        constraints=rules,
        policy_files=policy_file or (),
    )
    documents = [result.written() for result in found]
    document = documents[0] if len(names) == 1 else documents
    with finishing():
        out.deliver(document, lambda: results.results(instance, found), json=json, output=output)
    for result in found:
        if not result.solution:
            why = f": {result.message}" if result.message else ""
            out.say(f"{result.policy}: {result.termination}{why}")
    if any(result.termination == "interrupted" for result in found):
        raise Exit(out.INTERRUPTED)
    raise Exit(out.FOUND if all(result.solution for result in found) else out.BAD_INPUT)


@app.command(epilog="Example: schedopt check example:night result.json")
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
    wrong = False
    instance, judged = (None, file) if result is None else (load(file), result)
    for document, report in checking.check_file(instance, judged):
        who = document.policy or document.formulation or "result"
        another = strict and bool(checking.question_differences(report) or not report.asked)
        for what in report.unchecked:
            out.say(f"{who}: not checked: {what}")
        lines = [*report.violations, *(f"not judged: {what}" for what in report.unjudged)]
        lines.append(checking.question_in_words(document, report))
        if report.whole and not another:
            lines.append(checking.verdict_in_words(document, report))
        for line in lines:
            print(printable(f"{who}: {line}"))
        wrong = wrong or another or not report.whole
    raise Exit(out.FAILED if wrong else out.FOUND)


def write_page(
    instance: AnyInstance,
    result: Result,
    report: Path,
    run: Result | None = None,
    sections: tuple[Section, ...] = (),
) -> None:
    """Write the page of one result; ``run`` is the same result with times."""
    from schedopt.report.pages import write_result

    if run is None and result.solution is not None:
        run = plan_table.carried_out(instance, result)
    write_result(instance, result, report, run, sections)
    out.say(f"wrote {report}: open it in a browser")
