"""The verbs of the archive: list, show, verify."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.app import app, verb
from schedopt.cli.options import Texts

archive = typer.Typer(
    help="Frozen sets of instances with best known values: list, show, verify.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(archive, name="archive")


@verb("schedopt archive list", of=archive, name="list")
def list_(json: shared.Json = False) -> None:
    """List the groups, with the number of proven and open instances."""
    from schedopt.archive import list_groups
    from schedopt.terminal import listings

    groups = list_groups()
    out.deliver(groups, lambda: listings.archive_groups(groups), json=json)


@verb("schedopt archive show epoch-planted-16x4", of=archive)
def show(
    name: Annotated[
        str, typer.Argument(help="A group, an instance as GROUP/NAME, or a file of a group.")
    ],
    json: shared.Json = False,
) -> None:
    """Show the instances of a group with their best known values, one instance, or a file.

    A file of a group is printed unchanged. An instance lists its files.
    """
    from schedopt.archive import describe, read_file
    from schedopt.terminal import listings

    text = read_file(name)
    if text is not None:
        sys.stdout.buffer.write(text)
        return
    entries = describe(name)
    out.deliver(entries, lambda: listings.archive_entries(entries), json=json)


@verb("schedopt archive verify hesrpt-unequal-8", of=archive)
def verify(
    names: Annotated[
        Texts, typer.Argument(help="Groups, or instances as GROUP/NAME; all by default.")
    ] = None,
    json: shared.Json = False,
) -> None:
    """Recompute solutions and re-prove bounds from the files, without any solver.

    Exit status: 0 every entry holds, 1 an entry does not hold (its line says why), 2 bad input.
    """
    from schedopt.archive import verify_entries
    from schedopt.terminal import listings
    from schedopt.terminal.progress import bar

    with bar("entries") as progress:
        verdicts = list(verify_entries(names or (), progress))
    out.deliver(verdicts, lambda: listings.archive_verdicts(verdicts), json=json)
    raise typer.Exit(out.FAILED if any(verdict.wrong for verdict in verdicts) else out.FOUND)
