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
        names, numbers = _of_text(source, columns)
    elif isinstance(source, Mapping) or hasattr(source, "columns"):
        names, numbers = _of_frame(source, columns)
    elif isinstance(source, Iterable):
        names, numbers = _of_rows(source, columns)
    else:
        raise InputError("a table of ready jobs", found=type(source).__name__)
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


def _of_text(data: bytes, columns: Sequence[str]) -> tuple[list[str], Floats]:
    """Return names and numbers, shape (columns, jobs), of a CSV or of JSON lines."""
    text = decode_utf8(data.removeprefix(b"\xef\xbb\xbf"))
    if text.lstrip().startswith("{"):
        return _of_rows(_lines(text), columns)
    table = read_csv(text.encode())
    name, *at = _positions(table.titles, columns)
    cells = [[_number(row[i], place) for place, row in table.rows] for i in at]
    return [row[name] for _, row in table.rows], np.array(cells, dtype=float)


def _lines(text: str) -> Iterable[Mapping[str, object]]:
    """Yield the rows of JSON lines."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError as error:
                expected = "a JSON object on each line"
                raise InputError(expected, found=str(error), place=f"line {number}") from None


def _positions(titles: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return the positions of the name column and of each column of numbers."""
    for wanted in (NAME, *columns):
        if titles.count(wanted) != 1:
            known = listing(titles) + suggestion(wanted, titles)
            found = f"it {titles.count(wanted)} times" if wanted in titles else "none"
            raise InputError(f"one column {quote(wanted)}", found=f"{found}{known}", place="header")
    return [titles.index(wanted) for wanted in (NAME, *columns)]


def _number(cell: object, place: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return 0.0
    try:
        if not isinstance(cell, bool):
            return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError("a number", found=quote(cell), place=place)


def _of_frame(source: Any, columns: Sequence[str]) -> tuple[list[str], Floats]:
    """Return names and numbers of a frame, or of a mapping of columns."""
    _positions([str(title) for title in getattr(source, "columns", source)], columns)
    names = [str(name) for name in source[NAME]]
    return names, np.array([_column(source[key], key, len(names)) for key in columns])


def _column(values: Any, column: str, count: int) -> Floats:
    """Return a column as floats, with 0 for missing cells."""
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        places = (f"{column}, row {i + 1}" for i in range(len(values)))
        numbers = np.array(list(map(_number, values, places)))
    if numbers.shape != (count,):
        raise InputError(
            f"{count} cells, as in column {NAME}", found=str(numbers.size), place=column
        )
    return np.where(np.isnan(numbers), 0.0, numbers)


def _of_rows(source: Iterable[object], columns: Sequence[str]) -> tuple[list[str], Floats]:
    """Return names and numbers of rows; each column must be in at least one row."""
    rows = list[Mapping[str, object]]()
    for i, row in enumerate(source):
        if not isinstance(row, Mapping) or NAME not in row:
            raise InputError("an object with a name", found=quote(row), place=f"row {i + 1}")
        rows.append(row)
    names = [str(row[NAME]) for row in rows]
    for column in columns if rows else ():
        if not any(column in row for row in rows):
            raise InputError(f"a column {quote(column)}", found="none")
    cells = [
        [_number(row.get(c), f"job {quote(n)}, {c}") for n, row in zip(names, rows, strict=True)]
        for c in columns
    ]
    return names, np.array(cells, dtype=float)


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
