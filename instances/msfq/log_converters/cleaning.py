"""Rules that clean a log into jobs that can be replayed; each notes how often it applied.

Source of most of them: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014, section 3.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq.logs import MOST_NEED, Floats, Jobs, Labels, Names, Needs, taken
from schedopt.instances.msfq.records import Instance
from schedopt.instances.options import Option, is_count, is_number, one_of, whole

Mask = NDArray[np.bool_]
HOUR = 3600.0

RULES = {
    "wide": one_of("drop", ("drop", "clip", "refuse")),
    "negative": one_of("drop", ("drop", "refuse")),
    "missing": one_of("drop", ("drop", "refuse")),
    "zero": one_of("drop", ("drop", "one", "refuse")),
    "unordered": one_of("sort", ("sort", "raise", "refuse")),
    "overrun": one_of("raise", ("raise", "clip", "keep", "drop", "refuse")),
    "unestimated": one_of("keep", ("keep", "run", "drop", "refuse")),
}
"""What is done with jobs that are wider than the machine (``clip``: they take all of it), that have
times or needs below 0, that lack submit, need or run time, that ran for no time (``one``: for one
unit of it), that were submitted before the job above (``raise``: they come with that one), that
outran their estimate (``raise`` the estimate; ``clip`` the run time, as where they are killed), and
that have no estimate (``run``: it is the run time). ``refuse`` makes each of them an error.
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
    **dict.fromkeys(("start", "end", "from", "to"), _TIME),
    "jobs": Option(None, "a whole number of at least 1", is_count),
}
"""The machine, and the window: jobs submitted from ``start`` (or ``from``) on and before ``end``
(or ``to``), the first ``jobs`` of those that can be replayed. Dates are on the log's own clock."""


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
        for key, column in zip(COLUMNS, taken(map(self.__dict__.get, COLUMNS), rows), strict=True):
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


def unused(titles: Iterable[str], used: Container[str]) -> list[str]:
    """Return a note on unused columns, if there are any."""
    left = [title for title in titles if title.strip() and title not in used]
    return [f"columns not taken: {', '.join(left)}"] if left else []


def clean(raw: Raw, machine: Instance, given: Mapping[str, Any]) -> Jobs:
    """Apply the rules and bounds that are given, and note what each did; ``raw`` is used up."""
    rules = {key: given.get(key, option.default) for key, option in RULES.items()}
    _window(raw, _bound(raw, given, "start", "from"), _bound(raw, given, "end", "to"))
    for rule, words, wrong in _WRONG:
        _apply(raw, rules[rule], wrong(raw), words)
    one = (", taken to be 1", "run", 1.0)
    _apply(raw, rules["zero"], raw.run == 0, "of no run time", one=one)
    _fit(raw, machine, rules["wide"])
    _order(raw, rules["unordered"])
    _estimates(raw, rules)
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


def _fit(raw: Raw, machine: Instance, rule: str) -> None:
    """Leave out jobs of unknown partitions, and fit the others to theirs."""
    most, resources = np.array([float(machine.servers)]), [machine.resources]
    part, where = np.zeros(len(raw.submit), dtype=np.int64), "the machine's"
    if machine.partitions:
        known = list(machine.partitions)
        labels = raw.partition or Labels(np.full(len(raw.submit), -1, np.int32), ())
        at = [known.index(name) if name in known else -1 for name in labels.names]
        part = np.array([*at, -1])[labels.codes]
        if count := int((part < 0).sum()):
            raw.notes.append(f"{count} left out, of no partition of the machine")
        raw.keep(part >= 0)
        part = part[part >= 0]
        most = np.array([float(one.servers) for one in machine.partitions.values()])
        resources = [one.resources for one in machine.partitions.values()]
        where = "its partition's"
    words = f"wider than {where}" + f" {machine.servers}" * (len(most) == 1) + " processors"
    clip = (", taken to need all of them", "need", np.minimum(raw.need, most[part]))
    kept = np.ones(len(part), dtype=np.bool_)
    wide = raw.need > most[part]
    if rule == "drop":
        kept &= ~wide
    _apply(raw, rule, wide, words, clip=clip)
    part = part[kept]
    names = sorted({name for one in resources for name in one})
    if missing := [name for name in names if name not in raw.needs]:
        there = f"a resource of the log's: {', '.join(raw.needs) or 'it has none'}"
        raise InputError(there, found=shown(missing[0]), place="option")
    if left := [name for name in raw.needs if name not in names]:
        raw.notes.append(f"needs not taken, for want of resource:NAME=AMOUNT: {', '.join(left)}")
    raw.needs = {name: rounded(name, raw.needs[name], raw.notes) for name in names}
    for name in names:
        there_is = np.array([float(one.get(name, 0)) for one in resources])[part]
        wide = raw.needs[name] > there_is
        if rule == "clip":
            raw.needs[name] = np.minimum(raw.needs[name], there_is)
        _apply(
            raw,
            rule,
            wide,
            f"in need of more {name} than {where}",
            clip=(", taken to need all of it", "", None),
        )
        part = part if rule == "clip" else part[~wide]


_WRONG: tuple[tuple[str, str, Callable[[Raw], Mask]], ...] = (
    ("missing", "of unknown submit time", lambda raw: ~np.isfinite(raw.submit)),
    ("missing", "of unknown run time", lambda raw: ~np.isfinite(raw.run)),
    ("missing", "of unknown processors", lambda raw: ~np.isfinite(raw.need)),
    ("negative", "of a submit time below 0", lambda raw: raw.submit < 0),
    ("negative", "of a run time below 0", lambda raw: raw.run < 0),
    ("negative", "of processors below 0", lambda raw: raw.need < 0),
    ("negative", "of no processors", lambda raw: raw.need == 0),
    ("negative", "of a part of a processor", lambda raw: raw.need != np.floor(raw.need)),
)
"""Defects of jobs: the rule that applies, its words in a note, and the rows concerned."""


def _apply(raw: Raw, rule: str, rows: Mask, words: str, **ways: tuple[str, str, Any]) -> None:
    """Apply a rule to rows, and note it: a way is words, a column, and its new values."""
    count = int(np.count_nonzero(rows))
    if not count:
        return
    if rule == "refuse":
        line = int(raw.line[np.argmax(rows)])
        raise InputError(f"no job {words}", found=f"{count}", place=f"line {line}")
    if rule == "drop":
        raw.notes.append(f"{count} left out, {words}")
        raw.keep(~rows)
        return
    said, column, values = ways[rule]
    raw.notes.append(f"{count} {words}{said}")
    if column:
        setattr(raw, column, np.where(rows, values, getattr(raw, column)))


def _bound(raw: Raw, given: Mapping[str, Any], *names: str) -> float | None:
    """Return a window's bound, in the log's time, by whichever of two names it has."""
    named = [name for name in names if given.get(name) is not None]
    if not named:
        return None
    if len(named) > 1:
        raise InputError(f"{names[0]} or {names[1]}", found="both", place=f"option {names[1]}")
    value = given[named[0]]
    if not isinstance(value, str):
        return float(value)
    if raw.zero is None:
        expected = "a number: this log's times are no dates"
        raise InputError(expected, found=shown(value), place=f"option {named[0]}")
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
        low, high = (_at(raw, time) for time in (known.min(), known.max()))
        window = f"{_at(raw, start) if start is not None else 'the beginning'} to "
        window += f"{_at(raw, end) if end is not None else 'the end'}"
        expected = f"a window with jobs in it: the log's were submitted from {low} to {high}"
        raise InputError(expected, found=f"none from {window}", place="option from, to")
    raw.rows -= int(np.count_nonzero(outside))
    raw.keep(~outside)


def _at(raw: Raw, time: float) -> str:
    """Return a time of the log as its options take it, and its date where that is known."""
    if raw.zero is None:
        return f"{time:.12g}"
    return f"{time:.12g} ({np.datetime64(int(raw.zero + time), 's')})"


def _order(raw: Raw, rule: str) -> None:
    """Sort jobs by submit time; jumps of up to an hour are noted apart."""
    latest = np.maximum.accumulate(raw.submit)
    late = raw.submit < latest
    if not late.any():
        return
    steps = np.diff(raw.submit)
    hours = int(np.count_nonzero((steps < 0) & (steps >= -HOUR)))
    words = "submitted before a job above"
    if hours:
        words += f" ({hours} times the log goes back by an hour or less, as clocks may in autumn)"
    come = (", taken to come with that one", "submit", latest)
    _apply(raw, rule, late, words, sort=(", put in order", "", None), **{"raise": come})
    if rule == "sort":
        raw.keep(np.argsort(raw.submit, kind="stable"))


def _estimates(raw: Raw, rules: Mapping[str, str]) -> None:
    raw.estimate[~(raw.estimate > 0)] = np.nan
    none = np.isnan(raw.estimate)
    if none.all() and rules["unestimated"] == "keep":
        raw.notes += ["no estimates"] * bool(len(none))
        return
    ran = (", taken to be the run time", "estimate", raw.run)
    words = "of unknown estimate"
    _apply(raw, rules["unestimated"], none, words, run=ran, keep=("", "", None))
    ways = {
        "raise": (", which was raised", "estimate", raw.run),
        "clip": (", cut off there", "run", raw.estimate),
        "keep": ("", "", None),
    }
    words = "that ran longer than their estimate"
    _apply(raw, rules["overrun"], raw.estimate < raw.run, words, **ways)
