"""A table of jobs, turned into a dssp instance: CSV, Parquet, or a frame of pandas or polars.

Columns, of which a table has ``name``, a ``reward`` or a ``priority``, and ``tasks`` or
``demand`` and ``critical_path``:

``name``, ``reward``, ``priority``
    As in an instance. Without rewards they are made from the priorities: see the option ``reward``.
``tasks``
    Stages in a short notation such as ``12x0.5h; 1x2h``: see `instances.dssp.clock`. With a
    column ``task_time`` or ``estimate`` it is a number: one stage of so many tasks, each of that
    length; of one where there is no column ``tasks``.
``demand``, ``critical_path``
    T_1 and T_∞; beside ``tasks`` what was predicted.
``release``, ``deadline``
    When the job may start and by when it must complete; an empty cell is the night's.
``after``, ``max_processors``, ``processors``, ``pools``
    The jobs that must complete first, with semicolons between; how many processors the job may hold
    at a time, and how many each of its tasks takes; the pools that these may be of.
``seats:NAME``, ``holds:NAME``
    How many seats of NAME, or how much of a resource, each running task of the job holds; there are
    ``--option seats:NAME=N``, ``--option holds:NAME=AMOUNT``, where an amount that changes is
    written as ``capacity`` is.

How times are written is said in `instances.dssp.clock`. Other columns of text become groupings,
named by their header, and an empty cell of them means no group. A column of numbers, and one that
is named like a field of a job or of a night, becomes a grouping only where that is asked for: it is
left out, and `convert` says so. A job whose deadline is over before the night starts is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp.clock import Clock
from schedopt.instances.dssp.columns import HOLDS, POOL, SEATS, Columns
from schedopt.instances.dssp.jobrows import BY_WORD, WORDS, JobReader
from schedopt.instances.dssp.jobs import REWARDS
from schedopt.instances.dssp.records import PROCESSORS, Instance
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
from schedopt.instances.tables import Source, Table
from schedopt.instances.times import NUMBER, SPELLED

Text = str | float
Tell = Callable[[str], None]
Amount = float | tuple[tuple[float, float], ...]  # of a thing, or times from which it is so much
PREFIXES = {SEATS: "seats", HOLDS: "holds", POOL: "pools"}
"""Options of which there may be several, by the attribute of `Reading` that has them."""
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
        "end": text("a time after which nothing runs, such as 08:00"),
        "reward": Option(
            None,
            f"one of {', '.join(REWARDS)}, or such as {WORDS}",
            lambda v: v in REWARDS or (isinstance(v, str) and v.startswith(BY_WORD)),
        ),
        "priority": one_of("lower", ("lower", "higher")),
        "groups": Option(
            None,
            "titles of columns with commas between, such as team,show",
            lambda v: isinstance(v, str) and all(title.strip() for title in v.split(",")),
        ),
    },
    prefix=(SEATS, HOLDS, POOL),
    each=Option(
        None,
        "how many there are, or times with amounts, such as 20:00=16,02:00=8",
        lambda v: isinstance(v, str) or (is_number(v) and v >= 0),
    ),
)
"""The options of `convert`; ``processors`` (or pools) and ``deadline`` have no default.
``seats:NAME`` and ``holds:NAME`` say how much there is of what a column of that title holds,
``pool:NAME`` how many processors of a pool."""
EXAMPLES = {"deadline": "8h", "processors": "16"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a table of jobs is read: see `OPTIONS`, and how messages name what is given here."""

    name: str | None = None
    processors: int | None = None
    start: str | None = None
    deadline: Text | None = None
    end: Text | None = None
    capacity: str | None = None
    reward: str | None = None
    priority: str | None = None
    groups: str | None = None
    unit: str | None = None
    seats: Mapping[str, Text] = field(default_factory=dict)
    holds: Mapping[str, Text] = field(default_factory=dict)
    pools: Mapping[str, Text] = field(default_factory=dict)
    names: OptionNames = AS_OPTIONS

    def options(self) -> dict[str, Any]:
        """Return what is given, by the names of `OPTIONS`."""
        own = {key: getattr(self, key) for key in OPTIONS}
        for prefix, attribute in PREFIXES.items():
            own |= {f"{prefix}{key}": value for key, value in getattr(self, attribute).items()}
        return {key: value for key, value in own.items() if value is not None}


def convert(path: Source, *, tell: Tell | None = None, **options: Any) -> Instance:
    """Read a table of jobs, as `read` does, with the options of `OPTIONS` by name."""
    given = check_options({k: v for k, v in options.items() if v is not None}, OPTIONS, "table")
    named: dict[str, Any] = {attribute: {} for attribute in PREFIXES.values()}
    for key in [key for key in given if ":" in key]:
        prefix, _, name = key.partition(":")
        named[PREFIXES[f"{prefix}:"]][name] = given.pop(key)
    return read(path, Reading(**given, **named), tell)


def read(path: Source, asked: Reading, tell: Tell | None = None) -> Instance:
    """Read a table of jobs.

    Parameters
    ----------
    path : path or frame
        CSV in UTF-8 or Parquet, perhaps gzipped; or a frame of pandas or polars.
    asked : Reading
        The name is the file's stem if left out, ``jobs`` for a frame.
    tell : callable, optional
        Called with a line on what each column became, and on how many jobs there are.

    Raises
    ------
    InputError
        With the file, the line and the column, what was found and what was expected.
    """
    names = asked.names
    check_options(asked.options(), OPTIONS, "table", names)
    needed = {"processors": asked.processors or asked.pools, "deadline": asked.deadline}
    if missing := [key for key, value in needed.items() if not value]:
        example = " and ".join(names.example(key, EXAMPLES[key]) for key in missing)
        log = " (a log of jobs that have run is read with --option as=jobs)"
        expected = f"{example}, which a table does not have{log * (names is AS_OPTIONS)}"
        raise InputError(expected)
    with at_place(names.place("start")):
        clock = Clock.of(SPELLED[asked.unit or "s"], asked.start, names)
    values = _Amounts(clock, names)
    file = path if isinstance(path, str | Path) else None
    deadline, end = values.end("deadline", asked.deadline), values.end("end", asked.end)
    capacity = values.amount("capacity", asked.capacity, whole=True) if asked.capacity else ()
    pools = {name: values.amount(f"{POOL}{name}", n, whole=True) for name, n in asked.pools.items()}
    with at_place(file=file or "the frame"):
        table = Table.read(path)
        columns = Columns.of(table, asked.reward, asked.groups, names)
        higher = asked.priority == "higher"
        if not table.rows:
            raise InputError("a row for each job, below the titles", found="none")
        if higher and "priority" not in columns.fields:
            raise InputError("a column 'priority', which is higher where it is more important")
        reader = JobReader(columns, clock, names, higher=higher)
        jobs = tuple(reader.jobs(table))
        seats = values.held(SEATS, columns, asked.seats, whole=True)
        for kind, number in seats.items():
            expect(isinstance(number, int), "a whole number", number, names.place(SEATS + kind))
        start = _start_with_zone(clock)
        instance = Instance(
            name=asked.name or (stem(file) if file else "jobs"),
            description=f"Times are {clock.words}." if clock.told or clock.start else None,
            processors=asked.processors or 0,
            deadline=deadline,  # type: ignore[arg-type]
            jobs=jobs,
            constraints=tuple(
                Seats(name=kind, capacity=n, use=reader.use.get(kind, {}))
                for kind, n in seats.items()
            ),
            resources=values.held(HOLDS, columns, asked.holds),
            changes=capacity,  # type: ignore[arg-type]
            pools=pools,  # type: ignore[arg-type]
            end=end,
            start=start,
            unit=clock.unit if start else "s",
        )
    if tell is not None:
        for line in (*columns.notes(instance), *reader.notes(len(jobs))):
            tell(line)
    return instance


@dataclass(frozen=True)
class _Amounts:
    """Reads times and amounts that are given beside a table."""

    clock: Clock
    names: OptionNames

    def end(self, key: str, value: Text | None) -> float | None:
        """Return a time after the start."""
        with at_place(self.names.place(key)):
            if not isinstance(value, str):
                return None if value is None else float(value)
            end = self.clock.end(value.strip())
            expect(end > 0, "a time after the start", value, "")
        return end

    def amount(self, key: str, value: Text, *, whole: bool = False) -> Amount:
        """Return an amount, or the times from which each amount holds."""
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

    def held(
        self, prefix: str, columns: Columns, given: Mapping[str, Text], *, whole: bool = False
    ) -> dict[str, Any]:
        """Return how much there is of what each column with a prefix holds."""
        kinds = columns.with_prefix(prefix)
        for name in given:
            if name not in kinds:
                expected = f"a column {prefix}{name}, with what each running task holds"
                raise InputError(expected, found="none", place=self.names.place(prefix + name))
        for name in kinds:
            if name not in given:
                example = self.names.example(prefix + name, "N")
                raise InputError(f"{example}, how many there are, which a table does not have")
        return {name: self.amount(prefix + name, given[name], whole=whole) for name in kinds}


def _start_with_zone(clock: Clock) -> str | None:
    """Return when time 0 is, where the start has a zone."""
    if clock.start is None or clock.start.tzinfo is None:
        return None
    key = getattr(clock.start.tzinfo, "key", "")
    return f"{clock.start.isoformat()}[{key}]" if key else clock.start.isoformat()
