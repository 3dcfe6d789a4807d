"""Rules that clean a log into jobs that can be replayed; each notes how often it applied.

Source of most of them: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014, section 3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq.logs import MOST_NEED, Floats, Jobs, Labels, Names, Needs, take_rows
from schedopt.instances.msfq.records import Instance
from schedopt.instances.options import Option, is_count, is_number, one_of, whole

Mask = NDArray[np.bool_]
HOUR = 3600.0

RULES = {
    "wide": one_of("drop", ("drop", "clip")),
    "zero": one_of("drop", ("drop", "one")),
    "overrun": one_of("raise", ("raise", "clip", "keep")),
    "unestimated": one_of("keep", ("keep", "run")),
}
"""What is done with jobs that are wider than the machine (``clip``: they take all of it), that ran
for no time (``one``: for one unit of it), that outran their estimate (``raise`` the estimate;
``clip`` the run time, as where they are killed), and that have no estimate (``run``: it is the run
time). Jobs whose times or needs are unknown or below 0 are left out, and jobs are put in order.
"""

TIME = "a time of the log, 0 or more, or a date such as 2024-03-31 or 2024-03-31T02:30:00"
COLUMNS = (
    "submit",
    "need",
    "run",
    "estimate",
    "line",
    "user",
    "group",
    "queue",
    "name",
    "partition",
)


def is_time(value: object) -> bool:
    """Tell whether a value is a time: a number, or a date that a log with dates knows."""
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return False
        return True
    return is_number(value) and float(str(value)) >= 0


_TIME = Option(None, TIME, is_time)
BOUNDS = {
    "processors": whole(None, 1, MOST_NEED),
    "start": _TIME,
    "end": _TIME,
    "jobs": Option(None, "a whole number of at least 1", is_count),
}
"""The machine, and the window: jobs submitted from ``start`` on and before ``end``, the first
``jobs`` of those that can be replayed. Dates are on the log's own clock."""


@dataclass
class Raw:
    """The columns of a log before any rule, shape (rows,); NaN is unknown."""

    submit: Floats
    need: Floats
    run: Floats
    estimate: Floats
    line: NDArray[np.int64]  # in the file
    rows: int  # of the log, with those that its reader left out
    user: Labels | None = None
    group: Labels | None = None
    queue: Labels | None = None
    name: Names | None = None
    notes: list[str] = field(default_factory=list)
    processors: int | None = None
    computer: str | None = None
    zero: float | None = None  # the date of time 0, in seconds since 1970 on the log's own clock
    zone: str | None = None
    partition: Labels | None = None
    needs: dict[str, Floats] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)

    def became(self, title: str, what: str = "") -> None:
        """Note how one of the file's columns was used."""
        self.columns.append(f"{title}: {what or 'not taken'}")

    def keep(self, rows: NDArray[np.generic]) -> None:
        """Keep only these rows, by number or mask."""
        for key, column in zip(
            COLUMNS, take_rows(map(self.__dict__.get, COLUMNS), rows), strict=True
        ):
            setattr(self, key, column)
        self.needs = {name: column[rows] for name, column in self.needs.items()}


def rounded(name: str, amounts: Floats, notes: list[str]) -> Floats:
    """Return integer amounts of a resource: unknown ones 0, fractions rounded up."""
    unknown, part = np.isnan(amounts), amounts != np.ceil(amounts)
    if count := int(unknown.sum()):
        notes.append(f"{count} of unknown {name}, taken to need none")
    if count := int((part & ~unknown).sum()):
        notes.append(f"{count} in need of a part of a {name}, taken to need all of it")
    return np.asarray(np.where(unknown, 0.0, np.ceil(amounts)))


def clean(raw: Raw, machine: Instance, given: Mapping[str, Any]) -> Jobs:
    """Apply the rules and bounds that are given, and note what each did; ``raw`` is used up."""
    rules = {key: given.get(key, option.default) for key, option in RULES.items()}
    _window(raw, _bound(raw, given, "start"), _bound(raw, given, "end"))
    for words, wrong in _WRONG:
        _leave_out(raw, wrong(raw), words)
    if rules["zero"] == "one":
        _change(raw, raw.run == 0, "of no run time, taken to be 1", "run", 1.0)
    _leave_out(raw, raw.run == 0, "of no run time")
    _fit_to_partitions(raw, machine, clip=rules["wide"] == "clip")
    _order(raw)
    _estimates(raw, rules["overrun"], rules["unestimated"])
    if (most := given.get("jobs")) is not None:
        raw.keep(np.arange(len(raw.submit)) < most)
    if not len(raw.submit):
        reasons = "; ".join(raw.notes) or "it has no line of a job"
        found = f"none of {raw.rows}: {reasons}"
        raise InputError("a job or more that can be replayed", found=found)
    return Jobs(
        submit=raw.submit,
        need=raw.need.astype(np.int32),
        run=raw.run,
        estimate=raw.estimate if np.isfinite(raw.estimate).any() else None,
        user=None if raw.user is None else raw.user.used(),
        group=None if raw.group is None else raw.group.used(),
        queue=None if raw.queue is None else raw.queue.used(),
        name=raw.name,
        partition=_partition(raw, machine),
        needs=Needs.of(raw.needs) if raw.needs else None,
    )


def _partition(raw: Raw, machine: Instance) -> Labels | None:
    """Return the partitions, where they say more than the queues do."""
    known = None if raw.partition is None else raw.partition.used()
    queue = None if raw.queue is None else raw.queue.used()
    if known is None or machine.partitions:
        return known
    again = queue is not None and np.array_equal(known.codes, queue.codes)
    return None if again or len(known.names) == 1 else known


def _fit_to_partitions(raw: Raw, machine: Instance, *, clip: bool) -> None:
    """Leave out jobs of unknown partitions, and fit the others to theirs."""
    most, resources = np.array([float(machine.servers)]), [machine.resources]
    part, where = np.zeros(len(raw.submit), dtype=np.int64), "the machine's"
    if machine.partitions:
        known = list(machine.partitions)
        labels = raw.partition or Labels(np.full(len(raw.submit), -1, np.int32), ())
        at = [known.index(name) if name in known else -1 for name in labels.names]
        part = np.array([*at, -1])[labels.codes]
        _leave_out(raw, part < 0, "of no partition of the machine")
        part = part[part >= 0]
        most = np.array([float(one.servers) for one in machine.partitions.values()])
        resources = [one.resources for one in machine.partitions.values()]
        where = "its partition's"
    words = f"wider than {where}" + f" {machine.servers}" * (len(most) == 1) + " processors"
    wide = raw.need > most[part]
    if clip:
        need = np.minimum(raw.need, most[part])
        _change(raw, wide, f"{words}, taken to need all of them", "need", need)
    else:
        _leave_out(raw, wide, words)
        part = part[~wide]
    names = sorted({name for one in resources for name in one})
    if missing := [name for name in names if name not in raw.needs]:
        there = f"a resource of the log's: {', '.join(raw.needs) or 'it has none'}"
        raise InputError(there, found=shown(missing[0]), place="option")
    if left := [name for name in raw.needs if name not in names]:
        raw.notes.append(f"needs not taken, for want of resource:NAME=AMOUNT: {', '.join(left)}")
    raw.needs = {name: rounded(name, raw.needs[name], raw.notes) for name in names}
    for name in names:
        there_is = np.array([float(one.get(name, 0)) for one in resources])[part]
        wide, words = raw.needs[name] > there_is, f"in need of more {name} than {where}"
        if clip:
            _change(raw, wide, f"{words}, taken to need all of it")
            raw.needs[name] = np.minimum(raw.needs[name], there_is)
        else:
            _leave_out(raw, wide, words)
            part = part[~wide]


_WRONG: tuple[tuple[str, Callable[[Raw], Mask]], ...] = (
    ("of unknown submit time", lambda raw: ~np.isfinite(raw.submit)),
    ("of unknown run time", lambda raw: ~np.isfinite(raw.run)),
    ("of unknown processors", lambda raw: ~np.isfinite(raw.need)),
    ("of a submit time below 0", lambda raw: raw.submit < 0),
    ("of a run time below 0", lambda raw: raw.run < 0),
    ("of processors below 0", lambda raw: raw.need < 0),
    ("of no processors", lambda raw: raw.need == 0),
    ("of a part of a processor", lambda raw: raw.need != np.floor(raw.need)),
)
"""Defects for which jobs are left out: words of a note, and the rows concerned."""


def _leave_out(raw: Raw, rows: Mask, words: str) -> None:
    """Leave rows out, and note how many."""
    if count := int(np.count_nonzero(rows)):
        raw.notes.append(f"{count} left out, {words}")
        raw.keep(~rows)


def _change(raw: Raw, rows: Mask, words: str, column: str = "", values: Any = None) -> None:
    """Set a column of some rows to other values, and note how many."""
    if count := int(np.count_nonzero(rows)):
        raw.notes.append(f"{count} {words}")
        if column:
            setattr(raw, column, np.where(rows, values, getattr(raw, column)))


def _bound(raw: Raw, given: Mapping[str, Any], name: str) -> float | None:
    """Return a window's bound, in the log's time."""
    value = given.get(name)
    if value is None or not isinstance(value, str):
        return None if value is None else float(value)
    if raw.zero is None:
        expected = "a number: this log's times are no dates"
        raise InputError(expected, found=shown(value), place=f"option {name}")
    date = datetime.fromisoformat(value)
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return date.timestamp() - raw.zero


def _window(raw: Raw, start: float | None, end: float | None) -> None:
    """Keep the jobs submitted within a window, and those of unknown submit time, to be counted."""
    outside = np.zeros(len(raw.submit), dtype=np.bool_)
    if start is not None:
        outside |= raw.submit < start
    if end is not None:
        outside |= raw.submit >= end
    known = raw.submit[np.isfinite(raw.submit)]
    if len(known) and outside[np.isfinite(raw.submit)].all():
        low, high = (_time_in_words(raw, time) for time in (known.min(), known.max()))
        window = f"{_time_in_words(raw, start) if start is not None else 'the beginning'} to "
        window += f"{_time_in_words(raw, end) if end is not None else 'the end'}"
        expected = f"a window with jobs in it: the log's were submitted from {low} to {high}"
        raise InputError(expected, found=f"none from {window}", place="option start, end")
    raw.rows -= int(np.count_nonzero(outside))
    raw.keep(~outside)


def _time_in_words(raw: Raw, time: float) -> str:
    """Return a time of the log as its options take it, and its date where that is known."""
    if raw.zero is None:
        return f"{time:.12g}"
    return f"{time:.12g} ({np.datetime64(int(raw.zero + time), 's')})"


def _order(raw: Raw) -> None:
    """Sort jobs by submit time; jumps of up to an hour are noted apart."""
    steps = np.diff(raw.submit)
    words = "submitted before a job above"
    if hours := int(np.count_nonzero((steps < 0) & (steps >= -HOUR))):
        words += f" ({hours} times the log goes back by an hour or less, as clocks may in autumn)"
    late = raw.submit < np.maximum.accumulate(raw.submit)
    _change(raw, late, f"{words}, put in order")
    if late.any():
        raw.keep(np.argsort(raw.submit, kind="stable"))


def _estimates(raw: Raw, overrun: str, unestimated: str) -> None:
    raw.estimate[~(raw.estimate > 0)] = np.nan
    none = np.isnan(raw.estimate)
    if none.all() and unestimated == "keep":
        raw.notes += ["no estimates"] * bool(len(none))
        return
    words = "of unknown estimate"
    if unestimated == "run":
        _change(raw, none, f"{words}, taken to be the run time", "estimate", raw.run)
    else:
        _change(raw, none, words)
    said, column, values = {
        "raise": (", which was raised", "estimate", raw.run),
        "clip": (", cut off there", "run", raw.estimate),
        "keep": ("", "", None),
    }[overrun]
    words = f"that ran longer than their estimate{said}"
    _change(raw, raw.estimate < raw.run, words, column, values)
