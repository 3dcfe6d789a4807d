"""Planned and real times of a night that ran on Slurm, and the delay of each start."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple

from schedopt.formats import count_of
from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance, PlacedTask
from schedopt.instances.dssp.clock import dates_of
from schedopt.planning.history import ON_TIME, Observed, seconds
from schedopt.planning.release import Release, Span, TaskKey, releases

COLUMNS = (
    *("job", "status", "planned_start_time", "start_time", "planned_end_time", "end_time"),
    *("late", "overhead", "tasks", "done"),
)
"""The columns of a report, in order."""


class JobOutcome(NamedTuple):
    """The outcome of a planned job; times are in the night's unit."""

    job: str
    status: str  # done, late (done after its deadline), failed, running or waiting
    tasks: int
    done: int  # tasks
    planned_start: float
    planned_end: float
    start: float | None
    end: float | None  # None if it is not done
    late: float | None  # the time from its deadline to its end
    overhead: float | None  # the longest delay of the start of one of its tasks


@dataclass(frozen=True)
class CarriedOut:
    """The outcome of a night that ran on Slurm."""

    night: Instance
    jobs: list[JobOutcome]  # in the order of their planned start
    planned: Mapping[TaskKey, Span]  # the start and end of each task
    real: Mapping[TaskKey, Span]  # of each task that has ended
    delays: list[float]  # of the start of each task

    @property
    def late(self) -> list[str]:
        """The jobs that are late or not done."""
        return [one.job for one in self.jobs if one.status != "done"]

    @property
    def fallen_out(self) -> list[str]:
        """The jobs that are not done."""
        return [one.job for one in self.jobs if one.late is None]

    @property
    def overhead(self) -> tuple[float, float] | None:
        """The mean and the largest delay of a start; None if no task started."""
        return (mean(self.delays), max(self.delays)) if self.delays else None

    def line(self) -> str:
        """Return the number of jobs on time and the delays of starts in words."""
        done = len(self.jobs) - len(self.late)
        line = f"{done} of {count_of(len(self.jobs), 'job')} done on time"
        if self.overhead is None:
            return line
        second = seconds(self.night, 1)
        took, most, planned = (value / second for value in (*self.overhead, self.night.overhead))
        starting = f"starting a task took {took:.3g} s on average, {most:.3g} s at most"
        return f"{line}; {starting} ({planned:.3g} s planned)"

    def rows(self) -> list[dict[str, str | int | float | None]]:
        """Return a row for each job, with times by the clock; lateness is in the night's unit."""
        dates = dates_of(str(self.night.start), self.night.unit)
        rows: list[dict[str, str | int | float | None]] = []
        for one in self.jobs:
            row = one._asdict()
            for title in ("planned_start", "planned_end", "start", "end"):
                time = row.pop(title)
                row[f"{title}_time"] = None if time is None else dates.clock(time)
            rows.append({title: row[title] for title in COLUMNS})
        return rows


def carried_out(
    night: Instance,
    tasks: Sequence[PlacedTask],
    attempts: Iterable[Observed],
    rules: Sequence[Constraint] = (),
    fixed: Collection[TaskKey] = (),
) -> CarriedOut:
    """Return the comparison of a plan with its attempts on Slurm.

    ``fixed`` are the tasks that had started when the plan was made.
    """
    found = {one.key: one for one in attempts}
    given = releases(night, tasks, rules, fixed)
    by_job: dict[str, list[Release]] = {}
    for one in given:
        by_job.setdefault(one.job, []).append(one)
    delays = {one.order: _delays(one, given, found) for one in given}
    jobs = []
    for name, own in by_job.items():
        keys = [(name, one.stage, task) for one in own for task in one.tasks]
        known = [found[key] for key in keys if key in found]
        status, done = _status(known, len(keys)), [a for a in known if a.status == "done"]
        end = max((a.end or 0.0 for a in done), default=0.0) if status == "done" else None
        due = float(night.deadlines[night.index[name]])
        late = None if end is None else 0.0 if end <= due * ON_TIME else end - due
        waits = [delay for one in own for delay in delays[one.order]]
        jobs.append(
            JobOutcome(
                job=name,
                status="late" if late else status,
                tasks=len(keys),
                done=len(done),
                planned_start=min(one.begin for one in own),
                planned_end=max(one.end for one in own),
                start=min((a.start for a in known if a.start is not None), default=None),
                end=end,
                late=late,
                overhead=max(waits, default=None),
            )
        )
    planned = {(task.job, task.stage, task.task): (task.start, task.end) for task in tasks}
    real = {
        key: (one.start, one.end)
        for key, one in found.items()
        if one.start is not None and one.end is not None
    }
    jobs.sort(key=lambda one: (one.planned_start, one.planned_end))
    return CarriedOut(night, jobs, planned, real, [d for one in delays.values() for d in one])


def _status(known: Sequence[Observed], tasks: int) -> str:
    found = {one.status for one in known}
    if found == {"done"} and len(known) == tasks:
        return "done"
    if "failed" in found:
        return "failed"
    return "running" if found & {"running", "done"} else "waiting"


def _delays(
    release: Release, given: Sequence[Release], found: Mapping[TaskKey, Observed]
) -> list[float]:
    """Return the delay of the start of each task of a release.

    The first tasks can start at the begin of the release, or later when its predecessors have
    ended. Each further task can start when another one ends.
    """
    spans = _spans(release, found)
    before = [end for order in release.after for _, end in _spans(given[order - 1], found)]
    if any(end is None for end in before):
        return []
    ready = max([release.begin, *(end for end in before if end is not None)])
    free = sorted(end for _, end in spans if end is not None)
    delays = []
    for n, (start, _) in enumerate(sorted(spans, key=lambda span: span[0])):
        if n >= release.at_once and n - release.at_once >= len(free):
            break
        could = ready if n < release.at_once else max(ready, free[n - release.at_once])
        delays.append(max(0.0, start - could))
    return delays


def _spans(release: Release, found: Mapping[TaskKey, Observed]) -> list[tuple[float, float | None]]:
    keys = ((release.job, release.stage, task) for task in release.tasks)
    known = (found[key] for key in keys if key in found)
    return [(one.start, one.end) for one in known if one.start is not None]
