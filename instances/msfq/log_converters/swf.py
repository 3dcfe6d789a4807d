"""Logs in the Standard Workload Format (SWF).

A log has a line of 18 numbers for each job; -1 is unknown. Lines that begin with a semicolon are
comments, some of which (``; MaxProcs: 128``) describe the machine.

Source: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads Archive", JPDC
74, 2014.
"""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path

import numpy as np

from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import RawLog, set_releases
from schedopt.instances.msfq.log_converters.table import is_zone
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import MOST_NEED, Floats
from schedopt.instances.options import one_of
from schedopt.instances.times import NUMBER as DECIMAL

FIELDS = 18
NUMBER, SUBMIT, RUN, USED, ASKED, PLANNED, STATUS = 0, 1, 3, 4, 7, 8, 10
MEMORY, USER, GROUP, QUEUE, PARTITION = 9, 11, 12, 14, 15  # positions of fields, from 0
WAIT = 2
PARTIAL = (2.0, 3.0, 4.0)  # statuses of lines for parts of a job, which also has a line as a whole
_REMARK = re.compile(r"^[ \t]*;\s*(\w+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_DESCRIPTOR = re.compile(r"[^:\s]+:\w+:(\d+)x\d+", re.ASCII)  # of nodes: frontier:excl:4x112
OPTIONS = {"need": one_of(None, ("used", "asked", "nodes"))}
"""The needs of jobs: processors used (requested ones where unknown), processors requested, or the
nodes of a descriptor after the 18 fields, which are the default where all lines have one."""


def read(path: str | Path, need: str | None = None) -> RawLog:
    """Read a log; raise `InputError` with the line if it is malformed."""
    import polars as pl

    data = read_bytes(path, MOST_TABLE)
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    header = dict(reversed(_REMARK.findall(text)))  # the first value of each word
    cells, extra = _fields(text)
    rows, notes = cells.shape[1], list[str]()
    if extra and extra[0]:
        last, values = FIELDS + len(extra[0]), ", ".join(map(quote, extra[0]))
        notes.append(
            f"fields after the {FIELDS} of the format, up to {last}: {values} in the first line"
        )
    nodes = _nodes(extra, need)
    partial = np.isin(cells[STATUS], PARTIAL)
    if partial.any():
        notes.append(f"{int(partial.sum())} left out, a part of another")
        cells, nodes = cells[:, ~partial], None if nodes is None else nodes[~partial]
    used, asked = (
        _without_marks(cells[USED], zero=False),
        _without_marks(cells[ASKED], zero=False),
    )
    if nodes is not None:
        notes.append("processors are nodes here, from the descriptors (need=used for processors)")
        used = nodes
    elif need == "asked":
        used = asked
    if count := int((np.isnan(used) & ~np.isnan(asked)).sum()):
        notes.append(f"{count} with the processors requested, since those used are unknown")
    numbers = pl.Series(cells[NUMBER]).cast(pl.Int64)
    if count := len(numbers) - numbers.n_unique():
        notes.append(f"{count} with the number of another job")
    user, group, queue, partition = (
        labels_of(
            pl.Series(_without_marks(cells[row]), nan_to_null=True).cast(pl.Int64).cast(pl.String)
        )
        for row in (USER, GROUP, QUEUE, PARTITION)
    )
    memory = np.ceil(
        _without_marks(cells[MEMORY], zero=False) * np.where(np.isnan(asked), used, asked)
    )
    began, zone = _from_header(header, "UnixStartTime"), header.get("TimeZoneString", "")
    maximum = "MaxProcs" if nodes is None else "MaxNodes"
    raw = RawLog(
        submit=_without_marks(cells[SUBMIT]),
        need=np.where(np.isnan(used), asked, used),
        run=_without_marks(cells[RUN]),
        estimate=_without_marks(cells[PLANNED], zero=False),
        rows=rows,
        user=user,
        group=group,
        queue=queue,
        name=names_of(numbers.cast(pl.String)),
        notes=notes,
        processors=_from_header(header, maximum, most=MOST_NEED),
        unsaid="the header has no MaxProcs",
        computer=header.get("Computer") or None,
        zero=began,
        zone=zone if is_zone(zone) else "UTC",
        partition=partition if (partition.codes >= 0).any() else None,
        needs={"memory": memory} if np.isfinite(memory).any() else {},
    )
    if most := _from_header(header, "MaxNodes"):
        raw.unsaid = f"the header has MaxNodes: {most}, but no MaxProcs"
    set_releases(raw, None, raw.submit + _without_marks(cells[WAIT]))
    return raw


def _nodes(extra: list[list[str]], need: str | None) -> Floats | None:
    """Return the nodes of descriptors if these are the needs; raise `InputError` if missing."""
    if need not in (None, "nodes"):
        return None
    found = [next(filter(None, map(_DESCRIPTOR.fullmatch, fields)), None) for fields in extra]
    if found and all(found):
        return np.array([float(match[1]) for match in found if match])
    if need == "nodes":
        expected = "a descriptor of nodes after the 18 fields of each line, as frontier:excl:4x112"
        raise InputError(expected, found="none", place="option need")
    return None


def _without_marks(values: Floats, *, zero: bool = True) -> Floats:
    """Return numbers with NaN for -1, and for 0 unless ``zero``."""
    unknown = (values == -1) | (False if zero else values == 0)
    return np.where(unknown, np.nan, values)


def _from_header(header: dict[str, str], *words: str, most: float = np.inf) -> int | None:
    """Return the number of at least 1 that the header has under the first of some words."""
    for word in words:
        digits = header.get(word, "").split()[:1]
        if digits and digits[0].isdecimal() and 1 <= int(digits[0]) <= most:
            return int(digits[0])
    return None


def _fields(text: str) -> tuple[Floats, list[list[str]]]:
    """Return the numbers of a log, shape (18, lines), and the fields of each line after these.

    `InputError` about the first line that does not begin with 18 numbers, or has another width
    than the first.
    """
    numbers: list[list[float]] = []
    extra: list[list[str]] = []
    for row, line in enumerate(text.split("\n"), 1):
        words = line.partition(";")[0].split()
        if not words:
            continue
        try:
            values = [float(word) for word in words[:FIELDS]]
        except ValueError:
            values = [np.nan]
        if not all(map(isfinite, values)) or "_" in "".join(words[:FIELDS]):
            at = next(i for i, w in enumerate(words[:FIELDS]) if not _is_number(w))
            expected = f"a number (field {at + 1})"
            raise InputError(expected, found=quote(words[at]), place=f"line {row}")
        width = FIELDS + (len(extra[0]) if extra else max(0, len(words) - FIELDS))
        if len(words) != width:
            expected = f"the {FIELDS} fields of the Standard Workload Format"
            expected += f" and {width - FIELDS} more, as in the first line" * (width > FIELDS)
            found = f"{len(words)}: {quote(line.strip())}"
            raise InputError(expected, found=found, place=f"line {row}")
        numbers.append(values)
        extra.append(words[FIELDS:])
    return np.array(numbers).reshape(-1, FIELDS).T, extra


def _is_number(word: str) -> bool:
    """Return True for a finite decimal number."""
    return bool(DECIMAL.fullmatch(word)) and isfinite(float(word))
