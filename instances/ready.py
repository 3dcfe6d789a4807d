"""Tables of ready jobs: names, and values and resource needs as integers.

The table is a CSV, JSON lines, a data frame, a mapping of columns or a list of rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import SAFE, as_written, scale_of
from schedopt.instances.errors import InputError, at_place, decode_utf8, listing, quote, suggestion
from schedopt.instances.files import read_bytes
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
    """Return ready jobs from a table.

    Parameters
    ----------
    source : path, bytes, frame, mapping or list
        The table.
    columns : sequence of str
        The columns of numbers to read.
    resources : sequence of str
        Those columns that are amounts of a resource, which must not be negative.
    """
    if isinstance(source, str | Path):
        with at_place(file=source):
            return read_jobs(read_bytes(source), columns, resources)
    if isinstance(source, bytes):
        table = _of_text(source)
    elif isinstance(source, Mapping) or hasattr(source, "columns"):
        table = source
    elif isinstance(source, Iterable):
        table = _of_rows(source, columns)
    else:
        raise InputError("a table of ready jobs", found=type(source).__name__)
    titles = [str(title) for title in getattr(table, "columns", table)]
    for wanted in (NAME, *columns):
        if titles.count(wanted) != 1:
            known = listing(titles) + suggestion(wanted, titles)
            found = f"it {titles.count(wanted)} times" if wanted in titles else "none"
            raise InputError(f"one column {quote(wanted)}", found=f"{found}{known}", place="header")
    names = list(map(str, table[NAME]))
    numbers = np.array([_column(table[column], column, names) for column in columns])
    for column, values in zip(columns, numbers, strict=True):
        wrong = ~np.isfinite(values) | ((values < 0) & (column in resources))
        if wrong.any():
            job = int(wrong.argmax())
            expected = "a number >= 0" if column in resources else "a number"
            place = f"job {quote(names[job])}, {column}"
            raise InputError(expected, found=quote(float(values[job])), place=place)
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError("each name once", found=f"{quote(twice)} twice", place="column 'name'")
    return ReadyJobs(names, numbers)


def _of_text(data: bytes) -> Any:
    """Return the columns of a CSV or of JSON lines."""
    text = decode_utf8(data.removeprefix(b"\xef\xbb\xbf"))
    if text.lstrip().startswith("{"):
        return _of_rows(_lines(text), ())
    table = read_csv(text.encode())
    titles = [title if table.titles.count(title) == 1 else "" for title in table.titles]
    return {title: [row[i] for _, row in table.rows] for i, title in enumerate(titles)}


def _lines(text: str) -> Iterable[Mapping[str, object]]:
    """Yield the rows of JSON lines."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError as error:
                expected = "a JSON object on each line"
                raise InputError(expected, found=str(error), place=f"line {number}") from None


def _of_rows(source: Iterable[object], columns: Sequence[str]) -> dict[str, list[object]]:
    """Return the columns of rows; each column must be in at least one row."""
    rows = list[Mapping[str, object]]()
    for i, row in enumerate(source):
        if not isinstance(row, Mapping) or NAME not in row:
            raise InputError("an object with a name", found=quote(row), place=f"row {i + 1}")
        rows.append(row)
    titles = dict.fromkeys(title for row in rows for title in row) or (NAME, *columns)
    return {str(title): [row.get(title) for row in rows] for title in titles}


def _column(values: Any, column: str, names: Sequence[str]) -> Floats:
    """Return a column as floats, with 0 for missing and empty cells."""
    numbers: Floats
    try:
        numbers = np.array(list(map(float, values)) if isinstance(values, list) else values, float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([_number(v, n, column) for v, n in zip(values, names, strict=False)])
    if numbers.shape != (len(names),):
        expected = f"{len(names)} cells, as in column {NAME}"
        raise InputError(expected, found=str(numbers.size), place=column)
    missing = [i for i in np.flatnonzero(np.isnan(numbers)) if not isinstance(values[int(i)], str)]
    numbers[missing] = 0.0
    return numbers


def _number(cell: object, name: str, column: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return 0.0
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        place = f"job {quote(name)}, {column}"
        raise InputError("a number", found=quote(cell), place=place) from None


def capacity_of(given: Mapping[str, object]) -> dict[str, float]:
    """Return the validated capacity of each resource."""
    if not given:
        raise InputError("at least one resource", found="none", parameter="capacity")
    amounts = {}
    for name, amount in given.items():
        if (
            isinstance(amount, bool)
            or not isinstance(amount, int | float)
            or not 0 <= amount < MOST
        ):
            expected = f"a number >= 0 and less than {MOST:.6g}"
            raise InputError(expected, found=quote(amount), parameter="capacity", place=name)
        amounts[str(name)] = float(amount)
    return amounts


def order_of(given: Iterable[str]) -> list[str]:
    """Return the validated objectives in order."""
    names = list(given) if not isinstance(given, str) else [given]
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
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
