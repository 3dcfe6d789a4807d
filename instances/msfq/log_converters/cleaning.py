"""Rules that clean a log so that its jobs can be replayed; each notes how often it applied.

Source of most of them: Feitelson, Tsafrir and Krakov, "Experience with using the Parallel Workloads
Archive", JPDC 74, 2014, section 3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq.logs import GROUPINGS, MOST_NEED, Floats, Jobs, Labels, Names, Needs
from schedopt.instances.msfq.records import Instance
from schedopt.instances.options import Option, is_count, number, one_of, whole

Mask = NDArray[np.bool_]

RULES = {
    "zero": one_of("drop", ("drop", "one")),
    "overrun": one_of("raise", ("raise", "keep")),
}
"""``zero`` is the rule for jobs with run time 0 (``one`` makes it 1), ``overrun`` the rule for jobs
that ran longer than their estimate (``raise`` the estimate). Jobs whose times or needs are unknown,
below 0 or more than the machine has are left out, and jobs are sorted by submit.
"""


_TIME = number(None, "a time of the log, 0 or more", lambda v: v >= 0)
BOUNDS = {
    "processors": whole(None, 1, MOST_NEED),
    "start": _TIME,
    "end": _TIME,
    "jobs": Option(None, "a whole number of at least 1", is_count),
}
"""The machine, and the window: the first ``jobs`` that can be replayed of those submitted from
``start`` on and before ``end``."""


@dataclass
class RawLog:
    """The columns of a log before any rule, shape (rows,); NaN is unknown."""

    submit: Floats
    need: Floats
    run: Floats
    estimate: Floats
    rows: int  # of the log, with those that the reader left out
    user: Labels | None = None
    group: Labels | None = None
    queue: Labels | None = None
    partition: Labels | None = None
    name: Names | None = None
    needs: dict[str, Floats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    columns: list[tuple[str, str]] = field(default_factory=list)  # each title and its use
    start: Floats | None = None  # when jobs started in the log
    release: Floats | None = None  # when jobs could start
    waiting: Mask | None = None  # jobs that had not started when the log was written
    running: Mask | None = None  # jobs that had not ended then
    until: float | None = None  # when the log was written, if jobs waited or ran then
    processors: int | None = None
    unsaid: str = "the log does not give it"  # why `processors` is None
    computer: str | None = None
    zero: float | None = None  # the date of time 0, in seconds since 1970 on the log's own clock
    zone: str | None = None
    reordered: bool = False  # whether jobs were put in order

    def keep(self, rows: NDArray[np.generic]) -> None:
        """Keep only these rows, by number or mask."""
        for key, column in vars(self).items():
            if isinstance(column, np.ndarray | Labels):
                setattr(
                    self, key, column[rows] if isinstance(column, np.ndarray) else column.take(rows)
                )
        self.needs = {name: column[rows] for name, column in self.needs.items()}

    def leave_out(self, rows: Mask, words: str) -> Mask:
        """Remove rows, and note how many; return a mask of the rows that stay."""
        if count := int(np.count_nonzero(rows)):
            self.notes.append(f"{count} left out, {words}")
            self.keep(~rows)
        return ~rows

    def note(self, rows: Mask, words: str) -> None:
        """Note the number of rows to which some words apply, if there are any."""
        if count := int(np.count_nonzero(rows)):
            self.notes.append(f"{count} {words}")


def set_releases(raw: RawLog, eligible: Floats | None, began: Floats) -> None:
    """Set the starts of jobs, and their releases: when each became eligible to start.

    A job that started was eligible by then, whatever the log says.
    """
    raw.note(began < raw.submit, "that started before their submit in the log: start unknown")
    raw.start = np.where(began >= raw.submit, began, np.nan)
    if raw.waiting is not None:
        raw.start[raw.waiting] = np.nan
    if eligible is None:
        return
    by_start = np.where(began >= raw.submit, np.minimum(eligible, began), eligible)
    raw.release = np.fmax(raw.submit, by_start)
    held = raw.release - raw.submit
    if (late := held > 0).any():
        mean = f"{held[late].mean():.4g}{' s' * (raw.zero is not None)} on average"
        raw.note(late, f"eligible after their submit, by {mean}, and released then")
    if raw.waiting is not None:
        unknown = raw.waiting & np.isnan(eligible)
        raw.note(unknown, "that wait and are not eligible yet")
        raw.run[unknown], raw.waiting = np.nan, raw.waiting & ~unknown


_WRONG: tuple[tuple[str, Callable[[RawLog], Mask]], ...] = (
    ("of unknown submit time", lambda raw: ~np.isfinite(raw.submit)),
    ("of unknown run time", lambda raw: ~np.isfinite(raw.run)),
    ("of unknown processors", lambda raw: ~np.isfinite(raw.need)),
    ("of a submit time below 0", lambda raw: raw.submit < 0),
    ("of a run time below 0", lambda raw: raw.run < 0),
    ("of processors below 0", lambda raw: raw.need < 0),
    ("of no processors", lambda raw: raw.need == 0),
    ("of a part of a processor", lambda raw: raw.need != np.floor(raw.need)),
)
"""The defects for which jobs are left out: the words of the note, and the rows."""


def clean_log(raw: RawLog, machine: Instance, options: Mapping[str, Any]) -> Jobs:
    """Apply the rules and bounds of the options, note their effects, and return the jobs.

    ``raw`` is modified.
    """
    _window(raw, options.get("start", -np.inf), options.get("end", np.inf))
    for words, wrong in _WRONG:
        raw.leave_out(wrong(raw), words)
    if options.get("zero") == "one":
        raw.note(raw.run == 0, "without a run time, set to 1")
        raw.run[raw.run == 0] = 1.0
    raw.leave_out(raw.run == 0, "of no run time")
    _fit_to_machine(raw, machine)
    late = raw.submit < np.maximum.accumulate(raw.submit)
    raw.note(late, "submitted before a job above, sorted")
    if late.any():
        raw.reordered = True
        raw.keep(np.argsort(raw.submit, kind="stable"))
    _clean_estimates(raw, keep=options.get("overrun") == "keep")
    raw.keep(np.arange(len(raw.submit)) < options.get("jobs", np.inf))
    if not len(raw.submit):
        reasons = "; ".join(raw.notes) or "it has no jobs"
        found = f"none of {raw.rows}: {reasons}"
        raise InputError("at least one job that can be replayed", found=found)
    labels = {by: of.used() for by in GROUPINGS if (of := getattr(raw, by)) is not None}
    queue, partition = labels.get("queue"), labels.get("partition")
    if partition is not None and not machine.partitions:
        same = queue is not None and np.array_equal(partition.codes, queue.codes)
        if same or len(partition.names) == 1:  # it says nothing more
            del labels["partition"]
    is_at_submit = raw.release is None or np.array_equal(raw.release, raw.submit)
    return Jobs(
        submit=raw.submit,
        need=raw.need.astype(np.int32),
        run=raw.run,
        estimate=raw.estimate if np.isfinite(raw.estimate).any() else None,
        name=raw.name,
        **labels,
        needs=Needs.of(raw.needs) if raw.needs else None,
        start=raw.start if raw.start is not None and np.isfinite(raw.start).any() else None,
        release=None if is_at_submit else raw.release,
    )


def _fit_to_machine(raw: RawLog, machine: Instance) -> None:
    """Remove jobs of unknown partitions, and jobs that need more than their partition has."""
    parts: list[Any] = [*machine.partitions.values()] or [machine]
    where = "its partition's" if machine.partitions else "the machine's"
    part = np.zeros(len(raw.submit), dtype=np.int64)
    if machine.partitions:
        codes = {name: i for i, name in enumerate(machine.partitions)}
        labels = raw.partition or Labels(np.full(len(raw.submit), -1, np.int32), ())
        part = np.array([*(codes.get(name, -1) for name in labels.names), -1])[labels.codes]
        part = part[raw.leave_out(part < 0, "of no partition of the machine")]
    wide = raw.need > np.array([float(one.servers) for one in parts])[part]
    count = f" {machine.servers}" * (len(parts) == 1)
    part = part[raw.leave_out(wide, f"wider than {where}{count} processors")]
    names = sorted({name for one in parts for name in one.resources})
    if missing := [name for name in names if name not in raw.needs]:
        expected = f"a resource of the log: {', '.join(raw.needs) or 'it has none'}"
        raise InputError(expected, found=quote(missing[0]), place="option")
    if unused := [name for name in raw.needs if name not in names]:
        raw.notes.append(
            f"needs ignored without an option resource:NAME=AMOUNT: {', '.join(unused)}"
        )
    raw.needs = {name: raw.needs[name] for name in names}
    for name in names:
        amounts = raw.needs[name]
        raw.note(np.isnan(amounts), f"of unknown {name}, assumed to need none")
        fractional = np.isfinite(amounts) & (amounts != np.ceil(amounts))
        raw.note(fractional, f"that need a fraction of a {name}, rounded up")
        raw.needs[name] = np.ceil(np.nan_to_num(amounts))
        most = np.array([float(one.resources.get(name, 0)) for one in parts])[part]
        wide = raw.needs[name] > most
        part = part[raw.leave_out(wide, f"that need more {name} than {where}")]


def _window(raw: RawLog, start: float, end: float) -> None:
    """Keep the jobs submitted within a window, and those of unknown submit."""
    outside = (raw.submit < start) | (raw.submit >= end)
    times = raw.submit[np.isfinite(raw.submit)]
    if len(times) and outside.sum() == len(times):
        between = f"{times.min():.12g} to {times.max():.12g}"
        expected = f"a window with jobs in it: the log's were submitted from {between}"
        raise InputError(expected, found="none", place="option start, end")
    raw.rows -= int(np.count_nonzero(outside))
    raw.keep(~outside)


def _clean_estimates(raw: RawLog, *, keep: bool) -> None:
    """Note jobs without an estimate, and raise estimates that are too short unless ``keep``."""
    raw.estimate = np.where(raw.estimate > 0, raw.estimate, np.nan)
    unknown = np.isnan(raw.estimate)
    if unknown.all():
        raw.notes += ["no estimates"] * bool(len(unknown))
        return
    raw.note(unknown, "without an estimate")
    overrun = raw.estimate < raw.run
    raw.note(overrun, "that ran longer than their estimate" + ", which was raised" * (not keep))
    if not keep:
        raw.estimate = np.where(overrun, raw.run, raw.estimate)
