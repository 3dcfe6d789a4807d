"""The verbs that compare many results: bench, summary, whatif, carry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import typer

from schedopt.cli import output as out
from schedopt.cli.common import verb
from schedopt.instances.errors import InputError
from schedopt.solvers.stopping import finishing
from schedopt.sweep.rows import LINES, SweepInterrupt, to_lines
from schedopt.verbs import bench as benching
from schedopt.verbs import carry as carrying
from schedopt.verbs import whatif as varying

MOST_SAID = 5  # most failed runs that are reported one by one
MOST_FAILURES = 20  # most lines about failures that are printed; further ones are counted


@verb("schedopt bench nights/ --jobs 4 --output results.parquet", benching.bench)
def bench(
    paths: list[Path] | None = None,
    *,
    generate: list[str] | None = None,
    policy: list[str] | None = None,
    seed: list[str] | None = None,
    json: bool = False,
    output: Path | None = None,
    report: Path | None = None,
    **given: Any,
) -> None:
    """Compare policies with the proven optimum (or bound) on many instances.

    Run again with the same output after an interruption: what is there is not computed again.
    A policy file is run on every process and worker; what it imports has to be installed there.

    Exit status: 0 it is done, 1 a policy ended with an error (its row says which), 2 bad input, or
    an instance that cannot be used, 130 interrupted.

    Parameters
    ----------
    paths : Instance files, and folders of them.
    generate : Such as dssp/uncorrelated,seeds=1-20,jobs=100; repeatable.
    policy : Names with commas between; repeatable. All by default.
    jobs : Processes; 1 by default.
    cluster : A Dask scheduler, such as tcp://host:8786.
    seed : A seed, or several as 1-5; repeatable.
    certificate : Certify each optimum's bound, and re-prove it.
    output : .jsonl, .csv or .parquet; resumable.
    report : An .html page: tables and charts.
    """
    from schedopt.sweep.rows import FORMATS
    from schedopt.sweep.sources import instance_files, parse_seeds
    from schedopt.terminal import results
    from schedopt.terminal.progress import bar
    from schedopt.verbs.load import read_constraints

    paths = paths or []
    if not paths and not generate:
        raise InputError("instance files, folders of them, or --generate")
    files = given.pop("constraints")
    read = [*paths, *files, *(instance_files(paths) if paths else [])]
    read += map(Path, out.files_in(given["options"]))
    out.expect_writable(output, FORMATS, read)
    out.expect_drawable(report, read if output is None else [*read, output])
    given["constraints"] = [rule for file in files for rule in read_constraints(file)]
    listed = [name.strip() for text in policy or () for name in text.split(",")]
    given["policies"] = [name for name in listed if name]
    if policy and not given["policies"]:
        raise InputError("names with commas between", found=repr(policy[0]), place="--policy")
    given["seeds"] = [one for text in seed or ("0",) for one in parse_seeds(text)]
    given |= {"generated": generate or (), "output": output}
    failures: list[str] = []
    try:
        with bar("instances") as progress:
            rows = benching.bench(paths, **given, progress=progress)
    except benching.BenchError as error:
        rows, failures = error.rows, error.failures
    except SweepInterrupt as stop:
        _tell_interrupted(stop, output, json=json, show=results.summary)
    try:
        if json:
            out.print_bytes(to_lines(rows))
        else:
            results.summary(rows)
    finally:  # the report is made even if nobody reads the output
        _say_some(failures, MOST_FAILURES)
        if report is not None:
            from schedopt.report import bench_page

            bench_page.write(rows, report, failures=failures)
            out.say(f"wrote {report}: open it in a browser")
    broken = [row for row in rows if row.termination == "error"]
    _say_some([f"{row.policy} on {row.instance}: {row.message}" for row in broken], MOST_SAID)
    raise typer.Exit(2 if failures else out.FAILED if broken else out.FOUND)


def _tell_interrupted(
    stop: SweepInterrupt, output: Path | None, *, json: bool, show: Callable[[Any], None]
) -> NoReturn:
    """Tell what is done, and how to go on; then end as an interruption does."""
    with finishing():
        if json:
            out.print_bytes(to_lines(stop.rows))
        elif stop.rows:
            show(stop.rows)
        going_on = f"; run it again to go on, {output} keeps what is done" * bool(output)
        out.say("interrupted" + going_on)
    raise typer.Exit(out.INTERRUPTED)


def _say_some(lines: list[str], most: int) -> None:
    """Say the first of some lines, and how many more there are that ended so."""
    for line in lines[:most]:
        out.say(line)
    if len(lines) > most:
        out.say(f"and {len(lines) - most:,} more that failed")


@verb("schedopt summary rows.jsonl --compare greedy")
def summary(file: Path, *, compare: str | None = None, json: bool = False) -> None:
    """Summarize the rows of a bench: gaps, wins, and one policy beside each other.

    Exit status: 0 on success, 2 bad input.

    Parameters
    ----------
    file : Rows that a bench wrote.
    compare : A policy: its differences from each other one, instance by instance.
    """
    from schedopt.analysis.statistics import against
    from schedopt.analysis.statistics import summary as summarize
    from schedopt.sweep.rows import read_rows
    from schedopt.terminal import results

    rows = read_rows(file)
    if not rows:
        raise InputError("rows of a bench", found="none", file=str(file))
    pairs = [] if compare is None else against(rows, compare)
    document = {"summary": summarize(rows), "pairs": pairs}
    out.deliver(document, lambda: results.summary(rows, pairs), json=json)


@verb(
    "schedopt whatif night.json --vary processors=900,1000 --vary deadline=12h,13h", varying.whatif
)
def whatif(
    file: Path, *, vary: list[str], json: bool = False, output: Path | None = None, **given: Any
) -> None:
    """Solve an instance for every combination of values at some of its places.

    Places: processors, deadline, jobs.NAME.reward, rules.NAME.at_most.GROUP, option.fill and so on.
    Run again with the same .jsonl after an interruption: what is there is not solved again.

    Exit status: 0 every combination has a solution or is proven to have none, 4 one stopped
    without either, 1 a check failed, 2 bad input, 130 interrupted.

    Parameters
    ----------
    vary : PLACE=VALUES, such as rules.cap.at_most.fx=0.2:0.6:0.1; repeatable.
    jobs : Processes.
    output : .jsonl; resumable, and for plot.
    """
    from schedopt.analysis.tables import variations
    from schedopt.instances.protocol import problem_name
    from schedopt.terminal.console import show
    from schedopt.terminal.progress import bar
    from schedopt.verbs.load import read_rules

    files = given.pop("constraints")
    out.expect_writable(output, (LINES,), [file, *files, *out.files_in(given["options"])])
    instance, rules, planned = varying.question_of(file)
    given["constraints"] = [*rules, *read_rules(files, problem_name(instance), instance)]
    given["formulation"] = given["formulation"] or planned
    try:
        with bar("combinations") as progress:
            rows = varying.whatif(instance, vary, **given, output=output, progress=progress)
    except SweepInterrupt as stop:
        _tell_interrupted(stop, output, json=json, show=lambda rows: show(variations(rows)))
    if json:
        out.print_bytes(to_lines(rows))
    else:
        show(variations(rows))
    if any(row.violations for row in rows):
        raise typer.Exit(out.FAILED)
    ended = [row.solution_status != "none" or row.termination == "infeasible" for row in rows]
    raise typer.Exit(out.FOUND if all(ended) else out.NOTHING)


@verb("schedopt carry mon.json tue.json --half-life 7d --output usage.json")
def carry(
    results: list[Path],
    *,
    half_life: str | None = None,
    window: str | None = None,
    constraints: list[Path] | None = None,
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Write fair shares that know what earlier nights used, for `plan --past`.

    Of a plan what the whole night used counts, as its history has it. The rules are those of the
    last plan, unless --constraints names others.

    Exit status: 0 on success, 2 bad input.

    Parameters
    ----------
    results : Plan documents or results, the earliest first.
    half_life : Nights in which use comes to count half, such as 7 or 7d.
    window : Nights that count, tonight among them, such as 7 or 7d.
    """
    from schedopt.verbs.load import read_constraints

    stated = [rule for file in constraints or () for rule in read_constraints(file)]
    life = {"half_life": half_life, "window": window}
    rules = carrying.carry(results, constraints=stated, **life)
    if output is None and not json:
        raise InputError("--output FILE or --json", found="neither")
    out.expect_writable(output, (".json",), [*results, *(constraints or ())])
    names = ", ".join(rule.name or rule.kind() for rule in rules)
    out.deliver(rules, lambda: out.say(f"wrote {output}: {names}"), json=json, output=output)
