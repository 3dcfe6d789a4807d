"""Tables of ready jobs: names, and values and resource needs as integers.

The table is a CSV, JSON lines, a data frame, a mapping of columns or a list of rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import SAFE, as_written, scale_of
from schedopt.instances.encoding import decode
from schedopt.instances.errors import InputError, at_place, quote, suggestion
from schedopt.instances.files import read_bytes
from schedopt.instances.options import is_number
from schedopt.instances.tables import read_csv

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NAME = "name"
MOST = 2**52  # largest number of a column, in its common unit
ROOM = 2**60  # upper limit of the sum of a column


class ReadyJobs(NamedTuple):
    """Ready jobs."""

    names: Sequence[str]
    numbers: Floats  # shape (columns, jobs)


def read_jobs(source: Any, columns: Sequence[str], resources: Sequence[str]) -> ReadyJobs:
    """Return the columns of numbers of a table of ready jobs; those of resources are >= 0."""
    if isinstance(source, str | Path):
        with at_place(file=source):
            return read_jobs(read_bytes(source), columns, resources)
    table = _columns_of(source, columns)
    for wanted in (NAME, *columns):
        if wanted not in table:
            found = f"{', '.join(table) or 'none'}{suggestion(wanted, table)}"
            raise InputError(f"a column {quote(wanted)}", found=found, place="header")
    names = list(map(str, table[NAME]))
    if len(set(names)) < len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise InputError("each name once", found=f"{quote(twice)} twice", place="column 'name'")
    numbers = np.zeros((len(columns), len(names)))
    for row, column in zip(numbers, columns, strict=True):
        if len(table[column]) != len(names):
            found, expected = f"{len(table[column])}", f"{len(names)} cells, as in column {NAME}"
            raise InputError(expected, found=found, place=column)
        expected = "a number >= 0" if column in resources else "a number"
        cells = table[column]
        if isinstance(cells, np.ndarray):  # whose items are slow to convert one by one
            cells = cells.tolist()
        for j, cell in enumerate(cells):
            number = _number(cell)
            if number is None or (number < 0 and column in resources):
                place = f"job {quote(names[j])}, {column}"
                raise InputError(expected, found=quote(cell), place=place)
            row[j] = number
    return ReadyJobs(names, numbers)


def _columns_of(source: Any, columns: Sequence[str]) -> dict[str, Any]:
    if isinstance(source, bytes) and not source.lstrip().startswith(b"{"):
        text = read_csv(source)
        return {title: [row[i] for _, row in text.rows] for title, i in text.positions().items()}
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        return {str(title): source[title] for title in getattr(source, "columns", source)}
    if isinstance(source, bytes):
        lines, source = source.splitlines(), []
        for number, line in enumerate(lines, 1):
            if line.strip():
                with at_place(f"line {number}"):
                    source.append(decode(line, dict[str, Any]))
    rows = list[Mapping[str, object]]()
    for i, row in enumerate(source if isinstance(source, Iterable) else [source], 1):
        if not isinstance(row, Mapping) or NAME not in row:
            raise InputError("an object with a name", found=quote(row), place=f"row {i}")
        rows.append(row)
    titles = dict.fromkeys(title for row in rows for title in row) or (NAME, *columns)
    return {str(title): [row.get(title) for row in rows] for title in titles}


def _number(cell: Any) -> float | None:
    """Return a finite number, 0 for a missing or an empty cell, None for anything else."""
    if cell is None or cell == "" or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124
        return 0.0
    try:
        return number if isfinite(number := float(cell)) else None
    except (TypeError, ValueError, OverflowError):
        return None


def capacity_of(given: Mapping[str, object]) -> dict[str, float]:
    """Return the validated capacity of each resource."""
    if not given:
        raise InputError("at least one resource", found="none", parameter="capacity")
    for name, amount in given.items():
        if not is_number(amount) or not 0 <= amount < MOST:  # type: ignore[operator]
            expected = f"a number >= 0 and less than {MOST:.6g}"
            raise InputError(expected, found=quote(amount), parameter="capacity", place=name)
    return {str(name): float(amount) for name, amount in given.items()}  # type: ignore[arg-type]


def order_of(given: Iterable[str]) -> list[str]:
    """Return the validated objectives in order."""
    names = [given] if isinstance(given, str) else list(given)
    if not names or len(set(names)) < len(names):
        raise InputError("at least one column, each once", found=quote(names), parameter="order")
    return names


def whole(numbers: Floats, column: str) -> tuple[Integers, int]:
    """Return a column as integers and its scale; `InputError` if it needs more than 15 digits."""
    top = float(np.abs(numbers).max(initial=0.0))
    scale = scale_of(numbers) if top < SAFE else 0
    if not scale or top * scale >= MOST:
        found = f"numbers up to {top:.6g} in all their digits"
        raise InputError("numbers of up to 15 digits in one unit", found=found, place=column)
    return np.rint(numbers * scale).astype(np.int64), scale


def room_of(amount: float, scale: int) -> int:
    """Return a capacity in units of 1/``scale``, rounded down, at most the largest possible sum."""
    exact = as_written(amount) * scale
    return min(exact.numerator // exact.denominator, ROOM)
