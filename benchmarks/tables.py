"""The runner of all measurements: rows laid out as tables, targets judged, runs resumed.

A measurement is a generator. A text that it yields is the title of a table; a `Row` says what was
measured, what was seen, what is asked, what it was before, and what stands beside it.
"""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import msgspec
from rich.console import Console, JustifyMethod
from rich.table import Table

from benchmarks.timing import machine

out = Console(width=120)
PACKAGES = ("highspy", "ortools", "pyomo", "numba")


class Row(NamedTuple):
    """A measurement."""

    what: str
    seen: object  # the number, or words in its place
    unit: str
    asked: str  # the target; empty where there is none
    met: bool | None  # whether the target is met
    beside: dict[str, object]  # further columns by heading: the earlier value, rivals' and so on


Measured = Iterator[str | Row]
P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

_JUDGED: list[Row] = []


def row(
    what: object,
    seen: object = None,
    unit: str = "",
    *,
    most: float | None = None,
    least: float | None = None,
    before: float | None = None,
    **beside: object,
) -> Row:
    """Return a measurement with its target and its earlier value; in headings ``_`` is a blank."""
    asked, met = "", None
    if isinstance(seen, int | float):
        if most is not None:
            asked, met = f"<= {cell(most)}", seen <= most
        elif least is not None:
            asked, met = f">= {cell(least)}", seen >= least
        if before is not None:
            better = seen / before if least is not None else before / seen
            beside = {"before": before, "times as good": better, **beside}
    beside = {heading.replace("_", " "): value for heading, value in beside.items()}
    return Row(str(what), seen, unit, asked, met, beside)


def judged(what: str, met: bool) -> Row:
    """Return a measurement that is a verdict."""
    return Row(what, "yes" if met else "no", "", "yes", met, {})


def all_of(what: str, done: int, count: int, **beside: object) -> Row:
    """Return a count of which all are asked for."""
    beside = {heading.replace("_", " "): value for heading, value in beside.items()}
    return Row(what, done, f"of {count}", "all", done == count, beside)


def cell(value: object) -> str:
    """Return a value as a table shows it: numbers to three digits."""
    if isinstance(value, float):
        if value and abs(value) < 1e-3:
            return f"{value:.1e}"
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def measurement(rows: Callable[P, Measured]) -> Callable[P, list[Row]]:
    """Make a generator of rows a function that prints and returns them."""

    @functools.wraps(rows)
    def printed(*args: P.args, **options: P.kwargs) -> list[Row]:
        every: list[Row] = []
        tables: list[tuple[str, list[Row]]] = []
        for one in rows(*args, **options):
            if isinstance(one, str):
                if tables:
                    show(*tables[-1])
                tables.append((one, []))
            else:
                tables[-1][1].append(one)
                every.append(one)
                _progress(f"{one.what}: {cell(one.seen)} {one.unit}")
        show(*tables[-1])
        _JUDGED.extend(row for row in every if row.met is not None)
        return every

    return printed


def _progress(said: str) -> None:
    if sys.stderr.isatty():
        print(said, file=sys.stderr)


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table, and below it those that sum up: nothing stands beside them."""
    wide = [one for one in rows if one.beside] or rows
    cells = [_cells(one) for one in wide]
    table = Table(title=title, title_justify="left")
    for heading in dict.fromkeys(heading for of in cells for heading in of):
        if any(of.get(heading) for of in cells):
            justify: JustifyMethod = "right" if heading else "left"
            table.add_column(heading, justify=justify, overflow="fold")
    for of in cells:
        table.add_row(*(of.get(str(column.header), "") for column in table.columns))
    out.print(table)
    for one in rows:
        if one not in wide:
            out.print("{}: {seen}; {asked}".format(one.what, **_cells(one)), highlight=False)
    out.print()


def _cells(one: Row) -> dict[str, str]:
    marks = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}
    return {
        "": one.what,
        "seen": f"{cell(one.seen)} {one.unit}".strip(),
        "asked": f"{one.asked} {marks[one.met]}".strip(),
        **{heading: cell(value) for heading, value in one.beside.items()},
    }


def run(*tables: Callable[[], object], packages: tuple[str, ...] = PACKAGES) -> None:
    """Print the tables that the command line names, or all, and how many targets were met."""
    named = {table.__name__: table for table in tables}
    if unknown := [name for name in sys.argv[1:] if name not in named]:
        sys.exit(f"no table {unknown[0]}; there are {', '.join(named)}")
    out.print(machine(*packages), highlight=False)
    for name in sys.argv[1:] or named:
        named[name]()
    missed = [row for row in _JUDGED if not row.met]
    out.print(f"{len(_JUDGED) - len(missed)} of {len(_JUDGED)} targets met", highlight=False)
    if missed:
        show("missed", missed)


def resumed(
    file: Path | None,
    kind: type[T],
    key: Callable[[T], K],
    todo: Iterable[K],
    work: Callable[[K], T],
    *,
    jobs: int = 1,
) -> dict[K, T]:
    """Do the work that a file does not hold yet, append a line for each, and return all by key.

    A last line that was cut short is ignored. ``jobs`` is the number of processes.
    """
    done = {key(row): row for row in kept(file, kind)}
    left = [one for one in todo if one not in done]
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and not file.read_bytes().endswith(b"\n"):
            file.write_bytes(file.read_bytes() + b"\n")
    for number, row in enumerate(_worked(left, work, jobs), start=1):
        done[key(row)] = row
        _progress(f"{number} of {len(left)} done")
        if file:
            with file.open("ab") as lines:
                lines.write(msgspec.json.encode(row) + b"\n")
    return done


def kept(file: Path | None, kind: type[T]) -> Iterator[T]:
    """Yield what a file of lines holds."""
    for line in file.read_bytes().splitlines() if file and file.exists() else ():
        try:
            yield msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue


def _worked(left: list[K], work: Callable[[K], T], jobs: int) -> Iterator[T]:
    if jobs == 1:
        yield from map(work, left)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for made in as_completed([pool.submit(work, one) for one in left]):
            yield made.result()
