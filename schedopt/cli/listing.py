"""The verbs that look around: list, doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from instances.naming import pick
from schedopt.cli.common import FAILED, Json, app, print_json


@app.command("list", epilog="Example: schedopt list policies")
def list_(
    section: Annotated[str | None, typer.Argument(help="Only this section.")] = None,
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
