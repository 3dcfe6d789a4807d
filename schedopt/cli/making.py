"""The verbs that make files and list what there is: from new to doctor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option

from schedopt.cli import options as shared
from schedopt.cli import output as out
from schedopt.cli.app import verb
from schedopt.cli.options import File, Text, Texts
from schedopt.instances.errors import InputError
from schedopt.instances.naming import pick_name
from schedopt.instances.options import split
from schedopt.instances.protocol import AnyInstance
from schedopt.solvers.stopping import finishing
from schedopt.verbs import convert as converting
from schedopt.verbs import generate as generating
from schedopt.verbs import reproduce as reproducing


@verb("schedopt new dssp --output mine.json")
def new(
    problem: Annotated[str, Argument(help="Such as dssp.")],
    json: Annotated[bool, Option("--json", help="Without the comments.")] = False,
    output: shared.Output = None,
) -> None:
    """Write a small instance file to change into your own; comments say what stands where.

    Lines that begin with // are comments, which every verb passes over.
    """
    from schedopt.instances.files import write_bytes
    from schedopt.verbs.generate import new as run

    out.expect_writable(output, (".json",))
    text = run(problem, comments=not json).encode()
    if output is None:
        out.print_bytes(text)
    else:
        write_bytes(output, text)
        out.say(f"wrote {output}; next: schedopt solve {output}")


@verb("schedopt generate dssp --seed 3 --output night.json.gz")
def generate(
    problem: Annotated[str, Argument(help="The problem, such as dssp.")],
    generator: Annotated[Text, Option(help="See `schedopt list`.")] = None,
    count: Annotated[int, Option(help="How many, with seeds counting up from --seed.")] = 1,
    output: Annotated[File, Option("--output", "-o", help="A file; with --count a folder.")] = None,
    seed: shared.Seed = 0,
    option: shared.Options = None,
) -> None:
    """Make random instances; the same seed makes the same instance.

    Without --output the instance goes to standard output.
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
        raise InputError("a count of 1 or more, and --output FOLDER beside it", place="--count")
    from schedopt.instances.files import dump

    _make_folder(output)
    for each in range(seed, seed + count):
        instance = generating.generate(problem, generator, seed=each, options=options)
        dump(instance, output / f"{instance.name}.json.gz")
    out.say(f"wrote {count} instances to {output}")


@verb("schedopt convert jobs.csv --option processors=100 -o night.json")
def convert(
    files: Annotated[list[Path], Argument(help="A table of jobs, workflows, or a log.")],
    output: shared.Output = None,
    name: Annotated[Text, Option(help="The instance's name.")] = None,
    option: shared.Options = None,
) -> None:
    """Turn public trace formats, and tables of jobs, into instance files.

    A table of jobs has the columns name, reward or priority, and tasks (12x5m..9m; 1h) or demand
    and critical_path; perhaps release, deadline, seats:NAME and groupings. What each became is
    printed. Its options: processors, deadline, start (of the night, for 06:00 and dates), unit,
    reward, groups, seats:NAME. Several workflows make one instance. A log in the Standard Workload
    Format becomes what --option problem=msfq, epoch or dssp asks for. Without --output the
    instance goes to standard output.
    """
    options = split(option or ())
    out.expect_writable(output, out.DOCUMENTS, [*files, *out.files_in(options)])
    instance = converting.convert(files, name=name, options=options, tell=out.say)
    _write_instance(instance, output, files)


@verb("schedopt plot result.json --instance night.json --output night.png")
def plot(
    files: Annotated[list[Path], Argument(help="An instance, results, rows or a plan.")],
    instance: Annotated[File, Option(help="The instance of the results.")] = None,
    output: Annotated[File, Option("--output", "-o", help=".png, .svg, .pdf or .html.")] = None,
) -> None:
    """Draw an instance's jobs, results next to each other, or performance profiles of a bench."""
    from schedopt.instances.extras import require
    from schedopt.instances.files import locate
    from schedopt.verbs.plot import FORMATS, save
    from schedopt.verbs.plot import plot as draw

    target = output or Path(f"{locate(files[0]).name.split('.')[0]}.png")
    out.expect_writable(target, FORMATS, [*files, instance])
    require("matplotlib")
    save(draw(files, instance=instance), target)
    out.say(f"wrote {target}")


@verb("schedopt reproduce dssp/figure-3 dssp/theorem-4 --quick")
def reproduce(
    names: Annotated[Texts, Argument(help="Such as dssp/figure-3, or dssp, or all.")] = None,
    quick: Annotated[bool, Option("--quick", help="Fewer instances, in seconds.")] = False,
    json: shared.Json = False,
    output: Annotated[File, Option("--output", "-o", help="A folder for the plots.")] = None,
) -> None:
    """Compare the claims of a paper with our figures.

    Without arguments it prints the table of all, as last recorded; `--quick` alone runs all in a
    short form, and `all` in full.

    Exit status: 0 every claim holds, 1 one does not, 2 there is no such reproduction, 130
    interrupted (those that have ended are still printed).
    """
    from schedopt.terminal import listings

    if not names and not quick and output is None:
        entries = reproducing.last_recorded()
        out.deliver(entries, lambda: listings.ledger(entries), json=json)
        raise Exit(out.FOUND)
    if names == ["all"]:
        names = None
    if output is not None:
        _make_folder(output)
    reproduced: list[dict[str, Any]] = []
    hooks = {"watch": lambda name: out.say(f"{name} ..."), "done": reproduced.append}
    with suppress(KeyboardInterrupt):
        reproducing.reproduce(names or (), quick=quick, output=output, **hooks)
    with finishing():
        out.deliver(reproduced, lambda: listings.reproductions(reproduced), json=json)
    held = all(claim["holds"] is not False for entry in reproduced for claim in entry["claims"])
    raise Exit(out.FOUND if held else out.FAILED)


@verb("schedopt list policies", name="list")
def list_(
    section: Annotated[Text, Argument(help="One section, with what its entries are.")] = None,
    json: shared.Json = False,
) -> None:
    """List problems, formulations, solvers, policies, constraint kinds, generators and examples."""
    from schedopt.terminal import listings
    from schedopt.verbs.explain import SECTIONS, sections

    wanted = None if section is None else [pick_name(section, SECTIONS, "a section")]
    listed = sections(wanted)
    show = listings.overview if wanted is None else listings.contents
    out.deliver(listed, lambda: show(listed), json=json)


@verb("schedopt explain fair-share")
def explain(
    name: Annotated[
        str, Argument(help="A side constraint, policy, formulation, generator; or table.")
    ],
    json: shared.Json = False,
) -> None:
    """Explain a formulation, a side constraint or a policy, with JSON to copy."""
    from schedopt.terminal import listings
    from schedopt.verbs.explain import explain as run

    entries = run(name)
    document = entries[0] if len(entries) == 1 else entries
    out.deliver(document, lambda: listings.show_explanations(entries), json=json)


@verb("schedopt doctor")
def doctor(json: shared.Json = False) -> None:
    """Say versions, and whether each solver loads and solves a tiny model right."""
    from schedopt.terminal import listings
    from schedopt.verbs.doctor import doctor as run

    findings = run()
    out.deliver(findings, lambda: listings.doctor(findings), json=json)
    raise Exit(out.FAILED if any(finding.ok is False for finding in findings) else out.FOUND)


def _make_folder(path: Path) -> None:
    """Make a folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("a folder to write to", found=found, file=str(path)) from None


def _write_instance(instance: AnyInstance, output: Path | None, read: Sequence[Path] = ()) -> None:
    """Write an instance to a file, or to standard output; what is read is not overwritten."""
    from schedopt.instances.files import companion_files, dump, encode, refuse_overwriting

    if output is not None:
        companion = getattr(instance, "companion", None)
        beside = companion(output) if companion else None
        if beside is not None:
            refuse_overwriting(read, beside)
        dump(instance, output)
        out.say(f"wrote {output}: {instance.name}" + f"; its jobs: {beside}" * (beside is not None))
    elif names := companion_files(encode(instance)):
        expected = f"--output FILE: beside it goes {', '.join(names)}"
        raise InputError(expected, found="standard output")
    else:
        out.print_json(instance)
