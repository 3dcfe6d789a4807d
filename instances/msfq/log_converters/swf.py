"""Logs in the Standard Workload Format, with every job."""

from pathlib import Path

import numpy as np

from schedopt.instances import swf
from schedopt.instances.errors import InputError
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.columns import is_zone
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.options import one_of

UNIT = one_of("cpus", ("cpus", "nodes"), "cpus or nodes")
ASKED_FOR = "with the processors asked for, since those used are unknown"
OPTIONS = {"unit": UNIT}  # what a server is: a processor (fields 5 and 8), or a node (field 21)

BECAME = {
    "1 job": "name",
    "2 submit": "submit",
    "3 wait": "",
    "4 run time": "run",
    "5 processors": "need",
    "6 CPU time": "",
    "7 used memory": "",
    "8 requested processors": "need",
    "9 requested time": "estimate",
    "10 requested memory": "need:memory, KB of all processors",
    "11 status": "parts of others are left out",
    "12 user": "user",
    "13 group": "group",
    "14 application": "",
    "15 queue": "queue",
    "16 partition": "partition",
    "17 preceding job": "",
    "18 think time": "",
}
"""What becomes of each field."""


def read(path: str | Path, *, unit: str = "cpus") -> Raw:
    """Read a log; ``unit`` says what a server is. `InputError` names a malformed line."""
    import polars as pl

    log = swf.read_fields(read_bytes(path, MOST_TABLE))
    rows, notes = len(log.lines), list[str]()
    partial = np.isin(log.cells[swf.STATUS], swf.PARTIAL)
    if partial.any():
        notes.append(f"{int(partial.sum())} left out, a part of another")
        log = log.take(~partial)
    cells = log.cells
    if unit == "nodes":
        needs = _known(cells[swf.NODES])
        if rows and np.isnan(needs).all():
            expected = f"a log of {swf.EXTENDED} fields, the last of which is nodes"
            raise InputError(expected, found="none that are known", place="option unit")
    else:
        used, asked = _known(cells[swf.USED], zero=False), _known(cells[swf.ASKED], zero=False)
        needs = np.where(np.isnan(used), asked, used)
        if count := int((np.isnan(used) & ~np.isnan(asked)).sum()):
            notes.append(f"{count} {ASKED_FOR}")
    numbers = pl.Series(cells[swf.NUMBER]).cast(pl.Int64)
    if count := len(numbers) - numbers.n_unique():
        notes.append(f"{count} of a number that another job has, too")
    user, group, queue, partition = (
        labels_of(pl.Series(_known(cells[row]), nan_to_null=True).cast(pl.Int64).cast(pl.String))
        for row in (swf.USER, swf.GROUP, swf.QUEUE, swf.PARTITION)
    )
    asked = _known(cells[swf.ASKED], zero=False)
    each = np.where(np.isnan(asked), _known(cells[swf.USED], zero=False), asked)
    memory = np.ceil(_known(cells[swf.MEMORY], zero=False) * each)
    beside = {"memory": memory} if np.isfinite(memory).any() else {}
    began = log.said("UnixStartTime", most=np.inf)
    zone = log.header.get("TimeZoneString", "")
    raw = Raw(
        submit=_known(cells[swf.SUBMIT]),
        need=needs,
        run=_known(cells[swf.RUN]),
        estimate=_known(cells[swf.PLANNED], zero=False),
        line=log.lines,
        rows=rows,
        user=user,
        group=group,
        queue=queue,
        name=names_of(numbers.cast(pl.String)),
        notes=notes,
        processors=log.said(*("MaxNodes",) if unit == "nodes" else ("MaxProcs", "MaxNodes")),
        computer=log.header.get("Computer") or None,
        zero=None if began is None else float(began),
        zone=zone if is_zone(zone) else "UTC",
        partition=partition if (partition.codes >= 0).any() else None,
        needs=beside,
    )
    became = BECAME | ({} if beside else {"10 requested memory": ""})
    if unit == "nodes":
        became |= {"5 processors": "", "8 requested processors": "", "21 nodes": "need"}
    for title, what in became.items():
        raw.became(title, what)
    return raw


def _known(values: Floats, *, zero: bool = True) -> Floats:
    unknown = (values == -1) | (False if zero else values == 0)
    return np.where(unknown, np.nan, values)
