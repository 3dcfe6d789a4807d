"""The runner of all measurements: rows laid out as tables, targets met or missed, runs resumed.

A measurement is a generator. A text that it yields is the title of a table, a mapping is a row of
it by its headings, and a `Target` is judged below.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.timing import machine

out = Console(width=100)
PACKAGES = ("highspy", "ortools", "pyomo", "numba")


class Target(NamedTuple):
    """What is asked of a measurement, with what was seen, and whether it is met."""

    met: bool
    says: str


Row = Mapping[str, object]
Measured = Iterator[str | Row | Target]
P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

_JUDGED: list[Target] = []


def at_most(
    what: str, seen: float, asked: float, unit: str = "", *, before: float | None = None
) -> Target:
    """Ask that a number is no larger; ``before`` is what it once was."""
    was = (before, before / asked, before / seen) if before else None
    return _target(seen <= asked, f"{what}: at most {cell(asked)} {unit}", seen, was)


def at_least(
    what: str, seen: float, asked: float, unit: str = "", *, before: float | None = None
) -> Target:
    """Ask that a number is no smaller; ``before`` is what it once was."""
    was = (before, asked / before, seen / before) if before else None
    return _target(seen >= asked, f"{what}: at least {cell(asked)} {unit}", seen, was)


def _target(met: bool, asked: str, seen: float, was: tuple[float, float, float] | None) -> Target:
    now = f"{asked.rstrip()}; now {cell(seen)}"
    if was:
        before, wanted, better = was
        now += f"; {wanted:.2g} times as good as before ({cell(before)}), now {better:.2f} times"
    return Target(met, now)


def all_of(what: str, done: int, count: int) -> Target:
    """Ask that all are done."""
    return Target(done == count, f"{what}: {done} of {count}")


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
        table: list[Row] = []
        targets: list[Target] = []
        title = ""
        for one in rows(*args, **options):
            if isinstance(one, str):
                _print(title, table)
                title, table = one, []
            elif isinstance(one, Target):
                targets.append(one)
            else:
                table.append(one)
                every.append(one)
        _print(title, table)
        for target in targets:
            out.print(f"{_mark(target)}\n", highlight=False)
        _JUDGED.extend(targets)
        return every

    return printed


def _print(title: str, rows: list[Row]) -> None:
    if not rows:
        return
    table = Table(title=title, title_justify="left")
    heads = dict.fromkeys(heading for row in rows for heading in row)
    for heading in heads:
        numbers = all(not isinstance(row.get(heading), str) for row in rows)
        table.add_column(heading, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*(cell(row.get(heading)) for heading in heads))
    out.print(table)


def _mark(target: Target) -> str:
    return f"{'[green]met[/]' if target.met else '[red]missed[/]'}: {target.says}"


def run(*tables: Callable[[], object], packages: tuple[str, ...] = PACKAGES) -> None:
    """Print the tables that the command line names, or all, and how many targets were met."""
    named = {table.__name__: table for table in tables}
    if unknown := [name for name in sys.argv[1:] if name not in named]:
        sys.exit(f"no table {unknown[0]}; there are {', '.join(named)}")
    out.print(machine(*packages), highlight=False)
    for name in sys.argv[1:] or named:
        named[name]()
    missed = [target for target in _JUDGED if not target.met]
    out.print(f"{len(_JUDGED) - len(missed)} of {len(_JUDGED)} targets met", highlight=False)
    for target in missed:
        out.print(_mark(target), highlight=False)


def resumed(
    file: Path | None,
    kind: type[T],
    key: Callable[[T], K],
    todo: Iterable[K],
    work: Callable[[K], T],
    *,
    jobs: int = 1,
) -> dict[K, T]:
    """Do what a file does not hold yet, a line for each as it is done, and return all by key.

    A last line that was cut short counts for nothing. With ``jobs`` the work is done by processes.
    """
    done = {key(row): row for row in kept(file, kind)}
    left = [one for one in todo if one not in done]
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
    for row in _worked(left, work, jobs):
        done[key(row)] = row
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
