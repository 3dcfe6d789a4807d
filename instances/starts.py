"""Starts of jobs as records and tables: when, why no earlier, and which one is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import msgspec

from schedopt.instances.cells import Cells, Source
from schedopt.instances.declarations import Record
from schedopt.instances.errors import InputError, placed, shown

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


class InItsPlace(Record, kw_only=True):
    """A job that started while another waited."""

    job: str
    start: float
    need: int
    held: float  # its servers times how long it held them before the other started
    rule: str  # ``order`` if it came first in the policy's order, ``passed`` if it overtook
    why: str  # in words: priorities, or why the other did not start


class Sooner(Record, kw_only=True):
    """The outcome had a job been first in line from its submit on."""

    start: float  # the job's own
    later: int  # how many others would have started later
    delay: float  # by how much, summed over those
    gain: float  # by how much others would have started sooner, summed
    most_delayed: str  # the job that would have been delayed the most
    longest: float  # by how much it would have been
    change: float  # of the mean response time of all jobs


class Because(Record, kw_only=True):
    """Why a job started no earlier under a policy."""

    job: str  # its name, or its row in the log from 0
    policy: str
    submit: float
    start: float
    need: int
    planned: float  # how long the policy believed that it would run
    running: int  # jobs that ran when it came
    held: int  # the servers that those held
    alone: float  # when it would have started if nobody else had since
    in_its_place: tuple[InItsPlace, ...]  # those that started while it waited
    # The price of an earlier start; unknown where a policy keeps reservations, or is plain Python.
    first: Sooner | None


class WrongStart(Record, kw_only=True):
    """The first job in time that does not start when a policy starts it."""

    job: str  # its name, or its row in the log from 0
    policy: str
    found: float
    expected: float
    why: str  # why the policy starts it then, or does not start it yet, in words

    def told(self) -> str:
        """Return it as a sentence."""
        found, expected = f"{self.found:.12g}", f"{self.expected:.12g}"
        head = f"job {self.job} starts at {found}, and should at {expected} under {self.policy}"
        return f"{head}: at {min(self.found, self.expected):.12g} {self.why}"


def read_starts(
    source: Source, names: Sequence[str] | None, count: int, column: str
) -> list[float]:
    """Read when each job of a log starts, in the order of its rows.

    Parameters
    ----------
    source : path or frame
        With the columns ``job`` and ``start``, or in place of the latter one of the policy's name.
    names : sequence of str, optional
        The jobs' own names. Jobs may be given by row from 0 all the same, if all are.
    count : int
        How many jobs there are.
    column : str
        The policy's name.

    Raises
    ------
    InputError
        If a job is missing, given twice or not known, or a start is not a number.
    """
    with placed(file=source if isinstance(source, str | Path) else None):
        table = Cells.of(source)
        at = table.positions(str.strip)
        start = "start" if "start" in at else column
        for title in ("job", start):
            if title not in at:
                expected = "the columns job and start" + f" (or {column})" * (title != "job")
                raise InputError(expected, found=", ".join(table.titles), place=table.head)
        rows = [str(row) for row in range(count)]
        given = {cells[at["job"]] for _, cells in table.rows}
        by_name = names is not None and (given != set(rows) or set(names) == set(rows))
        known = {name: row for row, name in enumerate(names if names and by_name else rows)}
        what = "a job's name" if by_name else f"a job's row, from 0 to {count - 1}"
        starts: dict[int, float] = {}
        for place, cells in table.rows:
            job, text = cells[at["job"]], cells[at[start]]
            if job not in known:
                raise InputError(what, found=shown(job), place=f"{place}, column 'job'")
            if known[job] in starts:
                found = f"{shown(job)} again"
                raise InputError("each job once", found=found, place=f"{place}, column 'job'")
            starts[known[job]] = _time(text, f"{place}, column '{start}'")
        if missing := [job for job, row in known.items() if row not in starts]:
            found = f"{len(starts)}, without job {shown(missing[0])}"
            raise InputError(f"a start of each of {count} jobs", found=found, place="column 'job'")
    return [starts[row] for row in range(count)]


def _time(text: str, place: str) -> float:
    """Return a finite number."""
    try:
        time = float(text)
    except ValueError:
        time = float("nan")
    if not isfinite(time):
        raise InputError("a number", found=shown(text) if text else "an empty cell", place=place)
    return time
