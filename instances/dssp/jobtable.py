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
from schedopt.instances.options import Option, OptionsWith, complete, is_number, one_of, text
from schedopt.instances.tables import Source, Table
from schedopt.instances.times import NUMBER, SPELLED

Amount = float | tuple[tuple[float, float], ...]  # of a thing, or times from which it is so much
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


def convert(path: Source, *, tell: Callable[[str], None] | None = None, **options: Any) -> Instance:
    """Read a table of jobs.

    Parameters
    ----------
    path : path or frame
        CSV in UTF-8 or Parquet, perhaps gzipped; or a frame of pandas or polars.
    tell : callable, optional
        Called with a line on what each column became, and on how many jobs there are.
    **options
        Those of `OPTIONS`. The name is the file's stem if left out, ``jobs`` for a frame.

    Raises
    ------
    InputError
        With the file, the line and the column, what was found and what was expected.
    """
    values = complete(options, OPTIONS, "table")
    pools = {key: n for key, n in values.items() if key.startswith(POOL)}
    needed = {"deadline": values["deadline"], "processors": values["processors"] or pools or None}
    if missing := [key for key, value in needed.items() if value is None]:
        example = " ".join(f"--option {key}={EXAMPLES[key]}" for key in missing)
        raise InputError(
            f"option {' and '.join(map(repr, missing))}, which a table cannot tell, as in "
            f"{example} (a log of jobs that have run is read with --option as=jobs)",
            place="option",
        )
    with at_place("option start"):
        clock = Clock.of(SPELLED[values["unit"]], values["start"])
    deadline, end = (_end(clock, values[key], f"option {key}") for key in ("deadline", "end"))
    capacity = values["capacity"]
    machine: dict[str, Any] = {
        "changes": _amount(clock, capacity, "option capacity", whole=True) if capacity else (),
        "pools": {
            key.removeprefix(POOL): _amount(clock, n, f"option {key}", whole=True)
            for key, n in pools.items()
        },
        "end": end,
    }
    file = path if isinstance(path, str | Path) else None
    with at_place(file=file or "the frame"):
        table = Table.read(path)
        columns = Columns.of(table, values["reward"], values["groups"])
        higher = values["priority"] == "higher"
        if not table.rows:
            raise InputError("a row for each job, below the titles", found="none")
        if higher and "priority" not in columns.fields:
            raise InputError("a column 'priority', which is higher where it is more important")
        reader = JobReader(columns, clock, higher=higher)
        jobs = tuple(reader.jobs(table))
        seats = _amounts(clock, SEATS, columns, values, whole=True)
        for kind, number in seats.items():
            expect(isinstance(number, int), "a whole number", number, f"option {SEATS}{kind}")
        start = _start_with_zone(clock)
        instance = Instance(
            name=values["name"] or (stem(file) if file else "jobs"),
            description=f"Times are {clock.words}." if clock.told or clock.start else None,
            processors=values["processors"] or 0,
            deadline=deadline,  # type: ignore[arg-type]
            jobs=jobs,
            constraints=tuple(
                Seats(name=kind, capacity=n, use=reader.use.get(kind, {}))
                for kind, n in seats.items()
            ),
            resources=_amounts(clock, HOLDS, columns, values),
            **machine,
            start=start,
            unit=clock.unit if start else "s",
        )
    if tell is not None:
        for line in (*columns.notes(instance), *reader.notes(len(jobs))):
            tell(line)
    return instance


def _end(clock: Clock, value: float | str | None, place: str) -> float | None:
    """Return a time after the start, of an option."""
    with at_place(place):
        if not isinstance(value, str):
            return None if value is None else float(value)
        end = clock.end(value.strip())
        expect(end > 0, "a time after the start", value, "")
    return end


def _amount(clock: Clock, value: float | str, place: str, *, whole: bool = False) -> Amount:
    """Return an amount, or the times from which each amount holds, of an option."""
    kind = int if whole else float
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
            changes.append((clock.point(time), kind(float(amount))))
    return tuple(changes)


def _amounts(
    clock: Clock, prefix: str, columns: Columns, values: Mapping[str, Any], *, whole: bool = False
) -> dict[str, Any]:
    """Return how much there is of what each column with a prefix holds, from the options."""
    names = columns.with_prefix(prefix)
    for key in values:
        if key.startswith(prefix) and key.removeprefix(prefix) not in names:
            expected = f"a column {key}, with what each running task holds"
            raise InputError(expected, found="none", place=f"option {key}")
    for name in names:
        if f"{prefix}{name}" not in values:
            expected = f"option '{prefix}{name}', how many there are, which a table cannot tell"
            raise InputError(expected, place="option")
    keys = {name: f"{prefix}{name}" for name in names}
    return {
        name: _amount(clock, values[key], f"option {key}", whole=whole)
        for name, key in keys.items()
    }


def _start_with_zone(clock: Clock) -> str | None:
    """Return when time 0 is, where the start has a zone."""
    if clock.start is None or clock.start.tzinfo is None:
        return None
    key = getattr(clock.start.tzinfo, "key", "")
    return f"{clock.start.isoformat()}[{key}]" if key else clock.start.isoformat()
