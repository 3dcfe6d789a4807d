"""Traces of arrivals: a CSV with the columns time, need and size."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import read_bytes
from schedopt.instances.msfq.records import Instance
from schedopt.instances.tables import Column, read_csv

COLUMNS = ("time", "need", "size")
TIME, NEED, SIZE = (Column(name, "number", least=None, needed=True) for name in COLUMNS)


class Trace(NamedTuple):
    """Jobs in order of arrival: times, classes (positions in the instance), and sizes."""

    times: NDArray[np.float64]
    classes: NDArray[np.int64]
    sizes: NDArray[np.float64]

    def take(self, rows: NDArray[np.bool_] | slice) -> "Trace":
        """Return some of the jobs."""
        return Trace(self.times[rows], self.classes[rows], self.sizes[rows])


def read_trace(path: str | Path, queue: Instance) -> Trace:
    """Return the trace in a CSV, whose needs are those of the classes of an instance.

    Raises
    ------
    InputError
        With the file and the line.
    """
    classes = {job.need: c for c, job in enumerate(queue.classes)}
    arrivals: list[tuple[float, int, float]] = []
    before = -np.inf
    with at_place(file=path):
        for row in read_csv(read_bytes(path)).declared((TIME, NEED, SIZE), "traces"):
            time, need, size = row.value(TIME), row.value(NEED), row.value(SIZE)
            if time < before:
                raise InputError(f"no time before {before:g}", found=quote(time), place=row.place)
            if need not in classes:
                expected = f"the need of a class ({', '.join(map(str, classes))})"
                raise row.wrong("need", expected)
            if size <= 0:
                raise InputError("a finite size > 0", found=quote(size), place=row.place)
            arrivals.append((time, classes[int(need)], size))
            before = time
        if not arrivals:
            raise InputError("at least one job", found="none")
    times, kinds, sizes = zip(*arrivals, strict=True)
    return Trace(np.array(times), np.array(kinds, dtype=np.int64), np.array(sizes))
