"""Starts of jobs as records and tables: when, and which one is wrong and why."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from pathlib import Path

import msgspec

from schedopt.instances.csv_text import unescape_cell
from schedopt.instances.declarations import Record
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.tables import Column, Source, Table
from schedopt.instances.times import NUMBER

COLUMNS = ("job", "earliest", "median", "latest", "requested")


class Start(Record, kw_only=True):
    """When one waiting job will start, in the log's unit: an interval of the level asked for."""

    job: str  # its name, or its row in the log from 0
    earliest: float
    median: float
    latest: float
    requested: float  # what requested run times alone would say


class StartTimes(msgspec.Struct, frozen=True):
    """Start times, and on how many starts of the log's past their intervals were calibrated."""

    rows: tuple[Start, ...]
    judged: int
    shift: float


class WrongStart(Record, kw_only=True):
    """The first job in time that does not start when a policy starts it."""

    job: str  # its name, or its row in the log from 0 if names do not differ
    policy: str
    found: float
    expected: float
    why: str  # why the policy starts it then, or does not start it yet, in words

    def in_words(self) -> str:
        """Return it as a sentence."""
        found, expected = f"{self.found:.12g}", f"{self.expected:.12g}"
        head = f"job {self.job} starts at {found}, and should at {expected} under {self.policy}"
        return f"{head}: at {min(self.found, self.expected):.12g} {self.why}"


def read_starts(source: Source, names: Sequence[str], column: str) -> list[float]:
    """Read when each job of a log starts, in the order of its rows.

    Parameters
    ----------
    source : path or frame
        With the columns ``job`` and ``start``, or in place of the latter one of the policy's name.
    names : sequence of str
        What the jobs are called. They may be given by row from 0 all the same, if all are.
    column : str
        The policy's name.

    Raises
    ------
    InputError
        If a job is missing, given twice or not known, or a start is not a number.
    """
    with at_place(file=source if isinstance(source, str | Path) else None):
        table = Table.read(source)
        start = Column("start" if "start" in table.titles else column, needed=True)
        declared = list(table.declared((Column("job", needed=True), start), "starts", others=True))
        count = len(names)
        rows = [str(row) for row in range(count)]
        named = {unescape_cell(row.text("job")) for row in declared}
        has_names = list(names) != rows
        by_name = has_names and (named != set(rows) or set(names) == set(rows))
        rows_by_name = {name: row for row, name in enumerate(names if by_name else rows)}
        starts: dict[int, float] = {}
        for row in declared:
            job = rows_by_name.get(unescape_cell(row.text("job")))
            if job is None:
                raise row.wrong(
                    "job", "a job's name" if by_name else f"a row from 0 to {count - 1}"
                )
            if job in starts:
                raise row.wrong("job", "each job once")
            text = row.text(start.name)  # with as many digits as simulators like to print
            starts[job] = float(text) if NUMBER.fullmatch(text) else inf
            if not isfinite(starts[job]):
                raise row.wrong(start.name, "a finite number")
        if missing := [job for job, row in rows_by_name.items() if row not in starts]:
            found = f"{len(starts)}, without job {quote(missing[0])}"
            raise InputError(f"a start of each of {count} jobs", found=found, place="column 'job'")
    return [starts[row] for row in range(count)]
