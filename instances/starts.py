"""Starts of jobs as records and tables: when, and which one is wrong and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, inf, isfinite
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.csv_text import unescape_cell
from schedopt.instances.declarations import Record
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.tables import Column, Source, TextTable
from schedopt.instances.times import NUMBER, Dates

COLUMNS = ("job", "earliest", "median", "latest", "requested")


class Start(Record, kw_only=True):
    """When one waiting job will start, in the log's unit: an interval of the level asked for."""

    job: str  # its name, or its row in the log from 0
    earliest: float | None  # None where intervals could not be calibrated
    median: float
    latest: float | None
    requested: float  # what requested run times alone would say

    def by_minutes(self, dates: Dates | None) -> Start:
        """Return the same in whole minutes by a clock, the interval rounded outwards."""
        if dates is None:
            return self
        zero = dates.start.second + dates.start.microsecond / 1e6

        def rounded(time: float, to: Callable[[float], int]) -> float:
            return (60 * to((time * dates.unit + zero) / 60) - zero) / dates.unit

        return msgspec.structs.replace(
            self,
            earliest=None if self.earliest is None else rounded(self.earliest, floor),
            median=rounded(self.median, round),
            latest=None if self.latest is None else rounded(self.latest, ceil),
            requested=rounded(self.requested, round),
        )


class StartTimes(msgspec.Struct, frozen=True):
    """Predicted start times at a time, and the number of earlier starts that calibrated them.

    ``waiting`` jobs wait then; ``needed`` is how many starts calibration takes, ``dates`` the log's
    clock, if it has one.
    """

    rows: tuple[Start, ...]
    judged: int
    shift: float
    time: float
    waiting: int
    needed: int
    dates: Dates | None = None

    def by_clock(self) -> list[dict[str, str | None]]:
        """Return the rows with times in whole minutes by the log's clock, or as numbers."""
        return [
            {
                key: value if value is None or isinstance(value, str) else self._written(value)
                for key, value in msgspec.structs.asdict(row.by_minutes(self.dates)).items()
            }
            for row in self.rows
        ]

    def in_words(self) -> str:
        """Return the number of waiting jobs, the time, and the calibration, in words."""
        head = f"{self.waiting:,} wait at {self._written(self.time)}"
        if not self.waiting:
            return head
        if self.judged < self.needed:
            return (
                f"{head}; no intervals, which take {self.needed:,} starts of jobs that waited "
                f"before then: there are {self.judged:,}"
            )
        return f"{head}; intervals calibrated on {self.judged:,} starts before then"

    def _written(self, time: float) -> str:
        return f"{time:.12g}" if self.dates is None else f"{self.dates.at(time):%Y-%m-%dT%H:%M}"


class Observed(NamedTuple):
    """What an export shows of a log beyond its instance.

    Attributes
    ----------
    dates : Dates or None
        The clock of a log in seconds, if it has one.
    until : float or None
        When an export was written in which jobs wait or run, whose starts are those of the log.
    waiting, running : ndarray of bool, shape (jobs,), optional
        The jobs that waited and ran then.
    """

    dates: Dates | None = None
    until: float | None = None
    waiting: NDArray[np.bool_] | None = None
    running: NDArray[np.bool_] | None = None


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
        table = TextTable.read(source)
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
