"""The history of a night: events, and the state of the night that follows from them.

A plan document keeps the original night and its history. An event is a fact with a time: a task
started, ended or failed, processors came or went, a job was added or cancelled. `NightState.of`
applies the events one after the other. A later event about a task replaces an earlier one, so that
a report can correct what was assumed from the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from schedopt.formats import number
from schedopt.instances.decimals import as_written
from schedopt.instances.declarations import Count, Name, NonNegative, Record
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.encoding import convert
from schedopt.instances.errors import InputError, at_place, pick_name, quote
from schedopt.instances.times import SECONDS, SPELLED

Key = tuple[int, int]  # stage and task of a job, counted from 0
ON_TIME = 1 + 1e-11
"""A time that is later than another by less than this factor differs by rounding only."""


# --- events -----------------------------------------------------------------------------------


class Started(Record, tag="started", tag_field="kind"):
    """A task started, and is expected to end at ``until``.

    ``processors`` are the numbers of its processors if they are known.
    """

    at: NonNegative
    job: Name
    stage: Count
    task: Count
    until: NonNegative
    pool: str = ""
    processors: tuple[Count, ...] = ()


class Failed(Record, tag="failed", tag_field="kind"):
    """A task failed, or all tasks of a job; the work is lost and has to be done again."""

    at: NonNegative
    job: Name
    stage: Count | None = None
    task: Count | None = None


class Waiting(Record, tag="waiting", tag_field="kind"):
    """A job has not started; earlier assumptions about it are withdrawn."""

    at: NonNegative
    job: Name


class Processors(Record, tag="processors", tag_field="kind"):
    """The number of processors changed.

    ``count`` is the number until the next change in the night itself, ``change`` the difference
    from the night's own number for the rest of the night.
    """

    at: NonNegative
    pool: str = ""
    count: Count | None = None
    change: int | None = None


class Added(Record, tag="added", tag_field="kind"):
    """A job was added to the night; ``seats`` is the number of seats of each task, by rule."""

    at: NonNegative
    job: Job
    seats: dict[Name, Count] = msgspec.field(default_factory=dict)


class Cancelled(Record, tag="cancelled", tag_field="kind"):
    """A job was cancelled; its running tasks end, and its other tasks never start."""

    at: NonNegative
    job: Name


class ReplannedAt(Record, tag="replanned", tag_field="kind"):
    """The rest of the night was planned again; all earlier events are in the history.

    ``without`` are the rules that no plan could satisfy, and that were dropped.
    """

    at: NonNegative
    without: tuple[Name, ...] = ()


Event = Started | Failed | Waiting | Processors | Added | Cancelled | ReplannedAt
History = tuple[Event, ...]


# --- the state that follows from them ---------------------------------------------------------


class Run(NamedTuple):
    """A task that has completed or is running. Processors are counted within their pool."""

    start: float
    end: float
    pool: str = ""
    processors: tuple[int, ...] = ()


@dataclass
class Progress:
    """The completed and running tasks of a job, and its failed attempts."""

    runs: dict[Key, Run] = field(default_factory=dict)
    failed: list[tuple[float, float]] = field(default_factory=list)  # attempts: start and end
    cancelled: bool = False

    def lose(self, keys: Iterable[Key], at: float) -> None:
        """Turn runs into failed attempts that end at a time or earlier."""
        for key in [key for key in keys if key in self.runs]:
            run = self.runs.pop(key)
            self.failed.append((run.start, max(run.start, min(run.end, at))))

    def used(self, width: int) -> Fraction:
        """Return the exact processor time of all runs and failed attempts."""
        spans = [*self.failed, *((run.start, run.end) for run in self.runs.values())]
        lengths = (as_written(end) - as_written(start) for start, end in spans)
        return width * sum(lengths, Fraction(0))


@dataclass
class NightState:
    """The state of a night: its jobs, their progress, and the machine."""

    night: Instance  # with the jobs that were added
    progress: dict[str, Progress]  # by job
    machine: list[Processors]  # the reports
    numbers: dict[str, range]  # of each pool's processors on the machine as reported
    at: float = 0.0  # the last replanning
    without: tuple[str, ...] = ()  # the rules that it dropped

    @classmethod
    def of(cls, night: Instance, history: Iterable[Event]) -> NightState:
        """Apply a history to a night; `InputError` names the event that contradicts the night."""
        progress = {job.name: Progress() for job in night.jobs}
        night_state = cls(night, progress, [], night.machine.numbers)
        for n, event in enumerate(history):
            with at_place(f"history[{n}]"):
                night_state.apply(event)
        return night_state

    def apply(self, event: Event) -> None:
        """Apply one event."""
        if isinstance(event, ReplannedAt):
            self.at, self.without = event.at, event.without
        elif isinstance(event, Added):
            self._add(event)
        elif isinstance(event, Processors):
            if self.night.pools or event.pool:
                pick_name(event.pool, self.night.pools, "one of the file's `pools`")
            self.machine.append(event)
            self.numbers = _numbers(self)
        else:
            pick_name(event.job, self.night.index, "a job of the night")
            self._apply_to_job(event, self.progress[event.job])

    def _add(self, event: Added) -> None:
        if event.job.name in self.night.index:
            raise InputError(
                "a new name for the added job", found=quote(event.job.name), place="job"
            )
        rules = list(self.night.constraints)
        for i, rule in enumerate(rules):
            held = event.seats.get(rule.name or "")
            if held and hasattr(rule, "use"):
                rules[i] = replace(rule, use={**rule.use, event.job.name: held})
        jobs = (*self.night.jobs, event.job)
        self.night = replace(self.night, jobs=jobs, constraints=tuple(rules))
        self.progress[event.job.name] = Progress()

    def _apply_to_job(
        self, event: Started | Failed | Waiting | Cancelled, progress: Progress
    ) -> None:
        key = (getattr(event, "stage", None), getattr(event, "task", None))
        if isinstance(event, Waiting):
            progress.runs.clear()
        elif isinstance(event, Cancelled):
            progress.cancelled = True
            for done, run in progress.runs.items():
                progress.runs[done] = run._replace(end=min(run.end, event.at))
        elif isinstance(event, Failed) and event.stage is None:
            progress.lose([*progress.runs], event.at)
        else:
            expect_task(self.night.jobs[self.night.index[event.job]], *key)
            if isinstance(event, Failed):
                progress.lose([key], event.at)  # type: ignore[list-item]
            else:
                first = self.numbers.get(event.pool, range(0)).start
                on = tuple(number - first for number in event.processors)
                run = Run(event.at, event.until, event.pool, on)
                progress.runs[event.stage, event.task] = run


def expect_task(job: Job, stage: int | None, task: int | None) -> None:
    """Raise `InputError` if a job has no such task."""
    stages = job.stages or ()
    if stage is None or not stage < len(stages):
        found = f"stage {stage} of {job.name}"
        raise InputError(f"a stage from 0 to {len(stages) - 1}", found=found)
    if task is None or not task < len(stages[stage]):
        found = f"task {task} of stage {stage} of {job.name}"
        raise InputError(f"a task from 0 to {len(stages[stage]) - 1}", found=found)


def machine_as_known(night_state: NightState) -> Instance:
    """Return a night with the machine as reported."""
    night = night_state.night
    if not night_state.machine:
        return night
    points = {}
    for name, there in _profiles(night_state).items():
        steps = [(float(t), int(n)) for t, n in zip(there.times, there.amounts, strict=True)]
        most = int(night.machine.by_number[name].most)
        if there.most < most and night.end is None:  # after the night, so that numbers stay
            steps.append((1 + max(steps[-1][0], night.horizon), most))
        points[name] = tuple(steps)
    if not any(n and time < night.deadline for steps in points.values() for time, n in steps):
        raise InputError("a processor before the deadline", found="none", parameter="state")
    known: Any = {"pools": points} if night.pools else {"changes": points[""]}
    return replace(night, down=tuple(one for one in night.down if one.numbers), **known)


def _profiles(night_state: NightState) -> dict[str, Steps]:
    night = night_state.night
    own = night.machine.by_number
    pools = dict(own)
    for event in night_state.machine:
        pools[event.pool] = _with_processors(pools[event.pool], own[event.pool], event, night.end)
    return pools


def _numbers(night_state: NightState) -> dict[str, range]:
    night, first, numbers = night_state.night, 0, dict[str, range]()
    for name, there in _profiles(night_state).items():
        most = night.machine.by_number[name].most if night.end is None else there.most
        numbers[name] = range(first, first := first + int(max(most, there.most)))
    return numbers


def _with_processors(there: Steps, own: Steps, event: Processors, end: float | None) -> Steps:
    at = as_written(event.at)
    until = next((time for time in own.times if time > at), None)
    times = sorted({*there.times, at, *([until] if until is not None else [])})
    amounts = [there.at(time) for time in times]
    for i, time in enumerate(times):
        if event.change is not None and time >= at:
            amounts[i] = max(Fraction(0), amounts[i] + event.change)
        elif event.count is not None and time >= at and (until is None or time < until):
            amounts[i] = Fraction(event.count)
    return Steps(tuple(times), tuple(amounts)).up_to(end)


def as_events(history: Sequence[Any]) -> History:
    """Decode the history of a plan document; unknown keys are errors."""
    return tuple(convert(history, tuple[Event, ...], "history"))


# --- reports ----------------------------------------------------------------------------------

STATUSES = ("waiting", "running", "done", "failed", "cancelled")


class Observed(NamedTuple):
    """A report on a task, or on a whole job if ``stage`` and ``task`` are None.

    Times are in the night's unit. What is missing is as planned.
    """

    job: str
    stage: int | None = None  # from 0
    task: int | None = None
    status: str = ""  # one of `STATUSES`; a task that failed starts again
    start: float | None = None
    end: float | None = None  # the expected end of a running task
    pool: str = ""
    processors: int | None = None  # of a whole job
    done: int | None = None  # tasks of a whole job: those that were planned to start first
    place: str = ""  # for messages, such as ``line 3``
    submission: str = ""  # in Slurm; empty if it has left the queue or is not known

    @property
    def key(self) -> tuple[str, int, int]:
        """The job, the stage and the task."""
        return self.job, self.stage or 0, self.task or 0


# --- times ------------------------------------------------------------------------------------


def moment(night: Instance, time: float) -> str:
    """Return a time in words: by the clock if the night has a start."""
    return dates_of(night.start, night.unit).clock(time) if night.start else number(time)


def time_of_day(night: Instance, time: float) -> str:
    """Return a time of day, with the date if it is not a day of the night."""
    text = moment(night, time)
    if not night.start:
        return text
    days = {moment(night, at)[:10] for at in (0.0, night.deadline)}
    of_day = text[11:19].removesuffix(":00")
    return of_day if text[:10] in days else f"{text[:10]} {of_day}"


def clock(night: Instance, **times: float | None) -> dict[str, str | None]:
    """Return times by the clock, under their names; empty if the night has no start."""
    if night.start is None or night.nights > 1:
        return {}
    dates = dates_of(night.start, night.unit)
    return {name: None if time is None else dates.clock(time) for name, time in times.items()}


def seconds(night: Instance, count: float) -> float:
    """Return a number of seconds in the night's unit."""
    return count / SECONDS[SPELLED[night.unit]]
