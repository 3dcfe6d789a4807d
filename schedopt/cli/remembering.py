"""The verbs for nights after nights: carry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from instances.errors import InputError
from schedopt.cli.common import (
    Constraints,
    Json,
    Output,
    app,
    constraints_of_any,
    print_json,
    say,
    writable,
)


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
    from instances.files import dump
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
