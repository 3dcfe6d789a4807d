"""The reader of logs in the Standard Workload Format (SWF), for every problem.

A log has a line for each job, of 18 numbers (or 21, of which the last three are extensions and the
very last is the nodes that a job had); -1 says that one is not known. Lines that begin with a
semicolon are remarks, some of which (``; MaxProcs: 128``) say what the machine is.

Source: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive",
JPDC 74, 2014.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import EXPECTED as HELD
from schedopt.instances.decimals import lost_cell
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.instances.files import check_rows

FIELDS, EXTENDED = 18, 21
MOST_PROCESSORS = 2**31 - 1
NUMBER, SUBMIT, RUN, USED, ASKED, PLANNED, STATUS = 0, 1, 3, 4, 7, 8, 10
MEMORY, USER, GROUP, QUEUE, PARTITION, NODES = 9, 11, 12, 14, 15, 20  # positions of fields, from 0
PARTIAL = (2.0, 3.0, 4.0)  # statuses of lines for parts of a job, which also has a line as a whole
_REMARK = re.compile(r";\s*(\w+):\s*(.*?)\s*$")
_CHUNK = 2**18


class Fields(NamedTuple):
    """The whole of a log.

    ``header`` holds its remarks by their word, the first of each; ``lines`` where each line of
    numbers stands, from 1; ``cells``, shape (21, lines), its numbers by field, -1 for unknown.
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

    `InputError` names the line that is not of 18 or 21 finite numbers.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    check_rows(data.count(b"\n"), 8 * EXTENDED)
    header: dict[str, str] = {}
    parts = [_numbers(*chunk, header) for chunk in _chunks(data)]
    parts = parts or [(np.empty(0, np.int64), np.empty((EXTENDED, 0)))]
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
    wrong = ~counts.is_in([FIELDS, EXTENDED])
    until = int(wrong.arg_max() or 0) if wrong.any() else len(lines)
    short = plain.head(until).zip_with(
        counts.head(until) == EXTENDED, plain.head(until) + " -1" * 3
    )
    words = short.str.split(" ").explode()
    values = words.cast(pl.Float64, strict=False)
    odd = values.is_null() | ~values.is_finite()
    expected, at_word = "a number", odd.arg_max() if odd.any() else None
    if at_word is None:
        expected, at_word = HELD, lost_cell(words)
    if at_word is not None:
        row, field = divmod(at_word, EXTENDED)
        found = shown(words[row * EXTENDED + field])
        place = f"line {at[row]}"
        raise InputError(f"{expected} (field {field + 1})", found=found, place=place)
    if until < len(lines):
        expected = f"the {FIELDS} fields of the Standard Workload Format, or {EXTENDED}"
        found = f"{counts[until]}: {shown(lines[until])}"
        raise InputError(expected, found=found, place=f"line {at[until]}")
    return at, values.to_numpy().reshape(-1, EXTENDED).T
