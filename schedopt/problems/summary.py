"""What a problem tells about a result, as data that a terminal or a page renders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from schedopt import tables
from schedopt.formats import number
from schedopt.instances.extras import need
from schedopt.tables import Table, Value

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from schedopt.instances.protocol import AnyInstance
    from schedopt.solvers.result import Result

Line = tuple[str, str]  # what is said, such as ``threshold``, and the value in words
CAUTION = "caution"  # what is said under this heading comes before all else
Lines = Iterator[Line]
Tables = Iterator[Table]


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    words: str = ""  # what the part is about, in a sentence or two; plain text
    facts: Mapping[str, str] = field(default_factory=dict)  # a list of names and words
    # Captions, and what draws the figure.
    pictures: tuple[tuple[str, Callable[[], Figure]], ...] = ()
    tables: tuple[Table, ...] = ()  # each can be sorted and downloaded
    # What headings and words of the part mean.
    terms: Mapping[str, str] = field(default_factory=dict)


# Plans.

FIXED = ("job", "run", "reason", "reward", "processors", "start", "end", "late")
"""Columns that every plan has; the groupings stand between ``reward`` and ``processors``."""

CLOCKED = ("rank", "start_time", "end_time", "was", "change", "begun")
"""Columns after them: the order of release, clock times if known, and in a replanned night the
old start and what became of the job."""

Cell = str | float | int | bool | None  # a cell of a plan; None if empty


@dataclass(frozen=True)
class Column:
    """A column of a plan."""

    title: str
    kind: type[str] | type[float] | type[int] | type[bool]
    cells: Sequence[Cell]  # one for each job, each of that type or None


KINDS = {str: tables.text, float: tables.number, int: tables.number, bool: tables.flag}


def as_table(title: str, columns: Plan) -> Table:
    """Return the columns of a plan as a table that is shown."""
    heads = (KINDS[of.kind]("runs" if of.title == "run" else of.title) for of in columns)
    return Table.of(title, heads, zip(*(of.cells for of in columns), strict=True))


Span = tuple[float, float] | None  # when a job starts and ends; None if unknown


def changes(before: Mapping[str, Span], after: Mapping[str, Span]) -> dict[str, str]:
    """Return the change of each job that runs in either of two plans."""
    found = {}
    for name in {**before, **after}:
        was, now = before.get(name), after.get(name)
        if name not in before or name not in after:
            found[name] = "added" if name in after else "dropped"
        else:
            found[name] = "moved" if was and now and not same(was[0], now[0]) else "kept"
    return found


def same(was: float, now: float) -> bool:
    """Tell whether two times differ by rounding at most."""
    return isclose(was, now, rel_tol=1e-9, abs_tol=1e-9)


Plan = tuple[Column, ...]  # the columns, all of one length, no two of one title


def groupings(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return titles of groupings' columns: ``grouping NAME`` where a plan has such a tables."""
    return [f"grouping {name}" if name in (*FIXED, *CLOCKED, *taken) else name for name in names]


@dataclass(frozen=True)
class Change:
    """The change of a job, its reason, and its old and new start."""

    job: str
    change: str  # kept, added, dropped or moved
    was: float | None
    now: float | None
    why: str = ""
    was_time: str = ""
    now_time: str = ""


def table_of(columns: pl.DataFrame | Plan) -> pl.DataFrame:
    """Return the columns of a plan as a table."""
    if not isinstance(columns, tuple):
        return columns
    need("polars")
    import polars as pl

    types: dict[type, type[pl.DataType]] = {
        str: pl.String,
        float: pl.Float64,
        int: pl.Int64,
        bool: pl.Boolean,
    }
    return pl.DataFrame(
        {column.title: column.cells for column in columns},
        schema={column.title: types[column.kind] for column in columns},
        strict=False,
    )


Solve = Callable[..., "Result"]  # the verb, with limits


class Tonight(NamedTuple):
    """A night that is planned."""

    instance: AnyInstance
    result: Result
    run: Result | None  # the same with times; None where there is no plan
    line: str  # how good it is, and how good any plan can be
    farm: Struct  # what holds every night
    template: str | None


@dataclass(frozen=True, eq=False)
class Replanned:
    """The rest of a night planned again; `replan` takes it as the plan of the next time.

    Attributes
    ----------
    plan : polars.DataFrame, optional
        Of the whole night, as `schedopt.plan_table` returns it, with ``was`` (when a job was to
        start) and ``change``: kept, added, dropped or moved. None where there is no solution.
    result : Result
        Of the rest of the night, checked: it answers the question of ``rest``.
    rest : Instance
        The rest of the night.
    night : Instance
        The whole night, on the machine as it is now known to be.
    changes : tuple of Change
        Each job that ran in the old plan or runs in the new one: job, change, was, now, why.
    notes : tuple of str
        What had to be taken for granted or left out.
    """

    result: Result
    rest: AnyInstance
    night: AnyInstance
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    old: Any = None  # the plan as the next replanning takes it
    columns: Plan | None = None

    @cached_property
    def plan(self) -> pl.DataFrame | None:
        """The plan as a table."""
        return None if self.columns is None else table_of(self.columns)


# Explanations.

NAMES = 6  # jobs that are named in a cell; of more, how many


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why one job is left out."""

    job: str
    reason: str  # as in a plan
    words: str  # the same for people
    reward: float  # what it is worth
    # What it would have had to be worth to be in an optimum; None where nothing is enough, or
    # where it is not known.
    needed: float | None = None
    # The rules that keep it out: together they cannot hold with it, or without any one of them it
    # is chosen.
    rules: tuple[str, ...] = ()
    proven: bool = True  # whether it was solved again to a proof, so that ``needed`` is exact


class RulePrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule costs."""

    rule: str
    cost: float | None  # the optimum without it, less the optimum; None: not known
    # Jobs that are chosen without it alone, and with it alone, in the optima that were found.
    gains: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    proven: bool = True


class Explanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Explanation of an answer."""

    left_out: tuple[LeftOut, ...]  # one for each job that is left out, in the file's order
    rules: tuple[RulePrice, ...]
    unproven: int  # how many of these could not be solved to a proof in the time that there was
    seconds: float


def explained(told: Explanation) -> Tables:
    """Yield the tables of an explanation."""
    text, number = tables.text, tables.number
    if told.left_out:
        columns = text("job"), text("reason"), number("worth"), number("needed"), text("why")
        rows = (
            (of.job, of.reason, of.reward, _proven(of.needed, of.proven, None), of.words)
            for of in told.left_out
        )
        yield Table.of("left out", columns, rows)
    if told.rules:
        heads = text("rule"), number("reward lost"), text("in without it"), text("out without it")
        prices = (
            (of.rule, _proven(of.cost, of.proven, "unknown"), *map(_named, (of.gains, of.loses)))
            for of in told.rules
        )
        yield Table.of("what each rule costs", heads, prices)


def _proven(value: float | None, proven: bool, unknown: str | None) -> Value:
    if value is None:
        return unknown
    return value if proven else tables.Cell(f"{number(value)} (not proven)", value)


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more
