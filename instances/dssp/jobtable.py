"""A table of jobs, turned into a dssp instance: CSV, Parquet, or a frame of pandas or polars.

Columns, of which a table has ``name``, a ``reward`` or a ``priority``, and ``tasks`` or
``demand`` and ``critical_path``:

``name``, ``reward``, ``priority``
    As in an instance. Without rewards they are made from the priorities: see the option ``reward``.
``tasks``
    Stages in a short notation such as ``12x0.5h; 1x2h``: see `instances.dssp.clock`. With a
    column ``task_time`` it is a number: one stage of so many tasks, each of that length.
``demand``, ``critical_path``
    T_1 and T_∞; beside ``tasks`` what was predicted.
``release``, ``deadline``
    When the job may start and by when it must complete; an empty cell is the night's.
``seats:NAME``
    How many seats of NAME each running task of the job holds; there are ``--option seats:NAME=N``.

How times are written is said in `instances.dssp.clock`. Other columns of text become groupings,
named by their header, and an empty cell of them means no group. A column of numbers, and one that
is named like a field of a job or of a night, becomes a grouping only where that is asked for: it is
left out, and `convert` says so. A job whose deadline is over before the night starts is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from schedopt.instances.cells import Cells, Source
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp.clock import SPELLED, Clock, start_of
from schedopt.instances.dssp.columns import SEATS, Columns
from schedopt.instances.dssp.jobrows import Rows
from schedopt.instances.dssp.records import PROCESSORS, Instance
from schedopt.instances.dssp.rewards import REWARDS
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.files import stem
from schedopt.instances.options import (
    Option,
    OptionsWith,
    check_given,
    is_count,
    is_number,
    one_of,
    text,
)

OPTIONS = OptionsWith(
    {
        "name": text("a name"),
        "processors": PROCESSORS,
        "deadline": Option(
            None,
            "a number above 0, or a time such as 10h, 06:00 or 2026-11-23T06:00",
            lambda v: isinstance(v, str) or (is_number(v) and v > 0),
        ),
        "start": Option(
            None, "a time of day such as 20:00, or 2026-11-22T20:00", lambda v: isinstance(v, str)
        ),
        "unit": one_of("s", SPELLED, "one of s, m, h, d"),
        "reward": one_of(None, REWARDS),
        "groups": Option(
            None,
            "titles of columns with commas between, such as team,show",
            lambda v: isinstance(v, str) and all(title.strip() for title in v.split(",")),
        ),
    },
    prefix=SEATS,
    each=Option(None, "how many seats there are", lambda v: is_count(v) or v == 0),
)
"""The options of `convert`; ``processors`` and ``deadline`` have no default. ``seats:NAME`` says
how many seats of a column of that title there are."""

Tell = Callable[[str], None]
"""Called with each line about what became of the file."""


def convert(
    path: Source,
    *,
    name: str | None = None,
    processors: int | None = None,
    deadline: float | str | None = None,
    start: str | None = None,
    unit: str = "s",
    reward: str | None = None,
    groups: str | None = None,
    tell: Tell | None = None,
    **seats: int,
) -> Instance:
    """Read a table of jobs.

    Parameters
    ----------
    path : path or frame
        CSV in UTF-8 or Parquet, perhaps gzipped; or a frame of pandas or polars.
    name : str, optional
        The instance's name; the file's stem if left out, ``jobs`` for a frame.
    processors : int
        P. It has no default: a table does not know it.
    deadline : float or str
        D: a number in the unit, or a time as cells write it. It has no default either.
    start : str, optional
        When the night starts: a time of day or a stamp, without which cells can hold neither.
    unit : {"s", "m", "h", "d"}
        What plain numbers are in, and the instance's unit. It matters where some time has a unit of
        its own; else numbers are taken as they are.
    reward : {"linear", "size", "banded"}, optional
        A reward function, in place of a column ``reward`` (also where there is one). Where there is
        neither, but a column ``priority``, it is ``linear``.
    groups : str, optional
        The columns that are groupings, with commas between; if left out, the columns of text that
        are not named like a field.
    tell : callable, optional
        Called with a line on what each column became, and on how many jobs there are.
    **seats : int
        ``seats:NAME``: how many seats there are of NAME.

    Raises
    ------
    InputError
        With the file, the line and the column, what was found and what was expected.
    """
    check_given(
        "table", OPTIONS, name=name, processors=processors, deadline=deadline, start=start,
        unit=unit, reward=reward, groups=groups, **seats,
    )  # fmt: skip
    if processors is None or deadline is None:
        missing = "processors" if processors is None else "deadline"
        raise InputError(f"option {missing!r}, which a table cannot tell", place="option")
    clock, end = _clock(start, unit, deadline)
    file = path if isinstance(path, str | Path) else None
    with placed(file=file or "the frame"):
        cells = Cells.of(path)
        columns = Columns.of(cells, reward, groups)
        if not cells.rows:
            raise InputError("a row for each job, below the titles", found="none")
        reading = Rows(columns, clock)
        jobs = tuple(reading.jobs(cells))
        described = bool(clock.told or start)
        instance = Instance(
            name=name or (stem(file) if file else "jobs"),
            description=f"Times are {clock.words}." if described else None,
            processors=processors,
            deadline=end,
            jobs=jobs,
            constraints=tuple(_seats(columns, reading, seats)),
        )
    if tell is not None:
        for line in [*columns.notes(instance), *reading.notes(len(jobs))]:
            tell(line)
    return instance


def _clock(start: str | None, unit: str, deadline: float | str) -> tuple[Clock, float]:
    """Return what reads times, and the deadline that it reads."""
    with placed("option start"):
        clock = Clock(SPELLED[unit], None if start is None else start_of(start.strip()))
    place = "option deadline"
    if not isinstance(deadline, str):
        clock.plain.add(place)
        return clock, float(deadline)
    with placed(place):
        end = clock.end(deadline.strip(), place)
        if end <= 0:
            raise InputError("a time after the start", found=shown(deadline))
    return clock, end


def _seats(columns: Columns, reading: Rows, given: dict[str, int]) -> Iterator[Seats]:
    """Yield a side constraint for each column of seats."""
    asked = {option.removeprefix(SEATS): number for option, number in given.items()}
    for kind in asked.keys() - columns.seats:
        expected = f"a column {SEATS}{kind}, with the seats of each running task"
        raise InputError(expected, found="none", place=f"option {SEATS}{kind}")
    for kind in columns.seats:
        if kind not in asked:
            expected = f"option '{SEATS}{kind}', how many there are, which a table cannot tell"
            raise InputError(expected, place="option")
        yield Seats(name=kind, capacity=asked[kind], use=reading.use.get(kind, {}))
