"""Traces of (time, need, size): a CSV with these columns, or a log in the Standard Workload Format.

Source of the format: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.files import check_rows, read_bytes
from schedopt.instances.msfq.log_converters import swf
from schedopt.instances.msfq.records import Instance
from schedopt.instances.tables import Column, read_csv

COLUMNS = ("time", "need", "size")
TIME, NEED, SIZE = (Column(name, "number", least=None, needed=True) for name in COLUMNS)
LINE = 128  # bytes that a line takes at least, as text and as numbers
Arrival = tuple[str, float, float, float]  # its place, and its time, need and size


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
        endings = [ending.lower() for ending in Path(path).suffixes]
        arrivals = list(_of_log(data) if ".swf" in endings else _of_csv(data))
        classes = {job.need: c for c, job in enumerate(queue.classes)}
        before = -np.inf
        for place, time, need, size in arrivals:
            if time < before:
                raise InputError(f"no time before {before:g}", found=shown(time), place=place)
            if need not in classes:
                found = shown(int(need) if need.is_integer() else need)
                expected = f"the need of a class ({', '.join(map(str, classes))})"
                raise InputError(expected, found=found, place=place)
            if size <= 0:
                raise InputError("a finite size > 0", found=shown(size), place=place)
            before = time
        if not arrivals:
            raise InputError("a job or more", found="none")
    _, times, needs, sizes = zip(*arrivals, strict=True)
    kinds = np.array([classes[int(need)] for need in needs], dtype=np.int64)
    return Trace(np.array(times), kinds, np.array(sizes))


def _of_csv(data: bytes) -> Iterator[Arrival]:
    for row in read_csv(data).declared((TIME, NEED, SIZE), "traces"):
        yield row.place, row.value(TIME), row.value(NEED), row.value(SIZE)


def _of_log(data: bytes) -> Iterator[Arrival]:
    """Yield the jobs of a log that ran, in the order of its lines."""
    log = swf.read_fields(data)
    columns = (log.cells[field].tolist() for field in (swf.SUBMIT, swf.RUN, swf.USED, swf.ASKED))
    for line, time, run, used, asked in zip(log.lines.tolist(), *columns, strict=True):
        need = used if used > 0 else asked
        if run > 0 and need > 0:
            yield f"line {line}", time, need, run
