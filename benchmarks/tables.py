"""Shared parts of the benchmarks: tables of measurements, clocks, and resumable runs.

A measurement is a generator. A text that it yields is the title of a table, and each `Row` that
follows is a row of this table.
"""

import functools
import os
import platform
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
    """A row of a table."""

    what: str
    value: object  # the measured number, or a text in its place
    unit: str
    columns: dict[str, object]  # further columns by heading


Measured = Iterator[str | Row]
P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


def row(what: object, value: object = None, unit: str = "", **columns: object) -> Row:
    """Return a row of a table. A ``_`` in the name of a column is shown as a blank."""
    named = {heading.replace("_", " "): cell for heading, cell in columns.items()}
    return Row(str(what), value, unit, named)


def cell(value: object) -> str:
    """Return the text of a cell: floats with three digits, integers with separators."""
    if isinstance(value, float):
        if value and abs(value) < 1e-3:
            return f"{value:.1e}"
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def measurement(rows: Callable[P, Measured]) -> Callable[P, list[Row]]:
    """Return a function that prints the tables of a measurement and returns their rows."""

    @functools.wraps(rows)
    def printed(*args: P.args, **options: P.kwargs) -> list[Row]:
        tables: list[tuple[str, list[Row]]] = []
        for item in rows(*args, **options):
            if isinstance(item, str):
                tables.append((item, []))
            else:
                tables[-1][1].append(item)
                _progress(f"{item.what}: {cell(item.value)} {item.unit}")
        for title, of_table in tables:
            show(title, of_table)
        return [item for _, of_table in tables for item in of_table]

    return printed


def _progress(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table."""
    lines = [
        {
            "": item.what,
            "measured": f"{cell(item.value)} {item.unit}".strip(),
            **{heading: cell(value) for heading, value in item.columns.items()},
        }
        for item in rows
    ]
    table = Table(title=title, title_justify="left")
    headings = list(dict.fromkeys(heading for line in lines for heading in line))
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for line in lines:
        table.add_row(*(line.get(heading, "") for heading in headings))
    out.print(table)


def run(*tables: Callable[[], object], packages: tuple[str, ...] = PACKAGES) -> None:
    """Print the tables that are named on the command line, by default all of them."""
    named = {table.__name__: table for table in tables}
    if unknown := [name for name in sys.argv[1:] if name not in named]:
        sys.exit(f"no table {unknown[0]}; there are {', '.join(named)}")
    out.print(machine(*packages), highlight=False)
    for name in sys.argv[1:] or named:
        named[name]()


# --- clocks ----------------------------------------------------------------------------------


def cpu_time(work: Callable[[], T]) -> tuple[float, T]:
    """Return the CPU time of a call in seconds, and its result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def cpu(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least CPU time of ``repeats`` calls in seconds, after one call to compile."""
    work()
    return max(min(cpu_time(work)[0] for _ in range(repeats)), 1e-9)


def agree(*values: float | None) -> None:
    """Raise `SystemExit` if the optima of two methods differ; None stands for no optimum."""
    present = [value for value in values if value is not None]
    if present and max(present) - min(present) > 1e-9 * abs(max(present)):
        raise SystemExit(f"the methods disagree: {', '.join(map(repr, present))}")


def machine(*packages: str) -> str:
    """Return a description of this machine, with the versions of some packages."""
    installed = ", ".join(f"{name} {version(name)}" for name in packages)
    processors = f"{platform.machine()}, {os.cpu_count()} processors"
    return f"{processors}, Python {platform.python_version()}; {installed}"


# --- resumable runs --------------------------------------------------------------------------


def resume(  # noqa: PLR0917
    file: Path,
    kind: type[T],
    key: Callable[[T], K],
    todo: Iterable[K],
    work: Callable[[K], T],
    each: Callable[[Callable[[K], T], Iterable[K]], Iterable[T]] = map,
) -> dict[K, T]:
    """Return the results of all tasks by key, resuming from a file of earlier results.

    Parameters
    ----------
    file : Path
        Results of earlier runs, one JSON document per line. An incomplete last line is ignored, and
        new results are appended.
    kind : type
        The type of a result.
    key : callable
        Returns the key of a result.
    todo : iterable
        The keys of all tasks.
    work : callable
        Computes the result of a key.
    each : callable
        Maps ``work`` over keys, in any order.
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
    """Yield the documents of a file with one JSON document per line."""
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            yield msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue
