"""Traces of (time, need, size): a CSV with these columns, or a log in the Standard Workload Format.

Source of the format: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import read_bytes
from schedopt.instances.msfq.records import Instance

COLUMNS = ("time", "need", "size")
SUBMIT, RUN, USED, ASKED = 1, 3, 4, 7
"""Fields of the Standard Workload Format that are read, counted from 0."""


class Trace(NamedTuple):
    """Jobs in the order of their arrival.

    Attributes
    ----------
    times : ndarray of float, shape (jobs,)
        When they arrive, never going backwards.
    classes : ndarray of int, shape (jobs,)
        Which class of the instance each is of.
    sizes : ndarray of float, shape (jobs,)
        How long each takes.
    """

    times: NDArray[np.float64]
    classes: NDArray[np.int64]
    sizes: NDArray[np.float64]


def read_trace(path: str | Path, queue: Instance) -> Trace:
    """Read a trace for an instance.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` with the columns time, need and size, or an ``.swf`` log; either may be gzipped.
        Of a log, jobs that ran for no time or on no processors are left out.
    queue : Instance
        Its classes are those of the needs in the trace.

    Raises
    ------
    InputError
        With the file, the line, what was found and what was expected.
    """
    file = str(path)
    text = read_bytes(path).decode("utf-8", errors="replace")
    lines = text.splitlines()
    endings = [ending.lower() for ending in Path(path).suffixes]
    rows = _swf(lines, file) if ".swf" in endings else _csv(lines, file)
    classes = {job.need: c for c, job in enumerate(queue.classes)}
    times, kinds, sizes = [], [], []
    before = -np.inf
    for line, time, need, size in rows:
        place = f"line {line}"
        if not (isfinite(time) and time >= before):
            expected = "a finite time" if not isfinite(time) else f"no time before {before:g}"
            raise InputError(expected, found=shown(time), place=place, file=file)
        if need not in classes:
            raise InputError(
                f"the need of a class ({', '.join(map(str, classes))})",
                found=shown(int(need) if need.is_integer() else need),
                place=place,
                file=file,
            )
        if not (isfinite(size) and size > 0):
            raise InputError("a finite size > 0", found=shown(size), place=place, file=file)
        before = time
        times.append(time)
        kinds.append(classes[int(need)])
        sizes.append(size)
    if not times:
        raise InputError("a job or more", found="none", file=file)
    return Trace(np.array(times), np.array(kinds, dtype=np.int64), np.array(sizes))


Row = tuple[int, float, float, float]


def _csv(lines: list[str], file: str) -> list[Row]:
    reader = _cells(lines, file)
    _, first = next(reader, (1, []))
    head = [name.strip() for name in first]
    if sorted(head) != sorted(COLUMNS):
        expected = f"the columns {', '.join(COLUMNS)}"
        raise InputError(expected, found=shown(", ".join(head)), place="line 1", file=file)
    where = [head.index(name) for name in COLUMNS]
    rows: list[Row] = []
    for line, cells in reader:
        if not cells:
            continue
        try:
            time, need, size = (float(cells[i]) for i in where)
        except (ValueError, IndexError):
            found = shown(",".join(cells))
            place = f"line {line}"
            raise InputError("three numbers", found=found, place=place, file=file) from None
        rows.append((line, time, need, size))
    return rows


def _cells(lines: list[str], file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with its line; what is no CSV is bad input."""
    reader = csv.reader(lines)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            place = f"line {reader.line_num}"
            raise InputError("CSV", found=str(error), place=place, file=file) from None
        yield reader.line_num, row


def _swf(lines: list[str], file: str) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if not cells or cells[0].startswith(";"):
            continue
        try:
            time, run, used, asked = (float(cells[i]) for i in (SUBMIT, RUN, USED, ASKED))
        except (ValueError, IndexError):
            raise InputError(
                "the fields of the Standard Workload Format",
                found=shown(line.strip()),
                place=f"line {number}",
                file=file,
            ) from None
        need = used if used > 0 else asked
        if run > 0 and need > 0:
            rows.append((number, time, need, run))
    return rows
