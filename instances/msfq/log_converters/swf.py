"""Logs in the Standard Workload Format, with every job; a line of 18 numbers, or of 21.

Of the longer form the last three are extensions; the very last is the nodes that a job had.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_files import MOST_BYTES, labels_of, names_of
from schedopt.instances.msfq.logs import MOST_NEED, Floats
from schedopt.instances.options import Option

if TYPE_CHECKING:
    import polars as pl

PLAIN, EXTENDED = 18, 21
_NUMBER, _SUBMIT, _RUN, _USED, _ASKED, _PLANNED, _STATUS = 0, 1, 3, 4, 7, 8, 10
_USER, _GROUP, _QUEUE, _NODES = 11, 12, 14, 20
_PARTIAL = (2.0, 3.0, 4.0)
_REMARK = re.compile(r";\s*(\w+):\s*(.*?)\s*$")
_CHUNK = 2**18
OPTIONS = {"unit": Option("cpus", "cpus or nodes", lambda v: v in ("cpus", "nodes"))}
"""What a server is: a processor (fields 5 and 8), or a node (field 21)."""


def read(path: str | Path, *, unit: str = "cpus") -> Raw:
    """Read a log; perhaps gzipped.

    Parameters
    ----------
    path : str or Path
    unit : {"cpus", "nodes"}
        What a server is.

    Raises
    ------
    InputError
        If a line is not of so many numbers: with the line.
    """
    header: dict[str, str] = {}
    parts = [_columns(*chunk, header) for chunk in _chunks(read_bytes(path, MOST_BYTES))]
    lines = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.int64)
    cells: Floats = np.concatenate([part[1] for part in parts], axis=1) if parts else _nothing()
    return _raw(lines, cells, header, unit)


def _raw(lines: Any, cells: Floats, header: dict[str, str], unit: str) -> Raw:
    import polars as pl

    rows = len(lines)
    notes: list[str] = []
    partial = np.isin(cells[_STATUS], _PARTIAL)
    if partial.any():
        notes.append(f"{int(partial.sum())} left out, a part of another")
        cells, lines = cells[:, ~partial], lines[~partial]
    if unit == "nodes":
        needs = _known(cells[_NODES])
        if rows and np.isnan(needs).all():
            expected = f"a log of {EXTENDED} fields, the last of which is nodes"
            raise InputError(expected, found="none that are known", place="option unit")
    else:
        used = _known(cells[_USED], zero=False)
        asked = _known(cells[_ASKED], zero=False)
        needs = np.where(np.isnan(used), asked, used)
        if count := int((np.isnan(used) & ~np.isnan(asked)).sum()):
            words = "with the processors asked for, since those used are unknown"
            notes.append(f"{count} {words}")
    numbers = pl.Series(cells[_NUMBER]).cast(pl.Int64)
    if count := len(numbers) - numbers.n_unique():
        notes.append(f"{count} of a number that another job has, too")
    labels = [
        labels_of(pl.Series(_known(cells[row]), nan_to_null=True).cast(pl.Int64).cast(pl.String))
        for row in (_USER, _GROUP, _QUEUE)
    ]
    return Raw(
        submit=_known(cells[_SUBMIT]),
        need=needs,
        run=_known(cells[_RUN]),
        estimate=_known(cells[_PLANNED], zero=False),
        line=lines,
        rows=rows,
        user=labels[0],
        group=labels[1],
        queue=labels[2],
        name=names_of(numbers.cast(pl.String)),
        notes=notes,
        processors=_machine(header, unit),
        computer=header.get("Computer") or None,
        zero=_zero(header),
    )


def _known(values: Floats, *, zero: bool = True) -> Floats:
    """Return values with -1 (and 0, where it says as little) made NaN."""
    unknown = (values == -1) | (False if zero else values == 0)
    return np.where(unknown, np.nan, values)


def _machine(header: dict[str, str], unit: str) -> int | None:
    """Return how many servers the header tells of."""
    for word in ("MaxNodes",) if unit == "nodes" else ("MaxProcs", "MaxNodes"):
        digits = header.get(word, "").split()[:1]
        if digits and digits[0].isdecimal() and 1 <= int(digits[0]) <= MOST_NEED:
            return int(digits[0])
    return None


def _zero(header: dict[str, str]) -> float | None:
    """Return the date of time 0, which the header gives in seconds since 1970."""
    digits = header.get("UnixStartTime", "").split()[:1]
    return float(digits[0]) if digits and digits[0].isdecimal() and int(digits[0]) else None


def _nothing() -> Floats:
    return np.empty((EXTENDED, 0))


def _chunks(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield lines, so many at a time, with the number of the first, from 1."""
    first, at = 1, 0
    while at < len(data):
        stop = at
        for _ in range(_CHUNK):
            stop = data.find(b"\n", stop) + 1
            if not stop:
                stop = len(data)
                break
        lines = data[at:stop].decode("utf-8", "replace").removesuffix("\n").split("\n")
        yield first, lines
        first, at = first + len(lines), stop


def _columns(first: int, texts: list[str], header: dict[str, str]) -> tuple[Any, Floats]:
    """Return the numbers of lines that have some, by field, and note what remarks say."""
    import polars as pl

    lines = pl.Series("text", texts).str.strip_chars()
    remarks = lines.str.starts_with(";")
    for text in lines.filter(remarks):
        if remark := _REMARK.match(text):
            header.setdefault(remark[1], remark[2])
    kept = ~remarks & (lines != "")
    at = np.flatnonzero(kept.to_numpy()) + first
    lines = lines.filter(kept)
    split = lines.str.replace_all(r"\s+", " ").str.split(" ")
    counts = split.list.len()
    wrong = ~counts.is_in([PLAIN, EXTENDED])
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        expected = f"the {PLAIN} fields of the Standard Workload Format, or {EXTENDED}"
        found = f"{counts[row]}: {shown(lines[row])}"
        raise InputError(expected, found=found, place=f"line {at[row]}")
    return at, _parsed(split, counts, at)


def _parsed(split: pl.Series, counts: pl.Series, at: Any) -> Floats:
    """Return every cell as a finite number, shape (fields, lines); -1 where a line is short."""
    import polars as pl

    cells = np.full((EXTENDED, len(split)), -1.0)
    for count in (PLAIN, EXTENDED):
        where = np.flatnonzero(counts.to_numpy() == count)
        if not len(where):
            continue
        words = split.gather(where).explode()
        values = words.cast(pl.Float64, strict=False)
        odd = values.is_null() | ~values.is_finite()
        if odd.any():
            position = int(odd.arg_max() or 0)
            row, number = divmod(position, count)
            raise InputError(
                f"a number (field {number + 1})",
                found=shown(words[position]),
                place=f"line {at[where[row]]}",
            )
        cells[:count, where] = values.to_numpy().reshape(-1, count).T
    return cells
