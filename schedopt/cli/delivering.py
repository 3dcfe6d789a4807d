"""Where results go: documents, plans as tables, and pages of a result or of a bench."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedopt.cli.common import DOCUMENTS, deliver, say, writable
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need

if TYPE_CHECKING:
    import polars as pl

    from schedopt.analysis.row_table import RowTable
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.protocol import AnyInstance
    from schedopt.problems.summary import Plan, Replanned
    from schedopt.solvers.result import Result

PLANS = (".csv", ".parquet", ".sh")
"""Endings of plans; the last is that of a script, which a template writes."""


def expect_result_file(
    output: Path | None,
    read: Iterable[str | Path],
    template: str | None = None,
    more: Sequence[str] = (),
) -> None:
    """Refuse a file that a result cannot be written to, before it is solved."""
    writable(output, (*DOCUMENTS, *PLANS, *more), [*read, *([template] if template else [])])
    if output is not None and output.name.lower().endswith((".parquet", PLANS[-1])):
        need("polars", str(output))
    if template is None:
        return
    if output is None or output.suffix.lower() != PLANS[-1]:
        found = "none" if output is None else shown(output.name)
        raise InputError(f"--output FILE{PLANS[-1]}", found=found, place="--template")
    from schedopt.verbs.script import read_template

    read_template(template)


def is_plan(output: Path | None) -> bool:
    """Tell whether a file is to hold a plan."""
    return output is not None and output.name.lower().endswith(PLANS)


def expect_plans(instance: AnyInstance, output: Path | None) -> None:
    """Refuse a plan of a problem that has none, before it is solved."""
    from schedopt.problems import problem_of

    record = problem_of(instance)
    if is_plan(output) and not record.plans(instance):
        expected = f"a name ending in .json: {instance.name} ({record.name}) has no plan of jobs"
        raise InputError(expected, found=shown(str(output)))


def write_result(
    instance: AnyInstance,
    found: Result,
    json: bool,
    output: Path | None,
    show: Callable[[], None],
    template: str | None = None,
) -> None:
    """Write a result as a document or as a plan, and print it as JSON or for people."""
    if not is_plan(output) or output is None:
        deliver(found.written(), json, output, show)
        return
    try:
        if found.solution is not None:
            write_plan(instance, found, output, template)
    finally:  # what was found is told, whatever becomes of the file
        deliver(found.written(), json, None, show)
    if found.solution is None:
        say(f"there is no solution: {output} is not written")


def write_plan(
    instance: AnyInstance, found: Result, output: Path, template: str | None = None
) -> None:
    """Write a plan, and say how its jobs are dispatched."""
    from schedopt.verbs import plan_table as plans

    run = plans.carried_out(instance, found)
    write_plan_file(plans.plan_of(instance, found, run), output, template)
    if run is None:
        say(f"wrote {output}: when is not said, since not every job has tasks")
    else:
        say(f"wrote {output}" + (f", {run.message}" if run.message and run is not found else ""))
        for violation in run.violations:
            say(f"violation: {violation}")


def write_plan_file(table: pl.DataFrame | Plan, output: Path, template: str | None) -> None:
    """Write a plan as a table, or as a script by a template."""
    from schedopt.problems.summary import Plan
    from schedopt.verbs import plan_table as plans
    from schedopt.verbs import script

    if output.suffix.lower() == PLANS[-1]:
        frame = table.frame() if isinstance(table, Plan) else table
        script.write(frame, output, template or script.PLAIN)
    else:
        plans.write(table, output)


def write_replanned(
    made: Replanned, json: bool, output: Path | None, template: str | None, show: Callable[[], None]
) -> None:
    """Write what `replan` returns: a plan, or the result on the rest of the night; and print it."""
    table = output if is_plan(output) else None
    if table is not None and made.plan is not None:
        write_plan_file(made.plan, table, template)
    deliver(made.result.written(), json, None if table else output, show)
    for note in made.notes:
        say(note)
    if output is not None:
        written = table is None or made.plan is not None
        say(f"wrote {output}" if written else f"there is no solution: {output} is not written")


def write_page(
    instance: AnyInstance,
    found: Result,
    report: Path | None,
    run: Result | None = None,
) -> None:
    """Write the page of one result, if one is asked for; ``run``: the same as run, if known."""
    if report is None:
        return
    from schedopt.report import result_page
    from schedopt.verbs import plan_table as plans

    if run is None and found.solution is not None:
        run = plans.carried_out(instance, found)
    result_page.write(instance, found, report, run)
    say(f"wrote {report}: open it in a browser")


def expect_drawable(
    report: Path | None, read: Iterable[str | Path], endings: Sequence[str] = (".html",)
) -> None:
    """Refuse a page or picture that cannot be drawn or written before anything is solved."""
    writable(report, endings, read)
    if report is not None:
        need("matplotlib", str(report))


def write_bench_page(report: Path, rows: RowTable, failures: Sequence[str]) -> None:
    """Write the page of a bench and say where it is."""
    from schedopt.report import bench_page

    bench_page.write(rows, report, failures=failures)
    say(f"wrote {report}: open it in a browser")


def rules_for(files: Sequence[Path], instance: AnyInstance) -> list[Constraint]:
    """Read side constraints for an instance."""
    from schedopt.instances.protocol import problem_name
    from schedopt.verbs.constraints import read_rules

    return read_rules(files, problem_name(instance), instance)
