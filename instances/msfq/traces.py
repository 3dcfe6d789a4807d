"""Traces of (time, need, size): a CSV with these columns, or a log in the Standard Workload Format.

Source of the format: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014.
"""

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import expect_held, may_lose
from schedopt.instances.errors import InputError, expect, placed, shown
from schedopt.instances.files import check_rows, read_bytes
from schedopt.instances.msfq.records import Instance
from schedopt.instances.swf import ASKED, RUN, SUBMIT, USED
from schedopt.instances.tables import read_csv

COLUMNS = ("time", "need", "size")
LINE = 128  # bytes that a line takes at least, as text and as numbers
Row = tuple[str, float, float, float]  # a line's number, and its time, need and size


class Trace(NamedTuple):
    """Jobs in the order of their arrival: times, classes (positions in the instance) and sizes."""

    times: NDArray[np.float64]
    classes: NDArray[np.int64]
    sizes: NDArray[np.float64]


def read_trace(path: str | Path, queue: Instance) -> Trace:
    """Read a trace for an instance, whose classes are those of the needs in the trace.

    It is a ``.csv`` with the columns time, need and size, or an ``.swf`` log, of which jobs that
    ran for no time or on no processors are left out; perhaps gzipped. `InputError` names the file
    and the line.
    """
    with placed(file=path):
        data = read_bytes(path)
        check_rows(data.count(b"\n"), LINE)
        lines = data.decode("utf-8", errors="replace").splitlines()
        endings = [ending.lower() for ending in Path(path).suffixes]
        rows = list(_swf(lines) if ".swf" in endings else _csv(data))
        for at, text in enumerate(lines if may_lose(data) else (), 1):
            for cell in re.split(r"[,\s]+", "" if text.startswith(";") else text):
                expect_held(cell, f"line {at}")
        classes = {job.need: c for c, job in enumerate(queue.classes)}
        before = -np.inf
        for place, time, need, size in rows:
            if not (isfinite(time) and time >= before):
                expected = f"no time before {before:g}" if isfinite(time) else "a finite time"
                raise InputError(expected, found=shown(time), place=place)
            if need not in classes:
                found = shown(int(need) if need.is_integer() else need)
                expected = f"the need of a class ({', '.join(map(str, classes))})"
                raise InputError(expected, found=found, place=place)
            if not (isfinite(size) and size > 0):
                raise InputError("a finite size > 0", found=shown(size), place=place)
            before = time
        if not rows:
            raise InputError("a job or more", found="none")
    _, times, needs, sizes = zip(*rows, strict=True)
    kinds = np.array([classes[int(need)] for need in needs], dtype=np.int64)
    return Trace(np.array(times), kinds, np.array(sizes))


def _csv(data: bytes) -> Iterator[Row]:
    cells = read_csv(data)
    found, expected = ", ".join(cells.titles), f"the columns {', '.join(COLUMNS)}"
    expect(sorted(cells.titles) == sorted(COLUMNS), expected, found, cells.head)
    where = [cells.titles.index(name) for name in COLUMNS]
    for place, row in cells.rows:
        try:
            time, need, size = (float(row[i]) for i in where)
        except ValueError:
            raise InputError("three numbers", found=shown(",".join(row)), place=place) from None
        yield place, time, need, size


def _swf(lines: list[str]) -> Iterator[Row]:
    """Yield the jobs of a log that ran; only the fields that are needed have to be there."""
    for number, line in enumerate(lines, 1):
        cells = line.split()
        if not cells or cells[0].startswith(";"):
            continue
        try:
            time, run, used, asked = (float(cells[i]) for i in (SUBMIT, RUN, USED, ASKED))
        except (ValueError, IndexError):
            expected = "the fields of the Standard Workload Format"
            raise InputError(expected, found=shown(line.strip()), place=f"line {number}") from None
        need = used if used > 0 else asked
        if run > 0 and need > 0:
            yield f"line {number}", time, need, run
