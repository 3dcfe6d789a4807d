"""Ready jobs: a table of names, values and needs, as integers.

The table is a CSV, JSON lines, a frame, a mapping of columns or a list of rows. Rows that say the
same of everything but the name are one: of a rule's thousand jobs numbers are read once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.alike import alike
from schedopt.instances.decimals import SAFE, as_written, scale_of
from schedopt.instances.errors import InputError, decoded, listing, placed, shown, suggestion
from schedopt.instances.extras import installed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]

NAME = "name"
MOST = 2**52  # largest number of a column, in its common unit
ROOM = 2**60  # upper limit of the sum of a column
LARGE = 2**18  # bytes of a CSV that polars reads, where it is installed


class Jobs(NamedTuple):
    """Ready jobs."""

    names: Sequence[str]
    numbers: Floats  # what jobs of each kind say, shape (kinds, columns)
    kind: NDArray[np.intp]  # of each job, shape (jobs,)


def _distinct_jobs(numbers: Floats) -> tuple[Floats, Positions]:
    """Return the numbers of each kind of job, and the kind of each; columns are rows here."""
    numbers += 0.0  # -0 is 0
    found = alike(numbers)
    if found is None:
        return numbers.T.copy(), np.arange(numbers.shape[1])
    first, number = found
    return numbers[:, first].T.copy(), number


def read_jobs(source: Any, columns: Sequence[str], resources: Sequence[str]) -> Jobs:
    """Read ready jobs; of the ``columns`` the ``resources`` are amounts, none below 0."""
    if isinstance(source, str | Path):
        from schedopt.instances.files import read_bytes

        with placed(file=source):
            return read_jobs(read_bytes(source), columns, resources)
    jobs = _of_text(source, columns) if isinstance(source, bytes) else _of_rows(source, columns)
    for i, column in enumerate(columns):
        _check(jobs, i, column, column in resources)
    if len(set(jobs.names)) < len(jobs.names):
        twice = next(name for name, count in Counter(jobs.names).items() if count > 1)
        raise InputError("each name once", found=f"{shown(twice)} twice", place=NAME)
    return jobs


def _check(jobs: Jobs, i: int, column: str, amount: bool) -> None:
    """Refuse numbers that are none, or amounts below 0."""
    numbers = jobs.numbers[:, i]
    wrong = ~np.isfinite(numbers)
    if amount:
        wrong |= numbers < 0
    if wrong.any():
        kind = int(wrong.argmax())
        job = int((jobs.kind == kind).argmax())
        expected = "a number >= 0" if amount else "a number"
        found = shown(float(numbers[kind]))
        raise InputError(expected, found=found, place=f"job {shown(jobs.names[job])}, {column}")


def _of_text(data: bytes, columns: Sequence[str]) -> Jobs:
    from schedopt.instances.tables import read_csv

    data = data.removeprefix(b"\xef\xbb\xbf")
    text = decoded(data)
    if text.lstrip().startswith("{"):
        return _of_rows(_lines(text), columns)
    if len(data) >= LARGE and installed("polars"):
        jobs = _of_large(data, columns)
        if jobs is not None:
            return jobs
    table = read_csv(data)
    name, *at = _positions(table.titles, columns)
    cells = [[_number(row[i], place) for i in at] for place, row in table.rows]
    numbers = np.array(cells, dtype=float).reshape(len(cells), len(at))
    return Jobs([row[name] for _, row in table.rows], *_distinct_jobs(numbers.T.copy()))


def _of_large(data: bytes, columns: Sequence[str]) -> Jobs | None:
    """Read a CSV by polars; None where a cell is no number, to be read and named one by one."""
    import polars as pl

    from schedopt.instances.tables import read_frame

    try:
        table = read_frame(data)
        _positions(table.columns, columns)
        cells = pl.col(*columns).str.strip_chars().replace("", None)
        numbers = table.select(cells.cast(pl.Float64).fill_null(0.0))
    except pl.exceptions.PolarsError:
        return None
    names = table[NAME].str.strip_chars().fill_null("").to_list()
    return Jobs(names, *_distinct_jobs(numbers.to_numpy().T.copy()))


def _lines(text: str) -> Iterable[Mapping[str, object]]:
    """Yield the rows of JSON lines."""
    import msgspec

    decode = msgspec.json.Decoder(dict[str, Any]).decode
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield decode(line)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                raise InputError(
                    "a JSON object on each line", found=str(error), place=f"line {number}"
                ) from None


def _positions(titles: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return where the name and each column are."""
    for wanted in (NAME, *columns):
        if titles.count(wanted) != 1:
            known = listing(titles) + suggestion(wanted, titles)
            found = f"it {titles.count(wanted)} times" if wanted in titles else "none"
            raise InputError(f"one column {shown(wanted)}", found=f"{found}{known}", place="header")
    return [titles.index(wanted) for wanted in (NAME, *columns)]


def _number(cell: object, place: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return 0.0
    try:
        if not isinstance(cell, bool):
            return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError("a number", found=shown(cell), place=place)


def _of_rows(source: Any, columns: Sequence[str]) -> Jobs:
    """Read a frame, a mapping of columns, or rows."""
    titles = getattr(source, "columns", source if isinstance(source, Mapping) else None)
    if titles is not None:
        at = [str(title) for title in titles]
        _positions(at, columns)
        names = [str(name) for name in source[NAME]]
        cells_by_column = [_column(source[column], column, len(names)) for column in columns]
        numbers = np.array(cells_by_column, dtype=float).reshape(len(columns), len(names)).T
    else:
        if not isinstance(source, Iterable):
            raise InputError("a table of ready jobs", found=type(source).__name__)
        names, cells, missing = [], [], set(columns)
        for i, row in enumerate(source):
            if not isinstance(row, Mapping) or NAME not in row:
                raise InputError("an object with a name", found=shown(row), place=f"row {i + 1}")
            place = f"job {shown(str(row[NAME]))}"
            names.append(str(row[NAME]))
            cells.append([_number(row.get(column), f"{place}, {column}") for column in columns])
            missing.difference_update(row)
        if names and missing:
            wanted = next(column for column in columns if column in missing)
            raise InputError(f"{shown(wanted)} in some row", found="it in none")
        numbers = np.array(cells, dtype=float).reshape(len(cells), len(columns))
    return Jobs(names, numbers, np.arange(len(names)))


def _column(values: Any, column: str, count: int) -> Floats:
    """Return a column as floats, 0 for missing cells."""
    try:
        numbers = np.asarray(values, dtype=float)
        if numbers.shape == (count,):
            return np.where(np.isnan(numbers), 0.0, numbers)
    except (TypeError, ValueError):
        pass
    cells = [_number(cell, f"{column}, row {i + 1}") for i, cell in enumerate(values)]
    if len(cells) != count:
        raise InputError(f"{count} cells, as of {NAME}", found=str(len(cells)), place=column)
    return np.array(cells)


def capacity_of(given: Mapping[str, object]) -> dict[str, float]:
    """Return the validated amount of each resource."""
    if not given:
        raise InputError("a resource or more", found="none", place="capacity")
    amounts = {}
    for name, amount in given.items():
        if (
            isinstance(amount, bool)
            or not isinstance(amount, int | float)
            or not 0 <= amount < MOST
        ):
            expected = f"a number >= 0 and less than {MOST:.6g}"
            raise InputError(expected, found=shown(amount), place=f"capacity {name}")
        amounts[str(name)] = float(amount)
    return amounts


def order_of(given: Iterable[str]) -> list[str]:
    """Return the validated objectives in order."""
    names = list(given) if not isinstance(given, str) else [given]
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise InputError("one column or more, each once", found=shown(names), place="order")
    return names


def whole(numbers: Floats, column: str) -> tuple[Integers, int]:
    """Return a column as whole numbers, and how many are 1; `InputError` beyond 15 digits."""
    top = float(np.abs(numbers).max(initial=0.0))
    scale = scale_of(numbers) if top < SAFE else 0
    if not scale or top * scale >= MOST:
        found = f"numbers up to {top:.6g} in all their digits"
        raise InputError("numbers of up to 15 digits in one unit", found=found, place=column)
    return np.rint(numbers * scale).astype(np.int64), scale


def room_of(amount: float, scale: int) -> int:
    """Return how many units of 1/scale fit into an amount, at most as many as any sum has."""
    exact = as_written(amount) * scale
    return min(exact.numerator // exact.denominator, ROOM)
