"""Rows of measurements, laid out as tables; clocks; and runs that go on where they stopped.

A measurement is a generator. A text that it yields is the title of a table; a `Row` says what was
measured, what was seen, what is asked, and what stands beside it.
"""

import functools
import gc
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import msgspec
from rich.console import Console
from rich.table import Table

out = Console(width=120)
PACKAGES = ("highspy", "ortools", "pyomo", "numba")


class Row(NamedTuple):
    """A measurement."""

    what: str
    seen: object  # the number, or words in its place
    unit: str
    asked: str  # the target; empty where there is none
    met: bool | None  # whether the target is met
    beside: dict[str, object]  # further columns by heading


Measured = Iterator[str | Row]
P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

_WITH_TARGET: list[Row] = []


def row(
    what: object,
    seen: object = None,
    unit: str = "",
    *,
    most: float | None = None,
    least: float | None = None,
    **beside: object,
) -> Row:
    """Return a measurement with its target; in headings ``_`` is a blank."""
    asked, met = "", None
    if isinstance(seen, int | float):
        if most is not None:
            asked, met = f"<= {cell(most)}", seen <= most
        elif least is not None:
            asked, met = f">= {cell(least)}", seen >= least
    beside = {heading.replace("_", " "): value for heading, value in beside.items()}
    return Row(str(what), seen, unit, asked, met, beside)


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
        tables: list[tuple[str, list[Row]]] = []
        for item in rows(*args, **options):
            if isinstance(item, str):
                tables.append((item, []))
            else:
                tables[-1][1].append(item)
                _progress(f"{item.what}: {cell(item.seen)} {item.unit}")
        for title, of_table in tables:
            show(title, of_table)
        every = [item for _, of_table in tables for item in of_table]
        _WITH_TARGET.extend(item for item in every if item.met is not None)
        return every

    return printed


def _progress(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table."""
    marks = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}
    lines = [
        {
            "": item.what,
            "seen": f"{cell(item.seen)} {item.unit}".strip(),
            "asked": f"{item.asked} {marks[item.met]}".strip(),
            **{heading: cell(value) for heading, value in item.beside.items()},
        }
        for item in rows
    ]
    table = Table(title=title, title_justify="left")
    headings = [h for h in dict.fromkeys(h for line in lines for h in line) if h != "asked"]
    if any(line["asked"] for line in lines):
        headings.insert(2, "asked")
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for line in lines:
        table.add_row(*(line.get(heading, "") for heading in headings))
    out.print(table)


def run(*tables: Callable[[], object], packages: tuple[str, ...] = PACKAGES) -> None:
    """Print the tables that the command line names, or all, and how many targets were met."""
    named = {table.__name__: table for table in tables}
    if unknown := [name for name in sys.argv[1:] if name not in named]:
        sys.exit(f"no table {unknown[0]}; there are {', '.join(named)}")
    out.print(machine(*packages), highlight=False)
    for name in sys.argv[1:] or named:
        named[name]()
    missed = [item for item in _WITH_TARGET if not item.met]
    met = len(_WITH_TARGET) - len(missed)
    out.print(f"{met} of {len(_WITH_TARGET)} targets met", highlight=False)
    if missed:
        show("missed", missed)


# --- clocks ----------------------------------------------------------------------------------


def best_of(repeats: int, work: Callable[[], T]) -> tuple[float, T]:
    """Return the shortest time that a piece of work took, in seconds, and what it returned last."""
    shortest = float("inf")
    for _ in range(repeats):
        gc.collect()
        began = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest, result


def cpu_time(work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor time of a piece of work, in seconds, and what it returned."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def cpu(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of a piece of work, which is done once before."""
    work()
    return max(min(cpu_time(work)[0] for _ in range(repeats)), 1e-9)


def peak_mb() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def agree(*values: float | None) -> None:
    """Stop the run where two methods give different optima: their times would mean nothing.

    Raises `SystemExit` with the values.
    """
    present = [value for value in values if value is not None]
    if present and max(present) - min(present) > 1e-9 * abs(max(present)):
        raise SystemExit(f"the methods disagree: {', '.join(map(repr, present))}")


def machine(*packages: str) -> str:
    """Describe what the numbers were measured on."""
    installed = ", ".join(f"{name} {version(name)}" for name in packages)
    processors = f"{platform.machine()}, {os.cpu_count()} processors"
    return f"{processors}, Python {platform.python_version()}; {installed}"


# --- runs that go on -------------------------------------------------------------------------


def resume(  # noqa: PLR0917  one job queue
    file: Path,
    kind: type[T],
    key: Callable[[T], K],
    todo: Iterable[K],
    work: Callable[[K], T],
    each: Callable[[Callable[[K], T], Iterable[K]], Iterable[T]] = map,
) -> dict[K, T]:
    """Do the work that a file does not hold yet, append a line for each, and return all by key.

    A last line that was cut short is ignored; ``each`` maps the work, in any order.
    """
    done = {key(item): item for item in read_lines(file, kind)}
    waiting = [item for item in todo if item not in done]
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not file.read_bytes().endswith(b"\n"):
        file.write_bytes(file.read_bytes() + b"\n")
    for number, item in enumerate(each(work, waiting), start=1):
        done[key(item)] = item
        _progress(f"{number} of {len(waiting)} done")
        with file.open("ab") as lines:
            lines.write(msgspec.json.encode(item) + b"\n")
    return done


def read_lines(file: Path, kind: type[T]) -> Iterator[T]:
    """Yield what a file of lines holds."""
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            yield msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue
