"""The verbs that look around and prepare: list, explain, doctor, warm."""

from __future__ import annotations

from typing import Annotated

import typer

from schedopt.cli import completing
from schedopt.cli.common import FAILED, Json, app, print_json
from schedopt.instances.naming import pick


@app.command("list", epilog="Example: schedopt list policies")
def list_(
    section: Annotated[
        str | None, typer.Argument(help="Only this section.", autocompletion=completing.section)
    ] = None,
    json: Json = False,
) -> None:
    """List problems, formulations, solvers, policies, constraint kinds, generators and examples."""
    from schedopt.terminal import listings
    from schedopt.verbs import contents

    wanted = None if section is None else [pick(section, contents.SECTIONS, "a section")]
    sections = contents.sections(wanted)
    if json:
        print_json(sections)
    else:
        listings.contents(sections)


@app.command(epilog="Example: schedopt explain fair-share")
def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="A side constraint, policy, formulation or generator.",
            autocompletion=completing.explained,
        ),
    ],
    json: Json = False,
) -> None:
    """Say what a side constraint or a policy is: its fields, JSON to paste, its source."""
    from schedopt.terminal import explaining
    from schedopt.verbs.explain import explain as run

    entries = run(name)
    if json:
        print_json(entries[0] if len(entries) == 1 else entries)
    else:
        explaining.explained(entries)


@app.command(epilog="Example: schedopt doctor")
def doctor(json: Json = False) -> None:
    """Say versions, and whether each solver loads and solves a tiny model right."""
    from schedopt.terminal import listings
    from schedopt.verbs.doctor import examine

    findings = examine()
    if json:
        print_json(findings)
    else:
        listings.doctor(findings)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else FAILED)


@app.command(epilog="Example: schedopt warm")
def warm(json: Json = False) -> None:
    """Compile every kernel now, so that no first solve waits for it; once for each version."""
    from schedopt.terminal import listings, progress
    from schedopt.verbs.warm import warm as run

    with progress.bar("runs") as advance:
        found = run(advance)
    if json:
        print_json(found)
    else:
        listings.warmed(found)
