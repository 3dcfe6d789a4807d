"""The verbs that compare many results: bench, summary, whatif, carry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from schedopt.cli import delivering
from schedopt.cli.common import (
    FAILED,
    FOUND,
    INTERRUPTED,
    NOTHING,
    constraints_of_any,
    declared,
    named_in,
    print_json,
    say,
    split,
    verb,
    writable,
)
from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    from schedopt.analysis.contenders import Measure
    from schedopt.sweep.rows import Row

GRACE = 60.0
MOST_SAID = 5  # most failed runs that are reported one by one
MOST_FAILURES = 20  # most lines about failures that are printed; further ones are counted


@verb("schedopt bench nights/ --jobs 4 --output results.parquet")
def bench(
    paths: list[Path] | None = None,
    *,
    generate: list[str] | None = None,
    policy: list[str] | None = None,
    policy_file: list[Path] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    seed: list[str] | None = None,
    option: list[str] | None = None,
    constraints: list[Path] | None = None,
    time_limit: float | None = None,
    certificate: bool = False,
    grace: float | None = None,
    json: bool = False,
    output: Path | None = None,
    report: Path | None = None,
    pictures: int = 12,
) -> None:
    """Compare policies with the proven optimum (or bound) on many instances.

    Run again with the same output after an interruption: what is there is not computed again.
    A sweep.toml says what the flags say; flags beside it win. A policy file is run on every
    process and worker; what it imports has to be installed there.

    Exit status: 0 it is done, 1 a policy ended with an error (its row says which), 2 bad input, or
    an instance that cannot be used, 130 interrupted.

    Parameters
    ----------
    paths : Instance files, and folders of them; or one sweep.toml.
    generate : Such as dssp/uncorrelated,seeds=1-20,jobs=100; repeatable.
    policy : Names with commas between, or PROBLEM=NAMES; repeatable. All by default.
    jobs : Processes; 1 by default.
    cluster : A Dask scheduler, such as tcp://host:8786.
    seed : A seed, or several as 1-5; repeatable.
    certificate : Certify each optimum's bound, and re-prove it.
    grace : Seconds beyond the time limit before a hung run is killed; 60.
    output : .jsonl, .csv or .parquet; resumable.
    report : An .html page: tables, charts, pictures.
    pictures : Instances that the report draws.
    """
    from schedopt.cli.streams import print_bytes
    from schedopt.sweep.rows import table
    from schedopt.sweep.sources import seeds_of
    from schedopt.terminal import bench_tables
    from schedopt.terminal.progress import bar
    from schedopt.verbs.bench import BenchError
    from schedopt.verbs.bench import bench as run

    flags = {
        "generated": generate or [],
        "policies": _policies(policy),
        "policy_files": policy_file,
        "jobs": jobs,
        "cluster": cluster,
        "seeds": [one for text in seed or () for one in seeds_of(text)] or None,
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
    finally:  # the report is made even if nobody reads the output
        for failure in failures[:MOST_FAILURES]:
            say(failure)
        if len(failures) > MOST_FAILURES:
            say(f"and {len(failures) - MOST_FAILURES:,} more that failed")
        if report is not None:
            delivering.page_of_bench(report, rows, failures, pictures)
    if str(words.get("output")).endswith(".parquet"):
        say(f"{words['output']}: polars reads it; pandas does with pyarrow installed beside it")
    broken = [row for row in rows if row.termination == "error"]
    for row in broken[:MOST_SAID]:
        say(f"{row.policy} on {row.instance}: {row.message}")
    if len(broken) > MOST_SAID:
        say(f"... and {len(broken) - MOST_SAID} more that ended with an error")
    raise typer.Exit(2 if failures else FAILED if broken else FOUND)


def _keep_what_is_read(
    paths: list[Path], constraints: list[Path], words: dict[str, Any], report: Path | None
) -> None:
    """Refuse an output or a report that would overwrite what the bench reads."""
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
    delivering.drawn(report, read if output is None else [*read, output])


def _words(paths: list[Path], flags: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a bench: those of a sweep file, overridden by flags."""
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


@verb("schedopt summary rows.parquet --compare greedy,core --profiles")
def summary(
    file: Path,
    earlier: Path | None = None,
    *,
    compare: list[str] | None = None,
    profiles: bool = False,
    measure: str = "objective",
    json: bool = False,
    latex: bool = False,
    csv: bool = False,
) -> None:
    """Summarize the rows of a bench: gaps, wins, profiles, pairs of policies, and what changed.

    Exit status: 0 on success, 2 bad input.

    Parameters
    ----------
    file : Rows that a bench wrote.
    earlier : Rows of an earlier bench: what changed since?
    compare : Two policies, as A,B, compared instance by instance; repeatable.
    profiles : Performance profiles.
    measure : What profiles compare: objective or seconds.
    latex : Print tables for LaTeX (booktabs), and nothing else.
    csv : Print one table as CSV, and nothing else.
    """
    from schedopt.analysis.pairs import changes, paired
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
        found["profiles"] = profiled(rows, measure=cast("Measure", measure))
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
        tables = for_papers(found["summary"], overview(rows), profiles, pairs, rows)
        return "\n".join(map(latex, tables))
    if profiles and pairs:
        raise InputError("one table at a time", found="--profiles and --compare", place="--csv")
    return spreadsheet(profiles or pairs or found["summary"], rows)


def _two(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError("two policies, as A,B", found=repr(text), place="--compare")
    return names[0], names[1]


@verb("schedopt whatif night.json --vary processors=900,1000 --vary deadline=12h,13h")
def whatif(
    file: Path,
    *,
    vary: list[str],
    unit: str | None = None,
    formulation: str | None = None,
    solver: str | None = None,
    constraints: list[Path] | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    option: list[str] | None = None,
    jobs: int = 1,
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Solve an instance for every combination of values at some of its places.

    Places: processors, deadline, jobs.NAME.reward, rules.NAME.at_most.GROUP, option.fill and so on.
    Run again with the same .jsonl after an interruption: what is there is not solved again.

    Exit status: 0 every combination has a solution or is proven to have none, 4 one stopped
    without either, 1 a check failed, 2 bad input, 130 interrupted.

    Parameters
    ----------
    vary : PLACE=VALUES, such as rules.cap.at_most.fx=0.2:0.6:0.1; repeatable.
    unit : What times with units become: s, m, h or d; the file's own if left out.
    jobs : Processes.
    output : .jsonl (resumable, for plot) or .csv.
    """
    from schedopt.analysis.tables import variations
    from schedopt.cli.streams import print_bytes
    from schedopt.instances.files import load
    from schedopt.sweep.varied import FORMATS, table
    from schedopt.terminal.console import show
    from schedopt.terminal.progress import bar
    from schedopt.verbs.whatif import whatif as run

    options = split(option)
    writable(output, FORMATS, [file, *(constraints or ()), *named_in(options)])
    instance = load(file)
    how = {"formulation": formulation, "solver": solver, "time_limit": time_limit, "gap": gap}
    rules = declared(constraints, instance)
    given: dict[str, Any] = {**how, "constraints": rules, "seed": seed, "options": options}
    try:
        with bar("combinations") as progress:
            rows = run(
                instance, vary, unit=unit, jobs=jobs, output=output, progress=progress, **given
            )
    except KeyboardInterrupt:
        kept = output is not None and output.suffix == FORMATS[0]
        say("interrupted" + (f"; run it again to go on, {output} keeps what is done" * kept))
        raise typer.Exit(INTERRUPTED) from None
    if json:
        print_bytes(table(rows, FORMATS[0]))
    else:
        show(variations(rows))
    if any(row.violations for row in rows):
        raise typer.Exit(FAILED)
    ended = [row.solution_status != "none" or row.termination == "infeasible" for row in rows]
    raise typer.Exit(FOUND if all(ended) else NOTHING)


@verb("schedopt carry mon.json tue.json --half-life 7d --output rules.json")
def carry(
    results: list[Path],
    *,
    half_life: str | None = None,
    window: str | None = None,
    constraints: list[Path] | None = None,
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Write fair shares that know what earlier nights used, for `solve --constraints`.

    The rules are those of --constraints, or those that the last result was solved with.

    Exit status: 0 on success, 2 bad input.

    Parameters
    ----------
    results : Results, the earliest first.
    half_life : Nights in which use comes to count half, such as 7 or 7d.
    window : Nights that count, tonight among them, such as 7 or 7d.
    """
    from schedopt.instances.files import dump
    from schedopt.verbs.carry import carry as run

    if output is None and not json:
        raise InputError("--output FILE or --json", found="neither")
    writable(output, (".json",), [*results, *(constraints or ())])
    rules = run(
        results,
        half_life=half_life,
        window=window,
        constraints=constraints_of_any(constraints),
    )
    if output is not None:
        dump(rules, output, indent=1)
        say(f"wrote {output}: {', '.join(rule.name or rule.kind() for rule in rules)}")
    if json:
        print_json(rules)
