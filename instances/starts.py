"""Start times of jobs: predictions, comparisons with a policy, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.declarations import Record
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.tables import Column, Source, TextTable, unescape_cell
from schedopt.instances.times import Dates

COLUMNS = ("job", "earliest", "median", "latest", "requested")


class Start(Record, kw_only=True):
    """The predicted start of a waiting job and its interval, in the log's unit of time."""

    job: str  # its name, or its row in the log from 0
    earliest: float | None  # None where intervals could not be calibrated
    median: float
    latest: float | None
    requested: float  # what requested run times alone would say

    def by_minutes(self, dates: Dates | None) -> Start:
        """Return the start in whole minutes of the clock; the interval is rounded outwards."""
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
    """Predicted start times of the jobs that wait at one time."""

    rows: tuple[Start, ...]
    judged: int  # past starts that the intervals are calibrated on
    shift: float  # how much calibration widens the intervals, in logarithms of waiting times
    time: float  # of the prediction
    waiting: int  # jobs that wait then
    needed: int  # past starts that calibration needs
    dates: Dates | None = None  # the log's clock

    def by_clock(self) -> list[dict[str, str | None]]:
        """Return the rows with times in whole minutes of the clock; numbers without a clock."""
        rows = [msgspec.structs.asdict(row.by_minutes(self.dates)) for row in self.rows]
        return [
            {key: self._written(of) if isinstance(of, float) else of for key, of in row.items()}
            for row in rows
        ]

    def in_words(self) -> str:
        """Return a sentence on the number of waiting jobs, the time and the calibration."""
        waits = "1 job waits" if self.waiting == 1 else f"{self.waiting:,} jobs wait"
        head = f"{waits} at {self._written(self.time)}"
        if not self.waiting:
            return head
        if self.judged >= self.needed:
            return f"{head}; intervals are calibrated on {self.judged:,} earlier starts"
        few = f"which need {self.needed:,} earlier starts of jobs that waited: there are"
        return f"{head}; no intervals, {few} {self.judged:,}"

    def _written(self, time: float) -> str:
        return f"{time:.12g}" if self.dates is None else f"{self.dates.at(time):%Y-%m-%dT%H:%M}"


class Observed(NamedTuple):
    """Facts of an export that the instance of its log does not contain."""

    dates: Dates | None = None  # the clock of a log in seconds, if it has one
    until: float | None = None  # when it was written, if jobs wait or run: later starts are unknown
    waiting: NDArray[np.bool_] | None = None  # the jobs that waited at that time
    running: NDArray[np.bool_] | None = None  # and those that ran


class WrongStart(Record, kw_only=True):
    """The first job, in time, whose start differs from the policy's."""

    job: str  # its name, or its row in the log from 0 if names do not differ
    policy: str
    found: float
    expected: float
    why: str  # why the policy starts it then, or does not start it yet, in words

    def in_words(self) -> str:
        """Return the difference as a sentence."""
        found, expected = f"{self.found:.12g}", f"{self.expected:.12g}"
        head = f"job {self.job} starts at {found}, and should at {expected} under {self.policy}"
        return f"{head}: at {min(self.found, self.expected):.12g} {self.why}"


def read_starts(source: Source, names: Sequence[str], column: str) -> list[float]:
    """Return the start of each job of a log; `InputError` if one is missing, repeated or unknown.

    The table has the columns ``job`` and ``start``; the latter may be called ``column``, which is
    the policy's name. The table may number all jobs by row, from 0, in place of their names.
    """
    with at_place(file=source if isinstance(source, str | Path) else None):
        table = TextTable.read(source)
        start = Column("start" if "start" in table.titles else column, "number", None, needed=True)
        declared = list(table.declared((Column("job", needed=True), start), "starts", others=True))
        count = len(names)
        rows = [str(row) for row in range(count)]
        named = {unescape_cell(row.text("job")) for row in declared}
        by_name = named != set(rows) or set(names) == set(rows)
        rows_by_name = {name: row for row, name in enumerate(names if by_name else rows)}
        starts: dict[int, float] = {}
        for row in declared:
            job = rows_by_name.get(unescape_cell(row.text("job")))
            if job is None:
                raise row.wrong("job", f"a job's name, or its row from 0 to {count - 1}")
            if job in starts:
                raise row.wrong("job", "one row for each job")
            starts[job] = row.value(start)
        if missing := [job for job, row in rows_by_name.items() if row not in starts]:
            found = f"{len(starts)}, without job {quote(missing[0])}"
            raise InputError(f"a start of each of {count} jobs", found=found, place="column 'job'")
    return [starts[row] for row in range(count)]
