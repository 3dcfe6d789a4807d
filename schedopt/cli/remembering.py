"""The verbs that solve more than once: whatif, carry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from schedopt.cli.common import (
    FAILED,
    FOUND,
    INTERRUPTED,
    NOTHING,
    Constraints,
    File,
    Json,
    Options,
    Output,
    Seed,
    TimeLimit,
    app,
    constraints_of_any,
    declared,
    named_in,
    print_json,
    say,
    split,
    writable,
)
from schedopt.instances.errors import InputError

Vary = Annotated[
    list[str],
    typer.Option(help="PLACE=VALUES, such as rules.cap.at_most.fx=0.2:0.6:0.1; repeatable."),
]


@app.command(
    epilog="Example: schedopt whatif night.json --vary processors=900,1000 --vary deadline=12h,13h"
)
def whatif(
    file: File,
    vary: Vary,
    unit: Annotated[str, typer.Option(help="What times with units become: s, m, h or d.")] = "s",
    formulation: Annotated[str | None, typer.Option(help="See `schedopt list`.")] = None,
    solver: Annotated[str | None, typer.Option(help="See `schedopt list`.")] = None,
    constraints: Constraints = None,
    time_limit: TimeLimit = None,
    gap: Annotated[float, typer.Option(help="The relative gap that is good enough.")] = 0.0,
    seed: Seed = 0,
    option: Options = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".jsonl (resumable, for plot) or .csv.")
    ] = None,
) -> None:
    """Solve an instance for every combination of values at some of its places.

    Places: processors, deadline, jobs.NAME.reward, rules.NAME.at_most.GROUP, option.fill and so on.
    Run again with the same .jsonl after an interruption: what is there is not solved again.

    Exit status: 0 every combination has a solution or is proven to have none, 4 one stopped
    without either, 1 a check failed, 2 bad input, 130 interrupted.
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


@app.command(epilog="Example: schedopt carry mon.json tue.json --half-life 7d --output rules.json")
def carry(
    results: Annotated[
        list[Path],
        typer.Argument(help="Results, the earliest first; or usage tables (.csv, .parquet)."),
    ],
    half_life: Annotated[
        str | None, typer.Option(help="Nights in which use comes to count half, such as 7 or 7d.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(help="Nights that count, tonight among them, such as 7 or 7d.")
    ] = None,
    constraints: Constraints = None,
    json: Json = False,
    output: Output = None,
) -> None:
    """Write fair shares that know what earlier nights used, for `solve --constraints`.

    The rules are those of --constraints, or those that the last result was solved with. A usage
    table has columns night (a whole number or a date), demand, capacity and one for each grouping.

    Exit status: 0 on success, 2 bad input.
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
        tell=say,
    )
    if output is not None:
        dump(rules, output, indent=1)
        say(f"wrote {output}: {', '.join(rule.name or rule.kind() for rule in rules)}")
    if json:
        print_json(rules)
