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

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp.clock import TONIGHT, Clock, start_of
from schedopt.instances.dssp.columns import HOLDS, POOL, SEATS, Columns
from schedopt.instances.dssp.jobrows import BY_WORD, WORDS, JobReader
from schedopt.instances.dssp.jobs import REWARDS
from schedopt.instances.dssp.records import PROCESSORS, Instance
from schedopt.instances.errors import InputError, expect, placed, shown
from schedopt.instances.files import stem
from schedopt.instances.options import Option, OptionsWith, is_number, one_of, taking, text
from schedopt.instances.tables import Source, Table
from schedopt.instances.times import NUMBER, SPELLED

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
"""The options of `convert`; ``processors`` and ``deadline`` have no default. ``seats:NAME`` and
``holds:NAME`` say how much there is of what a column of that title holds, ``pool:NAME`` how many
processors of a pool."""

Tell = Callable[[str], None]  # called with each line about what became of the file


@taking("table", OPTIONS)
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
    capacity: str | None = None,
    end: str | None = None,
    priority: str = "lower",
    tell: Tell | None = None,
    **held: float | str,
) -> Instance:
    """Read a table of jobs.

    Parameters
    ----------
    path : path or frame
        CSV in UTF-8 or Parquet, perhaps gzipped; or a frame of pandas or polars.
    name : str, optional
        The instance's name; the file's stem if left out, ``jobs`` for a frame.
    processors : int
        P. It has no default, a table does not know it; pools take its place.
    deadline : float or str
        D: a number in the unit, or a time as cells write it. It has no default either.
    start : str, optional
        When the night starts: a time of day or a stamp, without which cells can hold neither. With
        ``tonight`` before it a time of day is today's, where this machine is.
    unit : {"s", "m", "h", "d"}
        What plain numbers are in, and the instance's unit. It matters where some time has a unit of
        its own; else numbers are taken as they are.
    reward : {"linear", "size", "banded"} or str, optional
        A reward function, in place of a column ``reward`` (also where there is one); or what each
        word of a column ``priority`` is worth, such as ``priority:urgent=8,normal=2``. Where there
        is neither, but a column ``priority``, it is ``linear``.
    groups : str, optional
        The columns that are groupings, with commas between; if left out, the columns of text that
        are not named like a field.
    capacity : str, optional
        Times from which on there are so many processors, such as ``20:00=400,08:00=120``.
    end : str, optional
        A time after which nothing runs.
    priority : {"lower", "higher"}
        Which priorities are more important. Where higher ones are, they are counted down from the
        highest, since in an instance lower ones are.
    tell : callable, optional
        Called with a line on what each column became, and on how many jobs there are.
    **held : float or str
        ``seats:NAME``, ``holds:NAME``, ``pool:NAME``: how much there is of NAME, the latter two
        also as ``capacity`` has it.

    Raises
    ------
    InputError
        With the file, the line and the column, what was found and what was expected.
    """
    sizes = {key.removeprefix(POOL): n for key, n in held.items() if key.startswith(POOL)}
    clock, due = _clock(start, unit, deadline, processors or sizes or None)
    machine = _machine(clock, capacity, sizes, end)
    file = path if isinstance(path, str | Path) else None
    with placed(file=file or "the frame"):
        table = Table.read(path)
        columns = Columns.of(table, reward, groups)
        if not table.rows:
            raise InputError("a row for each job, below the titles", found="none")
        if priority == "higher" and "priority" not in columns.fields:
            raise InputError("a column 'priority', which is higher where it is more important")
        reading = JobReader(columns, clock, higher=priority == "higher")
        jobs = tuple(reading.jobs(table))
        instance = Instance(
            name=name or (stem(file) if file else "jobs"),
            description=f"Times are {clock.words}." if clock.told or start else None,
            processors=processors or 0,
            deadline=due,
            jobs=jobs,
            constraints=tuple(_seat_constraints(columns, reading, held)),
            resources={
                name: _amount_changes(clock, n, f"option {HOLDS}{name}")
                if isinstance(n, str)
                else n
                for name, n in _resource_amounts(HOLDS, columns.resources, held)
            },
            **machine,
            start=_start_with_zone(clock),
            unit=clock.unit if _start_with_zone(clock) else "s",
        )
    if tell is not None:
        for line in [*columns.notes(instance), *reading.notes(len(jobs))]:
            tell(line)
    return instance


EXAMPLES = {"deadline": "8h", "processors": "16"}


def _clock(
    start: str | None, unit: str, deadline: float | str | None, machine: Any
) -> tuple[Clock, float]:
    """Return what reads times, and the deadline that it reads; both options have to be there."""
    given = {"deadline": deadline, "processors": machine}
    if deadline is None or machine is None:
        missing = [key for key, value in given.items() if value is None]
        example = " ".join(f"--option {key}={EXAMPLES[key]}" for key in missing)
        raise InputError(
            f"option {' and '.join(map(repr, missing))}, which a table cannot tell, as in "
            f"{example} (a log of jobs that have run is read with --option as=jobs)",
            place="option",
        )
    with placed("option start"):
        began = None if start is None else start_of(start.strip())
        tonight = start is not None and start.strip().startswith(TONIGHT)
        clock = Clock(
            SPELLED[unit], began, zone=getattr(began, "tzinfo", None) if tonight else None
        )
    place = "option deadline"
    if not isinstance(deadline, str):
        clock.plain.add(place)
        return clock, float(deadline)
    with placed(place):
        end = clock.end(deadline.strip(), place)
        if end <= 0:
            raise InputError("a time after the start", found=shown(deadline))
    return clock, end


def _machine(
    clock: Clock,
    capacity: str | None,
    sizes: Mapping[str, float | str],
    end: str | None,
) -> dict[str, Any]:
    """Return an instance's fields of the machine, as options say them."""
    with placed("option end"):
        last = None if end is None else clock.end(end.strip(), "option end")
    return {
        "changes": _processor_changes(clock, capacity or "", "option capacity"),
        "pools": {name: _pool_size(clock, n, f"option {POOL}{name}") for name, n in sizes.items()},
        "end": last,
    }


def _amount_changes(
    clock: Clock, given: str, place: str, *, whole: bool = False
) -> tuple[tuple[float, float], ...]:
    """Return the times from which each amount holds."""
    found: list[tuple[float, float]] = []
    for part in given.split(",") if given else ():
        time, _, amount = part.rpartition("=")
        if not NUMBER.fullmatch(amount.strip()) or (whole and not float(amount).is_integer()):
            expected = f"a time = a {'whole ' * whole}number"
            raise InputError(expected, found=shown(part), place=place)
        with placed(place):
            found.append((clock.point(time.strip(), place), float(amount)))
    return tuple(found)


def _processor_changes(clock: Clock, given: str, place: str) -> tuple[tuple[float, int], ...]:
    """Return the times from which each number of processors holds."""
    points = _amount_changes(clock, given, place, whole=True)
    return tuple((time, int(amount)) for time, amount in points)


def _pool_size(clock: Clock, given: float | str, place: str) -> int | tuple[tuple[float, int], ...]:
    """Return how many processors a pool has, or times from which on it has so many."""
    if isinstance(given, str):
        return _processor_changes(clock, given, place)
    expect(given == int(given) >= 1, "a whole number >= 1", given, place)
    return int(given)


def _start_with_zone(clock: Clock) -> str | None:
    """Return when time 0 is, where the start has a zone."""
    stamp = clock.start
    if not isinstance(stamp, datetime) or stamp.tzinfo is None:
        return None
    key = getattr(stamp.tzinfo, "key", "")
    return f"{stamp.isoformat()}[{key}]" if key else stamp.isoformat()


def _resource_amounts(
    prefix: str, kinds: Sequence[str], given: Mapping[str, float | str]
) -> Iterator[tuple[str, float | str]]:
    """Yield the amount of each resource column, from the options."""
    own = {key.removeprefix(prefix): n for key, n in given.items() if key.startswith(prefix)}
    for kind in own.keys() - kinds:
        expected = f"a column {prefix}{kind}, with what each running task holds"
        raise InputError(expected, found="none", place=f"option {prefix}{kind}")
    for kind in kinds:
        if kind not in own:
            expected = f"option '{prefix}{kind}', how many there are, which a table cannot tell"
            raise InputError(expected, place="option")
        yield kind, own[kind]


def _seat_constraints(
    columns: Columns, reading: JobReader, given: Mapping[str, float | str]
) -> Iterator[Seats]:
    """Yield a side constraint for each column of seats."""
    for kind, number in _resource_amounts(SEATS, columns.seats, given):
        whole = not isinstance(number, str) and number == int(number)
        expect(whole, "a whole number", number, f"option {SEATS}{kind}")
        yield Seats(name=kind, capacity=int(number), use=reading.use.get(kind, {}))
