"""The verbs that compare: bench, summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedopt.cli.common import (
    FAILED,
    FOUND,
    INTERRUPTED,
    Constraints,
    Json,
    Options,
    PolicyFiles,
    TimeLimit,
    app,
    constraints_of_any,
    named_in,
    print_json,
    say,
    split,
    writable,
)
from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    from schedopt.sweep.rows import Row

GRACE = 60.0
MOST_SAID = 5
"""Runs that ended with an error and are told one by one."""

MOST_FAILURES = 20
"""Lines about what failed that are said; of more, only how many."""


@app.command(epilog="Example: schedopt bench nights/ --jobs 4 --output results.parquet")
def bench(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Instance files, and folders of them; or one sweep.toml."),
    ] = None,
    generate: Annotated[
        list[str] | None,
        typer.Option(help="Such as dssp/uncorrelated,seeds=1-20,jobs=100; repeatable."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Names with commas between, or PROBLEM=NAMES; repeatable. All by default."
        ),
    ] = None,
    policy_file: PolicyFiles = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; 1 by default.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask scheduler, such as tcp://host:8786.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; repeatable.")] = None,
    option: Options = None,
    constraints: Constraints = None,
    time_limit: TimeLimit = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Certify each optimum's bound, and re-prove it.")
    ] = False,
    grace: Annotated[
        float | None,
        typer.Option(help="Seconds beyond the time limit before a hung run is killed; 60."),
    ] = None,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".jsonl, .csv or .parquet; resumable.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="An .html page: tables, charts, pictures.")
    ] = None,
    pictures: Annotated[int, typer.Option(help="Instances that the report draws.")] = 12,
) -> None:
    """Compare policies with the proven optimum (or bound) on many instances.

    Run again with the same output after an interruption: what is there is not computed again.
    A sweep.toml says what the flags say; flags beside it win. A policy file is run on every
    process and worker; what it imports has to be installed there.

    Exit status: 0 it is done, 1 a policy ended with an error (its row says which), 2 bad input, or
    an instance that cannot be used, 130 interrupted.
    """
    from schedopt.cli import reporting
    from schedopt.cli.streams import print_bytes
    from schedopt.sweep.rows import table
    from schedopt.sweep.sources import from_text
    from schedopt.terminal import bench_tables
    from schedopt.terminal.progress import bar
    from schedopt.verbs.bench import BenchError
    from schedopt.verbs.bench import bench as run

    flags = {
        "generated": [source for text in generate or () for source in from_text(text)],
        "policies": _policies(policy),
        "policy_files": policy_file,
        "jobs": jobs,
        "cluster": cluster,
        "seeds": seed,
        "options": split(option),
        "constraints": constraints_of_any(constraints),
        "time_limit": time_limit,
        "certificate": certificate or None,
        "grace": grace,
        "output": output,
    }
    words = _words(paths or [], flags)
    _keep_what_is_read(paths or [], constraints or [], words, report)
    failures: list[str] = []
    try:
        with bar("instances") as progress:
            rows = run(**words, progress=progress, tell=say)
    except BenchError as error:
        rows, failures = error.rows, error.failures
    except KeyboardInterrupt:
        kept = words.get("output")
        say("interrupted" + (f"; run it again to go on, {kept} keeps what is done" if kept else ""))
        raise typer.Exit(INTERRUPTED) from None
    try:
        if json:
            print_bytes(table(rows, ".jsonl"))
        else:
            bench_tables.summary(rows)
    finally:  # a reader that has gone is no reason to make no report
        for failure in failures[:MOST_FAILURES]:
            say(failure)
        if len(failures) > MOST_FAILURES:
            say(f"and {len(failures) - MOST_FAILURES:,} more that failed")
        if report is not None:
            reporting.deliver(report, rows, _sweep(words), failures, pictures)
    broken = [row for row in rows if row.termination == "error"]
    for row in broken[:MOST_SAID]:
        say(f"{row.policy} on {row.instance}: {row.message}")
    if len(broken) > MOST_SAID:
        say(f"... and {len(broken) - MOST_SAID} more that ended with an error")
    raise typer.Exit(2 if failures else FAILED if broken else FOUND)


def _keep_what_is_read(
    paths: list[Path], constraints: list[Path], words: dict[str, Any], report: Path | None
) -> None:
    """Refuse an output and a report that would take the place of what the bench reads."""
    from schedopt.cli import reporting
    from schedopt.sweep.rows import FORMATS
    from schedopt.sweep.sources import instance_files
    from schedopt.sweep.sweep_file import rule_files

    given = words.get("paths") or []
    read: list[str | Path] = [*paths, *constraints, *(instance_files(given) if given else [])]
    for path in paths:
        read += rule_files(path) if path.suffix == ".toml" else []
    read += named_in(words.get("options", {}))
    output = words.get("output")
    writable(output, FORMATS, read)
    reporting.ready(report, read if output is None else [*read, output])


def _sweep(words: dict[str, Any]) -> Any:
    """Return what a bench of these arguments does with each instance."""
    from schedopt.policies.from_file import read
    from schedopt.sweep.plan import Sweep

    files = tuple(read(path) for path in words.get("policy_files") or ())
    keys = ("policies", "options", "constraints", "certificate")
    given = {key: words[key] for key in keys if words.get(key)}
    limit = words.get("time_limit")
    return Sweep(
        seeds=tuple(words.get("seeds") or (0,)), time_limit=limit, policy_files=files, **given
    )


def _words(paths: list[Path], flags: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a bench: those of a sweep file, and flags that say otherwise."""
    files = [path for path in paths if path.suffix == ".toml"]
    given = {key: value for key, value in flags.items() if value not in (None, [], {})}
    if not files:
        if not paths and not given.get("generated"):
            raise InputError("instance files, folders of them, a sweep.toml or --generate")
        return {"paths": paths, "grace": GRACE} | given
    if len(paths) > 1:
        raise InputError("a sweep file by itself", found=f"{len(paths)} paths")
    from schedopt.sweep.sweep_file import read

    return {"grace": GRACE} | read(files[0]) | given


def _policies(given: list[str] | None) -> list[str] | dict[str, list[str]]:
    """Split ``--policy``: names, or names of a problem."""
    named: dict[str, list[str]] = {}
    plain: list[str] = []
    for text in given or ():
        problem, equals, names = text.rpartition("=")
        listed = [name.strip() for name in names.split(",") if name.strip()]
        if not listed:
            raise InputError("names with commas between", found=repr(text), place="--policy")
        (named.setdefault(problem, []) if equals else plain).extend(listed)
    if named and plain:
        raise InputError("PROBLEM=NAMES in all of them, or in none", place="--policy")
    return named or plain


@app.command(epilog="Example: schedopt summary rows.parquet --compare greedy,core --profiles")
def summary(
    file: Annotated[Path, typer.Argument(help="Rows that a bench wrote.")],
    earlier: Annotated[
        Path | None, typer.Argument(help="Rows of an earlier bench: what changed since?")
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(help="Two policies, as A,B, compared instance by instance; repeatable."),
    ] = None,
    profiles: Annotated[bool, typer.Option("--profiles", help="Performance profiles.")] = False,
    measure: Annotated[
        str, typer.Option(help="What profiles compare: objective or seconds.")
    ] = "objective",
    json: Json = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print tables for LaTeX (booktabs), and nothing else.")
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print one table as CSV, and nothing else.")
    ] = False,
) -> None:
    """Summarize the rows of a bench: gaps, wins, profiles, pairs of policies, and what changed.

    Exit status: 0 on success, 2 bad input.
    """
    from schedopt.analysis.changes import changes
    from schedopt.analysis.pairs import paired
    from schedopt.analysis.profiles import profiles as profiled
    from schedopt.analysis.summary import summary as summarize
    from schedopt.cli.streams import print_bytes
    from schedopt.sweep.rows import read_rows
    from schedopt.terminal import bench_tables

    if measure not in ("objective", "seconds"):
        raise InputError("objective or seconds", found=repr(measure), place="--measure")
    if json + latex + csv > 1:
        raise InputError("one of --json, --latex and --csv", found="several")
    rows = read_rows(file)
    if not rows:
        raise InputError("rows of a bench", found="none", file=str(file))
    pairs = [pair for text in compare or () for pair in paired(rows, *_two(text))]
    found: dict[str, Any] = {"summary": summarize(rows)}
    if profiles or measure != "objective":
        found["profiles"] = profiled(rows, measure=measure)  # type: ignore[arg-type]
    if pairs:
        found["pairs"] = pairs
    if earlier is not None:
        found["changes"] = changes(read_rows(earlier), rows)
    if json:
        print_json(found)
    elif latex or csv:
        print_bytes(_for_others(rows, found, csv=csv).encode())
    else:
        bench_tables.summary(rows)
        bench_tables.profiles(found.get("profiles", ()))
        bench_tables.pairs(pairs)
        if "changes" in found:
            bench_tables.changes(found["changes"])


def _for_others(rows: list[Row], found: dict[str, Any], *, csv: bool) -> str:
    """Return tables for a paper, or one table for a spreadsheet."""
    from schedopt.analysis.markup import latex
    from schedopt.analysis.summary import overview
    from schedopt.analysis.tables import for_papers, spreadsheet

    if "changes" in found:
        raise InputError("--json for what changed", found="--csv" if csv else "--latex")
    profiles, pairs = found.get("profiles", []), found.get("pairs", [])
    if not csv:
        tables = for_papers(found["summary"], overview(rows), profiles, pairs)
        return "\n".join(map(latex, tables))
    if profiles and pairs:
        raise InputError("one table at a time", found="--profiles and --compare", place="--csv")
    return spreadsheet(profiles or pairs or found["summary"])


def _two(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError("two policies, as A,B", found=repr(text), place="--compare")
    return names[0], names[1]
