"""The verbs that make files and list contents: from new to doctor, and those of the archive."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Exit, Option

from schedopt import archive as archiving
from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.options import File, Text, Texts, app
from schedopt.instances.errors import InputError, pick_name
from schedopt.instances.extras import require
from schedopt.instances.files import (
    companion_files,
    dump,
    encode,
    locate,
    refuse_overwriting,
    write_bytes,
)
from schedopt.instances.options import split
from schedopt.instances.protocol import AnyInstance
from schedopt.solvers.stopping import finishing
from schedopt.terminal import bar, results
from schedopt.verbs import explain as explaining
from schedopt.verbs import generate as generating
from schedopt.verbs import reproduce as reproducing


@app.command(epilog="Example: schedopt new dssp --output mine.json")
def new(
    problem: Annotated[str, Argument(help="The problem, such as dssp.")],
    json: Annotated[bool, Option("--json", help="Leave out the comments.")] = False,
    output: shared.Output = None,
) -> None:
    """Write a small instance file with comments, to change into your own.

    Every verb ignores lines that begin with //.
    """
    out.expect_writable(output, (".json",))
    text = generating.new(problem, comments=not json).encode()
    if output is None:
        out.print_bytes(text)
    else:
        write_bytes(output, text)
        out.say(f"wrote {output}; next: schedopt solve {output}")


@app.command(epilog="Example: schedopt generate dssp --seed 3 --output night.json.gz")
def generate(
    problem: Annotated[str, Argument(help="The problem, such as dssp.")],
    generator: Annotated[Text, Option(help="See `schedopt list generators`.")] = None,
    count: Annotated[int, Option(help="Number of instances, with seeds from --seed on.")] = 1,
    output: Annotated[
        File, Option("--output", "-o", help="The file to write; with --count the folder.")
    ] = None,
    seed: shared.Seed = 0,
    option: shared.Options = None,
) -> None:
    """Generate random instances; the same seed gives the same instance.

    Without --output the instance is printed.
    """
    options = split(option or ())
    if count == 1:
        try:
            out.expect_writable(output, out.DOCUMENTS)
        except InputError as error:
            error.expected += "; --count N writes N instances into a folder"
            raise
        _write_instance(generating.generate(problem, generator, seed=seed, options=options), output)
        return
    if output is None or count < 1:
        raise InputError("a count of 1 or more, together with --output FOLDER", place="--count")
    out.make_folder(output)
    for each in range(seed, seed + count):
        instance = generating.generate(problem, generator, seed=each, options=options)
        dump(instance, output / f"{instance.name}.json.gz")
    out.say(f"wrote {count} instances to {output}")


@app.command(epilog="Example: schedopt convert jobs.csv --option processors=100 -o night.json")
def convert(
    files: Annotated[list[Path], Argument(help="A table of jobs, workflows, or a log.")],
    output: shared.Output = None,
    name: Annotated[Text, Option(help="The instance's name.")] = None,
    option: shared.Options = None,
) -> None:
    """Convert tables of jobs, logs of clusters and workflows into instance files.

    A table of jobs has the columns name, reward or priority, and tasks (12x5m..9m; 1h) or demand
    and critical_path; optionally release, deadline, seats:NAME and groupings. Its options are
    processors, deadline, start (of the night, for 06:00 and dates), unit, reward, groups and
    seats:NAME. Several workflows become one instance. A log in the Standard Workload Format
    becomes an instance of --option problem=msfq, epoch or dssp. Without --output the instance is
    printed.
    """
    options = split(option or ())
    out.expect_writable(output, out.DOCUMENTS, [*files, *out.files_in(options)])
    instance = generating.convert(files, name=name, options=options, tell=out.say)
    _write_instance(instance, output, files)


@app.command(epilog="Example: schedopt plot result.json --instance night.json --output night.png")
def plot(
    files: Annotated[
        list[Path], Argument(help="An instance, results or plan documents, or rows of a bench.")
    ],
    instance: Annotated[File, Option(help="The instance of the results.")] = None,
    output: Annotated[
        File, Option("--output", "-o", help="The file to write: .png, .svg, .pdf or .html.")
    ] = None,
) -> None:
    """Draw the jobs of an instance, results side by side, or the profiles of a bench."""
    from schedopt.verbs.plot import FORMATS, save
    from schedopt.verbs.plot import plot as draw

    target = output or Path(f"{locate(files[0]).name.split('.')[0]}.png")
    out.expect_writable(target, FORMATS, [*files, instance])
    require("matplotlib")
    save(draw(files, instance=instance), target)
    out.say(f"wrote {target}")


@app.command(epilog="Example: schedopt reproduce dssp/figure-3 dssp/theorem-4 --quick")
def reproduce(
    names: Annotated[
        Texts, Argument(help="Reproductions, such as dssp/figure-3, dssp or all.")
    ] = None,
    quick: Annotated[bool, Option("--quick", help="Use fewer instances; takes seconds.")] = False,
    json: shared.Json = False,
    output: Annotated[File, Option("--output", "-o", help="The folder for the plots.")] = None,
) -> None:
    """Compare the claims of papers with our figures.

    Without arguments, print the last recorded verdict of every reproduction. `--quick` alone runs
    all of them in a short form, and `all` in full.

    Exit status: 0 every claim holds, 1 a claim does not hold, 2 there is no such reproduction, 130
    interrupted (finished reproductions are still printed).
    """
    if not names and not quick and output is None:
        entries = reproducing.last_recorded()
        out.deliver(entries, lambda: results.ledger(entries), json=json)
        raise Exit(out.FOUND)
    if names == ["all"]:
        names = None
    if output is not None:
        out.make_folder(output)
    reproduced: list[dict[str, Any]] = []
    hooks = {"watch": lambda name: out.say(f"{name} ..."), "done": reproduced.append}
    with suppress(KeyboardInterrupt):
        reproducing.reproduce(names or (), quick=quick, output=output, **hooks)
    with finishing():
        out.deliver(reproduced, lambda: results.reproductions(reproduced), json=json)
    held = all(claim["holds"] is not False for entry in reproduced for claim in entry["claims"])
    raise Exit(out.FOUND if held else out.FAILED)


@app.command("list", epilog="Example: schedopt list policies")
def list_(
    section: Annotated[Text, Argument(help="A section, to list with descriptions.")] = None,
    json: shared.Json = False,
) -> None:
    """List problems, formulations, solvers, policies, constraint kinds, generators and examples."""
    wanted = None if section is None else [pick_name(section, explaining.SECTIONS, "a section")]
    listed = explaining.sections(wanted)
    show = results.overview if wanted is None else results.contents
    out.deliver(listed, lambda: show(listed), json=json)


@app.command(epilog="Example: schedopt explain fair-share")
def explain(
    name: Annotated[
        str, Argument(help="A side constraint, policy, formulation or generator; or table.")
    ],
    json: shared.Json = False,
) -> None:
    """Explain a formulation, a side constraint or a policy, with an example in JSON."""
    entries = explaining.explain(name)
    document = entries[0] if len(entries) == 1 else entries
    out.deliver(document, lambda: results.show_explanations(entries), json=json)


@app.command(epilog="Example: schedopt doctor")
def doctor(json: shared.Json = False) -> None:
    """Report versions, and whether each solver loads and solves a tiny model."""
    findings = explaining.doctor()
    out.deliver(findings, lambda: results.records("", findings), json=json)
    raise Exit(out.FAILED if any(finding.ok is False for finding in findings) else out.FOUND)


def _write_instance(instance: AnyInstance, output: Path | None, read: Sequence[Path] = ()) -> None:
    """Write an instance to a file or to standard output; input files are not overwritten."""
    if output is not None:
        companion = getattr(instance, "companion", None)
        beside = companion(output) if companion else None
        if beside is not None:
            refuse_overwriting(read, beside)
        dump(instance, output)
        jobs = "" if beside is None else f"; its jobs are in {beside}"
        out.say(f"wrote {output}: {instance.name}{jobs}")
    elif names := companion_files(encode(instance)):
        expected = f"--output FILE: the jobs are written to {', '.join(names)} beside it"
        raise InputError(expected, found="standard output")
    else:
        out.print_json(instance)


archive = typer.Typer(
    help="Frozen sets of instances with best known values: list, show, verify.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(archive, name="archive")


@archive.command("list", epilog="Example: schedopt archive list")
def archive_list(json: shared.Json = False) -> None:
    """List the groups, with the number of proven and open instances."""
    groups = archiving.list_groups()
    out.deliver(groups, lambda: results.archive_groups(groups), json=json)


@archive.command("show", epilog="Example: schedopt archive show epoch-planted-16x4")
def archive_show(
    name: Annotated[
        str, Argument(help="A group, an instance as GROUP/NAME, or a file of a group.")
    ],
    json: shared.Json = False,
) -> None:
    """Show the instances of a group with their best known values, one instance, or a file.

    A file of a group is printed unchanged. An instance lists its files.
    """
    text = archiving.read_file(name)
    if text is not None:
        out.print_bytes(text)
        return
    entries = archiving.describe(name)
    out.deliver(entries, lambda: results.archive_entries(entries), json=json)


@archive.command("verify", epilog="Example: schedopt archive verify hesrpt-unequal-8")
def archive_verify(
    names: Annotated[
        Texts, Argument(help="Groups, or instances as GROUP/NAME; all by default.")
    ] = None,
    json: shared.Json = False,
) -> None:
    """Recompute solutions and re-prove bounds from the files, without any solver.

    Exit status: 0 every entry holds, 1 an entry does not hold (its line says why), 2 bad input.
    """
    with bar("entries") as progress:
        verdicts = list(archiving.verify_entries(names or (), progress))
    out.deliver(verdicts, lambda: results.archive_verdicts(verdicts), json=json)
    raise Exit(out.FAILED if any(verdict.wrong for verdict in verdicts) else out.FOUND)
