"""Conversion of a table of jobs into a dssp instance: CSV, Parquet, pandas or polars frames.

`schedopt.instances.dssp.columns.FIELDS` declares the columns, and `instances.dssp.clock` the
formats of times. Other text columns become groupings named by their title, where an empty cell
means no group. Columns of numbers, dates and sizes, and columns named like a field of a job or an
instance, become groupings only on request. Unused columns are listed.

A job is left out if it is finished, if its deadline is before the start, or if a predecessor is
left out for another reason than being finished.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from schedopt.instances.constraints import Forbid, Require, Seats
from schedopt.instances.dssp.clock import Clock
from schedopt.instances.dssp.columns import HOLDS, POOL, PRIORITY, SEATS, Columns, Reading
from schedopt.instances.dssp.jobrows import BY_WORD, LEAVE_OUT, STRICT, WORDS, JobReader
from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import PROCESSORS, Instance, SideConstraint
from schedopt.instances.dssp.worth import by_level
from schedopt.instances.errors import InputError, at_place, expect, quote
from schedopt.instances.files import stem
from schedopt.instances.options import (
    AS_OPTIONS,
    Option,
    OptionNames,
    OptionsWith,
    check_options,
    is_number,
    one_of,
    text,
)
from schedopt.instances.tables import Source, TextTable
from schedopt.instances.times import NUMBER, SPELLED

Text = str | float
Tell = Callable[[str], None]
Amount = float | tuple[tuple[float, float], ...]  # of a thing, or times from which it is so much
AMOUNT = Option(
    None,
    "how many there are, or times with amounts, such as 20:00=16,02:00=8",
    lambda v: isinstance(v, str) or (is_number(v) and v >= 0),
)
TEXTS = Option(
    None,
    "texts with commas between",
    lambda v: all(part.strip() for part in str(v).split(",")),
)
PREFIXES = {
    SEATS: AMOUNT,
    HOLDS: AMOUNT,
    POOL: AMOUNT,
    "column:": text("a title of the table, such as `Job Name`"),
    "where:": TEXTS,
    "missing:": text(f"a cell, or {LEAVE_OUT}"),
}
"""Options of which there may be several, each with a name after the prefix."""
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
            None,
            "a time of day such as 20:00 or tonight 20:00, or 2026-11-22T20:00",
            lambda v: isinstance(v, str),
        ),
        "unit": one_of("s", SPELLED, "one of s, m, h, d"),
        "capacity": text("times with processors, such as 20:00=400,08:00=120"),
        "end": Option(
            None,
            "a time after which nothing runs, such as 08:00",
            lambda v: isinstance(v, str) or (is_number(v) and v > 0),
        ),
        "reward": Option(
            None,
            f"priority, strict, or such as {WORDS}",
            lambda v: v in (PRIORITY, STRICT) or (isinstance(v, str) and v.startswith(BY_WORD)),
        ),
        "priority": one_of("higher", ("higher", "lower")),
        "groups": TEXTS,
        "keep": TEXTS,
        "duplicates": one_of("refuse", ("refuse", "number")),
    },
    PREFIXES,
)
"""The options of `convert`; ``processors`` (or pools) and ``deadline`` have no default."""
EXAMPLES = {"deadline": "8h", "processors": "16"}


def convert(
    path: Source,
    *,
    tell: Tell | None = None,
    option_names: OptionNames = AS_OPTIONS,
    **options: Any,
) -> Instance:
    """Read a table of jobs: CSV or Parquet, possibly gzipped, or a frame of pandas or polars.

    Parameters
    ----------
    path : path or frame
        The table.
    tell : callable, optional
        Called with each note on columns and jobs.
    option_names : OptionNames
        How messages refer to the options.
    **options
        Of `OPTIONS`. The name defaults to the file's stem, or ``jobs`` for a frame.

    Raises
    ------
    InputError
        With the file, the line and the column, what was found and what is expected.
    """
    names = option_names
    given = {key: value for key, value in options.items() if value is not None}
    asked = Reading(check_options(given, OPTIONS, "table", names), names)
    pools = asked.named(POOL)
    needed = {"processors": asked.get("processors") or pools, "deadline": asked.get("deadline")}
    if missing := [key for key, value in needed.items() if not value]:
        example = " and ".join(names.example(key, EXAMPLES[key]) for key in missing)
        log = " (a log of jobs that have run is read with --option as=jobs)"
        expected = f"{example}, which a table does not have{log * (names is AS_OPTIONS)}"
        raise InputError(expected)
    with at_place(names.place("start")):
        clock = Clock.of(SPELLED[asked.get("unit") or "s"], asked.get("start"), names)
    values = _Amounts(clock, names)
    file = path if isinstance(path, str | Path) else None
    deadline, end = (values.end(key, asked.get(key)) for key in ("deadline", "end"))
    changes = asked.get("capacity")
    capacity = values.amount("capacity", changes, whole=True) if changes else ()
    pools = {name: values.amount(f"{POOL}{name}", n, whole=True) for name, n in pools.items()}
    processors = asked.get("processors") or 0
    with at_place(file=file or "the frame"):
        table = TextTable.read(path)
        columns = Columns.of(table, asked)
        if not table.rows:
            raise InputError("a row for each job, below the titles", found="none")
        if asked.get("priority") is not None and "priority" not in columns.at:
            raise InputError("a column 'priority'", found="none", place=names.place("priority"))
        reader = JobReader(table, columns, clock, asked)
        jobs = reader.jobs()
        seats = values.held(SEATS, reader, whole=True)
        for kind, number in seats.items():
            expect(isinstance(number, int), "a whole number", number, names.place(SEATS + kind))
        rules: list[SideConstraint] = [
            *(
                Seats(name=kind, capacity=n, use=reader.use.get(kind, {}))
                for kind, n in seats.items()
            ),
            *(Require(name=f"must {job}", jobs=(job,)) for job in reader.must),
            *(Forbid(name=f"forbid {job}", jobs=(job,)) for job in reader.forbid),
        ]
        if end is not None:
            capacity, pools = _with_room_after(end, jobs, processors, capacity, pools)
        with reader.named_rows(jobs):
            instance = Instance(
                name=asked.get("name") or (stem(file) if file else "jobs"),
                description=f"Times are {clock.words}." if clock.told or clock.start else None,
                processors=processors,
                deadline=deadline,  # type: ignore[arg-type]
                jobs=jobs,
                constraints=tuple(rules),
                resources=values.held(HOLDS, reader),
                changes=capacity,  # type: ignore[arg-type]
                pools=pools,
                end=end,
                start=clock.start_with_zone,
                unit=clock.unit,
            )
    if columns.reward == STRICT:
        instance = by_level(instance)
    if tell is not None:
        for line in (*columns.notes(instance), *reader.notes(len(jobs))):
            tell(line)
    return instance


def _with_room_after(
    end: float, jobs: Sequence[Job], processors: int, capacity: Any, pools: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return a machine that has enough processors for the widest jobs, but only after the end.

    An instance must have processors for every job. So a job that is too wide for the machine stays
    in the instance and can never run, because nothing runs after the end. The time is later than
    any job could complete.
    """
    machine = pools or {"": ((0.0, processors), *capacity)}
    steps = {n: own if isinstance(own, tuple) else ((0.0, own),) for n, own in machine.items()}
    most = {name: max(count for _, count in own) for name, own in steps.items()}
    needs: dict[str, int] = {}
    for job in jobs:
        own = [name for name in job.pools or steps if name in steps]
        if own and job.processors > max(most[name] for name in own):
            needs[own[0]] = max(job.processors, needs.get(own[0], 0))
    work = sum(length for job in jobs for stage in job.stages or () for length in stage)
    times = (time for job in jobs for time in (job.release, job.deadline or 0.0))
    late = 1 + ceil(max([end, *times, *(own[-1][0] for own in steps.values())]) + work)
    after = {name: (*steps[name], (float(late), count)) for name, count in needs.items()}
    if pools:
        return capacity, {**pools, **after}
    return after[""][1:] if after else capacity, {}


@dataclass(frozen=True)
class _Amounts:
    """Parser of times and amounts that are given as options beside a table."""

    clock: Clock
    names: OptionNames

    def end(self, key: str, value: Text | None) -> float | None:
        """Return the end as a time after the start."""
        with at_place(self.names.place(key)):
            if not isinstance(value, str):
                return None if value is None else float(value)
            end = self.clock.end(value.strip())
            expect(end > 0, "a time after the start", value, "")
        return end

    def amount(self, key: str, value: Text, *, whole: bool = False) -> Amount:
        """Return an amount, or the times of its changes with the amount from each on."""
        place, kind = self.names.place(key), int if whole else float
        if not isinstance(value, str):
            expect(value == kind(value), "a whole number", value, place)
            return kind(value)
        changes: list[tuple[float, float]] = []
        for part in value.split(","):
            time, _, amount = (text.strip() for text in part.rpartition("="))
            if not NUMBER.fullmatch(amount) or (whole and not float(amount).is_integer()):
                expected = f"a time = a {'whole ' * whole}number"
                raise InputError(expected, found=quote(part), place=place)
            with at_place(place):
                changes.append((self.clock.point(time), kind(float(amount))))
        return tuple(changes)

    def held(self, prefix: str, reader: JobReader, *, whole: bool = False) -> dict[str, Any]:
        """Return the amount of each resource that running tasks hold."""
        given = reader.asked.named(prefix)
        columns = [
            key.removeprefix(prefix) for key in reader.columns.titles if key.startswith(prefix)
        ]
        named = prefix == SEATS and "seats" in reader.columns.at
        for name in given:
            if name not in columns and not named:
                expected = f"a column {prefix}{name}, with what each running task holds"
                raise InputError(expected, found="none", place=self.names.place(prefix + name))
        for name in columns:
            if name not in given:
                example = self.names.example(prefix + name, "N")
                raise InputError(f"{example}, since a table does not say how many there are")
        return {name: self.amount(prefix + name, n, whole=whole) for name, n in given.items()}
