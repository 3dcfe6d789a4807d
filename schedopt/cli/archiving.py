"""The verb archive: frozen instances with the best that is known of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedopt.cli.common import DOCUMENTS, FAILED, FOUND, Json, app, print_json, say, writable

archive = typer.Typer(
    help="Frozen sets of instances with best known values: list, show, verify, submit.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(archive, name="archive")


def _names(incomplete: str) -> list[str]:
    from schedopt.instances.archived import groups
    from schedopt.instances.errors import InputError

    try:
        return [name for name in groups() if name.startswith(incomplete)]
    except InputError:
        return []


Names = Annotated[
    list[str] | None,
    typer.Argument(help="Groups, or instances as GROUP/NAME; all of them.", autocompletion=_names),
]


@archive.command("list", epilog="Example: schedopt archive list")
def list_(json: Json = False) -> None:
    """List the groups: how many instances are proven, and how many are open."""
    from schedopt.terminal import archives
    from schedopt.verbs.archive import listed

    found = listed()
    if json:
        print_json(found)
    else:
        archives.groups(found)


@archive.command(epilog="Example: schedopt archive show epoch-planted-16x4")
def show(
    name: Annotated[
        str, typer.Argument(help="A group, or an instance as GROUP/NAME.", autocompletion=_names)
    ],
    json: Json = False,
) -> None:
    """Show a group's instances with what is known of each, or all that is known of one."""
    from schedopt.terminal import archives
    from schedopt.verbs.archive import shown

    found = shown(name)
    if json:
        print_json(found)
    else:
        archives.known(found)


@archive.command(epilog="Example: schedopt archive verify hesrpt-unequal-8")
def verify(names: Names = None, json: Json = False) -> None:
    """Recompute solutions and re-prove bounds from the files, without any solver.

    Exit status: 0 all of it holds, 1 an entry does not (which, and why, in a line), 2 bad input.
    """
    from schedopt.terminal import archives
    from schedopt.terminal.progress import bar
    from schedopt.verbs.archive import verified

    with bar("entries") as progress:
        found = list(verified(names or (), progress))
    if json:
        print_json(found)
    else:
        archives.verdicts(found)
    raise typer.Exit(FAILED if any(verdict.wrong for verdict in found) else FOUND)


@archive.command(epilog='Example: schedopt archive submit archive:GROUP/NAME result.json --by "me"')
def submit(
    file: Annotated[Path, typer.Argument(help="The instance: a file, or archive:GROUP/NAME.")],
    result: Annotated[Path, typer.Argument(help="A result document.")],
    by: Annotated[str, typer.Option(help="Who or what found it.")] = "",
    json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the result to be kept: .json or .json.gz."),
    ] = None,
) -> None:
    """Check a claimed improvement, and print the line to put in place of the entry's.

    A better solution is kept with the best bound that is known, and a better bound with the best
    solution: --output writes the two together.

    Exit status: 0 it is an improvement, 1 it is none or does not hold, 2 bad input.
    """
    from schedopt.cli.streams import print_bytes
    from schedopt.instances.files import dump, encode
    from schedopt.verbs.archive import submit as judge

    writable(output, DOCUMENTS, [file, result])
    judged = judge(file, result, by or "unnamed")
    for line in judged.why:
        say(line)
    if judged.entry is None:
        raise typer.Exit(FAILED)
    if output is not None:
        dump(judged.result, output)
    if json:
        print_json(judged.entry)
    else:
        print_bytes(encode(judged.entry))
    place, name = f"archive/{judged.group}", judged.entry.name
    say(
        f"put this line in place of {name}'s in {place}/entries.jsonl, and what --output writes at "
        f"{place}/results/{name}.json.gz; then make archive"
    )
