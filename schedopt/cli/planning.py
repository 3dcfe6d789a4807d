"""The verb of an operator: plan."""

from pathlib import Path

import typer

from schedopt.cli import output as out
from schedopt.cli.common import verb
from schedopt.instances.errors import InputError
from schedopt.solvers.stopping import finishing, stopped

EXAMPLE = (
    "schedopt plan jobs.csv --processors 30 --from 20:00 --until 06:00 --seats houdini=8 "
    "--cap team:fx=0.4 -o plan.csv"
)


@verb(EXAMPLE)
def plan(
    table: Path,
    *,
    processors: int | None = None,
    from_: str | None = None,
    until: str | None = None,
    capacity: list[str] | None = None,
    seats: list[str] | None = None,
    resource: list[str] | None = None,
    pool: list[str] | None = None,
    cap: list[str] | None = None,
    floor: list[str] | None = None,
    constraints: list[Path] | None = None,
    reward: str | None = None,
    priority: str | None = None,
    groups: str | None = None,
    unit: str | None = None,
    farm: Path | None = None,
    save_farm: Path | None = None,
    risk: str | None = None,
    time_limit: float | None = 10.0,
    seed: int = 0,
    threads: int | None = None,
    output: list[Path] | None = None,
    template: str | None = None,
    report: Path | None = None,
    json: bool = False,
) -> None:
    """Plan a night: a table of jobs in, a plan out in which nobody selected is late.

    Beside the plan it says what no plan can exceed. The columns of a table are those of `convert`.
    Times are of the clock (20:00, tonight; 06:00, the next after it), dates, or lengths (10h).

    Exit status: 0 there is a plan, 3 the rules cannot hold together, 2 bad input, 4 time ran out
    before any plan, 1 the check failed, 130 interrupted (the plan in hand is still written).

    Parameters
    ----------
    table : A table of jobs (.csv, .parquet), an instance (.json), or example:NAME.
    processors : How many there are.
    from_ : When the night starts.
    until : When jobs are due, after which nothing runs.
    capacity : TIME=N: from then on there are N processors; repeatable.
    seats : NAME=N: how many seats there are of what a column seats:NAME counts; repeatable.
    resource : NAME=N, or NAME=TIME=N,...: how much there is of a column holds:NAME; repeatable.
    pool : NAME=N, or NAME=TIME=N,...: processors of a pool; repeatable.
    cap : GROUPING:GROUP=SHARE: the most of the machine that the group gets; repeatable.
    floor : The same, the least that it gets, or all that it asks for; repeatable.
    reward : Of priorities: linear, size, banded, or priority:urgent=8,high=4,normal=2,low=1.
    priority : Which are more important: lower (the default) or higher.
    groups : Columns that are groupings, with commas between.
    unit : What plain numbers are in: s, m, h or d.
    farm : A JSON file of what is the same every night; flags go before it.
    save_farm : Write that file from the flags.
    risk : Choose under risk: mean, cvar:Q or chance:Q.
    time_limit : Seconds, or a time such as 10m; none waits for the proof.
    output : The plan as .csv, .parquet, .sh or .png; the result as .json; repeatable.
    report : An .html page of the plan: pictures, tables.
    """
    from schedopt.terminal.progress import live
    from schedopt.terminal.results import planned as show
    from schedopt.verbs.plan import plan as run

    files = [file for file in (farm, *(constraints or ())) if file]
    outputs = output or []
    _expect_files(outputs, save_farm, report, [table, *files], template)
    given = {"processors": processors, "from_": from_, "until": until, "capacity": capacity}
    given |= {"seats": seats, "resources": resource, "pools": pool, "cap": cap}
    given |= {"floor": floor, "reward": reward, "priority": priority, "groups": groups}
    given |= {"unit": unit, "template": template}
    with live(table.name) as watch:
        made = run(
            table,
            farm=farm,
            save_farm=save_farm,
            constraints=constraints or (),
            risk=risk,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            watch=watch,
            tell=out.say,
            **given,
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
