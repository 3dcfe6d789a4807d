"""The verbs that compare many results: bench, summary, whatif."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

from typer import Argument, Exit, Option

from schedopt.analysis import statistics
from schedopt.analysis.tables import variations
from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.options import File, Files, Text, Texts, app
from schedopt.instances.errors import InputError
from schedopt.instances.options import split
from schedopt.instances.protocol import problem_name
from schedopt.solvers.stopping import finishing
from schedopt.sweep.rows import FORMATS, LINES, SweepInterrupt, read_rows, to_lines
from schedopt.sweep.sources import instance_files, parse_seeds
from schedopt.terminal import bar, results, show
from schedopt.verbs import bench as benching
from schedopt.verbs import whatif as varying
from schedopt.verbs.load import read_constraints, read_rules


@app.command(epilog="Example: schedopt bench nights/ --jobs 4 --output results.parquet")
def bench(
    paths: Annotated[Files, Argument(help="Instance files, and folders of them.")] = None,
    generate: Annotated[
        Texts, Option(help="Random instances, such as epoch/planted,seeds=1-20; repeatable.")
    ] = None,
    policy: Annotated[Texts, Option(help="Policies, as NAME,...; all by default.")] = None,
    seed: Annotated[
        Texts, Option(help="Seeds of random policies, such as 7 or 1-5; repeatable.")
    ] = None,
    json: shared.Json = False,
    output: Annotated[
        File, Option("--output", "-o", help="Write rows as .jsonl, .csv or .parquet; resumable.")
    ] = None,
    report: Annotated[File, Option(help="Write an .html page with tables and charts.")] = None,
    option: shared.Options = None,
    constraints: shared.Constraints = None,
    time_limit: shared.TimeLimit = None,
    certificate: Annotated[
        bool, Option("--certificate", help="Certify each bound, and prove it again.")
    ] = False,
    jobs: shared.Jobs = 1,
    cluster: Annotated[
        Text, Option(help="Run on a Dask cluster: its scheduler, such as tcp://host:8786.")
    ] = None,
    policy_file: shared.PolicyFiles = None,
) -> None:
    """Compare policies with the proven optimum (or bound) on many instances.

    After an interruption, run the same command again: rows in the output are not computed again.
    A policy file is run in every process and worker; its imports have to be installed there.

    Exit status: 0 all runs are done, 1 a policy ended with an error (see its row), 2 bad input, or
    an instance that cannot be used, 130 interrupted.
    """
    paths, files, options = paths or [], constraints or [], split(option or ())
    if not paths and not generate:
        raise InputError("instance files, folders of them, or --generate")
    instances = instance_files(paths) if paths else []
    read: list[str | Path] = [*paths, *files, *instances, *out.files_in(options)]
    out.expect_writable(output, FORMATS, read)
    out.expect_writable(report, (".html",), [*read, output])
    names = [name.strip() for text in policy or () for name in text.split(",")]
    policies = [name for name in names if name]
    if policy and not policies:
        raise InputError("names separated by commas", found=repr(policy[0]), place="--policy")
    failures: list[str] = []
    try:
        with bar("instances") as progress:
            rows = benching.bench(
                paths,
                generated=generate or (),
                policies=policies,
                seeds=[one for text in seed or ("0",) for one in parse_seeds(text)],
                options=options,
                constraints=[rule for file in files for rule in read_constraints(file)],
                time_limit=time_limit,
                certificate=certificate,
                jobs=jobs,
                cluster=cluster,
                output=output,
                policy_files=policy_file or (),
                progress=progress,
            )
    except benching.BenchError as error:
        rows, failures = error.rows, error.failures
    except SweepInterrupt as stop:
        _end_interrupted(stop, output, results.summary, json=json)
    _print_rows(rows, results.summary, json=json)
    _say_some(failures)
    if report is not None:
        from schedopt.report.pages import write_bench

        write_bench(rows, report, failures=failures)
        out.say(f"wrote {report}: open it in a browser")
    broken = [row for row in rows if row.termination == "error"]
    _say_some([f"{row.policy} on {row.instance}: {row.message}" for row in broken])
    raise Exit(out.BAD_INPUT if failures else out.FAILED if broken else out.FOUND)


def _print_rows(rows: Any, show_rows: Callable[[Any], None], *, json: bool) -> None:
    if json:
        out.print_bytes(to_lines(rows))
    elif rows:
        show_rows(rows)


def _end_interrupted(
    stop: SweepInterrupt, output: Path | None, show_rows: Callable[[Any], None], *, json: bool
) -> NoReturn:
    """Print the finished rows and how to continue, and exit as interrupted."""
    with finishing():
        _print_rows(stop.rows, show_rows, json=json)
        going_on = f"; run it again to continue, {output} keeps the finished rows" * bool(output)
        out.say("interrupted" + going_on)
    raise Exit(out.INTERRUPTED)


def _say_some(lines: list[str], most: int = 20) -> None:
    """Print the first lines, and the number of the others."""
    for line in lines[:most]:
        out.say(line)
    if len(lines) > most:
        out.say(f"and {len(lines) - most:,} more that failed")


@app.command(epilog="Example: schedopt summary rows.jsonl --compare greedy")
def summary(
    file: Annotated[Path, Argument(help="The rows of a bench, as .jsonl.")],
    compare: Annotated[Text, Option(help="A policy to compare with each of the others.")] = None,
    json: shared.Json = False,
) -> None:
    """Summarize the rows of a bench: gaps, wins, and one policy against the others.

    Exit status: 0 on success, 2 bad input.
    """
    rows = read_rows(file)
    if not rows:
        raise InputError("rows of a bench", found="none", file=str(file))
    pairs = [] if compare is None else statistics.against(rows, compare)
    document = {"summary": statistics.summary(rows), "pairs": pairs}
    out.deliver(document, lambda: results.summary(rows, pairs), json=json)


@app.command(
    epilog="Example: schedopt whatif night.json --vary processors=900,1000 --vary deadline=12h,13h"
)
def whatif(
    file: shared.InstanceFile,
    vary: Annotated[list[str], Option(help="PLACE=VALUES, such as deadline=8h,9h; repeatable.")],
    json: shared.Json = False,
    output: Annotated[
        File, Option("--output", "-o", help="Write rows as .jsonl; resumable.")
    ] = None,
    formulation: shared.Formulation = None,
    solver: shared.Solver = None,
    constraints: shared.Constraints = None,
    time_limit: shared.TimeLimit = None,
    gap: shared.Gap = 0.0,
    seed: shared.Seed = 0,
    option: shared.Options = None,
    jobs: shared.Jobs = 1,
) -> None:
    """Solve an instance for every combination of values at some of its places.

    Places: processors, deadline, jobs.NAME.reward, rules.NAME.at_most.GROUP, option.fill and so on.
    After an interruption, run the same command again: rows in the .jsonl are not solved again.

    Exit status: 0 every combination is solved or proven infeasible, 1 a check failed, 2 bad input,
    4 a combination stopped without a solution, 130 interrupted.
    """

    def show_rows(rows: Any) -> None:
        show(variations(rows))

    files, options = constraints or [], split(option or ())
    out.expect_writable(output, (LINES,), [file, *files, *out.files_in(options)])
    instance, rules, planned = varying.question_of(file)
    try:
        with bar("combinations") as progress:
            rows = varying.whatif(
                instance,
                vary,
                formulation=formulation or planned,
                solver=solver,
                constraints=[*rules, *read_rules(files, problem_name(instance), instance)],
                time_limit=time_limit,
                gap=gap,
                seed=seed,
                options=options,
                jobs=jobs,
                output=output,
                progress=progress,
            )
    except SweepInterrupt as stop:
        _end_interrupted(stop, output, show_rows, json=json)
    _print_rows(rows, show_rows, json=json)
    if any(row.violations for row in rows):
        raise Exit(out.FAILED)
    ended = [row.solution_status != "none" or row.termination == "infeasible" for row in rows]
    raise Exit(out.FOUND if all(ended) else out.NOTHING)
