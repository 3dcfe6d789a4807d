"""The verb of an operator: plan."""

from pathlib import Path
from typing import Any

import typer

from schedopt.cli import output as out
from schedopt.cli.common import verb
from schedopt.instances.errors import InputError
from schedopt.solvers.stopping import finishing, stopped
from schedopt.verbs import plan as planning

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
    output: list[Path] | None = None,
    template: str | None = None,
    report: Path | None = None,
    json: bool = False,
    **given: Any,
) -> None:
    """Plan a night: a table of jobs in, a plan out in which nobody selected is late.

    Beside the plan it says what no plan can exceed. The columns of a table are those of `convert`.
    Times are of the clock (20:00, tonight; 06:00, the next after it), dates, or lengths (10h).

    Exit status: 0 there is a plan, 3 the rules cannot hold together, 2 bad input, 4 time ran out
    before any plan, 1 the check failed, 130 interrupted (the plan in hand is still written).

    Parameters
    ----------
    table : A table of jobs (.csv, .parquet), an instance (.json), or example:NAME.
    farm : A JSON file of what is the same every night; flags go before it.
    save_farm : Write that file from the flags.
    time_limit : Seconds, or a time such as 10m; none waits for the proof.
    output : The plan as .csv, .parquet, .sh or .png; the result as .json; repeatable.
    report : An .html page of the plan: pictures, tables.
    """
    from schedopt.terminal.progress import live
    from schedopt.terminal.results import planned as show

    files = [file for file in (farm, *given["constraints"]) if file]
    outputs = output or []
    _expect_files(outputs, save_farm, report, [table, *files], template)
    with live(table.name) as watch:
        made = planning.plan(
            table,
            **given,
            template=template,
            farm=farm,
            save_farm=save_farm,
            watch=watch,
            tell=out.say,
        )
    with finishing():
        try:
            for path in outputs if made.run is not None else ():
                if path.suffix.lower() == ".png" and not any(row["run"] for row in made.rows):
                    out.say(f"no job runs: {path} is not written")
                    continue
                made.write(path, template)
                out.say(f"wrote {path}")
            if report is not None and made.run is not None:
                out.write_page(made.instance, made.result, report, run=made.run)
        finally:  # what was found is told, whatever becomes of the files
            out.print_json(made.document()) if json else show(made)
    if stopped():
        raise typer.Exit(out.INTERRUPTED)
    raise typer.Exit(out.status(made.result))


def _expect_files(
    outputs: list[Path],
    farm: Path | None,
    report: Path | None,
    read: list[Path],
    template: str | None,
) -> None:
    """Refuse files that cannot be written, or not all of them, before anything is solved."""
    for path in outputs:
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
