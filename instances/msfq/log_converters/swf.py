"""Logs in the Standard Workload Format (SWF).

A log has a line for each job, of 18 numbers; -1 says that one is not known. Lines that begin with a
semicolon are remarks, some of which (``; MaxProcs: 128``) say what the machine is.

Source: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive",
JPDC 74, 2014.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import EXPECTED as HELD
from schedopt.instances.decimals import lost_cell
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.instances.files import MOST_TABLE, check_rows, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.columns import is_zone
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import Floats

FIELDS = 18
MOST_PROCESSORS = 2**31 - 1
NUMBER, SUBMIT, RUN, USED, ASKED, PLANNED, STATUS = 0, 1, 3, 4, 7, 8, 10
MEMORY, USER, GROUP, QUEUE, PARTITION = 9, 11, 12, 14, 15  # positions of fields, from 0
PARTIAL = (2.0, 3.0, 4.0)  # statuses of lines for parts of a job, which also has a line as a whole
ASKED_FOR = "with the processors asked for, since those used are unknown"
_REMARK = re.compile(r";\s*(\w+):\s*(.*?)\s*$")
_CHUNK = 2**18


def read(path: str | Path) -> Raw:
    """Read a log; `InputError` names a malformed line."""
    import polars as pl

    log = read_fields(read_bytes(path, MOST_TABLE))
    rows, notes = len(log.lines), list[str]()
    partial = np.isin(log.cells[STATUS], PARTIAL)
    if partial.any():
        notes.append(f"{int(partial.sum())} left out, a part of another")
        log = log.take(~partial)
    cells = log.cells
    used, asked = _known(cells[USED], zero=False), _known(cells[ASKED], zero=False)
    needs = np.where(np.isnan(used), asked, used)
    if count := int((np.isnan(used) & ~np.isnan(asked)).sum()):
        notes.append(f"{count} {ASKED_FOR}")
    numbers = pl.Series(cells[NUMBER]).cast(pl.Int64)
    if count := len(numbers) - numbers.n_unique():
        notes.append(f"{count} of a number that another job has, too")
    user, group, queue, partition = (
        labels_of(pl.Series(_known(cells[row]), nan_to_null=True).cast(pl.Int64).cast(pl.String))
        for row in (USER, GROUP, QUEUE, PARTITION)
    )
    each = np.where(np.isnan(asked), used, asked)
    memory = np.ceil(_known(cells[MEMORY], zero=False) * each)
    beside = {"memory": memory} if np.isfinite(memory).any() else {}
    began = log.said("UnixStartTime", most=np.inf)
    zone = log.header.get("TimeZoneString", "")
    return Raw(
        submit=_known(cells[SUBMIT]),
        need=needs,
        run=_known(cells[RUN]),
        estimate=_known(cells[PLANNED], zero=False),
        line=log.lines,
        rows=rows,
        user=user,
        group=group,
        queue=queue,
        name=names_of(numbers.cast(pl.String)),
        notes=notes,
        processors=log.said("MaxProcs", "MaxNodes"),
        computer=log.header.get("Computer") or None,
        zero=None if began is None else float(began),
        zone=zone if is_zone(zone) else "UTC",
        partition=partition if (partition.codes >= 0).any() else None,
        needs=beside,
    )


def _known(values: Floats, *, zero: bool = True) -> Floats:
    unknown = (values == -1) | (False if zero else values == 0)
    return np.where(unknown, np.nan, values)


class Fields(NamedTuple):
    """The whole of a log.

    ``header`` holds its remarks by their word, the first of each; ``lines`` where each line of
    numbers stands, from 1; ``cells``, shape (18, lines), its numbers by field, -1 for unknown.
    """

    header: dict[str, str]
    lines: NDArray[np.int64]
    cells: NDArray[np.float64]

    def take(self, rows: NDArray[Any]) -> Fields:
        """Return some of the lines, by number or truth values."""
        return Fields(self.header, self.lines[rows], self.cells[:, rows])

    def said(self, *words: str, most: float = MOST_PROCESSORS) -> int | None:
        """Return the number from 1 that the header gives under the first of some words."""
        for word in words:
            digits = self.header.get(word, "").split()[:1]
            if digits and digits[0].isdecimal() and 1 <= int(digits[0]) <= most:
                return int(digits[0])
        return None


def read_fields(data: bytes) -> Fields:
    """Read the numbers of a log, and what its header says.

    `InputError` names the line that is not of 18 finite numbers.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    check_rows(data.count(b"\n"), 8 * FIELDS)
    header: dict[str, str] = {}
    parts = [_numbers(*chunk, header) for chunk in _chunks(data)]
    parts = parts or [(np.empty(0, np.int64), np.empty((FIELDS, 0)))]
    lines = np.concatenate([part[0] for part in parts])
    return Fields(header, lines, np.concatenate([part[1] for part in parts], axis=1))


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


def _numbers(
    first: int, texts: list[str], header: dict[str, str]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where lines of numbers stand and their cells by field; note what remarks say."""
    need("polars")
    import polars as pl

    lines = pl.Series("text", texts).str.strip_chars()
    remarks = lines.str.starts_with(";")
    for remark in filter(None, map(_REMARK.match, lines.filter(remarks))):
        header.setdefault(remark[1], remark[2])
    kept = ~remarks & (lines != "")
    at = np.flatnonzero(kept.to_numpy()) + first
    lines = lines.filter(kept)
    plain = lines.str.replace_all(r"\s+", " ")
    counts = plain.str.count_matches(" ", literal=True) + 1
    wrong = counts != FIELDS
    until = int(wrong.arg_max() or 0) if wrong.any() else len(lines)
    words = plain.head(until).str.split(" ").explode()
    values = words.cast(pl.Float64, strict=False)
    odd = values.is_null() | ~values.is_finite()
    expected, at_word = "a number", odd.arg_max() if odd.any() else None
    if at_word is None:
        expected, at_word = HELD, lost_cell(words)
    if at_word is not None:
        row, field = divmod(at_word, FIELDS)
        found = shown(words[row * FIELDS + field])
        place = f"line {at[row]}"
        raise InputError(f"{expected} (field {field + 1})", found=found, place=place)
    if until < len(lines):
        expected = f"the {FIELDS} fields of the Standard Workload Format"
        found = f"{counts[until]}: {shown(lines[until])}"
        raise InputError(expected, found=found, place=f"line {at[until]}")
    return at, values.to_numpy().reshape(-1, FIELDS).T
