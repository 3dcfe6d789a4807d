"""The verb archive: frozen instances with the best that is known of each."""

from pathlib import Path

import typer

from schedopt.cli.common import app, verb
from schedopt.cli.output import DOCUMENTS, FAILED, FOUND, deliver, expect_writable, print_json, say

archive = typer.Typer(
    help="Frozen sets of instances with best known values: list, show, verify, submit.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(archive, name="archive")


@verb("schedopt archive list", of=archive, name="list")
def list_(*, json: bool = False) -> None:
    """List the groups: how many instances are proven, and how many are open."""
    from schedopt.terminal import listings
    from schedopt.verbs.archive import list_groups

    found = list_groups()
    deliver(found, lambda: listings.archive_groups(found), json=json)


@verb("schedopt archive show epoch-planted-16x4", of=archive)
def show(name: str, *, json: bool = False) -> None:
    """Show a group's instances with what is known of each, or all that is known of one.

    Parameters
    ----------
    name : A group, or an instance as GROUP/NAME.
    """
    from schedopt.terminal import listings
    from schedopt.verbs.archive import describe

    found = describe(name)
    deliver(found, lambda: listings.archive_entries(found), json=json)


@verb("schedopt archive verify hesrpt-unequal-8", of=archive)
def verify(names: list[str] | None = None, *, json: bool = False) -> None:
    """Recompute solutions and re-prove bounds from the files, without any solver.

    Exit status: 0 all of it holds, 1 an entry does not (which, and why, in a line), 2 bad input.

    Parameters
    ----------
    names : Groups, or instances as GROUP/NAME; all of them.
    """
    from schedopt.terminal import listings
    from schedopt.terminal.progress import bar
    from schedopt.verbs.archive import verify_entries

    with bar("entries") as progress:
        found = list(verify_entries(names or (), progress))
    deliver(found, lambda: listings.archive_verdicts(found), json=json)
    raise typer.Exit(FAILED if any(verdict.wrong for verdict in found) else FOUND)


@verb('schedopt archive submit archive:GROUP/NAME result.json --by "me"', of=archive)
def submit(
    file: Path,
    result: Path,
    *,
    by: str = "unnamed",
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Check a claimed improvement, and print the line to put in place of the entry's.

    A better solution is kept with the best bound that is known, and a better bound with the best
    solution: --output writes the two together.

    Exit status: 0 it is an improvement, 1 it is none or does not hold, 2 bad input.

    Parameters
    ----------
    file : The instance: a file, or archive:GROUP/NAME.
    result : A result document.
    by : Who or what found it.
    output : Write the result to be kept: .json or .json.gz.
    """
    del json  # it prints JSON in any case
    from schedopt.instances.files import dump
    from schedopt.verbs.archive import submit as judge

    expect_writable(output, DOCUMENTS, [file, result])
    judged = judge(file, result, by)
    for line in judged.why:
        say(line)
    if judged.entry is None:
        raise typer.Exit(FAILED)
    if output is not None:
        dump(judged.result, output)
    print_json(judged.entry)
    place, name = f"archive/{judged.group}", judged.entry.name
    say(
        f"put this line in place of {name}'s in {place}/entries.jsonl, and what --output writes at "
        f"{place}/results/{name}.json.gz; then make archive"
    )
