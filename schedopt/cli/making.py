"""The verbs that make things: new, generate, convert, plot, reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedopt.cli import completing
from schedopt.cli.common import (
    DOCUMENTS,
    FAILED,
    FOUND,
    Json,
    Options,
    Output,
    Seed,
    app,
    folder,
    named_in,
    print_json,
    say,
    split,
    writable,
    write_instance,
)
from schedopt.instances.errors import InputError

Problem = Annotated[
    str, typer.Argument(help="The problem, such as dssp.", autocompletion=completing.problem)
]
GeneratorOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="An option, as KEY=VALUE; repeatable.",
        autocompletion=completing.generator_option,
    ),
]


@app.command(epilog="Example: schedopt new dssp --output mine.json")
def new(
    problem: Problem,
    json: Annotated[bool, typer.Option("--json", help="Without the comments.")] = False,
    output: Output = None,
) -> None:
    """Write a small instance file to change into your own; comments say what stands where.

    Lines that begin with // are comments, which every verb passes over.
    """
    from schedopt.cli.streams import print_bytes
    from schedopt.instances.files import write_bytes
    from schedopt.verbs.new import new as run

    writable(output, (".json",))
    text = run(problem, comments=not json).encode()
    if output is None:
        print_bytes(text)
    else:
        write_bytes(output, text)
        say(f"wrote {output}; next: schedopt solve {output}")


@app.command(epilog="Example: schedopt generate dssp --seed 3 --output night.json.gz")
def generate(
    problem: Problem,
    generator: Annotated[
        str | None, typer.Option(help="See `schedopt list`.", autocompletion=completing.generator)
    ] = None,
    seed: Seed = 0,
    count: Annotated[int, typer.Option(help="How many, with seeds counting up from --seed.")] = 1,
    option: GeneratorOptions = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; a folder where --count is given.")
    ] = None,
) -> None:
    """Make random instances; the same seed makes the same instance.

    Without --output the instance goes to standard output.
    """
    from schedopt.verbs.generate import generate as run

    options = split(option)
    if count == 1:
        try:
            writable(output, DOCUMENTS)
        except InputError as error:
            error.expected += "; --count N writes N instances into a folder"
            raise
        write_instance(run(problem, generator, seed=seed, options=options), output)
        return
    if output is None or count < 1:
        raise InputError("a count of 1 or more, and --output FOLDER beside it", place="--count")
    from schedopt.instances.files import dump

    folder(output)
    for number in range(seed, seed + count):
        instance = run(problem, generator, seed=number, options=options)
        dump(instance, output / f"{instance.name}.json.gz")
    say(f"wrote {count} instances to {output}")


@app.command(epilog="Example: schedopt convert jobs.csv --option processors=100 -o night.json")
def convert(
    files: Annotated[
        list[Path], typer.Argument(help="A table of jobs (.csv, .parquet), workflows, or a log.")
    ],
    name: Annotated[str | None, typer.Option(help="The instance's name.")] = None,
    option: Options = None,
    output: Output = None,
) -> None:
    """Turn public trace formats, and tables of jobs, into instance files.

    A table of jobs has the columns name, reward or priority, and tasks (12x0.5h; 1x2h) or demand
    and critical_path; perhaps release, deadline, seats:NAME and groupings. What each became is
    printed. Its options: processors, deadline, start (of the night, for 06:00 and dates), unit,
    reward, groups, seats:NAME. Several workflows make one instance. A log in the Standard Workload
    Format becomes what --option problem=msfq, epoch or dssp asks for. Without --output the
    instance goes to standard output.
    """
    from schedopt.verbs.convert import convert as run

    options = split(option)
    writable(output, DOCUMENTS, [*files, *named_in(options)])
    write_instance(run(files, name=name, options=options, tell=say), output)


@app.command(epilog="Example: schedopt plot result.json --instance night.json --output night.png")
def plot(
    files: Annotated[
        list[Path], typer.Argument(help="An instance, results (several too), or rows of a bench.")
    ],
    instance: Annotated[
        Path | None, typer.Option(help="The results' instance: its deadline and its groups.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help=".png (the default), .svg, .pdf or .html."),
    ] = None,
) -> None:
    """Draw an instance's jobs, results beside each other, or performance profiles of a bench."""
    from schedopt.instances.files import located
    from schedopt.verbs.plot import FORMATS, save
    from schedopt.verbs.plot import plot as draw

    target = output or Path(f"{located(files[0]).name.split('.')[0]}.png")
    writable(target, FORMATS, [*files, *([instance] if instance else ())])
    save(draw(files, instance=instance), target)
    say(f"wrote {target}")


@app.command(epilog="Example: schedopt reproduce dssp/figure-3 dssp/theorem-4 --quick")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Such as dssp/figure-3, or dssp, or all.", autocompletion=completing.reproduction
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances, in seconds.")] = False,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for the plots.")
    ] = None,
) -> None:
    """Run a paper's figures and theorems, and print its claims beside what is found here.

    Without anything it prints the table of all, as last recorded; `--quick` alone runs all quickly,
    and `all` in full.

    Exit status: 0 every claim holds, 1 one does not, 2 there is no such reproduction.
    """
    from schedopt.terminal import listings
    from schedopt.verbs.reproduce import recorded
    from schedopt.verbs.reproduce import reproduce as run

    if not names and not quick and output is None:
        if json:
            print_json(recorded())
        else:
            listings.ledger(recorded())
        raise typer.Exit(FOUND)
    if names == ["all"]:
        names = None
    if output is not None:
        folder(output)
    found = run(names or (), quick=quick, output=output, watch=lambda name: say(f"{name} ..."))
    if json:
        print_json(found)
    else:
        listings.reproductions(found)
    held = all(claim["holds"] is not False for entry in found for claim in entry["claims"])
    raise typer.Exit(FOUND if held else FAILED)
