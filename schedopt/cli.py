"""The verbs: what they take, what they print, how they exit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from instances.errors import InputError

app = typer.Typer(
    help="Optimization models for cluster scheduling, and the heuristics people run beside them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

FOUND, FAILED, INFEASIBLE, NOTHING, INTERRUPTED = 0, 1, 3, 4, 130

File = Annotated[Path, typer.Argument(help="An instance file, .json or .json.gz.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option, as KEY=VALUE; repeatable.")
]
Constraints = Annotated[
    list[Path] | None,
    typer.Option("--constraints", help="A JSON file of further side constraints; repeatable."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file too.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
Seed = Annotated[int, typer.Option(help="The random seed.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds of solving; the best is kept.")]


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from schedopt import __version__

        print(f"schedopt {__version__}")
        raise typer.Exit


@app.command(epilog="Example: schedopt solve instances/dssp/night.json.gz --option fill=0.9")
def solve(
    file: File,
    formulation: Annotated[str | None, typer.Option(help="See `schedopt list`.")] = None,
    solver: Annotated[str | None, typer.Option(help="See `schedopt list`.")] = None,
    constraints: Constraints = None,
    time_limit: TimeLimit = None,
    gap: Annotated[float, typer.Option(help="The relative gap that is good enough.")] = 0.0,
    threads: Annotated[int | None, typer.Option(help="Threads of the solver.")] = None,
    seed: Seed = 0,
    option: Options = None,
    json: Json = False,
    output: Output = None,
) -> None:
    """Find the optimum, prove it, and check it.

    Exit status: 0 a solution was found, 3 proven infeasible, 4 stopped without a solution,
    130 interrupted (what was found is still written), 1 the check failed, 2 bad input.
    """
    from instances.files import load
    from schedopt import showing
    from schedopt.solving import solve as run

    _writable(output)
    instance = load(file)
    with showing.live(file.name) as watch:
        result = run(
            instance,
            formulation=formulation,
            solver=solver,
            constraints=_declared(constraints, instance),
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            options=_split(option),
            watch=watch,
        )
    _deliver(result, json, output, lambda: showing.result(instance, result))
    raise typer.Exit(_status(result))


@app.command(epilog="Example: schedopt evaluate instances/dssp/night.json.gz --policy greedy,core")
def evaluate(
    file: File,
    policy: Annotated[str, typer.Option(help="One name, or several with commas between.")],
    seed: Seed = 0,
    option: Options = None,
    constraints: Constraints = None,
    json: Json = False,
    output: Output = None,
) -> None:
    """Tell what policies get on an instance, and which side constraints they break.

    Exit status: 0 each policy has a solution, 2 bad input or a policy that does not apply.
    """
    from instances.files import load
    from schedopt import showing
    from schedopt.evaluating import evaluate as run

    _writable(output)
    instance = load(file)
    names = [name.strip() for name in policy.split(",") if name.strip()]
    declared = _declared(constraints, instance)
    results = run(instance, names, options=_split(option), seed=seed, constraints=declared)
    if not results:
        raise InputError("a policy", found=repr(policy), place="--policy")
    shown: Any = results[0] if len(results) == 1 else results
    _deliver(shown, json, output, lambda: showing.results(instance, results))
    for result in results:
        if not result.solution:
            _say(f"{result.policy}: {result.termination}: {result.message}")
    raise typer.Exit(0 if all(result.solution for result in results) else 2)


@app.command(epilog="Example: schedopt bench nights/ --jobs 4 --output results.parquet")
def bench(
    paths: Annotated[list[Path], typer.Argument(help="Instance files, and folders of them.")],
    policy: Annotated[
        str | None, typer.Option(help="Names with commas between; all by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; repeatable.")] = None,
    option: Options = None,
    constraints: Constraints = None,
    time_limit: TimeLimit = None,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".jsonl, .csv or .parquet; resumable.")
    ] = None,
) -> None:
    """Compare policies with the proven optimum (or bound) on many instances.

    Run again with the same output after an interruption: what is there is not computed again.
    """
    from schedopt import showing
    from schedopt.benching import BenchError
    from schedopt.benching import bench as run
    from schedopt.rows import table

    failures: list[str] = []
    try:
        with showing.bar("instances") as progress:
            rows = run(
                paths,
                policies=[p.strip() for p in policy.split(",")] if policy else None,
                seeds=seed or [0],
                options=_split(option),
                constraints=_undeclared(constraints),
                time_limit=time_limit,
                jobs=jobs,
                output=output,
                progress=progress,
            )
    except BenchError as error:
        rows, failures = error.rows, error.failures
    except KeyboardInterrupt:
        kept = f"; run it again to go on, {output} keeps what is done" if output else ""
        _say(f"interrupted{kept}")
        raise typer.Exit(INTERRUPTED) from None
    if json:
        sys.stdout.buffer.write(table(rows, ".jsonl"))
    else:
        showing.bench(rows)
    for failure in failures:
        _say(failure)
    raise typer.Exit(2 if failures else 0)


@app.command(epilog="Example: schedopt check instances/dssp/night.json.gz result.json")
def check(file: File, result: Annotated[Path, typer.Argument(help="A result document.")]) -> None:
    """Recompute a result from the raw instance, without any solver.

    Exit status: 0 it holds, 1 it does not (each violation in a line), 2 bad input.
    """
    from instances.files import load
    from schedopt.checking import reports

    wrong = False
    for document, report in reports(load(file), result):
        who = document.policy or document.formulation or "result"
        for violation in report.violations:
            print(f"{who}: {violation}")
        for what in report.unchecked:
            _say(f"{who}: not checked: {what}")
        if report.ok:
            print(f"{who}: holds ({document.solution_status}, objective {document.objective})")
        wrong = wrong or not report.ok
    raise typer.Exit(FAILED if wrong else 0)


@app.command(epilog="Example: schedopt generate dssp --seed 3 --output night.json.gz")
def generate(
    problem: Annotated[str, typer.Argument(help="The problem, such as dssp.")],
    generator: Annotated[str | None, typer.Option(help="See `schedopt list`.")] = None,
    seed: Seed = 0,
    count: Annotated[int, typer.Option(help="How many, with seeds counting up from --seed.")] = 1,
    option: Options = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; a folder where --count is given.")
    ] = None,
) -> None:
    """Make random instances; the same seed makes the same instance.

    Without --output the instance goes to standard output.
    """
    from schedopt.making import generate as run

    options = _split(option)
    if count == 1:
        _write_instance(run(problem, generator, seed=seed, options=options), output)
        return
    if output is None or count < 1:
        raise InputError("a count of 1 or more, and --output FOLDER beside it", place="--count")
    from instances.files import dump

    output.mkdir(parents=True, exist_ok=True)
    for number in range(seed, seed + count):
        instance = run(problem, generator, seed=number, options=options)
        dump(instance, output / f"{instance.name}.json.gz")
    _say(f"wrote {count} instances to {output}")


@app.command(epilog="Example: schedopt convert jobs.csv --option processors=100 -o night.json")
def convert(
    files: Annotated[list[Path], typer.Argument(help="A CSV of jobs, or WfCommons workflows.")],
    name: Annotated[str | None, typer.Option(help="The instance's name.")] = None,
    option: Options = None,
    output: Output = None,
) -> None:
    """Turn public trace formats, and tables of jobs, into instance files.

    Several workflows make one instance. Without --output it goes to standard output.
    """
    from schedopt.making import convert as run

    _write_instance(run(files, name=name, options=_split(option)), output)


@app.command(epilog="Example: schedopt plot result.json --instance night.json --output night.png")
def plot(
    file: Annotated[Path, typer.Argument(help="An instance, a result, or a list of results.")],
    instance: Annotated[
        Path | None, typer.Option(help="The results' instance: its deadline and its groups.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .png (the default), .svg or .html.")
    ] = None,
) -> None:
    """Draw a file: jobs, who gets which share, or schedules with their profiles."""
    from schedopt.plotting import plot as draw
    from schedopt.plotting import save

    target = output or Path(f"{file.name.split('.')[0]}.png")
    _writable(target)
    save(draw(file, instance=instance), target)
    _say(f"wrote {target}")


@app.command(epilog="Example: schedopt reproduce dssp/figure-3 dssp/theorem-4 --quick")
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Such as dssp/figure-3, or dssp; none: all.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances, in seconds.")] = False,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for the plots.")
    ] = None,
) -> None:
    """Run a paper's figures and theorems, and print its claims beside what is found here.

    Exit status: 0 every claim holds, 1 one does not, 2 there is no such reproduction.
    """
    from schedopt import showing
    from schedopt.reproducing import reproduce as run

    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    found = run(names or (), quick=quick, output=output, watch=lambda name: _say(f"{name} ..."))
    if json:
        _print_json(found)
    else:
        showing.reproductions(found)
    held = all(claim["holds"] is not False for entry in found for claim in entry["claims"])
    raise typer.Exit(FOUND if held else FAILED)


@app.command("list", epilog="Example: schedopt list policies")
def list_(
    section: Annotated[str | None, typer.Argument(help="Only this section.")] = None,
    json: Json = False,
) -> None:
    """List problems, formulations, solvers, policies, constraint kinds and generators."""
    from schedopt import contents, showing

    sections = contents.sections()
    if section is not None:
        from schedopt.catalog import pick

        sections = {section: sections[pick(section, sections, "a section")]}
    if json:
        _print_json(sections)
    else:
        showing.contents(sections)


@app.command(epilog="Example: schedopt doctor")
def doctor(json: Json = False) -> None:
    """Say versions, and whether each solver loads and solves a tiny model right."""
    from schedopt import showing
    from schedopt.doctor import examine

    findings = examine()
    if json:
        _print_json(findings)
    else:
        showing.doctor(findings)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else FAILED)


def _status(result: Any) -> int:
    if result.termination == "interrupted":
        return INTERRUPTED
    if result.violations:
        return FAILED
    if result.termination == "infeasible":
        return INFEASIBLE
    return FOUND if result.solution_status != "none" else NOTHING


def _split(pairs: list[str] | None) -> dict[str, Any]:
    from instances.options import split

    return split(pairs or ())


def _declared(files: list[Path] | None, instance: Any) -> list[Any]:
    from schedopt.making import constraints_from

    problem = str(type(instance).__struct_config__.tag)
    return [declared for file in files or () for declared in constraints_from(file, problem)]


def _undeclared(files: list[Path] | None) -> list[Any]:
    """Read side constraints for a bench, before any instance is known: of whichever problem."""
    from schedopt.making import any_constraints_from

    return [declared for file in files or () for declared in any_constraints_from(file)]


def _deliver(document: Any, json: bool, output: Path | None, show: Any) -> None:
    """Write a document to the file, and print it as JSON or for people."""
    from instances.files import encode, write_bytes

    if output is not None:
        write_bytes(output, encode(document, indent=1))
    if json:
        sys.stdout.buffer.write(encode(document))
        sys.stdout.buffer.flush()
    else:
        show()


def _write_instance(instance: Any, output: Path | None) -> None:
    from instances.files import dump, encode

    if output is None:
        sys.stdout.buffer.write(encode(instance))
        sys.stdout.buffer.flush()
        return
    dump(instance, output)
    _say(f"wrote {output}: {instance.name}")


def _writable(output: Path | None) -> None:
    """Refuse an output that cannot be written before hours of work, not after."""
    if output is not None and not output.absolute().parent.is_dir():
        raise InputError("a folder that exists", found="nothing", file=str(output.parent))


def _print_json(document: Any) -> None:
    from instances.files import encode

    sys.stdout.buffer.write(encode(document))
    sys.stdout.buffer.flush()


def _say(message: str) -> None:
    print(f"schedopt: {message}", file=sys.stderr)
