"""Plans, tables, sections and explanations of results, as data for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isclose
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt import tables
from schedopt.formats import duration, number
from schedopt.instances.extras import require
from schedopt.tables import Table, Value

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from schedopt.solvers.result import Result

Line = tuple[str, str]  # a name, such as ``threshold``, and a value in words
CAUTION = "caution"  # the name of a line that comes first
Lines = Iterable[Line]
Tables = Iterable[Table]


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    title: str
    words: str = ""  # an introduction of one or two sentences, as plain text
    facts: Mapping[str, str] = field(default_factory=dict)  # a list of names and words
    # Captions, and functions that draw the figures.
    pictures: tuple[tuple[str, Callable[[], Figure]], ...] = ()
    tables: tuple[Table, ...] = ()  # each can be sorted and downloaded
    # Definitions of headings and words.
    terms: Mapping[str, str] = field(default_factory=dict)


# Plans.

FIXED = ("job", "run", "reason", "reward", "processors", "start", "end", "late")
"""Columns of every plan; the groupings are between ``reward`` and ``processors``."""
KINDS: Mapping[str, type] = {
    **dict.fromkeys(("job", "reason", "start_time", "end_time", "was_time", "change"), str),
    **dict.fromkeys(("reward", "start", "end", "late", "was", "bill"), float),
    **dict.fromkeys(("night", "processors", "rank"), int),
    "run": bool,
}
"""Types of the columns of plans; groupings are text."""
CLOCK = {"start": "start_time", "end": "end_time", "was": "was_time"}
"""Columns of times, and the columns with the same times by the clock."""
WRITERS = {str: tables.text, float: tables.number, int: tables.number, bool: tables.flag}

Cell = str | float | int | bool | None  # a cell of a plan; None if empty
PlanRow = dict[str, Any]  # of one job, by title


@dataclass(frozen=True)
class Plan:
    """A plan: a row for each job, and the titles of its columns in order.

    ``carried`` returns the other rows of a script: submissions of tasks under ``release``, and
    drops of capacity under ``drop``. It is None if no times are known.
    """

    titles: Sequence[str]
    rows: Sequence[PlanRow]
    carried: Callable[[], Mapping[str, list[PlanRow]]] | None = None

    @classmethod
    def of(cls, plan: Plan | pl.DataFrame) -> Plan:
        """Return a plan, or the plan in a data frame."""
        return plan if isinstance(plan, Plan) else cls(plan.columns, plan.to_dicts())

    def columns(self) -> dict[str, list[Cell]]:
        """Return the cells by column."""
        return {title: [row[title] for row in self.rows] for title in self.titles}

    def table(self, unit: float = 1.0) -> Table:
        """Return the plan as a table, with times by the clock if they are known.

        Groupings come last, because there may be many.

        Parameters
        ----------
        unit : float
            The plan's unit of time, in seconds.
        """
        shown = [title for title in self.titles if title not in CLOCK.values()]
        shown.sort(key=lambda title: title not in KINDS)
        named = {title: WRITERS[KINDS.get(title, str)] for title in shown}
        heads = (write("runs" if title == "run" else title) for title, write in named.items())
        stamps = (row[of] for of in CLOCK.values() for row in self.rows if row.get(of))
        clock = clock_cells(stamps)
        rows = ([_shown(title, row, clock, unit) for title in shown] for row in self.rows)
        return Table.of("plan", heads, rows)

    def frame(self) -> pl.DataFrame:
        """Return the plan as a data frame."""
        require("polars")
        import polars as pl

        return pl.DataFrame(self.columns(), schema=schema(self.titles), strict=False)


def clock_cells(stamps: Iterable[str]) -> dict[str, tables.Cell]:
    """Return ISO times as cells with the time of day, and the date if they span a day or more."""
    moments = {stamp: datetime.fromisoformat(stamp) for stamp in stamps}
    dated = bool(moments) and max(moments.values()) - min(moments.values()) >= timedelta(1)
    cells = {}
    for stamp, moment in moments.items():
        date = f"{moment.day} {moment:%b} " if dated else ""
        cells[stamp] = tables.Cell(date + f"{moment:%H:%M:%S}".removesuffix(":00"), stamp)
    return cells


def _shown(title: str, row: PlanRow, clock: Mapping[str, tables.Cell], unit: float) -> Value:
    """Return the cell of a plan as a table shows it."""
    if stamp := row.get(CLOCK.get(title, "")):
        return clock[stamp]
    value: Value = row[title]
    if title == "late" and value and row.get("end_time"):
        return tables.Cell(duration(row[title] * unit), row[title])
    return value


def schema(titles: Sequence[str]) -> dict[str, Any]:
    """Return the types of a plan's columns in a frame."""
    import polars as pl

    types = {str: pl.String, float: pl.Float64, int: pl.Int64, bool: pl.Boolean}
    return {title: types[KINDS.get(title, str)] for title in titles}


def same_time(was: float, now: float) -> bool:
    """Return True if two times differ by rounding at most."""
    return isclose(was, now, rel_tol=1e-9, abs_tol=1e-9)


@dataclass(frozen=True)
class Change:
    """The change of a job in a new plan, its reason, and its old and new start and end.

    ``was`` and ``now`` are in the night's unit, and None if the job does not run. ``was_time`` and
    ``now_time`` are the same by the clock.
    """

    job: str
    change: str  # kept, earlier, later, added or dropped
    was: tuple[float, float] | None
    now: tuple[float, float] | None
    why: str = ""
    was_time: tuple[str, str] | None = None
    now_time: tuple[str, str] | None = None


def changes_table(changes: Iterable[Change]) -> Table:
    """Return the table of the jobs that changed, with old and new times."""
    changed = [of for of in changes if of.change != "kept"]
    times = [time for of in changed for time in (of.was_time, of.now_time) if time]
    clock = clock_cells(stamp for time in times for stamp in time)

    def cell(span: tuple[float, float] | None, time: tuple[str, str] | None) -> Value:
        if time is not None:
            start, end = (clock[stamp].text for stamp in time)
            return tables.Cell(f"{start} to {end}", "/".join(time))  # an interval of ISO 8601
        return span and f"{number(span[0])} to {number(span[1])}"

    rows = (
        (of.job, of.change, cell(of.was, of.was_time), cell(of.now, of.now_time), of.why)
        for of in changed
    )
    columns = map(tables.text, ("job", "change", "planned", "now", "why"))
    return Table.of("changes", columns, rows)


Solve = Callable[..., "Result"]  # the verb, with limits


# Explanations.


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason why a job is left out."""

    job: str
    reason: str  # as in a plan
    words: str  # the same in words
    reward: float
    # The smallest reward with which it is in an optimum; None if there is none, or if it is not
    # known.
    needed: float | None = None
    # The rules that exclude it: they cannot hold together with it, or it is selected without any
    # one of them.
    rules: tuple[str, ...] = ()
    proven: bool = True  # whether ``needed`` is exact


class RulePrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of a rule."""

    rule: str
    cost: float | None  # the optimum without it minus the optimum; None if it is not known
    # Jobs that are selected only without the rule, and only with it.
    gains: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    proven: bool = True


class SmallestChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The smallest change of one kind that would let a job run."""

    job: str
    change: str  # such as ``deadline``; ``none`` if an optimal plan runs the job without a change
    today: str  # the present value, in words
    needed: str | None = None  # the sufficient value, in words; None if none was found
    value: float | None = None  # the same as a number
    proven: bool = True  # whether it is the smallest change
    words: str = ""  # further remarks


class Explanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why jobs are left out, the cost of each rule, and the smallest changes that let a job run."""

    left_out: tuple[LeftOut, ...]  # in the order of the file
    rules: tuple[RulePrice, ...]
    unproven: int  # the number of entries that are not proven
    seconds: float
    changes: tuple[SmallestChange, ...] = ()  # that would let a job run


def explanation_tables(explanation: Explanation) -> Tables:
    """Yield the tables of an explanation."""
    text, number = tables.text, tables.number
    if explanation.left_out:
        columns = text("job"), text("reason"), number("worth"), number("needed"), text("why")
        rows = (
            (of.job, of.reason, of.reward, _proven(of.needed, of.proven, None), of.words)
            for of in explanation.left_out
        )
        yield Table.of("left out", columns, rows)
    for job in dict.fromkeys(change.job for change in explanation.changes):
        titles = map(text, ("change", "today", "enough", ""))
        changes = (
            (of.change, of.today, of.needed or "", of.words)
            for of in explanation.changes
            if of.job == job
        )
        yield Table.of(f"what would let {job} run, each on its own", tuple(titles), changes)
    if explanation.rules:
        heads = text("rule"), number("reward lost"), text("in without it"), text("out without it")
        prices = (
            (of.rule, _proven(of.cost, of.proven, "unknown"), *map(_named, (of.gains, of.loses)))
            for of in explanation.rules
        )
        yield Table.of("what each rule costs", heads, prices)


def _proven(value: float | None, proven: bool, unknown: str | None) -> Value:
    if value is None:
        return unknown
    return value if proven else tables.Cell(f"{number(value)} (not proven)", value)


def _named(
    names: tuple[str, ...],
    *,
    most: int = 6,  # jobs that are named
) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
